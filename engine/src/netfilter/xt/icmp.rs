//! `-m icmp` and `-m icmp6`: type and code (`ip_tables.c`, `ip6_tables.c`).

use super::prelude::*;

/// Type, lowest and highest code.
type Codes = (u8, u8, u8);

/// Names of `libxt_icmp.h`, in its order: an abbreviation is tried against each.
const V4: [(&str, Codes); 40] = [
    ("any", (255, 0, 255)),
    ("echo-reply", (0, 0, 255)),
    ("pong", (0, 0, 255)),
    ("destination-unreachable", (3, 0, 255)),
    ("network-unreachable", (3, 0, 0)),
    ("host-unreachable", (3, 1, 1)),
    ("protocol-unreachable", (3, 2, 2)),
    ("port-unreachable", (3, 3, 3)),
    ("fragmentation-needed", (3, 4, 4)),
    ("source-route-failed", (3, 5, 5)),
    ("network-unknown", (3, 6, 6)),
    ("host-unknown", (3, 7, 7)),
    ("network-prohibited", (3, 9, 9)),
    ("host-prohibited", (3, 10, 10)),
    ("TOS-network-unreachable", (3, 11, 11)),
    ("TOS-host-unreachable", (3, 12, 12)),
    ("communication-prohibited", (3, 13, 13)),
    ("host-precedence-violation", (3, 14, 14)),
    ("precedence-cutoff", (3, 15, 15)),
    ("source-quench", (4, 0, 255)),
    ("redirect", (5, 0, 255)),
    ("network-redirect", (5, 0, 0)),
    ("host-redirect", (5, 1, 1)),
    ("TOS-network-redirect", (5, 2, 2)),
    ("TOS-host-redirect", (5, 3, 3)),
    ("echo-request", (8, 0, 255)),
    ("ping", (8, 0, 255)),
    ("router-advertisement", (9, 0, 255)),
    ("router-solicitation", (10, 0, 255)),
    ("time-exceeded", (11, 0, 255)),
    ("ttl-exceeded", (11, 0, 255)),
    ("ttl-zero-during-transit", (11, 0, 0)),
    ("ttl-zero-during-reassembly", (11, 1, 1)),
    ("parameter-problem", (12, 0, 255)),
    ("ip-header-bad", (12, 0, 0)),
    ("required-option-missing", (12, 1, 1)),
    ("timestamp-request", (13, 0, 255)),
    ("timestamp-reply", (14, 0, 255)),
    ("address-mask-request", (17, 0, 255)),
    ("address-mask-reply", (18, 0, 255)),
];

const V6: [(&str, Codes); 28] = [
    ("destination-unreachable", (1, 0, 255)),
    ("no-route", (1, 0, 0)),
    ("communication-prohibited", (1, 1, 1)),
    ("beyond-scope", (1, 2, 2)),
    ("address-unreachable", (1, 3, 3)),
    ("port-unreachable", (1, 4, 4)),
    ("failed-policy", (1, 5, 5)),
    ("reject-route", (1, 6, 6)),
    ("packet-too-big", (2, 0, 255)),
    ("time-exceeded", (3, 0, 255)),
    ("ttl-exceeded", (3, 0, 255)),
    ("ttl-zero-during-transit", (3, 0, 0)),
    ("ttl-zero-during-reassembly", (3, 1, 1)),
    ("parameter-problem", (4, 0, 255)),
    ("bad-header", (4, 0, 0)),
    ("unknown-header-type", (4, 1, 1)),
    ("unknown-option", (4, 2, 2)),
    ("echo-request", (128, 0, 255)),
    ("ping", (128, 0, 255)),
    ("echo-reply", (129, 0, 255)),
    ("pong", (129, 0, 255)),
    ("router-solicitation", (133, 0, 255)),
    ("router-advertisement", (134, 0, 255)),
    ("neighbour-solicitation", (135, 0, 255)),
    ("neighbor-solicitation", (135, 0, 255)),
    ("neighbour-advertisement", (136, 0, 255)),
    ("neighbor-advertisement", (136, 0, 255)),
    ("redirect", (137, 0, 255)),
];

