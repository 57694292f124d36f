//! [`Row`]: one line of the table: what, the limit, what was measured natively and in WebAssembly.

use std::fmt;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// WebAssembly may take this many times as long as the native engine.
const WASM_RATIO_MAX: f64 = 2.0;

/// A measured budget or a figure to compare with.
#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    /// None for a figure that has no budget, such as the kernel's.
    pub limit: Option<Duration>,
    pub measured: Duration,
    /// The same in WebAssembly.
    pub wasm: Option<Duration>,
}

impl Row {
    /// A row without a budget.
    pub fn figure(what: impl Into<String>, measured: Duration) -> Self {
        Self { what: what.into(), limit: None, measured, wasm: None }
    }

    /// Times a row of the engine, per operation, in processor time: since it never waits and the machine may be
    /// shared.
    pub fn engine(row: &chainwalk_portable::rows::Row) -> Self {
        let measured = Duration::from_nanos(row.measure(cpu_nanos));
        Self { limit: row.limit_ns.map(Duration::from_nanos), ..Self::figure(row.what, measured) }
    }

    /// Whether the budget is kept; a row without one always is.
    pub fn kept(&self) -> bool {
        let wasm_kept = self.limit.is_none() || self.wasm_ratio().is_none_or(|ratio| ratio <= WASM_RATIO_MAX);
        self.limit.is_none_or(|limit| self.measured <= limit) && wasm_kept
    }

    /// How many times as long WebAssembly takes.
    fn wasm_ratio(&self) -> Option<f64> {
        self.wasm.map(|wasm| wasm.as_secs_f64() / self.measured.as_secs_f64().max(1e-9))
    }

    /// The heading over rows.
    pub fn heading() -> String {
        format!("{:<64} {:>8} {:>8} {:>5} {:>8} {:>6}", "", "limit", "native", "", "wasm", "ratio")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let share = self.limit.map(|limit| self.measured.as_secs_f64() / limit.as_secs_f64());
        let verdict = match (self.limit, self.kept()) {
            (None, _) => "",
            (Some(_), true) => "ok",
            (Some(_), false) => "OVER",
        };
        write!(
            f,
            "{:<64} {:>8} {:>8} {:>5} {:>8} {:>6} {verdict}",
            self.what,
            or_dash(self.limit.map(human)),
            human(self.measured),
            or_dash(share.map(|share| format!("{:.0}%", share * 100.0))),
            or_dash(self.wasm.map(human)),
            or_dash(self.wasm_ratio().map(|ratio| format!("{ratio:.2}"))),
        )
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

/// Nanoseconds the calling thread has computed.
fn cpu_nanos() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    time.as_nanos() as u64
}
