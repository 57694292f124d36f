//! Tracking a packet (`nf_conntrack_in`): tuple, lookup, new entry, the protocol's judgement.

use super::entry::{Acct, Entry, Proto, Status};
use super::event::EventMask;
use super::explain::Explain;
use super::index::kernel_bucket_of;
use super::{Conntrack, CtCx, CtVerdict, Direction, Knob, Tuple};
use crate::base::{Duration, Hook, Instant, KernelVersion};
use crate::packet::{CtInfo, CtRef, Family, Packet, Skb, proto};
use crate::trace::{DropReason, TraceKind};

/// Buckets that early drop looks at (`NF_CT_EVICTION_RANGE`).
const EVICTION_RANGE: u32 = 8;

/// What the tracker of a protocol says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Part of the connection. What to update is updated.
    Accept,
    /// Part of the connection, which ends here (RST before any answer).
    AcceptAndKill,
    /// The packet loses its connection.
    Invalid,
    /// The entry is of a connection that is over: remove it and start anew.
    Reopen,
}

/// What a tracker may look at.
pub(super) struct Packeted<'a> {
    pub(super) config: &'a super::Config,
    pub(super) kernel: KernelVersion,
    pub(super) packet: &'a Packet,
    pub(super) dir: Direction,
    pub(super) now: Instant,
    /// Whether checksums are looked at: at PREROUTING, unless switched off.
    pub(super) verify: bool,
}

impl Packeted<'_> {
    pub(super) const fn secs(&self, knob: Knob) -> Duration {
        Duration::from_secs(self.config.value(knob) as u64)
    }
}

impl Conntrack {
    /// `nf_conntrack_in`, at PREROUTING and OUTPUT: finds or makes the packet's connection and sets
    /// [`Skb::ct`] and [`Skb::ct_info`].
    ///
    /// A packet that already has a connection (it came over loopback, or is the node's own answer) and one
    /// marked untracked pass unchanged.
    pub fn track(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb) -> CtVerdict {
        if !self.enabled(skb.family()) || skb.ct.is_some() || skb.ct_info == CtInfo::Untracked {
            return CtVerdict::Accept;
        }
        skb.ct_info = CtInfo::None;
        if let Some(done) = self.track_icmp(cx, skb) {
            return done;
        }
        // A reopened connection starts over with its entry gone; it cannot happen twice.
        for _ in 0..2 {
            if let Some(verdict) = self.track_once(cx, skb) {
                return verdict;
            }
        }
        CtVerdict::Drop(DropReason::Conntrack)
    }

    /// Whether checksums are looked at.
    fn verifies(&self, hook: Hook) -> bool {
        hook == Hook::Prerouting && self.config.on(Knob::Checksum)
    }

    /// One attempt; none asks for another.
    fn track_once(&mut self, cx: &mut CtCx<'_>, skb: &mut Skb) -> Option<CtVerdict> {
        let mut explain = Explain::new(cx.trace.on());
        let Some(tuple) = Tuple::of(&skb.packet) else {
            explain.say(|| "INVALID: no transport header that conntrack can read".to_owned());
            return Some(self.invalid(cx, skb, None, explain));
        };
        let (at, dir) = match self.find(&tuple, skb.ct_zone, cx.now) {
            Some(found) => found,
            None => match self.create(cx.now, tuple, skb.ct_zone) {
                Ok(at) => {
                    if let (Some(bits), Some(entry)) = (skb.ct_events, self.entry_mut(at)) {
                        entry.announced = EventMask::from_bits(bits);
                    }
                    (at, Direction::Original)
                }
                Err(NoEntry::NoAnswer) => {
                    explain.say(|| "INVALID: this ICMP type asks nothing that could be answered".to_owned());
                    return Some(self.invalid(cx, skb, None, explain));
                }
                Err(NoEntry::TableFull) => {
                    self.pressed = true;
                    self.stats.drop += 1;
                    cx.trace.record(cx.now, || TraceKind::Conntrack {
                        summary: "nf_conntrack: table full, dropping packet".to_owned(),
                        entry: None,
                        why: explain.why.checks,
                    });
                    return Some(CtVerdict::Drop(DropReason::TableFull));
                }
            },
        };
        let status = self.entry(at).map_or(Status::default(), |e| e.status);
        let info = match dir {
            Direction::Reply => CtInfo::EstablishedReply,
            Direction::Original if status.has(Status::SEEN_REPLY) => CtInfo::Established,
            Direction::Original if status.has(Status::EXPECTED) => CtInfo::Related,
            Direction::Original => CtInfo::New,
        };
        self.attach(skb, at, info);
        if self.verifies(cx.hook) && skb.packet.ip.proto == proto::UDP && skb.family() == Family::V6 {
            skb.summed = Some(skb.unbalanced_sum());
        }
        match self.judge(cx, skb, at, dir, &mut explain) {
            Judgement::Accept => {}
            Judgement::AcceptAndKill => {
                if let Some(entry) = self.entry_mut(at) {
                    entry.count(dir, skb.packet.len_bytes());
                }
                self.kill(at, cx.now);
            }
            Judgement::Invalid => return Some(self.invalid(cx, skb, Some(at), explain)),
            Judgement::Reopen => {
                self.explain(cx, Some(at), explain);
                self.kill(at, cx.now);
                self.detach(skb);
                return None;
            }
        }
        if info == CtInfo::EstablishedReply
            && let Some(entry) = self.entry_mut(at)
            && !entry.status.has(Status::SEEN_REPLY)
        {
            entry.status.set(Status::SEEN_REPLY);
            entry.note(EventMask::REPLY);
        }
        if explain.why.on && explain.summary.is_empty() {
            explain.summary = summary_of(info, status.has(Status::CONFIRMED));
        }
        self.explain(cx, Some(at), explain);
        Some(CtVerdict::Accept)
    }

