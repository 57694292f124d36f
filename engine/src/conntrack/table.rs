//! [`Conntrack`]: the table of entries of one namespace: slots, lookup, expiry, removal.

use super::entry::{Entry, Status};
use super::event::{CtEvent, EventKind, EventMask};
use super::index::Index;
use super::{Config, Direction, Knob, Stats, Tuple};
use crate::base::{Duration, Instant, KernelVersion, Rng};
use crate::packet::{CtInfo, CtRef, Family, Skb};

/// Slots that a new connection looks at to free expired entries: the background worker's share.
const SWEEP_PER_NEW: usize = 2;

/// Shortest interval of the background worker (`GC_SCAN_INTERVAL_MIN`).
const COLLECT_EVERY: Duration = Duration::from_secs(1);

/// All connections of one network namespace.
#[derive(Clone, Debug)]
pub struct Conntrack {
    pub config: Config,
    pub stats: Stats,
    pub(super) kernel: KernelVersion,
    pub(super) slots: Vec<Slot>,
    free: Vec<u32>,
    /// Confirmed entries under both tuples: node = slot * 2 + direction.
    pub(super) tuples: Index,
    /// Entries with a source mapping, by the source of their original tuple (`nf_nat_bysource`).
    pub(super) sources: Index,
    pub(super) hash_seed: u64,
    pub(super) port_draws: Rng,
    pub(super) chain_draws: Rng,
    enabled: [bool; 2],
    listening: bool,
    events: Vec<CtEvent>,
    /// Entries allocated, unconfirmed and dying ones included (`nf_conntrack_count`).
    count: u32,
    sweep_at: usize,
    collected_at: Instant,
    /// The table was full: the background worker is to make room.
    pub(super) pressed: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) entry: Option<Entry>,
}

impl Default for Conntrack {
    fn default() -> Self {
        Self::new(KernelVersion::default(), 0)
    }
}

impl Conntrack {
    /// An empty table that imitates `kernel`. Random choices (ports, chain limits) come from forks of `seed`.
    pub fn new(kernel: KernelVersion, seed: u64) -> Self {
        Self {
            config: Config::default(),
            stats: Stats::default(),
            kernel,
            slots: Vec::new(),
            free: Vec::new(),
            tuples: Index::default(),
            sources: Index::default(),
            hash_seed: Rng::named(seed, "conntrack-hash").next_u64(),
            port_draws: Rng::named(seed, "nat-port"),
            chain_draws: Rng::named(seed, "conntrack-chain"),
            enabled: [false; 2],
            listening: false,
            events: Vec::new(),
            count: 0,
            sweep_at: 0,
            collected_at: Instant::ZERO,
            pressed: false,
        }
    }

    pub const fn kernel(&self) -> KernelVersion {
        self.kernel
    }

    /// Whether packets of this family are tracked at all. Tracking is off until a rule needs it
    /// (`nf_ct_netns_get`); until then [`Self::track`] lets everything pass untouched.
    pub const fn enabled(&self, family: Family) -> bool {
        self.enabled[family as usize]
    }

    pub const fn set_enabled(&mut self, family: Family, on: bool) {
        self.enabled[family as usize] = on;
    }

    /// The entry a packet holds, unless it is gone.
    pub fn entry(&self, at: CtRef) -> Option<&Entry> {
        self.slots.get(at.slot as usize).filter(|s| s.generation == at.generation)?.entry.as_ref()
    }

    pub fn entry_mut(&mut self, at: CtRef) -> Option<&mut Entry> {
        self.slots.get_mut(at.slot as usize).filter(|s| s.generation == at.generation)?.entry.as_mut()
    }

    /// Sets the connection mark, and tells listeners if it changed (CONNMARK, `ct mark set`).
    pub fn set_mark(&mut self, at: CtRef, mark: u32) {
        if let Some(entry) = self.entry_mut(at)
            && entry.mark != mark
        {
            entry.mark = mark;
            entry.note(EventMask::MARK);
        }
    }

    /// The confirmed entries that live at `now`, in the order of their slots: what `conntrack -L` can list.
    ///
    /// The kernel lists in the order of its (randomly seeded) hash; any order is one it may show.
    pub fn entries(&self, now: Instant) -> impl Iterator<Item = &Entry> {
        self.refs(now).filter_map(|at| self.entry(at))
    }

