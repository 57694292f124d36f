//! The compiled lesson: what `lessons-build` writes and the browser reads.
//!
//! Files are postcard bytes. Prose is HTML already, references are resolved, conditions are text of [`crate::expr`] and are
//! evaluated on the reader's own run. Owns no parsing and no running.

use chainwalk_engine::replay;
use serde::{Deserialize, Serialize};

use crate::leaving::LeavingInput;
use crate::lookups::LookupsInput;
use crate::picks::PicksInput;
use crate::queue::QueueInput;

/// Raised when a field changes meaning; the app refuses another number.
pub const FORMAT: u32 = 2;

/// One entry of the catalogue, `lessons/index.bin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub id: String,
    pub part: String,
    pub title: String,
    pub summary: String,
    pub minutes: u16,
    pub requires: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    pub format: u32,
    pub entry: Entry,
    pub sources: Vec<Source>,
    pub runs: Vec<Run>,
    pub blocks: Vec<Block>,
}

/// Where a claim comes from, for the reader who wants to check it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub title: String,
    #[serde(default)]
    pub url: String,
}

/// A scenario: an input of the engine, and what to call its addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: String,
    pub title: String,
    /// Address or device, and its name in figures.
    pub names: Vec<(String, String)>,
    pub input: Input,
    /// Digest of the run at build time: the reader's run must give the same.
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Input {
    /// A case of the replay contract, as JSON text.
    Replay(String),
    /// Many connections through one Service chain.
    Spread(SpreadInput),
    /// Schedulers of IPVS on the same arrivals.
    Picks(PicksInput),
    /// Requests that wait at pods.
    Queue(QueueInput),
    /// Many Services, one wanted.
    Lookups(LookupsInput),
    /// Tables of slots, and a server that leaves.
    Leaving(LeavingInput),
}

impl Input {
    /// Whether it takes an engine with [`chainwalk_engine::base::PLANES`] to run it.
    pub fn needs_planes(&self) -> bool {
        match self {
            // One that cannot be read is refused by any.
            Self::Replay(case) => replay::parse(case).is_ok_and(|case| case.needs_planes()),
            Self::Spread(_) => false,
            Self::Picks(_) | Self::Queue(_) | Self::Lookups(_) | Self::Leaving(_) => true,
        }
    }
}

/// What [`crate::spread`] runs: a ruleset, a Service address, a number of connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpreadInput {
    /// `iptables-save` text.
    pub rules: String,
    /// Client address; each connection has its own source port.
    pub client: String,
    /// Service address and port, `10.96.10.20:80`.
    pub service: String,
    pub connections: u32,
    /// Connections a batch: how often a batch comes out even is counted. 0 for none.
    #[serde(default)]
    pub batch: u32,
    pub seed: u64,
}

/// A piece of the lesson, in reading order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Block {
    Prose { html: String },
    Console(Console),
    Predict(Predict),
    Figure(Figure),
    Quiz(Quiz),
    Task(Task),
    Interview(Interview),
}

/// A terminal transcript. The checker has compared it with what the engine prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Console {
    pub run: String,
    /// Taken after this many packets; all of them when absent.
    pub after: Option<u32>,
    pub entries: Vec<Command>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub command: String,
    pub output: String,
}

/// A question asked before a run. What follows is held until it is answered or skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predict {
    pub id: String,
    pub run: String,
    pub ask: String,
    pub options: Vec<Choice>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub say: String,
    /// Condition over the facts of runs; exactly one option's holds.
    pub holds: String,
    /// Why this option is right, or what the belief behind it misses.
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    pub show: Picture,
    pub run: String,
    /// Packet of the run to begin with, from 0.
    pub packet: u32,
    /// One sentence: what you see.
    pub caption: String,
    /// The same as a table, for the page without scripts.
    pub table: Table,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Picture {
    /// The hooks as a river, with the rules under each.
    River,
    /// Observed and expected shares of a spread.
    Shares,
    /// Rules walked for each endpoint of a spread.
    Walked,
    /// The first connections of a spread, one by one.
    Draws,
    /// Which server each scheduler chose for each arrival.
    Picks,
    /// Percentiles of a queue by scheduler.
    Times,
    /// Requests at each pod over time.
    Backlog,
    /// What is read to find a Service, by number of Services.
    Lookups,
    /// Shares of a table of slots, and what moves when a server leaves.
    Leaving,
}

impl Picture {
    /// Names in `show=`.
    pub const ALL: [(&'static str, Self); 9] = [
        ("river", Self::River),
        ("shares", Self::Shares),
        ("walked", Self::Walked),
        ("draws", Self::Draws),
        ("picks", Self::Picks),
        ("times", Self::Times),
        ("backlog", Self::Backlog),
        ("lookups", Self::Lookups),
        ("leaving", Self::Leaving),
    ];
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A question after the fact, for recall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quiz {
    pub id: String,
    pub ask: String,
    pub options: Vec<Choice>,
}

/// The learner edits the chain of a spread until it meets the conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: String,
    pub run: String,
    pub ask: String,
    /// Condition over the fact `after`: the spread of the edited rules.
    pub check: String,
    /// Conditions that must not hold, each with what to say when it does.
    pub never: Vec<Never>,
    /// From a nudge to the full way.
    pub hints: Vec<String>,
    pub solutions: Vec<Edit>,
    pub done: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Never {
    #[serde(rename = "if")]
    pub holds: String,
    pub say: String,
}

/// Changes to the endpoint rules of a chain, in rule order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The probability of each rule as written; empty for "no statistic match".
    pub probabilities: Vec<String>,
    /// Rules taken out, counted from 0.
    #[serde(default)]
    pub dropped: Vec<usize>,
}

/// What to be able to say afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interview {
    pub prompt: String,
    pub say: Vec<String>,
    pub probes: Vec<Probe>,
    /// Common wrong statements, each with what is wrong about it.
    pub avoid: Vec<Probe>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub ask: String,
    pub answer: String,
}
