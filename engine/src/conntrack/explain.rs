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

    /// Notes a value that was computed, with where it comes from.
    pub(super) fn fact(&mut self, field: &'static str, have: impl FnOnce() -> String, want: &'static str) {
        self.why.check(true, field, have, || want.to_owned());
    }
}
