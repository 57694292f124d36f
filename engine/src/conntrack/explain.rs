//! [`Explain`]: collects why the tracker decided as it did, at no cost where nobody reads it.

use crate::trace::Why;

#[derive(Debug, Default)]
pub(super) struct Explain {
    pub(super) why: Why,
    pub(super) summary: String,
}

impl Explain {
    pub(super) const fn new(on: bool) -> Self {
        Self { why: Why { on, checks: Vec::new() }, summary: String::new() }
    }

    /// Sets the sentence that sums up the verdict; the last one stands.
    pub(super) fn say(&mut self, summary: impl FnOnce() -> String) {
        if self.why.on {
            self.summary = summary();
        }
    }

    /// Notes a comparison and hands its result back.
    pub(super) fn check(
        &mut self,
        pass: bool,
        field: &'static str,
        have: impl FnOnce() -> String,
        want: impl FnOnce() -> String,
    ) -> bool {
        self.why.check(pass, field, have, want)
    }

    /// Notes whether the checksum was right, where it was looked at.
    pub(super) fn checksum(&mut self, right: bool) -> bool {
        let have = if right { "right" } else { "wrong" };
        self.check(right, "checksum", || have.to_owned(), || "right".to_owned())
    }

    /// Notes a value that was computed, with where it comes from.
    pub(super) fn fact(&mut self, field: &'static str, have: impl FnOnce() -> String, why: &'static str) {
        self.why.check(true, field, have, || why.to_owned());
    }

    /// Notes that the state of the connection changed.
    pub(super) fn moved(&mut self, from: &'static str, to: &'static str) {
        self.why.check(true, "state now", || to.to_owned(), || format!("was {from}"));
    }
}
