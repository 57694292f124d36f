//! `-m limit`: a token bucket a rule (`xt_limit.c`).

use super::jiffies::{HZ, jiffies};
use super::prelude::*;
use super::rate;

/// Credits a tick earns: the largest power of two with which a day's worth fits 32 bits (`CREDITS_PER_JIFFY`).
const CREDITS_PER_JIFFY: u32 = 128;

/// Burst when none is given (`XT_LIMIT_BURST`).
const BURST: u32 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Interval between packets, in units of 1/10000 s.
    interval: u32,
    burst: u32,
}

/// `user2credits`: credits for a time in units of 1/10000 s, with its 32-bit arithmetic.
const fn credits(time: u32) -> u32 {
    let per_second = HZ as u32 * CREDITS_PER_JIFFY;
    if time > u32::MAX / per_second {
        (time / rate::SCALE as u32).wrapping_mul(per_second)
    } else {
        time * per_second / rate::SCALE as u32
    }
}

impl Limit {
    fn rate(&self) -> String {
        rate::text(u64::from(self.interval), rate::SCALE).0
    }

    const fn cap(&self) -> u32 {
        credits(self.interval.wrapping_mul(self.burst))
    }
}

impl MatchExt for Limit {
    const SPEC: ExtSpec = ExtSpec::new("limit", BOTH, "net/netfilter/xt_limit.c")
        .options(&[OptSpec::new("--limit", Values::One), OptSpec::new("--limit-burst", Values::One)]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let interval = match args.get("--limit") {
            None => rate::interval("3/hour", rate::SCALE),
            Some((at, opt)) => {
                let interval = rate::interval(opt.values[0], rate::SCALE);
                let bad = |why: String| Err(ArgError::at(at, why));
                match interval {
                    None => return bad(format!("bad rate \"{}\"'", opt.values[0])),
                    Some((0, _)) => return bad(format!("Rate too fast \"{}\"", opt.values[0])),
                    Some(_) => interval,
                }
            }
        };
        let burst = optional("limit", args, "--limit-burst", 0, 10_000)?.map_or(BURST, |b| b as u32);
        let limit = Self { interval: interval.map_or(1, |(i, _)| i as u32), burst };
        if burst == 0 || limit.cap() < credits(limit.interval) {
            return Err(ArgError::kernel(Errno::Range, "limit: rate and burst overflow; try lower ones"));
        }
        Ok(limit)
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --limit {}", self.rate());
        if self.burst != BURST {
            let _ = write!(out, " --limit-burst {}", self.burst);
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " limit: avg {} burst {}", self.rate(), self.burst);
    }

    fn initial_state(&self, _: u64, _: &dyn Fn() -> String) -> Option<RuleState> {
        Some(RuleState::Limit { credit: self.cap(), seen_jiffies: 0 })
    }

    fn eval(&self, cx: &mut Cx<'_>, _: &Skb, state: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let Some(RuleState::Limit { credit, seen_jiffies }) = state else { return MatchResult::No };
        let now = jiffies(cx.now);
        let earned = (now - *seen_jiffies).saturating_mul(u64::from(CREDITS_PER_JIFFY));
        *seen_jiffies = now;
        let cost = credits(self.interval);
        let have = earned.saturating_add(u64::from(*credit)).min(u64::from(self.cap())) as u32;
        let pass = have >= cost;
        *credit = if pass { have - cost } else { have };
        let packets =
            |credit: u32| format!("{:.2} packets of credit", f64::from(credit) / f64::from(cost.max(1)));
        why.check(pass, "--limit", || packets(have), || format!("1, at {}", self.rate())).into()
    }
}
