//! `-j REDIRECT`: the destination becomes this node (`nf_nat_redirect.c`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::nat::{parse_ports, ports_text, setup, to_address};
use super::prelude::*;
use crate::conntrack::{Manip, NatRange};
use crate::netfilter::Verdict;
use crate::trace::DropReason;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub range: Box<NatRange>,
}

impl TargetExt for Redirect {
    const SPEC: ExtSpec = ExtSpec::new("REDIRECT", BOTH, "net/netfilter/xt_REDIRECT.c")
        .tables(&["nat"])
        .hooks(&[Hook::Prerouting, Hook::Output])
        .options(&[OptSpec::new("--to-ports", Values::One), OptSpec::new("--random", Values::None)]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Ok(Self { range: parse_ports(args)? })
    }

    fn save(&self, out: &mut String) {
        ports_text(out, &self.range, "--to-ports", "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        ports_text(out, &self.range, "redir ports", "");
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
