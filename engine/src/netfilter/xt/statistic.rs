//! `-m statistic`: every n-th packet, or a random share (`xt_statistic.c`).

use std::fmt::Write as _;

use super::ext::{
    ArgError, BOTH, ExtSpec, Fidelity, ListFlags, MatchExt, MatchResult, OptSpec, Parsed, Values,
    parse_number, rule_rng,
};
use crate::netfilter::{Cx, RuleState};
use crate::packet::Skb;
use crate::trace::Why;

/// Probabilities are multiples of 2^-31.
const SCALE: f64 = 2_147_483_648.0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistic {
    pub mode: Mode,
    pub inverted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Matches when 31 random bits are below this number.
    Random { threshold: u32 },
    /// `every` is at least 1; `packet` is below it.
    Nth { every: u32, packet: u32 },
}

impl Statistic {
    /// The probability as stored, in the fixed point that iptables-save prints.
    fn probability_text(threshold: u32) -> String {
        format!("{:.11}", f64::from(threshold) / SCALE)
    }
}

impl MatchExt for Statistic {
    const SPEC: ExtSpec = ExtSpec {
        name: "statistic",
        families: BOTH,
        options: &[
            OptSpec::new("--mode", Values::One),
            OptSpec::new("--probability", Values::One).negatable(),
            OptSpec::new("--every", Values::One).negatable(),
            OptSpec::new("--packet", Values::One),
        ],
        kernel: "net/netfilter/xt_statistic.c",
        fidelity: Fidelity::Exact,
    };

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let Some((at, mode)) = args.get("--mode") else {
            return Err(ArgError::whole("statistic match: no --mode"));
        };
        match mode.values[0] {
            "random" => {
                let Some((at, opt)) = args.get("--probability") else {
                    return Err(ArgError::whole(
                        "statistic: --probability must be specified when using random mode",
                    ));
                };
                let p: f64 = opt.values[0].parse().unwrap_or(f64::NAN);
                if !(0.0..=1.0).contains(&p) {
                    return Err(ArgError::at(at, "statistic: --probability must be between 0 and 1"));
                }
                // libxt_statistic.c: lround(0x80000000 * probability).
                let threshold = (p * SCALE).round() as u32;
                Ok(Self { mode: Mode::Random { threshold }, inverted: opt.inverted })
            }
            "nth" => {
                let Some((at, opt)) = args.get("--every") else {
                    return Err(ArgError::whole("statistic: --every must be specified when using nth mode"));
                };
                let every =
                    parse_number(opt.values[0], u64::from(u32::MAX)).filter(|&n| n > 0).ok_or_else(|| {
                        ArgError::at(
                            at,
                            format!("statistic: bad value for option \"--every\": {:?}", opt.values[0]),
                        )
                    })?;
                let packet = match args.get("--packet") {
                    None => 0,
                    Some((at, opt)) => parse_number(opt.values[0], u64::from(u32::MAX))
                        .filter(|&n| n < every)
                        .ok_or_else(|| {
                            ArgError::at(at, "statistic: --packet must be between 0 and `--every` minus 1")
                        })?,
                };
                Ok(Self {
                    mode: Mode::Nth { every: every as u32, packet: packet as u32 },
                    inverted: opt.inverted,
                })
            }
            other => Err(ArgError::at(at, format!("Bad mode \"{other}\": random or nth"))),
        }
    }

    fn save(&self, out: &mut String) {
        let not = if self.inverted { " !" } else { "" };
        let _ = match &self.mode {
            Mode::Random { threshold } => {
                write!(out, " --mode random{not} --probability {}", Self::probability_text(*threshold))
            }
            Mode::Nth { every, packet } => write!(out, " --mode nth{not} --every {every} --packet {packet}"),
        };
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" statistic");
        let not = if self.inverted { " !" } else { "" };
        let _ = match &self.mode {
            Mode::Random { threshold } => {
                write!(out, " mode random{not} probability {}", Self::probability_text(*threshold))
            }
            Mode::Nth { every, packet: 0 } => write!(out, " mode nth{not} every {every}"),
            Mode::Nth { every, packet } => write!(out, " mode nth{not} every {every} packet {packet}"),
        };
    }

    fn initial_state(&self, seed: u64, label: &dyn Fn() -> String) -> Option<RuleState> {
        Some(match self.mode {
            Mode::Random { .. } => RuleState::Random(rule_rng(seed, "statistic", label)),
            Mode::Nth { every, packet } => RuleState::Nth { count: every - 1 - packet },
        })
    }

    fn eval(&self, cx: &mut Cx<'_>, _: &Skb, state: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let not = if self.inverted { "! " } else { "" };
        match (&self.mode, state) {
            (Mode::Random { threshold }, Some(RuleState::Random(rng))) => {
                let draw = cx.shared.draws.next_u31(rng);
                why.check(
                    (draw < *threshold) != self.inverted,
                    "--probability",
                    || format!("drew {draw} of 2147483648"),
                    || format!("{not}below {threshold} ({})", Self::probability_text(*threshold)),
                )
                .into()
            }
            (Mode::Nth { every, .. }, Some(RuleState::Nth { count })) => {
                *count = if *count == every - 1 { 0 } else { *count + 1 };
                let seen = *count;
                why.check(
                    (seen == 0) != self.inverted,
                    "--every",
                    || format!("counter {seen}"),
                    || format!("{not}0 of {every}"),
                )
                .into()
            }
            (Mode::Random { .. } | Mode::Nth { .. }, _) => MatchResult::No,
        }
    }
}
