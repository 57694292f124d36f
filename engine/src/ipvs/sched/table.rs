//! The walk that `sh` and `mh` share: a slot by a hash of the client's source, and with the fallback flag the slots
//! after it until one may be used.

use super::{SchedCx, SchedFlags};
use crate::ipvs::dest::DestId;

impl SchedCx<'_> {
    /// The source port that is hashed beside the address: zero without `sh-port` or `mh-port`.
    pub(super) fn hashed_port(&self) -> u16 {
        if self.flags.has(SchedFlags::PORT) { self.client.sport } else { 0 }
    }

    /// The destination in `slots` at `slot_at(0)`. If it may not be used and the service has the scheduler's fallback
    /// flag, `slot_at` is asked with each offset from that slot on, around the table.
    pub(super) fn by_source(
        &mut self,
        scheduler: &str,
        slots: &[DestId],
        slot_at: impl Fn(u32) -> u32,
    ) -> Option<DestId> {
        let count = slots.len() as u32;
        let list = self.list;
        let get = |slot: u32| slots.get(slot as usize).and_then(|id| list.get(*id));
        let first = slot_at(0);
        let dest = get(first)?;
        let hashed = if self.hashed_port() == 0 { "source address" } else { "source address and port" };
        self.why.score(dest.id, || format!("slot {first}"));
        self.why.say(|| format!("the {hashed} hashes to slot {first} of {count}"));
        if !self.why.skips(dest) {
            return Some(dest.id);
        }
        if !self.flags.has(SchedFlags::FALLBACK) {
            return None;
        }
        for offset in 0..count {
            let slot = slot_at((offset + first) % count);
            let dest = get(slot)?;
            if !self.why.skips(dest) {
                self.why.score(dest.id, || format!("slot {slot}"));
                self.why.say(|| {
                    format!("slot {first} is not available; {scheduler}-fallback goes on to slot {slot}")
                });
                return Some(dest.id);
            }
        }
        None
    }
}
