//! Counting tests: what a suite gives, and how the counts are read from the output of cargo and of Node.js.

use std::fmt;
use std::ops::AddAssign;

use crate::process::Captured;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

impl Counts {
    pub(super) fn passed(passed: usize) -> Self {
        Self { passed, ..Self::default() }
    }

    pub(super) fn failed(failed: usize) -> Self {
        Self { failed, ..Self::default() }
    }

    pub(super) fn skipped(skipped: usize) -> Self {
        Self { skipped, ..Self::default() }
    }

    /// One check, which holds or does not.
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::passed(1) } else { Self::failed(1) }
    }

    /// Sums the result lines of libtest, wasm-bindgen-test and Node's TAP reporter. A program that ended badly without
    /// saying which test failed (it did not compile, it crashed) is one failure.
    pub(super) fn read(captured: &Captured) -> Self {
        let mut sum = Self::default();
        for line in &captured.lines {
            if let Some(counts) = libtest(line).or_else(|| tap(line)) {
                sum += counts;
            }
        }
        if !captured.success && sum.failed == 0 {
            sum.failed = 1;
        }
        sum
    }
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; ...`
fn libtest(line: &str) -> Option<Counts> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |unit: &str| {
        let part = counts.split(';').map(str::trim).find_map(|part| part.strip_suffix(unit))?;
        part.trim().parse().ok()
    };
    Some(Counts { passed: number("passed")?, failed: number("failed")?, skipped: number("ignored")? })
}

/// `# pass 3`; Node prints one line for each kind.
fn tap(line: &str) -> Option<Counts> {
    let (kind, number) = line.strip_prefix("# ")?.split_once(' ')?;
    let number = number.parse().ok()?;
    match kind {
        "pass" => Some(Counts::passed(number)),
        "fail" | "cancelled" => Some(Counts::failed(number)),
        "skipped" | "todo" => Some(Counts::skipped(number)),
        _ => None,
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, success: bool) -> String {
        let lines = text.lines().map(str::to_owned).collect();
        Counts::read(&Captured { lines, success }).to_string()
    }

    #[test]
    fn results_are_summed() {
        let cargo = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                     test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(read(cargo, false), "15 passed, 2 failed, 1 skipped");
        assert_eq!(
            read("# tests 4\n# pass 3\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0", false),
            "3 passed, 1 failed"
        );
    }

    #[test]
    fn a_crash_is_a_failure() {
        assert_eq!(read("error: could not compile", false), "0 passed, 1 failed");
        assert_eq!(read("", true), "0 passed, 0 failed");
    }
}
