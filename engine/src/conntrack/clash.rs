//! Clash resolution at confirm (`nf_ct_resolve_clash`): another packet's entry got there first.

use super::entry::{Entry, Status};
use super::{Conntrack, CtCx, CtVerdict, Direction};
use crate::base::{Duration, KernelVersion};
use crate::packet::{CtInfo, CtRef, Skb, proto};
use crate::trace::{DropReason, TraceKind};

/// How long the loser of a clash lives when it is hashed under its reply tuple alone.
const CLASH_TIMEOUT: Duration = Duration::from_secs(1);

const NAT_DONE: Status = Status::SRC_NAT_DONE.with(Status::DST_NAT_DONE);

impl Conntrack {
    /// Settles that `loser` wants a tuple (`clashing`: original or reply) that `winner` already has.
    pub(super) fn resolve_clash(
        &mut self,
        cx: &mut CtCx<'_>,
        skb: &mut Skb,
        loser: CtRef,
        winner: CtRef,
        clashing: &str,
    ) -> CtVerdict {
        self.mark_failed(loser);
        let protocol = skb.packet.ip.proto;
        if clash_allowed(protocol, self.kernel) && self.merge_or_hide(cx, skb, loser, winner) {
            self.stats.clash_resolve += 1;
            return CtVerdict::Accept;
        }
        self.stats.drop += 1;
        self.stats.insert_failed += 1;
        cx.trace.record(cx.now, || TraceKind::Conntrack {
            summary: format!(
                "insert_failed: another entry already has the {clashing} tuple; the packet is dropped"
            ),
            entry: self.entry(winner).map(|e| e.line(cx.now)),
            why: Vec::new(),
        });
        CtVerdict::Drop(DropReason::InsertFailed)
    }

    fn merge_or_hide(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb, loser: CtRef, winner: CtRef) -> bool {
        if self.merge(cx, skb, loser, winner) {
            return true;
        }
        // Step 2 came after 5.6.
        let Some((reply, zone)) = self.entry(loser).map(|e| (e.reply, e.zone)) else { return false };
        if let Some((holder, _)) = self.find(&reply, zone, cx.now) {
            return self.merge(cx, skb, loser, holder);
        }
        if let Some(entry) = self.entry_mut(loser) {
            entry.timeout = CLASH_TIMEOUT;
            entry.status.set(Status::FIXED_TIMEOUT.with(Status::NAT_CLASH).with(Status::CONFIRMED));
        }
        self.hash_entry(loser, cx.now, &[Direction::Reply]);
        cx.trace.record(cx.now, || TraceKind::Conntrack {
            summary:
                "clash resolved: hashed under the reply tuple alone, for one second, so that the answer \
                      still finds its way"
                    .to_owned(),
            entry: self.entry(loser).map(|e| e.line(cx.now)),
            why: Vec::new(),
        });
        true
    }

    /// The packet adopts the winner if both describe the same flow.
    fn merge(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb, loser: CtRef, winner: CtRef) -> bool {
        let (Some(lost), Some(won)) = (self.entry(loser), self.entry(winner)) else { return false };
        if won.is_dying() {
            return false;
        }
        let same = !won.status.has(NAT_DONE) || same_flow(lost, won);
        let mirrored = self.kernel >= KernelVersion::V6_12 && mirror_flow(lost, won);
        if !same && !mirrored {
            return false;
        }
        let counted = lost.acct;
        if let Some(entry) = self.entry_mut(winner)
            && let (Some(mine), Some(theirs)) = (&mut entry.acct, counted)
        {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                mine.packets += theirs.packets;
                mine.bytes += theirs.bytes;
            }
        }
        let info = if mirrored { CtInfo::EstablishedReply } else { skb.ct_info };
        self.release(skb);
        self.attach(skb, winner, info);
        cx.trace.record(cx.now, || TraceKind::Conntrack {
            summary: "clash resolved: the packet adopts the entry that was there first".to_owned(),
            entry: self.entry(winner).map(|e| e.line(cx.now)),
            why: Vec::new(),
        });
        true
    }
}

fn same_flow(a: &Entry, b: &Entry) -> bool {
    a.original == b.original && a.reply == b.reply && a.zone == b.zone
}

fn mirror_flow(a: &Entry, b: &Entry) -> bool {
    a.original == b.reply && a.reply == b.original && a.zone == b.zone
}

/// Protocols whose tracker allows it (`allow_clash`). TCP never does: the SYN is sent again and finds the
/// winner.
pub(super) fn clash_allowed(protocol: u8, kernel: KernelVersion) -> bool {
    match protocol {
        proto::UDP | proto::UDPLITE | proto::GRE => true,
        proto::ICMP | proto::ICMPV6 => kernel >= KernelVersion::V7_2,
        proto::TCP | proto::SCTP | proto::DCCP => false,
        _ => kernel >= KernelVersion::V7_2,
    }
}
