//! Runs a scenario on the engine and gives what came out as facts: JSON that expressions read.

use chainwalk_engine::base::PLANES;
use chainwalk_engine::replay;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::leaving::{self, Leaving};
use crate::lookups::{self, Lookups};
use crate::model::Input;
use crate::picks::{self, Picks};
use crate::queue::{self, Queue};
use crate::spread::{self, Spread};

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub facts: Value,
    /// Equal for equal runs, in every build of the engine.
    pub digest: String,
}

/// What a scenario gave that is not about single packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Computed {
    Spread(Spread),
    Picks(Picks),
    Queue(Queue),
    Lookups(Lookups),
    Leaving(Leaving),
}

impl Computed {
    /// Equal for equal runs, in every build of the engine.
    pub fn digest(&self) -> String {
        match self {
            Self::Spread(spread) => spread.digest(),
            Self::Picks(picks) => picks.digest(),
            Self::Queue(queue) => queue.digest(),
            Self::Lookups(lookups) => lookups.digest(),
            Self::Leaving(leaving) => leaving.digest(),
        }
    }

    /// As JSON.
    ///
    /// # Errors
    /// Never in practice: it is plain data.
    pub fn facts(&self) -> Result<Value, String> {
        match self {
            Self::Spread(spread) => value(spread),
            Self::Picks(picks) => value(picks),
            Self::Queue(queue) => value(queue),
            Self::Lookups(lookups) => value(lookups),
            Self::Leaving(leaving) => value(leaving),
        }
    }
}

/// Runs `input`.
///
/// # Errors
/// The engine cannot read the case, or the scenario; its own words.
pub fn run(input: &Input) -> Result<Outcome, String> {
    match input {
        Input::Replay(case) => replay_case(case),
        Input::Spread(_) | Input::Picks(_) | Input::Queue(_) | Input::Lookups(_) | Input::Leaving(_) => {
            let computed = compute(input, &mut |_, _| {})?;
            Ok(Outcome { facts: computed.facts()?, digest: computed.digest() })
        }
    }
}

/// Runs a scenario that is not about single packets, telling how far it is: `progress(done, total)`.
///
/// # Errors
/// As [`run`].
pub fn compute(input: &Input, progress: &mut dyn FnMut(u32, u32)) -> Result<Computed, String> {
    match input {
        Input::Replay(_) => Err("this scenario is about single packets".to_owned()),
        Input::Spread(input) => spread::run_with(input, progress).map(Computed::Spread),
        Input::Picks(_) | Input::Queue(_) | Input::Lookups(_) | Input::Leaving(_) if !PLANES => {
            Err("IPVS and nftables are not in this build of the engine".to_owned())
        }
        Input::Picks(input) => picks::run(input).map(Computed::Picks),
        Input::Queue(input) => queue::run_with(input, progress).map(Computed::Queue),
        Input::Lookups(input) => lookups::run_with(input, progress).map(Computed::Lookups),
        Input::Leaving(input) => leaving::run(input).map(Computed::Leaving),
    }
}

fn replay_case(case: &str) -> Result<Outcome, String> {
    let case = replay::parse(case).map_err(|error| error.to_string())?;
    let report = replay::run(&case, &replay::Options::default()).map_err(|error| error.to_string())?;
    let mut facts = value(&report)?;
    facts["inputs"] = value(&case.packets)?;
    Ok(Outcome { facts, digest: report.digest })
}

fn value<T: Serialize>(of: &T) -> Result<Value, String> {
    serde_json::to_value(of).map_err(|error| error.to_string())
}
