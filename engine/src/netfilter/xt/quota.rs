//! `-m quota`: a number of bytes, then nothing more (`xt_quota.c`).

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    bytes: u64,
    inverted: bool,
}

impl MatchExt for Quota {
    const SPEC: ExtSpec = ExtSpec::new("quota", BOTH, "net/netfilter/xt_quota.c").options(&[OptSpec::new(
        "--quota",
        Values::One,
    )
    .negatable()
    .mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--quota")?;
        Ok(Self { bytes: number("quota", at, opt, 0, u64::MAX)?, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --quota {}", bang(self.inverted), self.bytes);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " quota: {} bytes", self.bytes);
    }

    fn initial_state(&self, _: u64, _: &dyn Fn() -> String) -> Option<RuleState> {
        Some(RuleState::Quota { left_bytes: self.bytes })
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, state: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let Some(RuleState::Quota { left_bytes }) = state else { return MatchResult::No };
        let (before, len) = (*left_bytes, skb.packet.len_bytes() as u64);
        let within = before >= len;
        // Once a packet did not fit, not even a small one does.
        *left_bytes = if within { before - len } else { 0 };
        why.check(
            within != self.inverted,
            "--quota",
            || format!("{before} bytes left"),
            || format!("{}{len}", not(self.inverted)),
        )
        .into()
    }
}