/// `xtables_parse_icmp`: a name, an unambiguous beginning of one, `TYPE` or `TYPE/CODE`.
fn parse(at: usize, text: &str, names: &[(&'static str, Codes)], what: &str) -> Result<Codes, ArgError> {
    let mut found: Option<(&str, Codes)> = None;
    for &(name, codes) in names {
        if abbreviates(text, name) {
            if let Some((first, _)) = found {
                let why = format!("Ambiguous {what} type `{text}': `{first}' or `{name}'?");
                return Err(ArgError::at(at, why));
            }
            found = Some((name, codes));
        }
    }
    if let Some((_, codes)) = found {
        return Ok(codes);
    }
    let (kind, code) = match text.split_once('/') {
        None => (text, None),
        Some((kind, code)) => (kind, Some(code)),
    };
    let Some(kind) = parse_number(kind, 255) else {
        return Err(ArgError::at(at, format!("Unknown {what} type `{kind}'")));
    };
    let (low, high) = match code {
        None => (0, 255),
        Some(code) => {
            let Some(code) = parse_number(code, 255) else {
                return Err(ArgError::at(at, format!("Unknown {what} code `{text}'")));
            };
            (code as u8, code as u8)
        }
    };
    Ok((kind as u8, low, high))
}

fn code_text(kind: u8, low: u8, high: u8) -> String {
    if (low, high) == (0, 255) { kind.to_string() } else { format!("{kind}/{low}") }
}

fn list(out: &mut String, protocol: &str, (kind, low, high): Codes, inverted: bool) {
    let _ = write!(out, " {protocol}{}type {kind}", if inverted { " !" } else { "" });
    if low == high {
        let _ = write!(out, " code {low}");
    } else if (low, high) != (0, 255) {
        let _ = write!(out, " codes {low}-{high}");
    }
}

/// The type and code of the packet's own ICMP header; without one, what the match answers.
fn header(packet: &Packet, option: &'static str, why: &mut Why) -> Result<(u8, u8), MatchResult> {
    if packet.is_later_fragment() {
        why.check(false, option, || "a later fragment".to_owned(), || "an ICMP header".to_owned());
        return Err(MatchResult::No);
    }
    match &packet.l4 {
        L4::Icmp(icmp) => Ok((icmp.kind, icmp.code)),
        L4::Raw(_) | L4::Truncated(_) | L4::Tcp(_) | L4::Udp(_) | L4::Sctp(_) => {
            why.check(false, option, || "header cut short".to_owned(), || "an ICMP header".to_owned());
            Err(MatchResult::Hotdrop)
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    codes: Codes,
    inverted: bool,
}

impl MatchExt for Icmp {
    const SPEC: ExtSpec = ExtSpec::new("icmp", ONLY_V4, "net/ipv4/netfilter/ip_tables.c")
        .protos(&[proto::ICMP])
        .options(&[OptSpec::new("--icmp-type", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--icmp-type")?;
        Ok(Self { codes: parse(at, opt.values[0], &V4, "ICMP")?, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let (kind, low, high) = self.codes;
        let name = if kind == 255 { "any".to_owned() } else { code_text(kind, low, high) };
        let _ = write!(out, "{} --icmp-type {name}", bang(self.inverted));
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        list(out, "icmp", self.codes, self.inverted);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let (kind, code) = match header(&skb.packet, "--icmp-type", why) {
            Ok(header) => header,
            Err(answer) => return answer,
        };
        let (want, low, high) = self.codes;
        // Type 255 stands for any.
        let found = want == 255 || (kind == want && low <= code && code <= high);
        why.check(
            found != self.inverted,
            "--icmp-type",
            || format!("{kind}/{code}"),
            || format!("{}{}", not(self.inverted), code_text(want, low, high)),
        )
        .into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp6 {
    codes: Codes,
    inverted: bool,
}

impl MatchExt for Icmp6 {
    const SPEC: ExtSpec = ExtSpec::new("icmp6", ONLY_V6, "net/ipv6/netfilter/ip6_tables.c")
        .protos(&[proto::ICMPV6])
        .options(&[OptSpec::new("--icmpv6-type", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--icmpv6-type")?;
        Ok(Self { codes: parse(at, opt.values[0], &V6, "ICMPv6")?, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let (kind, low, high) = self.codes;
        let _ = write!(out, "{} --icmpv6-type {}", bang(self.inverted), code_text(kind, low, high));
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        list(out, "ipv6-icmp", self.codes, self.inverted);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let (kind, code) = match header(&skb.packet, "--icmpv6-type", why) {
            Ok(header) => header,
            Err(answer) => return answer,
        };
        let (want, low, high) = self.codes;
        let found = kind == want && low <= code && code <= high;
        why.check(
            found != self.inverted,
            "--icmpv6-type",
            || format!("{kind}/{code}"),
            || format!("{}{}", not(self.inverted), code_text(want, low, high)),
        )
        .into()
    }
}
