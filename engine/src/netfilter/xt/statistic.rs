//! `-m statistic`: every n-th packet, or a random share (`xt_statistic.c`).

use super::prelude::*;

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
    /// Draws and thresholds are below this: 2^31.
    pub const SCALE: u64 = 1 << 31;

    /// The draw must be below this for the rule to match; none for `nth` and for an inverted test.
    pub const fn threshold(&self) -> Option<u32> {
        match self.mode {
            Mode::Random { threshold } if !self.inverted => Some(threshold),
            Mode::Random { .. } | Mode::Nth { .. } => None,
        }
    }

    /// The probability as stored, in the fixed point that iptables-save prints.
    pub fn probability_text(threshold: u32) -> String {
        format!("{:.11}", f64::from(threshold) / SCALE)
    }
}

/// `lround(0x80000000 * probability)`.
fn threshold(at: usize, opt: &Opt<'_>) -> Result<u32, ArgError> {
    let p: f64 = opt.values[0].parse().unwrap_or(f64::NAN);
    if !(0.0..=1.0).contains(&p) {
        return Err(ArgError::at(
            at,
            "statistic: bad value for option \"--probability\", or out of range (0-1).",
        ));
    }
    Ok((p * SCALE).round() as u32)
}

impl MatchExt for Statistic {
    const SPEC: ExtSpec = ExtSpec::new("statistic", BOTH, "net/netfilter/xt_statistic.c").options(&[
        OptSpec::new("--mode", Values::One).mandatory(),
        OptSpec::new("--probability", Values::One)
            .negatable()
            .requires(&["--mode"])
            .excludes(&["--every", "--packet"]),
        OptSpec::new("--every", Values::One)
            .negatable()
            .requires(&["--mode", "--packet"])
            .excludes(&["--probability"]),
        OptSpec::new("--packet", Values::One).requires(&["--mode"]).excludes(&["--probability"]),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let random = match args.get("--mode") {
            None => true,
            Some((at, mode)) => match mode.values[0] {
                "random" => true,
                "nth" => false,
                other => return Err(ArgError::at(at, format!("Bad mode \"{other}\""))),
            },
        };
        let threshold = args.get("--probability").map(|(at, opt)| threshold(at, opt)).transpose()?;
        let every = optional("statistic", args, "--every", 1, u64::from(u32::MAX))?;
        let packet = optional("statistic", args, "--packet", 0, u64::from(u32::MAX))?;
        let inverted = args.opts.iter().any(|o| o.inverted);
        if random {
            let threshold = threshold
                .ok_or_else(|| ArgError::whole("--probability must be specified when using random mode"))?;
            return Ok(Self { mode: Mode::Random { threshold }, inverted });
        }
        if every.is_none() && packet.is_none() {
            return Err(ArgError::whole("--every and --packet must be specified when using nth mode"));
        }
        let (every, packet) = (every.unwrap_or(0), packet.unwrap_or(0));
        // libxt_statistic.c compares with `every - 1`, which wraps when `--every` is missing.
        if packet >= every && (every > 0 || packet > 0) {
            return Err(ArgError::whole("the --packet p must be 0 <= p <= n-1"));
        }
        // Asked after the tool's own check, so a packet above 0 has the message above.
        if every == 0 {
            return Err(ArgError::whole("statistic: option \"--packet\" also requires \"--every\"."));
        }
        Ok(Self { mode: Mode::Nth { every: every as u32, packet: packet as u32 }, inverted })
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
