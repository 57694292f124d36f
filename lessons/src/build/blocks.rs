//! The TOML inside each fenced block, as authors write it. Grammar only; meaning is given in `compile.rs`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::problem::{Class, Problems};
use super::source::Fence;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioBody {
    pub(super) title: String,
    /// Address or device to the name figures use.
    #[serde(default)]
    pub(super) names: BTreeMap<String, String>,
    /// Take `node` and `names` from that scenario.
    pub(super) like: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) draws: Option<Vec<f64>>,
    pub(super) node: Option<toml::Table>,
    #[serde(default)]
    pub(super) packets: Vec<toml::Table>,
    #[serde(default)]
    pub(super) show: Vec<String>,
    pub(super) spread: Option<SpreadBody>,
    pub(super) picks: Option<PicksBody>,
    pub(super) queue: Option<QueueBody>,
    pub(super) lookups: Option<LookupsBody>,
    pub(super) leaving: Option<LeavingBody>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PicksBody {
    /// All that the kernel has when empty.
    #[serde(default)]
    pub(super) schedulers: Vec<String>,
    pub(super) servers: Vec<crate::picks::ServerInput>,
    pub(super) arrivals: Vec<crate::picks::Arrival>,
    #[serde(default)]
    pub(super) changes: Vec<crate::picks::Change>,
    #[serde(default)]
    pub(super) persistent_s: u32,
    #[serde(default)]
    pub(super) sysctls: BTreeMap<String, String>,
    pub(super) seed: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueBody {
    pub(super) schedulers: Vec<String>,
    pub(super) pods: u32,
    pub(super) requests: u32,
    pub(super) load_percent: u32,
    pub(super) shortest_ms: u32,
    pub(super) longest_ms: u32,
    pub(super) tail: u32,
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) published: Vec<crate::queue::Published>,
    #[serde(default)]
    pub(super) within_percent: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LookupsBody {
    pub(super) forms: Vec<crate::lookups::Form>,
    pub(super) services: Vec<u32>,
    #[serde(default = "one")]
    pub(super) endpoints: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeavingBody {
    pub(super) tables: Vec<crate::leaving::Kind>,
    pub(super) servers: Vec<crate::picks::ServerInput>,
    pub(super) leaves: String,
}

const fn one() -> u32 {
    1
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpreadBody {
    /// A file of the lesson's folder: `iptables-save` text.
    pub(super) rules: String,
    pub(super) client: String,
    pub(super) service: String,
    pub(super) connections: u32,
    #[serde(default)]
    pub(super) batch: u32,
    pub(super) seed: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuestionBody {
    pub(super) ask: String,
    pub(super) option: Vec<OptionBody>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OptionBody {
    pub(super) say: String,
    pub(super) holds: Option<String>,
    /// For a prediction: the lesson's text is written around this answer. The engine still decides.
    #[serde(default)]
    pub(super) expected: bool,
    /// For a `quiz` about words rather than outcomes.
    pub(super) right: Option<bool>,
    pub(super) because: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureBody {
    pub(super) caption: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskBody {
    pub(super) ask: String,
    pub(super) check: String,
    #[serde(default)]
    pub(super) never: Vec<crate::model::Never>,
    pub(super) hint: Vec<String>,
    pub(super) solution: Vec<crate::model::Edit>,
    pub(super) wrong: Vec<WrongBody>,
    pub(super) done: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrongBody {
    pub(super) probabilities: Vec<String>,
    #[serde(default)]
    pub(super) dropped: Vec<usize>,
    /// Part of what the task says to this attempt; empty when it is simply not there yet.
    #[serde(default)]
    pub(super) says: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InterviewBody {
    pub(super) prompt: String,
    pub(super) say: Vec<String>,
    #[serde(default)]
    pub(super) probe: Vec<crate::model::Probe>,
    #[serde(default)]
    pub(super) avoid: Vec<AvoidBody>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AvoidBody {
    pub(super) said: String,
    pub(super) but: String,
}

/// The body of `fence` as `T`, or a problem at the line TOML names.
pub(super) fn body<T: DeserializeOwned>(fence: &Fence, problems: &mut Problems) -> Option<T> {
    match toml::from_str(&fence.body) {
        Ok(body) => Some(body),
        Err(error) => {
            let offset = error.span().map_or(0, |span| fence.body[..span.start].matches('\n').count());
            problems.add(fence.line + 1 + offset, Class::BlockSyntax, error.message());
            None
        }
    }
}

/// A required attribute of `fence`.
pub(super) fn attribute(fence: &Fence, key: &str, problems: &mut Problems) -> Option<String> {
    let found = fence.attributes.get(key).cloned();
    if found.is_none() {
        problems.add(fence.line, Class::BlockSyntax, format!("a `{}` block needs `{key}=...`", fence.kind));
    }
    found
}
