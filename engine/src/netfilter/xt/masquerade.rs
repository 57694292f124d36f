//! `-j MASQUERADE`: the source becomes an address of the device the packet leaves through
//! (`nf_nat_masquerade.c`).

use super::nat::{parse_ports, ports_text, setup, to_address};
use super::prelude::*;
use crate::conntrack::{Manip, NatRange};
use crate::netfilter::Verdict;
use crate::trace::DropReason;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masquerade {
    pub range: Box<NatRange>,
}

impl TargetExt for Masquerade {
    const SPEC: ExtSpec = ExtSpec::new("MASQUERADE", BOTH, "net/netfilter/xt_MASQUERADE.c")
        .tables(&["nat"])
        .hooks(&[Hook::Postrouting])
        .options(&[
            OptSpec::new("--to-ports", Values::One),
            OptSpec::new("--random", Values::None),
            OptSpec::new("--random-fully", Values::None),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Ok(Self { range: parse_ports(args)? })
    }

    fn save(&self, out: &mut String) {
        ports_text(out, &self.range, "--to-ports", "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        ports_text(out, &self.range, "masq ports:", "");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let ip = &skb.packet.ip;
        // A DHCP client asks from 0.0.0.0; it keeps that source.
        if ip.src.is_ipv4() && ip.src.is_unspecified() {
            return Next::Verdict(Verdict::Accept);
        }
        let Some(out) = cx.outdev else { return Next::Verdict(Verdict::Accept) };
        let Some(addr) = cx.fib.masquerade_source(out.id, ip.dst) else {
            return Next::Verdict(Verdict::Drop(DropReason::NoAddress));
        };
        let dev = out.id;
        cx.ct.set_masq_device(skb, dev);
        setup(cx, skb, &to_address(&self.range, addr), Manip::Src)
    }
}
