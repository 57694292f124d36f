//! `wrr`: weighted round robin (`ip_vs_wrr.c`).
//!
//! A bar starts at the largest weight and sinks by the greatest common divisor of all weights from pass to pass;
//! each pass chooses those whose weight reaches it. With weights 4, 2, 1: A A AB ABC, then over again. The bar ends
//! at 1, not at the divisor, so that a weight which has just become smaller is still found.

use super::hash::gcd;
use super::{List, SchedCx};
use crate::ipvs::dest::DestId;

#[derive(Clone, Debug, Default)]
pub struct Wrr {
    /// The destination chosen last; none stands for the head of the list.
    last: Option<DestId>,
    /// The bar, where it starts, and the step by which it sinks.
    bar: i64,
    top: i64,
    step: i64,
}

impl Wrr {
    pub(super) fn begin(&mut self, list: List<'_>) {
        self.measure(list);
        self.last = None;
        self.bar = self.top;
    }

    /// Any change starts at the head again; the bar is kept where it can be, brought onto the new steps.
    pub(super) fn changed(&mut self, list: List<'_>) {
        self.measure(list);
        self.last = None;
        if self.bar > self.top || self.bar == 0 {
            self.bar = self.top;
        } else if self.step > 1 {
            self.bar = (self.bar / self.step) * self.step + 1;
        }
    }

    fn measure(&mut self, list: List<'_>) {
        let weights = || list.iter().map(|d| d.weight).filter(|w| *w > 0);
        self.step = i64::from(weights().fold(0, gcd).max(1));
        self.top = i64::from(weights().max().unwrap_or(0)) - (self.step - 1);
    }

    pub(super) fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        if self.top == 0 {
            return None;
        }
        let order = cx.list.order;
        let started_at = self.last.and_then(|last| order.iter().position(|id| *id == last));
        let mut from = started_at.map_or(0, |at| at + 1);
        // In the last pass of all, only up to the destination where the search began.
        let mut stop = None;
        let (mut last_pass, mut restarted) = (false, false);
        loop {
            for (at, id) in order.iter().enumerate().skip(from) {
                let Some(dest) = cx.list.get(*id) else { continue };
                if !dest.overloaded && i64::from(dest.weight) >= self.bar {
                    let bar = self.bar;
                    cx.why.score(dest.id, || format!("weight {} reaches the bar {bar}", dest.weight));
                    cx.why.say(|| format!("the first whose weight reaches the bar, now at {bar}"));
                    self.last = Some(dest.id);
                    return self.last;
                }
                let bar = self.bar;
                if !cx.why.skips(dest) {
                    cx.why.score(dest.id, || format!("weight {} is below the bar {bar}", dest.weight));
                }
                if stop == Some(at) {
                    self.last = Some(dest.id);
                    return None;
                }
            }
            from = 0;
            self.bar -= self.step;
            if self.bar <= 0 {
                self.bar = self.top;
                if last_pass || started_at.is_none() {
                    self.last = None;
                    return None;
                }
                restarted = true;
            }
            last_pass = self.bar <= self.step;
            if last_pass && restarted && started_at.is_some() {
                stop = started_at;
            }
        }
    }
}
