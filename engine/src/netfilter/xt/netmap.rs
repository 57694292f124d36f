//! `-j NETMAP`: one network onto another, host bits kept (`xt_NETMAP.c`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::nat::{setup, to_address};
use super::prelude::*;
use crate::conntrack::{Manip, NatRange};
use crate::netfilter::Net;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netmap {
    /// Host bits are clear.
    to: Net,
}

impl Netmap {
    /// `addr` with the network part of [`Self::to`].
    const fn mapped(&self, addr: IpAddr) -> IpAddr {
        match (addr, self.to.addr, self.to.mask) {
            (IpAddr::V4(a), IpAddr::V4(to), IpAddr::V4(m)) => {
                IpAddr::V4(Ipv4Addr::from_bits((a.to_bits() & !m.to_bits()) | to.to_bits()))
            }
            (IpAddr::V6(a), IpAddr::V6(to), IpAddr::V6(m)) => {
                IpAddr::V6(Ipv6Addr::from_bits((a.to_bits() & !m.to_bits()) | to.to_bits()))
            }
            _ => addr,
        }
    }
}

impl TargetExt for Netmap {
    const SPEC: ExtSpec = ExtSpec::new("NETMAP", BOTH, "net/netfilter/xt_NETMAP.c")
        .tables(&["nat"])
        .hooks(&[Hook::Prerouting, Hook::Input, Hook::Output, Hook::Postrouting])
        .options(&[OptSpec::new("--to", Values::One).mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--to")?;
        let net = host_mask("NETMAP", args.family, at, opt)?;
        Ok(Self { to: Net { addr: masked(net.addr, net.mask), mask: net.mask } })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --to {}", self.to);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " to:{}", self.to);
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let ip = &skb.packet.ip;
        let (manip, addr) = match cx.hook {
            Hook::Prerouting | Hook::Output => (Manip::Dst, ip.dst),
            Hook::Input | Hook::Forward | Hook::Postrouting => (Manip::Src, ip.src),
        };
        setup(cx, skb, &to_address(&NatRange::default(), self.mapped(addr)), manip)
    }
}
