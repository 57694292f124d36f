//! ICMP and ICMPv6: queries get entries, errors join the connection of the packet they quote
//! (`nf_conntrack_proto_icmp.c`, `nf_conntrack_proto_icmpv6.c`).

use std::net::IpAddr;

use super::entry::Entry;
use super::explain::Explain;
use super::quoted::Quoted;
use super::track::{Judgement, Packeted};
use super::{Conntrack, CtCx, CtVerdict, Direction, Knob, L4Part};
use crate::base::Hook;
use crate::packet::{CtInfo, Family, Icmp, L4, Skb, proto};

/// Highest ICMP type the kernel knows (`NR_ICMP_TYPES`).
const ICMP_TYPES: u8 = 18;

/// Whether an ICMPv4 type reports an error: unreachable, source quench, redirect, time exceeded, parameter
/// problem (`icmp_is_err`).
pub(super) const fn v4_is_error(kind: u8) -> bool {
    matches!(kind, 3 | 4 | 5 | 11 | 12)
}

impl Conntrack {
    /// `nf_conntrack_handle_icmp`: what is decided before any tuple is looked up. None: go on as with every
    /// packet.
    pub(super) fn track_icmp(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb) -> Option<CtVerdict> {
        let family = skb.family();
        let own = match family {
            Family::V4 => proto::ICMP,
            Family::V6 => proto::ICMPV6,
        };
        if skb.packet.ip.proto != own || skb.packet.is_later_fragment() {
            return None;
        }
        let verify = cx.hook == Hook::Prerouting && self.config.on(Knob::Checksum);
        let icmp = match &skb.packet.l4 {
            L4::Icmp(icmp) => icmp,
            _ => return Some(self.icmp_error(cx, "short packet")),
        };
        if verify && !icmp.checksum_ok {
            return Some(self.icmp_error(cx, "bad checksum"));
        }
        match family {
            Family::V4 if icmp.kind > ICMP_TYPES => Some(self.icmp_error(cx, "invalid icmp type")),
            Family::V4 if v4_is_error(icmp.kind) => Some(self.relate(cx, skb)),
            Family::V4 => None,
            // Neighbour discovery and multicast listener messages are nobody's connection.
            Family::V6 if matches!(icmp.kind, 130..=136 | 143) => {
                skb.ct_info = CtInfo::Untracked;
                let mut explain = Explain::new(cx.trace.on());
                explain.say(|| "UNTRACKED: neighbour discovery is not tracked".to_owned());
                self.explain(cx, None, explain);
                Some(CtVerdict::Accept)
            }
            Family::V6 if icmp.kind < 128 => Some(self.relate(cx, skb)),
            Family::V6 => None,
        }
    }

    /// `nf_conntrack_inet_error`: attaches an error to the connection of the packet it quotes.
    fn relate(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb) -> CtVerdict {
        let L4::Icmp(Icmp { payload, .. }) = &skb.packet.l4 else {
            return self.icmp_error(cx, "short packet");
        };
        // The quoted packet went the other way: its inverse is the tuple that travels like this error.
        let inverse = Quoted::parse(payload, skb.family()).and_then(|q| q.tuple.invert());
        let Some(tuple) = inverse else {
            return self.icmp_error(cx, "the quoted packet is cut or asks nothing");
        };
        let Some((at, dir)) = self.find(&tuple, skb.ct_zone, cx.now) else {
            return self.icmp_error(cx, "no connection for the quoted packet");
        };
        let wanted: IpAddr = tuple.dst;
        let mut explain = Explain::new(cx.trace.on());
        if !explain.check(
            skb.packet.ip.dst == wanted,
            "outer destination",
            || skb.packet.ip.dst.to_string(),
            || wanted.to_string(),
        ) {
            return self.icmp_error(cx, "the error is not addressed to the sender of the quoted packet");
        }
        let info = match dir {
            Direction::Original => CtInfo::Related,
            Direction::Reply => CtInfo::RelatedReply,
        };
        self.attach(skb, at, info);
        explain.say(|| "RELATED: an error about a packet of this connection".to_owned());
        self.explain(cx, Some(at), explain);
        CtVerdict::Accept
    }

    /// An ICMP message without a connection: counted as `error`, INVALID for rules.
    fn icmp_error(&mut self, cx: &mut CtCx<'_>, why: &str) -> CtVerdict {
        self.stats.error += 1;
        let mut explain = Explain::new(cx.trace.on());
        explain.say(|| format!("INVALID: {why}"));
        self.explain(cx, None, explain);
        CtVerdict::Accept
    }
}

/// A query or its answer: entries are made by requests only, live 30 s and are never ASSURED.
pub(super) fn track_query(p: &Packeted<'_>, entry: &mut Entry, explain: &mut Explain) -> Judgement {
    let (own, timeout) = match p.packet.family() {
        Family::V4 => (proto::ICMP, Knob::IcmpTimeout),
        Family::V6 => (proto::ICMPV6, Knob::Icmpv6Timeout),
    };
    let asks = match (p.packet.ip.proto, entry.original.l4) {
        (number, L4Part::Icmp { kind, .. }) if number == own => match p.packet.family() {
            Family::V4 => matches!(kind, 8 | 13 | 15 | 17),
            Family::V6 => matches!(kind, 128 | 139),
        },
        _ => false,
    };
    if !explain.check(asks, "icmp type", || asks.to_string(), || "a request makes the entry".to_owned()) {
        explain.say(|| "INVALID: an answer to a request nobody saw".to_owned());
        return Judgement::Invalid;
    }
    entry.refresh(p.now, p.secs(timeout));
    entry.count(p.dir, p.packet.len_bytes());
    Judgement::Accept
}
