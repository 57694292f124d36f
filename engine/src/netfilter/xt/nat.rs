//! `-j DNAT` and `-j SNAT`: an address and port range for one side of the connection (`xt_nat.c`).

use std::net::IpAddr;

use super::names::service;
use super::prelude::*;
use crate::conntrack::{CtCx, CtVerdict, Manip, NatFlags, NatRange};
use crate::netfilter::Verdict;

/// Asks for the mapping and ends the walk of the nat table.
pub(super) fn setup(cx: &mut Cx<'_>, skb: &Skb, range: &NatRange, manip: Manip) -> Next {
    let mut ct_cx = CtCx { hook: cx.hook, now: cx.now, trace: &mut *cx.trace };
    Next::Verdict(match cx.ct.nat_setup(&mut ct_cx, skb, range, manip) {
        CtVerdict::Accept => Verdict::Accept,
        CtVerdict::Drop(reason) => Verdict::Drop(reason),
    })
}

/// Ports belong to protocols that have some; the tool looks at `-p` only, even inverted.
fn wants_ports(args: &Parsed<'_>, at: usize) -> Result<(), ArgError> {
    const PROTOS: [u8; 6] = [proto::TCP, proto::UDP, proto::SCTP, proto::DCCP, proto::ICMP, proto::ICMPV6];
    match args.proto {
        Some(p) if PROTOS.contains(&p.value) => Ok(()),
        Some(_) | None => Err(ArgError::at(at, "Need TCP, UDP, SCTP or DCCP with port specification")),
    }
}

/// `PORT[-PORT[/BASE]]` (`parse_ports` of `libxt_NAT.c`). `based`: a base may follow.
fn ports(at: usize, text: &str, based: bool) -> Result<((u16, u16), Option<u16>), ArgError> {
    let err = |why: String| ArgError::at(at, why);
    // A number ends at the first character that is none; a name takes the rest.
    let split = |text: &str| -> Option<(u16, usize)> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            return text[..digits].parse().ok().map(|n| (n, digits));
        }
        let end = text.find(['-', '/']).unwrap_or(text.len());
        service(&text[..end]).map(|n| (n, end))
    };
    let invalid = |text: &str| err(format!("Port `{text}' not valid"));
    let (low, used) = split(text).ok_or_else(|| invalid(text))?;
    let rest = &text[used..];
    if rest.is_empty() {
        return Ok(((low, low), None));
    }
    let Some(rest) = rest.strip_prefix('-') else {
        return Err(err(format!("Garbage after port value: `{rest}'")));
    };
    let (high, used) = split(rest).ok_or_else(|| invalid(rest))?;
    if high < low {
        return Err(err(format!("Port range `{rest}' funky")));
    }
    match &rest[used..] {
        "" => Ok(((low, high), None)),
        rest => match rest.strip_prefix('/').filter(|_| based) {
            None => Err(err(format!("Garbage after port range: `{rest}'"))),
            Some(base) => match split(base) {
                Some((port, used)) if used == base.len() => Ok(((low, high), Some(port))),
                _ => Err(invalid(base)),
            },
        },
    }
}

/// `[ADDR[-ADDR]][:PORTS]`, IPv6 addresses in brackets before ports (`parse_to` of `libxt_NAT.c`).
fn parse_to(args: &Parsed<'_>, at: usize, text: &str) -> Result<NatRange, ArgError> {
    let (addrs, tail) = match args.family {
        Family::V4 => match text.split_once(':') {
            Some((addrs, ports)) if !ports.contains(':') => (addrs, Some(ports)),
            Some(_) | None => (text, None),
        },
        Family::V6 => match text.strip_prefix('[') {
            Some(inner) => match inner.split_once(']') {
                None => return Err(ArgError::at(at, "Invalid address format")),
                Some((addrs, rest)) => (addrs, rest.strip_prefix(':')),
            },
            None => match text.strip_prefix(':') {
                Some(ports) if !ports.contains(':') => ("", Some(ports)),
                Some(_) | None => (text, None),
            },
        },
    };
    let mut range = NatRange::default();
    if let Some(tail) = tail {
        wants_ports(args, at)?;
        let (both, base) = ports(at, tail, true)?;
        range.ports = Some(both);
        range.flags.port_base = base;
    }
    // Nothing before the ports leaves the address alone; nothing at all is a bad address.
    if !addrs.is_empty() || tail.is_none() {
        let one = |text: &str| {
            address(args.family, text).ok_or_else(|| ArgError::at(at, format!("Bad IP address \"{text}\"")))
        };
        range.addrs = Some(match addrs.split_once('-') {
            None => {
                let addr = one(addrs)?;
                (addr, addr)
            }
            Some((low, high)) => (one(low)?, one(high)?),
        });
    }
    Ok(range)
}