    fn judge(
        &mut self,
        cx: &CtCx<'_>,
        skb: &Skb,
        at: CtRef,
        dir: Direction,
        explain: &mut Explain,
    ) -> Judgement {
        let p = Packeted {
            config: &self.config,
            kernel: self.kernel,
            packet: &skb.packet,
            dir,
            now: cx.now,
            verify: self.verifies(cx.hook),
        };
        let Some(entry) = self.slots[at.slot as usize].entry.as_mut() else { return Judgement::Invalid };
        match skb.packet.ip.proto {
            proto::TCP => super::tcp::track(&p, entry, explain),
            proto::UDP => super::udp::track(&p, entry, explain),
            proto::UDPLITE => super::udp::track_lite(&p, entry, explain),
            proto::ICMP | proto::ICMPV6 => super::icmp::track_query(&p, entry, explain),
            proto::SCTP => super::sctp::track(&p, entry, explain),
            proto::GRE => super::udp::track_gre(&p, entry, explain),
            _ => {
                entry.refresh(cx.now, p.secs(Knob::GenericTimeout));
                entry.count(dir, skb.packet.len_bytes());
                Judgement::Accept
            }
        }
    }

    /// The packet has no connection; the counter says so.
    fn invalid(
        &mut self,
        cx: &mut CtCx<'_>,
        skb: &mut Skb,
        at: Option<CtRef>,
        explain: Explain,
    ) -> CtVerdict {
        self.explain(cx, at, explain);
        self.detach(skb);
        self.stats.invalid += 1;
        CtVerdict::Accept
    }

    pub(super) fn explain(&self, cx: &mut CtCx<'_>, at: Option<CtRef>, explain: Explain) {
        cx.trace.record(cx.now, || TraceKind::Conntrack {
            summary: explain.summary,
            entry: at.and_then(|at| self.entry(at)).map(|e| e.line(cx.now)),
            why: explain.why.checks,
        });
    }

    /// A new, unconfirmed entry (`init_conntrack`), if the table has room.
    fn create(&mut self, now: Instant, original: Tuple, zone: u16) -> Result<CtRef, NoEntry> {
        let reply = original.invert().ok_or(NoEntry::NoAnswer)?;
        self.sweep(now);
        let max = self.config.value(Knob::Max);
        if max != 0 && self.count() >= max {
            self.collect_if_due(now);
            if self.count() >= max && !self.early_drop(original.hash(zone, self.hash_seed), now) {
                return Err(NoEntry::TableFull);
            }
        }
        let events = self.wants_events().then(EventMask::default);
        Ok(self.allocate(Entry {
            original,
            reply,
            status: Status::default(),
            zone,
            mark: 0,
            labels: 0,
            expires: Instant::ZERO,
            timeout: Duration::ZERO,
            created: now,
            acct: self.config.on(Knob::Acct).then(|| [Acct::default(); 2]),
            confirmed_at: None,
            proto: Proto::None,
            masq_dev: None,
            events,
            announced: EventMask::ALL,
            holders: 0,
        }))
    }

    /// Makes room: all entries that are not ASSURED in the first productive bucket of eight (`early_drop`).
    fn early_drop(&mut self, hash: u64, now: Instant) -> bool {
        let buckets = self.config.value(Knob::Buckets).max(1);
        let first = kernel_bucket_of(hash, buckets);
        for step in 0..EVICTION_RANGE.min(buckets) {
            let bucket = ((u64::from(first) + u64::from(step)) % u64::from(buckets)) as u32;
            let mut victims: Vec<u32> = self.tuples.kernel_bucket(bucket, buckets).map(|n| n / 2).collect();
            victims.retain(|slot| {
                let entry = self.slots[*slot as usize].entry.as_ref();
                entry.is_some_and(|e| !e.status.has(Status::ASSURED) && !e.is_dying())
            });
            // Both tuples of an entry may hang in one bucket.
            victims.sort_unstable();
            victims.dedup();
            if !victims.is_empty() {
                self.stats.early_drop += victims.len() as u64;
                for slot in victims {
                    self.kill_slot(slot, now);
                }
                return true;
            }
        }
        false
    }
}

enum NoEntry {
    /// The tuple has no inverse.
    NoAnswer,
    TableFull,
}

fn summary_of(info: CtInfo, known: bool) -> String {
    let state = info.state_name();
    match info {
        CtInfo::New if known => format!("{state}: no answer seen yet"),
        CtInfo::New => format!("{state}: no entry, one is made, unconfirmed until the last hook"),
        CtInfo::Established => format!("{state}: original direction of an entry that saw answers"),
        CtInfo::EstablishedReply => format!("{state}: matches the reply tuple of an entry"),
        CtInfo::None | CtInfo::Untracked | CtInfo::Related | CtInfo::RelatedReply => state.to_owned(),
    }
}
