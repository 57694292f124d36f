//! Applying mappings to packets (`nf_nat_packet`, `nf_nat_manip_pkt`, `nf_nat_icmp_reply_translation`).

use super::entry::Status;
use super::icmp::v4_is_error;
use super::quoted::Quoted;
use super::{Conntrack, CtCx, CtVerdict, Direction, L4Part, Manip, Tuple};
use crate::base::Hook;
use crate::packet::{CtInfo, Family, L4, Packet, Skb, proto};
use crate::trace::{Change, DropReason, TraceKind};

/// `HOOK2MANIP`.
const fn manip_at(hook: Hook) -> Manip {
    match hook {
        Hook::Postrouting | Hook::Input => Manip::Src,
        Hook::Prerouting | Hook::Output | Hook::Forward => Manip::Dst,
    }
}

impl Conntrack {
    /// Rewrites the packet as its connection's mapping wants it at this hook. Replies are translated at the
    /// opposite hook, without any rule being asked; packets without a connection are never touched.
    pub fn nat_apply(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb) -> CtVerdict {
        let Some(at) = skb.ct else { return CtVerdict::Accept };
        let Some(entry) = self.entry(at) else { return CtVerdict::Accept };
        let dir = if skb.ct_info.is_reply() { Direction::Reply } else { Direction::Original };
        let manip = manip_at(cx.hook);
        let related_icmp = matches!(skb.ct_info, CtInfo::Related | CtInfo::RelatedReply)
            && matches!(skb.packet.ip.proto, proto::ICMP | proto::ICMPV6);
        // The interface that a masqueraded connection leaves through may not change under it.
        if !related_icmp
            && cx.hook == Hook::Postrouting
            && dir == Direction::Original
            && let Some(dev) = entry.masq_dev
            && skb.outdev.is_some_and(|out| out != dev)
        {
            self.kill(at, cx.now);
            return CtVerdict::Drop(DropReason::Conntrack);
        }
        let applies = match (manip, dir) {
            (Manip::Src, Direction::Original) | (Manip::Dst, Direction::Reply) => Status::SRC_NAT,
            (Manip::Dst, Direction::Original) | (Manip::Src, Direction::Reply) => Status::DST_NAT,
        };
        let (status, opposite) = (entry.status, *entry.tuple(dir.other()));
        let before = (cx.trace.on() && status.has(applies)).then(|| skb.packet.clone());
        if status.has(applies) {
            skb.make_writable(match skb.packet.ip.proto {
                proto::TCP => 20,
                proto::SCTP => 12,
                _ => 8,
            });
        }
        let done = if related_icmp {
            translate_error(skb, status, applies, &opposite, manip)
        } else if status.has(applies) {
            opposite.invert().is_none_or(|target| mangle(&mut skb.packet, &target, manip))
        } else {
            true
        };
        if let Some(before) = before {
            let changes = changes(&before, &skb.packet);
            if !changes.is_empty() {
                let by = if dir == Direction::Reply { "nat (reply)" } else { "nat" };
                cx.trace.record(cx.now, || TraceKind::Rewrite { by: by.to_owned(), changes });
            }
        }
        if done { CtVerdict::Accept } else { CtVerdict::Drop(DropReason::Conntrack) }
    }
}

/// Sets source or destination of the packet to those of `target`. False when a header is too short.
fn mangle(packet: &mut Packet, target: &Tuple, manip: Manip) -> bool {
    if let L4::Truncated(_) = packet.l4 {
        return false;
    }
    match manip {
        Manip::Src => packet.ip.src = target.src,
        Manip::Dst => packet.ip.dst = target.dst,
    }
    // Only the first piece has the ports (`nf_nat_ipv6_manip_pkt`).
    if packet.is_later_fragment() {
        return true;
    }
    match (&mut packet.l4, target.l4, manip) {
        (L4::Icmp(icmp), L4Part::Icmp { id, .. }, _) => {
            [icmp.rest[0], icmp.rest[1]] = id.to_be_bytes();
        }
        (L4::Raw(bytes), L4Part::Ports { src, dst }, _) => {
            let (at, port) = match manip {
                Manip::Src => (0, src),
                Manip::Dst => (2, dst),
            };
            let Some(field) = bytes.get_mut(at..at + 2) else { return false };
            field.copy_from_slice(&port.to_be_bytes());
        }
        (_, L4Part::Ports { src, .. }, Manip::Src) => packet.set_sport(src),
        (_, L4Part::Ports { dst, .. }, Manip::Dst) => packet.set_dport(dst),
        (_, L4Part::Icmp { .. } | L4Part::Gre { .. } | L4Part::None, _) => {}
    }
    true
}

/// An ICMP error about a mapped connection: the quoted header is translated back, the outer addresses as
/// those of an answer.
fn translate_error(skb: &mut Skb, status: Status, applies: Status, opposite: &Tuple, manip: Manip) -> bool {
    let family = skb.family();
    let L4::Icmp(icmp) = &mut skb.packet.l4 else { return false };
    if !icmp.checksum_ok {
        return false;
    }
    let redirect = match family {
        Family::V4 => icmp.kind == 5,
        Family::V6 => icmp.kind == 137,
    };
    // A redirect speaks of addresses the other side never saw: it is dropped for mapped connections.
    let both_done = status.has(Status::SRC_NAT_DONE) && status.has(Status::DST_NAT_DONE);
    if redirect && (!both_done || status.has(Status::SRC_NAT.with(Status::DST_NAT))) {
        return false;
    }
    if !status.has(applies) {
        return true;
    }
    let inner_manip = match manip {
        Manip::Src => Manip::Dst,
        Manip::Dst => Manip::Src,
    };
    debug_assert!(family == Family::V6 || v4_is_error(icmp.kind), "only errors are RELATED");
    let Some(quoted) = Quoted::parse(&icmp.payload, family) else { return false };
    if !quoted.mangle(&mut icmp.payload, opposite, inner_manip) {
        return false;
    }
    let Some(target) = opposite.invert() else { return false };
    match manip {
        Manip::Src => skb.packet.ip.src = target.src,
        Manip::Dst => skb.packet.ip.dst = target.dst,
    }
    true
}

/// What differs between the packet before and after.
fn changes(before: &Packet, after: &Packet) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut note = |field, before: String, after: String| {
        if before != after {
            changes.push(Change { field, before, after });
        }
    };
    note("src", before.ip.src.to_string(), after.ip.src.to_string());
    note("dst", before.ip.dst.to_string(), after.ip.dst.to_string());
    if let (Some(old), Some(new)) = (before.ports(), after.ports()) {
        note("sport", old.0.to_string(), new.0.to_string());
        note("dport", old.1.to_string(), new.1.to_string());
    }
    if let (L4::Icmp(old), L4::Icmp(new)) = (&before.l4, &after.l4) {
        note("id", old.id().to_string(), new.id().to_string());
        let family = before.family();
        if old.payload != new.payload
            && let (Some(old), Some(new)) =
                (Quoted::parse(&old.payload, family), Quoted::parse(&new.payload, family))
        {
            note("quoted src", old.tuple.src.to_string(), new.tuple.src.to_string());
            note("quoted dst", old.tuple.dst.to_string(), new.tuple.dst.to_string());
            if let (L4Part::Ports { .. }, L4Part::Ports { .. }) = (old.tuple.l4, new.tuple.l4) {
                note("quoted sport", old.tuple.l4.src().to_string(), new.tuple.l4.src().to_string());
                note("quoted dport", old.tuple.l4.dst().to_string(), new.tuple.l4.dst().to_string());
            }
        }
    }
    changes
}
