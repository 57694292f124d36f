//! [`Row`]: one line of the table: what, the limit, what was measured.

use std::fmt;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// A measured budget or a figure to compare with.
#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    /// None for a figure that has no budget, such as the kernel's.
    pub limit: Option<Duration>,
    /// Median of the samples.
    pub measured: Duration,
    pub samples: usize,
}

impl Row {
    /// Times a row of the engine, per operation, in processor time.
    pub fn engine(row: &chainwalk_portable::rows::Row) -> Self {
        let mut work = (row.prepare)();
        // Once unmeasured: page faults and table growth belong to nobody's budget.
        drop(work());
        Self::measure(row.what, row.limit_ns.map(Duration::from_nanos), row.samples, || {
            cpu_time(&mut work) / row.operations
        })
    }

    /// Runs `once` `samples` times and keeps the median of what it measured.
    pub fn measure(
        what: impl Into<String>,
        limit: Option<Duration>,
        samples: usize,
        mut once: impl FnMut() -> Duration,
    ) -> Self {
        let mut times: Vec<Duration> = (0..samples.max(1)).map(|_| once()).collect();
        times.sort_unstable();
        Self { what: what.into(), limit, measured: times[times.len() / 2], samples: times.len() }
    }

    /// Whether the budget is kept; a row without one always is.
    pub fn kept(&self) -> bool {
        self.limit.is_none_or(|limit| self.measured <= limit)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit.map_or_else(|| "-".to_owned(), human);
        let ratio = match self.limit {
            Some(limit) => format!("{:.2}", self.measured.as_secs_f64() / limit.as_secs_f64()),
            None => "-".to_owned(),
        };
        let verdict = match (self.limit, self.kept()) {
            (None, _) => "",
            (Some(_), true) => "ok",
            (Some(_), false) => "OVER",
        };
        write!(f, "{:<66} {:>10} {:>10} {:>6} {:>4}", self.what, limit, human(self.measured), ratio, verdict)
    }
}

/// A duration with three significant digits and its unit.
pub fn human(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    let (value, unit) = match time.as_nanos() {
        0..1_000 => (nanos, "ns"),
        1_000..1_000_000 => (nanos / 1e3, "us"),
        1_000_000..1_000_000_000 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

/// Wall time of `work`.
///
/// Benchmarks are the one place that reads a clock.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
pub fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let value = work();
    (start.elapsed(), value)
}

/// Time the calling thread computed during `work`: what the engine's own rows measure, since they never wait and
/// the machine may be shared.
fn cpu_time<T>(work: impl FnOnce() -> T) -> Duration {
    let now = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    let start = now();
    let value = work();
    let took = now() - start;
    drop(value);
    took
}
