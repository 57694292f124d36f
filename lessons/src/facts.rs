//! Runs a scenario on the engine and gives what came out as facts: JSON that expressions read.

use chainwalk_engine::replay;
use serde_json::Value;

use crate::model::Input;
use crate::spread::{self, Spread};

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub facts: Value,
    /// Equal for equal runs, in every build of the engine.
    pub digest: String,
}

/// Runs `input`.
///
/// # Errors
/// The engine cannot read the case, or the spread; its own words.
pub fn run(input: &Input) -> Result<Outcome, String> {
    match input {
        Input::Replay(case) => replay_case(case),
        Input::Spread(input) => of_spread(&spread::run(input)?),
    }
}

fn replay_case(case: &str) -> Result<Outcome, String> {
    let case = replay::parse(case).map_err(|error| error.to_string())?;
    let report = replay::run(&case, &replay::Options::default()).map_err(|error| error.to_string())?;
    let mut facts = value(&report)?;
    facts["inputs"] = value(&case.packets)?;
    Ok(Outcome { facts, digest: report.digest })
}

/// The facts of a spread that has run already.
///
/// # Errors
/// Never in practice: a spread is plain data.
pub fn of_spread(spread: &Spread) -> Result<Outcome, String> {
    Ok(Outcome { facts: value(spread)?, digest: spread.digest() })
}

fn value<T: serde::Serialize>(of: &T) -> Result<Value, String> {
    serde_json::to_value(of).map_err(|error| error.to_string())
}
