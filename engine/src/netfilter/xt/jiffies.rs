//! The kernel's tick, in which `limit`, `hashlimit`, `recent` and `quota` reckon.

use crate::base::Instant;

/// Ticks a second (`CONFIG_HZ`): 250 is the default of the mainline kernel and of Debian's.
pub(super) const HZ: u64 = 250;

/// Ticks since the start of the run.
pub(super) const fn jiffies(now: Instant) -> u64 {
    now.0 / (1_000_000_000 / HZ)
}
