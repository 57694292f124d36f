//! What a lesson page and the engine say to each other: a part of the protocol.
//!
//! Every question carries the scenarios of its lesson, so the engine's side keeps nothing that a restart could lose.

use chainwalk_engine::view::TraceView;
use chainwalk_lessons::facts::Computed;
use chainwalk_lessons::model::{Edit, Input, Run};
use chainwalk_lessons::spread::Spread;
use serde::{Deserialize, Serialize};

/// A question about the scenarios of a lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub runs: Vec<Run>,
    pub what: What,
}

impl Ask {
    /// Whether the lesson has scenarios that only the engine with every data plane runs. All are asked, so that a lesson
    /// does not change its engine in the middle.
    pub fn needs_planes(&self) -> bool {
        self.runs.iter().any(|run| run.input.needs_planes())
    }

    /// Whether the answer leaves packets behind, whose rows can be asked by their numbers.
    pub fn leaves_packets(&self) -> bool {
        let What::Run(id) = &self.what else { return false };
        self.runs.iter().any(|run| run.id == *id && matches!(run.input, Input::Replay(_)))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum What {
    /// Run the scenario with this id.
    Run(String),
    /// Which of these conditions hold.
    Judge(Vec<String>),
    /// Run a spread with its chain edited, and judge it as a task does.
    Try { run: String, edit: Edit, check: String, never: Vec<String> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Told {
    Ran {
        played: Played,
        /// Whether the run gave the digest it gave when the lesson was built.
        as_built: bool,
    },
    Judged(Vec<bool>),
    Tried {
        spread: Box<Spread>,
        passes: bool,
        never: Vec<bool>,
    },
    /// The scenario or the edit could not be run; a sentence.
    Refused(String),
}

/// What a run showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Played {
    Packets(Vec<Passage>),
    Computed(Box<Computed>),
}

/// One packet's way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The number under which `Request::VisitRows` finds it.
    pub sent: u32,
    pub trace: TraceView,
}
