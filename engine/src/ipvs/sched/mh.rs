//! `mh`: Maglev hashing (`ip_vs_mh.c`; Eisenbud and others, NSDI 2016, 3.4).
//!
//! Every destination walks the table of a prime size from its own offset by its own step, and takes the first free
//! slots, `turns` at a time. A destination that leaves frees its slots, and few others move. The table is built on
//! the last weight above zero: quiescing a server changes no slot.

use std::net::IpAddr;

use super::hash::{fold, gcd, hsiphash_1u32};
use super::{List, SchedCx};
use crate::ipvs::dest::DestId;

/// Slots: the prime for `CONFIG_IP_VS_MH_TAB_INDEX` 12, as distributions build it.
pub(super) const SLOTS: u32 = 4093;
/// `IP_VS_MH_TAB_BITS`: half the table's index.
const TURN_BITS: u32 = 6;
/// Fixed keys of the two hashes.
const KEY_1: [u64; 2] = [2_654_435_761; 2];
const KEY_2: [u64; 2] = [2_654_446_892; 2];

#[derive(Clone, Debug, Default)]
pub struct Mh {
    /// Empty while every destination's last weight is zero.
    slots: Vec<DestId>,
}

/// One destination's way through the table.
struct Walk {
    dest: DestId,
    at: u32,
    step: u32,
    turns: u32,
}

impl Mh {
    pub(super) fn assign(&mut self, list: List<'_>) {
        self.slots.clear();
        let weights = || list.iter().map(|d| d.last_weight).filter(|w| *w > 0);
        let divisor = weights().fold(0, gcd);
        if divisor == 0 {
            return;
        }
        let largest = weights().max().unwrap_or(0) / divisor;
        let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(TURN_BITS);
        let mut walks: Vec<Walk> = list
            .iter()
            .map(|dest| Walk {
                dest: dest.id,
                at: key(dest.addr, dest.port, 0, KEY_1) % SLOTS,
                step: key(dest.addr, dest.port, 0, KEY_2) % (SLOTS - 1) + 1,
                turns: ((dest.last_weight / divisor) >> shift).max(u32::from(dest.last_weight > 0)),
            })
            .filter(|walk| walk.turns > 0)
            .collect();
        let mut table: Vec<Option<DestId>> = vec![None; SLOTS as usize];
        let mut free = SLOTS;
        'full: loop {
            for walk in &mut walks {
                for _ in 0..walk.turns {
                    // A prime size and a step below it: the walk meets every slot.
                    while table[walk.at as usize].is_some() {
                        walk.at = (walk.at + walk.step) % SLOTS;
                    }
                    table[walk.at as usize] = Some(walk.dest);
                    free -= 1;
                    if free == 0 {
                        break 'full;
                    }
                }
            }
        }
        self.slots.extend(table.into_iter().flatten());
    }

    /// The table, for figures; empty without destinations.
    pub fn slots(&self) -> &[DestId] {
        &self.slots
    }

    pub(super) fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        let (src, port) = (cx.client.src, cx.hashed_port());
        cx.by_source("mh", &self.slots, |offset| key(src, port, offset, KEY_1) % SLOTS)
    }
}

/// `ip_vs_mh_hashkey`.
fn key(addr: IpAddr, port: u16, offset: u32, secret: [u64; 2]) -> u32 {
    hsiphash_1u32(offset.wrapping_add(u32::from(port)).wrapping_add(fold(addr)), secret)
}
