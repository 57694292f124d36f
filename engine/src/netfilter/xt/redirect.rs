//! `-j REDIRECT`: the destination becomes this node (`nf_nat_redirect.c`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::nat::{flags_text, ports, setup, to_address, wants_ports};
use super::prelude::*;
use crate::conntrack::{Manip, NatRange};
use crate::netfilter::Verdict;
use crate::trace::DropReason;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub range: Box<NatRange>,
}

impl Redirect {
    fn text(&self, out: &mut String, ports: &str, dashes: &str) {
        if let Some((low, high)) = self.range.ports {
            let _ = write!(out, " {ports} {low}");
            if high != low {
                let _ = write!(out, "-{high}");
            }
        }
        flags_text(out, &self.range.flags, dashes);
    }
}

impl TargetExt for Redirect {
    const SPEC: ExtSpec = ExtSpec::new("REDIRECT", BOTH, "net/netfilter/xt_REDIRECT.c")
        .tables(&["nat"])
        .hooks(&[Hook::Prerouting, Hook::Output])
        .options(&[OptSpec::new("--to-ports", Values::One), OptSpec::new("--random", Values::None)]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let mut range = NatRange::default();
        if let Some((at, opt)) = args.get("--to-ports") {
            wants_ports(args, at)?;
            range.ports = Some(ports(at, opt.values[0], false)?.0);
        }
        range.flags.random = args.has("--random");
        Ok(Self { range: Box::new(range) })
    }

    fn save(&self, out: &mut String) {
        self.text(out, "--to-ports", "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.text(out, "redir ports", "");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let addr = if cx.hook == Hook::Output {
            Some(match cx.family {
                Family::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
                Family::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
            })
        } else {
            cx.indev.and_then(|dev| cx.fib.redirect_address(dev.id, skb.packet.ip.dst))
        };
        match addr {
            Some(addr) => setup(cx, skb, &to_address(&self.range, addr), Manip::Dst),
            None => Next::Verdict(Verdict::Drop(DropReason::NoAddress)),
        }
    }
}
