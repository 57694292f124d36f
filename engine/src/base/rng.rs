//! Seeded randomness. Every consumer takes its own named fork of the scenario's seed, so a new draw in one
//! place never shifts the draws of another.

use std::collections::VecDeque;

use super::Fnv;

/// SplitMix64: 64 bits of state, passes BigCrush, four lines. Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream called `name` under `seed`. Same pair, same stream, in every build.
    pub fn named(seed: u64, name: &str) -> Self {
        // One step more spreads neighbouring seeds.
        let mut rng = Self::new(seed ^ Fnv::of(name.as_bytes()));
        Self::new(rng.next_u64())
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 uniform bits, the kernel's `get_random_u32()`.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A uniform number below `bound`, the kernel's `get_random_u32_below()`; zero when `bound` is zero.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(bound)) >> 32) as u32
    }
}

/// Draws that a scenario supplies in place of random ones (`"draws"` of the replay contract).
///
/// `statistic --mode random` and `numgen random` consume them in order; when none is left they fall back to
/// their own stream.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    supplied: VecDeque<f64>,
}

impl Draws {
    /// `values` are uniform draws in `0.0..1.0`; others are clamped into that range.
    pub fn supplied(values: impl IntoIterator<Item = f64>) -> Self {
        Self { supplied: values.into_iter().collect() }
    }

    /// The next 32 bits for a random draw of `own`.
    pub fn next_u32(&mut self, own: &mut Rng) -> u32 {
        match self.supplied.pop_front() {
            // The draw u stands for the whole range of 2^32 values: floor(u * 2^32).
            Some(u) => (u.clamp(0.0, 1.0) * 4_294_967_296.0).min(4_294_967_295.0) as u32,
            None => own.next_u32(),
        }
    }

    /// The next 31 bits: what `xt_statistic` compares with its probability.
    pub fn next_u31(&mut self, own: &mut Rng) -> u32 {
        match self.supplied.pop_front() {
            Some(u) => (u.clamp(0.0, 1.0) * 2_147_483_648.0).min(2_147_483_647.0) as u32,
            None => own.next_u32() & 0x7fff_ffff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_of_one_seed_are_independent_and_stable() {
        let mut a = Rng::named(1, "isn");
        let mut b = Rng::named(1, "nat-port");
        assert_ne!(a.next_u64(), b.next_u64());
        assert_eq!(Rng::named(7, "isn"), Rng::named(7, "isn"));
    }

    #[test]
    fn supplied_draws_come_first_then_the_own_stream() {
        let mut draws = Draws::supplied([0.5, 1.0]);
        let mut own = Rng::new(3);
        assert_eq!(draws.next_u31(&mut own), 1 << 30);
        assert_eq!(draws.next_u31(&mut own), 0x7fff_ffff);
        let mut twin = Rng::new(3);
        assert_eq!(draws.next_u31(&mut own), twin.next_u32() & 0x7fff_ffff);
    }
}
