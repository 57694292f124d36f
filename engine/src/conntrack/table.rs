//! [`Conntrack`]: the table of entries of one namespace.

use super::Entry;
use crate::packet::CtRef;

/// All connections of one network namespace.
#[derive(Clone, Debug, Default)]
pub struct Conntrack {
    slots: Vec<Slot>,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: u32,
    entry: Option<Entry>,
}

impl Conntrack {
    /// The entry a packet holds, unless it is gone.
    pub fn entry(&self, at: CtRef) -> Option<&Entry> {
        self.slots.get(at.slot as usize).filter(|s| s.generation == at.generation)?.entry.as_ref()
    }

    pub fn entry_mut(&mut self, at: CtRef) -> Option<&mut Entry> {
        self.slots.get_mut(at.slot as usize).filter(|s| s.generation == at.generation)?.entry.as_mut()
    }
}
