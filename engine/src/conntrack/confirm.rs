//! Confirming (`nf_confirm`, `__nf_conntrack_confirm`): the entry of a packet that survived all hooks
//! enters the table, and what happened to a known one is told to listeners.

use super::entry::Status;
use super::event::EventMask;
use super::index::kernel_bucket_of;
use super::{Conntrack, CtCx, CtVerdict, Direction, Knob};
use crate::base::Instant;
use crate::packet::{CtRef, Skb};
use crate::trace::{DropReason, TraceKind};

/// Shortest limit of a hash chain (`MIN_CHAINLEN`), and the spread above it (`MAX_CHAINLEN`).
const CHAIN_MIN: u32 = 50;
const CHAIN_SPREAD: u32 = 30;

impl Conntrack {
    /// `nf_confirm`, the last function at INPUT and POSTROUTING.
    pub fn confirm(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb) -> CtVerdict {
        let Some(at) = skb.ct else { return CtVerdict::Accept };
        let Some(entry) = self.entry(at) else { return CtVerdict::Accept };
        // An answer of the node (RST, ICMP error) holds the offender's entry and must not confirm it.
        if !entry.is_confirmed() && !skb.ct_info.is_reply() {
            let verdict = self.insert(cx, skb, at);
            if verdict != CtVerdict::Accept {
                return verdict;
            }
        }
        if let Some(at) = skb.ct {
            self.deliver(at, cx.now);
        }
        CtVerdict::Accept
    }

    fn insert(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb, at: CtRef) -> CtVerdict {
        let Some(entry) = self.entry_mut(at) else { return CtVerdict::Accept };
        entry.status.set(Status::CONFIRMED);
        if entry.is_dying() {
            return self.insert_failed(cx, "its entry was flushed before it was confirmed");
        }
        let (original, reply, zone) = (entry.original, entry.reply, entry.zone);
        let limit = CHAIN_MIN + self.chain_draws.below(CHAIN_SPREAD);
        for (tuple, name) in [(&original, "original"), (&reply, "reply")] {
            if let Some((winner, _)) = self.find(tuple, zone, cx.now) {
                return self.resolve_clash(cx, skb, at, winner, name);
            }
            let hash = tuple.hash(zone, self.hash_seed);
            let buckets = self.config.value(Knob::Buckets).max(1);
            let bucket = kernel_bucket_of(hash, buckets);
            let length = self.tuples.kernel_bucket(bucket, buckets).take(limit as usize + 2).count();
            if length > limit as usize {
                self.stats.chaintoolong += 1;
                self.mark_failed(at);
                self.stats.insert_failed += 1;
                return CtVerdict::Drop(DropReason::InsertFailed);
            }
        }
        self.hash_entry(at, cx.now, &[Direction::Original, Direction::Reply]);
        let stamp = self.config.on(Knob::Timestamp);
        if let Some(entry) = self.entry_mut(at) {
            entry.confirmed_at = stamp.then_some(cx.now);
            entry.note(EventMask::NEW);
        }
        cx.trace.record(cx.now, || TraceKind::Conntrack {
            summary: "confirmed: the entry is in the table now, under both tuples".to_owned(),
            entry: self.entry(at).map(|e| e.line(cx.now)),
            why: Vec::new(),
        });
        CtVerdict::Accept
    }

    /// Links the entry into the table; its timeout starts now.
    pub(super) fn hash_entry(&mut self, at: CtRef, now: Instant, under: &[Direction]) {
        let seed = self.hash_seed;
        let Some(entry) = self.entry_mut(at) else { return };
        entry.expires = now + entry.timeout;
        let hashes = [&entry.original, &entry.reply].map(|t| t.hash(entry.zone, seed));
        for dir in under {
            self.tuples.insert(at.slot * 2 + *dir as u32, hashes[*dir as usize]);
        }
    }

    /// An entry that could not be hashed dies with its packet.
    pub(super) fn mark_failed(&mut self, at: CtRef) {
        if let Some(entry) = self.entry_mut(at) {
            entry.status.clear(Status::CONFIRMED);
            entry.events = None;
        }
    }

    fn insert_failed(&mut self, cx: &mut CtCx<'_>, why: &str) -> CtVerdict {
        self.stats.insert_failed += 1;
        cx.trace.record(cx.now, || TraceKind::Conntrack {
            summary: format!("insert_failed: {why}; the packet is dropped"),
            entry: None,
            why: Vec::new(),
        });
        CtVerdict::Drop(DropReason::InsertFailed)
    }
}
