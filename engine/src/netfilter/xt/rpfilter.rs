//! `-m rpfilter`: whether the answer would leave through the device the packet came in by (`ipt_rpfilter.c`,
//! `ip6t_rpfilter.c`).

use std::net::IpAddr;

use super::prelude::*;
use crate::netfilter::AddrType;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rpfilter {
    loose: bool,
    validmark: bool,
    accept_local: bool,
    invert: bool,
}

impl Rpfilter {
    fn words(&self, out: &mut String, dashes: &str) {
        for (on, word) in [
            (self.loose, "loose"),
            (self.validmark, "validmark"),
            (self.accept_local, "accept-local"),
            (self.invert, "invert"),
        ] {
            if on {
                let _ = write!(out, " {dashes}{word}");
            }
        }
    }

    /// Whether the packet passes, and why, before inversion.
    fn passes(&self, cx: &Cx<'_>, skb: &Skb) -> (bool, &'static str) {
        let Some(dev) = cx.indev else { return (false, "no device") };
        if dev.name == "lo" {
            return (true, "came by loopback");
        }
        let ip = &skb.packet.ip;
        match (ip.src, ip.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) if dst.is_multicast() && src.octets()[0] == 0 => {
                return (dst.octets()[..3] == [224, 0, 0], "multicast from no address");
            }
            // Not routable: the path drops it.
            (IpAddr::V6(src), _) if src.is_unspecified() => return (true, "source is ::"),
            _ => {}
        }
        if self.accept_local && cx.fib.addr_type(ip.src, None) == AddrType::Local {
            return (true, "source is local");
        }
        let mark = if self.validmark { skb.mark } else { 0 };
        match cx.fib.reverse_route(skb, mark) {
            None => (false, "no unicast route back"),
            Some(back) if back == dev.id => (true, "route back by this device"),
            Some(_) => (self.loose, "route back by another device"),
        }
    }
}

impl MatchExt for Rpfilter {
    const SPEC: ExtSpec = ExtSpec::new("rpfilter", BOTH, "net/ipv4/netfilter/ipt_rpfilter.c")
        .tables(&["raw", "mangle"])
        .hooks(&[Hook::Prerouting])
        .options(&[
            OptSpec::new("--loose", Values::None),
            OptSpec::new("--validmark", Values::None),
            OptSpec::new("--accept-local", Values::None),
            OptSpec::new("--invert", Values::None),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Ok(Self {
            loose: args.has("--loose"),
            validmark: args.has("--validmark"),
            accept_local: args.has("--accept-local"),
            invert: args.has("--invert"),
        })
    }

    fn save(&self, out: &mut String) {
        self.words(out, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" rpfilter");
        self.words(out, "");
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let (passes, reason) = self.passes(cx, skb);
        why.check(
            passes != self.invert,
            "-m rpfilter",
            || reason.to_owned(),
            || format!("{}a route back", not(self.invert)),
        )
        .into()
    }
}