    /// Handles of what [`Self::entries`] lists.
    pub fn refs(&self, now: Instant) -> impl Iterator<Item = CtRef> + '_ {
        self.slots.iter().enumerate().filter_map(move |(slot, s)| {
            let entry = s.entry.as_ref()?;
            // An entry hashed under its reply alone hides from dumps.
            let shown = entry.is_confirmed()
                && !entry.is_dying()
                && !entry.is_expired(now)
                && !entry.status.has(Status::NAT_CLASH);
            shown.then_some(CtRef { slot: slot as u32, generation: s.generation })
        })
    }

    /// Number of entries as `conntrack -C` prints it: unconfirmed ones count too, expired ones until they
    /// are collected.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Entry that carries `tuple` in either direction, with the direction (`nf_conntrack_find_get`).
    /// Expired entries on the way are collected.
    pub fn find(&mut self, tuple: &Tuple, zone: u16, now: Instant) -> Option<(CtRef, Direction)> {
        let hash = tuple.hash(zone, self.hash_seed);
        loop {
            let mut expired = None;
            for node in self.tuples.with_hash(hash) {
                let slot = &self.slots[(node / 2) as usize];
                let Some(entry) = &slot.entry else { continue };
                if entry.is_expired(now) {
                    expired = Some(node / 2);
                    break;
                }
                let dir = direction_of(node);
                if entry.tuple(dir) == tuple && entry.zone == zone {
                    return Some((CtRef { slot: node / 2, generation: slot.generation }, dir));
                }
            }
            self.kill_slot(expired?, now);
        }
    }

    /// Removes an entry: DYING first, then the DESTROY event, then out of the hash. Packets that still hold
    /// it keep it until they are gone.
    pub fn kill(&mut self, at: CtRef, now: Instant) -> bool {
        match self.entry(at) {
            Some(entry) if !entry.is_dying() => {
                self.kill_slot(at.slot, now);
                true
            }
            _ => false,
        }
    }

    pub(super) fn kill_slot(&mut self, slot: u32, now: Instant) {
        let Some(entry) = self.slots[slot as usize].entry.as_mut() else { return };
        entry.status.set(Status::DYING);
        if entry.is_confirmed() && entry.events.is_some() && entry.announced.has(EventMask::DESTROY) {
            let entry = entry.clone();
            self.events.push(CtEvent { at: now, kind: EventKind::Destroy, entry });
        }
        self.tuples.remove(slot * 2);
        self.tuples.remove(slot * 2 + 1);
        self.free_if_unheld(slot);
    }

    fn free_if_unheld(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        let gone = s.entry.as_ref().is_some_and(|e| e.holders == 0 && (e.is_dying() || !e.is_confirmed()));
        if gone {
            s.entry = None;
            s.generation = s.generation.wrapping_add(1);
            self.sources.remove(slot);
            self.free.push(slot);
            self.count -= 1;
        }
    }

    /// Stores a new entry in a free slot, held by nobody yet.
    pub(super) fn allocate(&mut self, entry: Entry) -> CtRef {
        self.count += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let s = &mut self.slots[slot as usize];
        s.entry = Some(entry);
        CtRef { slot, generation: s.generation }
    }

    /// Hands the packet a reference to the entry (`nf_ct_set`).
    pub(super) fn attach(&mut self, skb: &mut Skb, at: CtRef, info: CtInfo) {
        if let Some(entry) = self.entry_mut(at) {
            entry.holders += 1;
            skb.ct = Some(at);
            skb.ct_info = info;
        }
    }

    /// A copy of a packet holds the entry, too (`nf_copy`).
    pub fn share(&mut self, copy: &mut Skb) {
        if let Some(at) = copy.ct.take() {
            self.attach(copy, at, copy.ct_info);
        }
    }

    /// The packet is gone: an unconfirmed entry dies with it. A second call does nothing.
    ///
    /// [`Skb::ct_info`] stays, so that one can still tell what the packet was.
    pub fn release(&mut self, skb: &mut Skb) {
        let Some(at) = skb.ct.take() else { return };
        if let Some(entry) = self.entry_mut(at) {
            entry.holders = entry.holders.saturating_sub(1);
            self.free_if_unheld(at.slot);
        }
    }

    /// Takes the connection away from the packet: it is INVALID from here on.
    pub(super) fn detach(&mut self, skb: &mut Skb) {
        self.release(skb);
        skb.ct_info = CtInfo::None;
    }

    /// Gives an answer that the node makes itself (RST, ICMP error) the connection of the packet it answers,
    /// as RELATED in the other direction (`nf_ct_attach`).
    ///
    /// The answer to an untracked packet carries the state without a connection: rules see it as INVALID, but
    /// a NOTRACK in raw leaves it alone, and it is tracked.
    pub fn attach_answer(&mut self, answer: &mut Skb, offender: &Skb) {
        match offender.ct {
            Some(at) => {
                let info = if offender.ct_info.is_reply() { CtInfo::Related } else { CtInfo::RelatedReply };
                self.attach(answer, at, info);
            }
            None if offender.ct_info == CtInfo::Untracked => answer.ct_info = CtInfo::Related,
            None => {}
        }
    }

    /// A full table: the background worker would have collected what expired in the last second.
    pub(super) fn collect_if_due(&mut self, now: Instant) {
        if now.since(self.collected_at) < COLLECT_EVERY {
            return;
        }
        self.collect(now);
        if std::mem::take(&mut self.pressed) && self.count() > self.config.value(Knob::Max) / 100 * 95 {
            self.evict(now);
        }
    }

    /// What the background worker removes under pressure: what is not ASSURED, and what is closing even if
    /// it is (`gc_worker_can_early_drop`).
    fn evict(&mut self, now: Instant) {
        let victims: Vec<CtRef> = self
            .refs(now)
            .filter(|at| self.entry(*at).is_some_and(|e| !e.status.has(Status::ASSURED) || e.is_closing()))
            .collect();
        for at in victims {
            self.kill(at, now);
        }
    }

    /// Collects every expired entry, as the background worker does in time.
    pub fn collect(&mut self, now: Instant) {
        self.collected_at = now;
        for slot in 0..self.slots.len() {
            self.collect_slot(slot, now);
        }
    }

    fn collect_slot(&mut self, slot: usize, now: Instant) {
        let due = self.slots[slot]
            .entry
            .as_ref()
            .is_some_and(|e| e.is_confirmed() && !e.is_dying() && e.is_expired(now));
        if due {
            self.kill_slot(slot as u32, now);
        }
    }

    /// A new connection pays for looking at a few slots, so that dead entries never pile up.
    pub(super) fn sweep(&mut self, now: Instant) {
        for _ in 0..SWEEP_PER_NEW.min(self.slots.len()) {
            self.sweep_at = (self.sweep_at + 1) % self.slots.len();
            self.collect_slot(self.sweep_at, now);
        }
    }

    /// `conntrack -F`: removes every confirmed entry. Returns how many.
    pub fn flush(&mut self, now: Instant) -> usize {
        let all: Vec<CtRef> = self.refs(now).collect();
        for at in &all {
            self.kill(*at, now);
        }
        all.len()
    }

    /// Switches the event log: entries born while somebody listens report what happens to them
    /// (`nf_conntrack_events=2`); with 1 all do, with 0 none.
    pub const fn listen(&mut self, on: bool) {
        self.listening = on;
    }

    pub(super) const fn wants_events(&self) -> bool {
        match self.config.value(Knob::Events) {
            0 => false,
            1 => true,
            _ => self.listening,
        }
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<CtEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn deliver(&mut self, at: CtRef, now: Instant) {
        // What a dying entry had to say, its DESTROY event said.
        let Some(entry) = self.entry_mut(at).filter(|e| !e.is_dying()) else { return };
        let Some(pending) = entry.events.filter(|e| !e.is_empty()) else { return };
        entry.events = Some(EventMask::default());
        let kind = if pending.has(EventMask::NEW) { EventKind::New } else { EventKind::Update };
        let entry = entry.clone();
        self.events.push(CtEvent { at: now, kind, entry });
    }
}

pub(super) const fn direction_of(node: u32) -> Direction {
    if node.is_multiple_of(2) { Direction::Original } else { Direction::Reply }
}

impl Conntrack {
    /// REJECT with a RST closes the connection it answers for, if that is confirmed (Linux 6.4 and later).
    pub fn reject_closed(&mut self, skb: &Skb, now: Instant) {
        if self.kernel < KernelVersion::V6_12 {
            return;
        }
        let timeout = Duration::from_secs(u64::from(self.config.value(Knob::TcpClose)));
        if let Some(entry) = skb.ct.and_then(|at| self.entry_mut(at)) {
            super::tcp::set_closing(entry, now, timeout);
        }
    }
}
