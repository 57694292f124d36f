//! [`NftState`]: what evaluation changes. The program beside it does not change while a packet passes.

use std::sync::Arc;

use super::monitor::Monitor;
use super::set::Elements;
use crate::base::{Instant, Rng};
use crate::conntrack::Tuple;
use crate::netfilter::Counters;

/// Where a stateful statement, expression or object of the program keeps its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Where a named set keeps its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetId(pub u32);

/// A connection that `ct count` counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedConnection {
    /// Its original tuple.
    pub tuple: Tuple,
    pub zone: u16,
    pub added: Instant,
}

/// What one stateful thing remembers.
#[derive(Clone, Debug, Default)]
pub enum StmtState {
    /// A free slot.
    #[default]
    Free,
    Counter(Counters),
    /// A bucket's tokens in nanoseconds, and when they were reckoned; none before the first packet: full.
    Limit(Option<(u64, Instant)>),
    Quota {
        used_bytes: u64,
    },
    /// `numgen inc`: packets seen so far.
    Inc {
        count: u32,
    },
    /// `numgen random`: the stream of draws. Made at its first draw from the seed and the slot.
    Random(Option<Rng>),
    /// `ct count`: the connections counted.
    CtCount(Vec<CountedConnection>),
    /// When it was last reached.
    Last(Option<Instant>),
}

impl PartialEq for StmtState {
    /// Equal as far as listings show.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Counter(a), Self::Counter(b)) => a == b,
            (Self::Quota { used_bytes: a }, Self::Quota { used_bytes: b }) => a == b,
            (Self::Last(a), Self::Last(b)) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

/// The mutable side of a ruleset.
#[derive(Clone, Debug, Default)]
pub struct NftState {
    slots: Vec<StmtState>,
    free_slots: Vec<Slot>,
    /// Shared between copies of a namespace until one of them changes a set.
    sets: Vec<Option<Arc<Elements>>>,
    free_sets: Vec<SetId>,
    /// Traces of packets with `meta nftrace set 1`.
    pub monitor: Monitor,
}

impl NftState {
    /// A slot holding `state`.
    pub fn allocate(&mut self, state: StmtState) -> Slot {
        if let Some(slot) = self.free_slots.pop() {
            self.slots[slot.0 as usize] = state;
            return slot;
        }
        self.slots.push(state);
        Slot(self.slots.len() as u32 - 1)
    }

    /// Gives a slot back. Nothing of the program may name it any more.
    pub fn release(&mut self, slot: Slot) {
        if let Some(state) = self.slots.get_mut(slot.0 as usize)
            && !matches!(state, StmtState::Free)
        {
            *state = StmtState::Free;
            self.free_slots.push(slot);
        }
    }

    pub fn get(&self, slot: Slot) -> &StmtState {
        self.slots.get(slot.0 as usize).unwrap_or(&StmtState::Free)
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut StmtState> {
        self.slots.get_mut(slot.0 as usize)
    }

    /// A place for the elements of a new set.
    pub fn allocate_set(&mut self) -> SetId {
        if let Some(id) = self.free_sets.pop() {
            self.sets[id.0 as usize] = Some(Arc::default());
            return id;
        }
        self.sets.push(Some(Arc::default()));
        SetId(self.sets.len() as u32 - 1)
    }

    pub fn release_set(&mut self, id: SetId) {
        if let Some(set) = self.sets.get_mut(id.0 as usize)
            && set.take().is_some()
        {
            self.free_sets.push(id);
        }
    }

    /// The elements of a set; none when it was released.
    pub fn elements(&self, id: SetId) -> Option<&Elements> {
        self.sets.get(id.0 as usize)?.as_deref()
    }

    /// The elements of a set, to change; copies them first if another copy of the namespace shares them.
    pub fn elements_mut(&mut self, id: SetId) -> Option<&mut Elements> {
        self.sets.get_mut(id.0 as usize)?.as_mut().map(Arc::make_mut)
    }
}
