//! `-m pkttype`: how the frame was addressed (`xt_pkttype.c`).

use super::prelude::*;
use crate::packet::PacketType;

/// Names the tool reads; the first of a kind is the one it prints.
const NAMES: [(&str, PacketType); 6] = [
    ("unicast", PacketType::Host),
    ("broadcast", PacketType::Broadcast),
    ("multicast", PacketType::Multicast),
    ("host", PacketType::Host),
    ("bcast", PacketType::Broadcast),
    ("mcast", PacketType::Multicast),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pkttype {
    kind: PacketType,
    inverted: bool,
}

fn name(kind: PacketType) -> &'static str {
    NAMES.iter().find(|n| n.1 == kind).map_or("", |n| n.0)
}

impl MatchExt for Pkttype {
    const SPEC: ExtSpec = ExtSpec::new("pkttype", BOTH, "net/netfilter/xt_pkttype.c")
        .options(&[OptSpec::new("--pkt-type", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--pkt-type")?;
        let text = opt.values[0];
        match NAMES.iter().find(|n| n.0.eq_ignore_ascii_case(text)) {
            Some(&(_, kind)) => Ok(Self { kind, inverted: opt.inverted }),
            None => Err(ArgError::at(at, format!("Bad packet type '{text}'"))),
        }
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --pkt-type {}", bang(self.inverted), name(self.kind));
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " PKTTYPE {} {}", if self.inverted { "!=" } else { "=" }, name(self.kind));
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let have = skb.packet_type;
        why.check(
            (have == self.kind) != self.inverted,
            "--pkt-type",
            || name(have).to_owned(),
            || format!("{}{}", not(self.inverted), name(self.kind)),
        )
        .into()
    }
}
