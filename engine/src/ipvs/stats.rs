//! [`Stats`]: counters and their rates (`ip_vs_est.c`).
//!
//! Every two seconds the rate since the last look is mixed into the old one, a quarter new. Rates are kept
//! scaled by 2^10 (bytes by 2^5), rounded as the kernel does. The kernel spreads its counters over the two
//! seconds; here all are looked at when the virtual clock shows an even second.

use crate::base::Instant;

const INTERVAL_NS: u64 = 2_000_000_000;
/// Looks after which any 64-bit rate has faded to nothing: a quarter goes each time.
const FADED_AFTER: u64 = 160;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections scheduled.
    pub conns: u64,
    pub in_packets: u64,
    pub out_packets: u64,
    pub in_bytes: u64,
    pub out_bytes: u64,
}

impl Totals {
    const fn fields(&self) -> [u64; 5] {
        [self.conns, self.in_packets, self.out_packets, self.in_bytes, self.out_bytes]
    }

    const fn of([conns, in_packets, out_packets, in_bytes, out_bytes]: [u64; 5]) -> Self {
        Self { conns, in_packets, out_packets, in_bytes, out_bytes }
    }
}

/// Per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    pub conns: u64,
    pub in_packets: u64,
    pub out_packets: u64,
    pub in_bytes: u64,
    pub out_bytes: u64,
}

/// Counters of a destination, of a service, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    counted: Totals,
    /// What `ipvsadm -Z` subtracts.
    zero: Totals,
    /// Counters at the last look.
    seen: Totals,
    /// Scaled rates at the last look.
    scaled: [u64; 5],
    /// Looks so far.
    looks: u64,
}

/// Bits by which rates are scaled; less one because a look covers two seconds.
const SCALE: [u32; 5] = [10, 10, 10, 5, 5];

impl Stats {
    pub fn count_conn(&mut self, now: Instant) {
        self.catch_up(now);
        self.counted.conns += 1;
    }

    pub fn count_in(&mut self, bytes: usize, now: Instant) {
        self.catch_up(now);
        self.counted.in_packets += 1;
        self.counted.in_bytes += bytes as u64;
    }

    pub fn count_out(&mut self, bytes: usize, now: Instant) {
        self.catch_up(now);
        self.counted.out_packets += 1;
        self.counted.out_bytes += bytes as u64;
    }

    /// Since the start or the last [`Self::zero`], as of the last look: users see counters as old as their rates.
    pub fn totals(&self, now: Instant) -> Totals {
        let mut looked = self.clone();
        looked.catch_up(now);
        let (seen, zero) = (looked.seen.fields(), looked.zero.fields());
        Totals::of(std::array::from_fn(|at| seen[at] - zero[at]))
    }

    /// Everything counted so far, whether users see it yet or not.
    pub const fn counted(&self) -> Totals {
        self.counted
    }

    pub fn rates(&self, now: Instant) -> Rates {
        let mut looked = self.clone();
        looked.catch_up(now);
        let read = |at: usize| {
            let half = (1_u64 << (SCALE[at] - 1)) - 1;
            (looked.scaled[at] + half) >> SCALE[at]
        };
        Rates {
            conns: read(0),
            in_packets: read(1),
            out_packets: read(2),
            in_bytes: read(3),
            out_bytes: read(4),
        }
    }

    /// `ip_vs_zero_stats`.
    pub fn zero(&mut self, now: Instant) {
        self.catch_up(now);
        self.zero = self.seen;
        self.scaled = [0; 5];
    }

    /// Takes the looks that were due since the last call.
    fn catch_up(&mut self, now: Instant) {
        let due = now.0 / INTERVAL_NS;
        let missed = due.saturating_sub(self.looks);
        self.looks = due.max(self.looks);
        for _ in 0..missed.min(FADED_AFTER) {
            let (counted, seen) = (self.counted.fields(), self.seen.fields());
            for at in 0..5 {
                let rate = ((counted[at] - seen[at]) << (SCALE[at] - 1)) as i64;
                let old = self.scaled[at] as i64;
                // Arithmetic shift: differences round towards minus infinity.
                self.scaled[at] = (old + ((rate - old) >> 2)) as u64;
            }
            self.seen = self.counted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// 100 connections in the first two seconds: 50 a second, a quarter of which is 12.5, then it fades by a
    /// quarter a look: 100 << 9 >> 2 = 12800, read as (12800 + 511) >> 10.
    #[test]
    fn a_burst_rises_by_a_quarter_and_fades() {
        let mut stats = Stats::default();
        for _ in 0..100 {
            stats.count_conn(at(100));
        }
        assert_eq!(stats.rates(at(1999)).conns, 0);
        assert_eq!(stats.rates(at(2000)).conns, 12);
        assert_eq!(stats.rates(at(4000)).conns, 9);
        assert_eq!(stats.rates(at(6000)).conns, 7);
        assert_eq!(stats.rates(at(3_600_000)), Rates::default());
        assert_eq!(stats.totals(at(3_600_000)).conns, 100);
    }

    /// Asked of 6.12: 160 bytes show as 15 a second after the second look, 28 as 3, 40 as 4 and 120 as 11; counters show
    /// nothing before the first look.
    #[test]
    fn rates_and_counters_as_a_kernel_showed_them() {
        for (bytes, shown) in [(160, 15), (28, 3), (40, 4), (120, 11)] {
            let mut stats = Stats::default();
            stats.count_in(bytes, at(500));
            assert_eq!(stats.totals(at(1500)), Totals::default());
            assert_eq!(stats.totals(at(2500)).in_bytes, bytes as u64);
            assert_eq!(stats.rates(at(4500)).in_bytes, shown);
        }
    }

    #[test]
    fn zero_forgets_counters_and_rates() {
        let mut stats = Stats::default();
        stats.count_in(1500, at(0));
        stats.count_out(40, at(0));
        stats.zero(at(2000));
        assert_eq!(stats.totals(at(2000)), Totals::default());
        assert_eq!(stats.rates(at(2000)), Rates::default());
        stats.count_in(60, at(2100));
        assert_eq!(stats.totals(at(4000)), Totals { in_packets: 1, in_bytes: 60, ..Totals::default() });
    }
}
