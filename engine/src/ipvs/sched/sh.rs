//! `sh`: source hashing (`ip_vs_sh.c`).
//!
//! A table of 256 slots is filled with runs of `weight` slots a destination, over and over. A destination of weight
//! zero keeps one slot, whose clients are refused: unless `sh-fallback` looks for them elsewhere.

use super::hash::{fold, hash_32};
use super::{List, SchedCx};
use crate::ipvs::dest::DestId;

/// `CONFIG_IP_VS_SH_TAB_BITS`.
const BITS: u32 = 8;
pub(super) const SLOTS: u32 = 1 << BITS;

#[derive(Clone, Debug, Default)]
pub struct Sh {
    /// Empty while there is no destination.
    slots: Vec<DestId>,
}

impl Sh {
    pub(super) fn assign(&mut self, list: List<'_>) {
        self.slots.clear();
        let mut run = list.iter().flat_map(|dest| (0..dest.weight.max(1)).map(|_| dest.id)).peekable();
        if run.peek().is_none() {
            return;
        }
        // Runs longer than the table are cut: collecting it whole is never needed.
        let once: Vec<DestId> = run.take(SLOTS as usize).collect();
        self.slots = once.iter().copied().cycle().take(SLOTS as usize).collect();
    }

    /// The table, for figures; empty without destinations.
    pub fn slots(&self) -> &[DestId] {
        &self.slots
    }

    pub(super) fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        let hash = hash_32(fold(cx.client.src).wrapping_add(u32::from(cx.hashed_port())), BITS);
        cx.by_source("sh", &self.slots, |offset| (offset + hash) % SLOTS)
    }
}
