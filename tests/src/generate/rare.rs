//! What random choice hardly ever meets: a rule and a packet for each in one case of many, behind everything else,
//! so that the choices of all other cases stay as they are.

use super::Family;
use crate::replay::{Packet, address, text};

/// One case in this many.
const EVERY: u64 = 97;

pub(super) const fn is_due(index: u64) -> bool {
    index % EVERY == EVERY - 1
}

/// Rules behind those of the first table, raw.
pub(super) fn with_rules(ruleset: &str) -> String {
    let rules = "-A PREROUTING -p tcp -m ecn --ecn-tcp-ece\n-A PREROUTING -m rpfilter --invert\nCOMMIT\n";
    ruleset.replacen("COMMIT\n", rules, 1)
}

/// A SYN that offers ECN, and a datagram whose sender the way back does not lead to.
pub(super) fn packets(family: Family, at_ms: u64) -> [Packet; 2] {
    let (client, server, remote) = match family {
        Family::V4 => ("10.1.0.2", "10.2.0.2", "10.96.0.1"),
        Family::V6 => ("fd00:1::2", "fd00:2::2", "fd96::1"),
    };
    let packet = |input: &str, to: &str, proto: &str| Packet {
        at_ms,
        input: input.into(),
        src: Some(address(client)),
        dst: Some(address(to)),
        proto: Some(text(proto)),
        sport: Some(700),
        dport: Some(1023),
        len: Some(0),
        ..Packet::default()
    };
    let syn = Packet { flags: Some("SEC".into()), seq: Some(1000), ..packet("c0", server, "tcp") };
    [syn, packet("s0", remote, "udp")]
}