/// `10.0.0.1-10.0.0.5:80-90/70`.
fn range_text(range: &NatRange) -> String {
    let mut text = String::new();
    if let Some((low, high)) = range.addrs {
        let bracket = low.is_ipv6() && range.ports.is_some();
        text.push_str(if bracket { "[" } else { "" });
        let _ = write!(text, "{low}");
        if high != low {
            let _ = write!(text, "-{high}");
        }
        text.push_str(if bracket { "]" } else { "" });
    }
    if let Some((low, high)) = range.ports {
        let _ = write!(text, ":{low}");
        if high != low {
            let _ = write!(text, "-{high}");
        }
        if let Some(base) = range.flags.port_base {
            let _ = write!(text, "/{base}");
        }
    }
    text
}

/// The ports and flags of a target that takes its address from the node: after `label`, with `dashes` before a flag.
pub(super) fn ports_text(out: &mut String, range: &NatRange, label: &str, dashes: &str) {
    if let Some((low, high)) = range.ports {
        let _ = write!(out, " {label} {low}");
        if high != low {
            let _ = write!(out, "-{high}");
        }
    }
    flags_text(out, &range.flags, dashes);
}

/// `--to-ports` and the flags of a target that takes its address from the node.
pub(super) fn parse_ports(args: &Parsed<'_>) -> Result<Box<NatRange>, ArgError> {
    let mut range = NatRange::default();
    if let Some((at, opt)) = args.get("--to-ports") {
        wants_ports(args, at)?;
        range.ports = Some(ports(at, opt.values[0], false)?.0);
    }
    range.flags.random = args.has("--random");
    range.flags.random_fully = args.has("--random-fully");
    Ok(Box::new(range))
}

fn flags_text(out: &mut String, flags: &NatFlags, dashes: &str) {
    for (on, word) in
        [(flags.random, "random"), (flags.random_fully, "random-fully"), (flags.persistent, "persistent")]
    {
        if on {
            let _ = write!(out, " {dashes}{word}");
        }
    }
}

fn parse(args: &Parsed<'_>, option: &str) -> Result<Box<NatRange>, ArgError> {
    let (at, opt) = args.require(option)?;
    let mut range = parse_to(args, at, opt.values[0])?;
    range.flags.random = args.has("--random");
    range.flags.random_fully = args.has("--random-fully");
    range.flags.persistent = args.has("--persistent");
    Ok(Box::new(range))
}

/// `-j DNAT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dnat {
    pub range: Box<NatRange>,
}

impl TargetExt for Dnat {
    const SPEC: ExtSpec = ExtSpec::new("DNAT", BOTH, "net/netfilter/xt_nat.c")
        .tables(&["nat"])
        .hooks(&[Hook::Prerouting, Hook::Output])
        .options(&[
            OptSpec::new("--to-destination", Values::One).mandatory(),
            OptSpec::new("--random", Values::None),
            OptSpec::new("--persistent", Values::None),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        parse(args, "--to-destination").map(|range| Self { range })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --to-destination {}", range_text(&self.range));
        flags_text(out, &self.range.flags, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " to:{}", range_text(&self.range));
        flags_text(out, &self.range.flags, "");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        setup(cx, skb, &self.range, Manip::Dst)
    }
}

/// `-j SNAT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snat {
    pub range: Box<NatRange>,
}

impl TargetExt for Snat {
    const SPEC: ExtSpec = ExtSpec::new("SNAT", BOTH, "net/netfilter/xt_nat.c")
        .tables(&["nat"])
        .hooks(&[Hook::Postrouting, Hook::Input])
        .options(&[
            OptSpec::new("--to-source", Values::One).mandatory(),
            OptSpec::new("--random", Values::None),
            OptSpec::new("--random-fully", Values::None),
            OptSpec::new("--persistent", Values::None),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        parse(args, "--to-source").map(|range| Self { range })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --to-source {}", range_text(&self.range));
        flags_text(out, &self.range.flags, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " to:{}", range_text(&self.range));
        flags_text(out, &self.range.flags, "");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        setup(cx, skb, &self.range, Manip::Src)
    }
}

/// The range's single address, ports and flags kept.
pub(super) fn to_address(range: &NatRange, addr: IpAddr) -> NatRange {
    NatRange { addrs: Some((addr, addr)), ..*range }
}
