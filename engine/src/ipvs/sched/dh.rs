//! `dh`: destination hashing (`ip_vs_dh.c`): a slot a destination in turn, weights only in being zero or not.

use super::hash::{fold, hash_32};
use super::{List, SchedCx};
use crate::ipvs::dest::DestId;

/// `CONFIG_IP_VS_DH_TAB_BITS`.
const BITS: u32 = 8;
const SLOTS: u32 = 1 << BITS;

#[derive(Clone, Debug, Default)]
pub struct Dh {
    slots: Vec<DestId>,
}

impl Dh {
    pub(super) fn assign(&mut self, list: List<'_>) {
        self.slots = list.order.iter().copied().cycle().take(SLOTS as usize).collect();
    }

    /// The table, for figures; empty without destinations.
    pub fn slots(&self) -> &[DestId] {
        &self.slots
    }

    pub(super) fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        let slot = hash_32(fold(cx.client.dst), BITS);
        let dest = self.slots.get(slot as usize).and_then(|id| cx.list.get(*id))?;
        cx.why.score(dest.id, || format!("slot {slot}"));
        cx.why.say(|| format!("the destination address hashes to slot {slot} of {SLOTS}"));
        (!cx.why.skips(dest)).then_some(dest.id)
    }
}
