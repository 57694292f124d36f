//! The `scenario` blocks of a lesson: made into inputs of the engine, and run.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::blocks::{self, ScenarioBody, attribute};
use super::check;
use super::compile::beside;
use super::problem::{Class, Problems};
use super::source::Fence;
use super::transcript::{self, Transcript};
use crate::expr::Facts;
use crate::facts;
use crate::leaving::LeavingInput;
use crate::lookups::LookupsInput;
use crate::model::{Console, Input, Run, SpreadInput};
use crate::picks::PicksInput;
use crate::queue::QueueInput;

/// Every scenario of a lesson, run.
#[derive(Debug, Default)]
pub(super) struct Scenarios {
    pub(super) runs: Vec<Run>,
    pub(super) facts: Facts,
    /// Facts of runs cut short by `after`.
    cut: BTreeMap<(String, u32), Value>,
    /// Texts whose numbers prose may use.
    pub(super) inputs: Vec<String>,
    /// Line of each scenario, in the order of `runs`.
    pub(super) lines: Vec<usize>,
}

impl Scenarios {
    pub(super) fn has(&self, run: &str) -> bool {
        self.get(run).is_some()
    }

    pub(super) fn get(&self, run: &str) -> Option<&Run> {
        self.runs.iter().find(|known| known.id == run)
    }

    /// What `command` printed for a console block.
    pub(super) fn shown(&self, console: &Console, command: &str) -> Option<&str> {
        let facts = match console.after {
            None => self.facts.get(&console.run)?,
            Some(after) => self.cut.get(&(console.run.clone(), after))?,
        };
        facts.get("show")?.get(command)?.as_str()
    }
}

pub(super) fn run_all(
    dir: &Path,
    fences: &[&Fence],
    transcripts: &[Transcript],
    problems: &mut Problems,
) -> Scenarios {
    let mut shows = transcript::shows(transcripts);
    let mut bodies: BTreeMap<String, ScenarioBody> = BTreeMap::new();
    let mut all = Scenarios::default();
    for fence in fences.iter().filter(|fence| fence.kind == "scenario") {
        let Some(id) = attribute(fence, "id", problems) else { continue };
        let Some(mut body) = blocks::body::<ScenarioBody>(fence, problems) else { continue };
        if all.has(&id) || id == AFTER {
            problems.add(fence.line, Class::BlockSyntax, format!("the id `{id}` is taken"));
            continue;
        }
        if let Some(like) = body.like.clone() {
            let Some(model) = bodies.get(&like) else {
                let message = format!("`like`: no earlier scenario has the id `{like}`");
                problems.add(fence.line, Class::UnknownReference, message);
                continue;
            };
            body.node = body.node.or_else(|| model.node.clone());
            for (address, name) in &model.names {
                body.names.entry(address.clone()).or_insert_with(|| name.clone());
            }
        }
        body.show.extend(shows.remove(&(id.clone(), None)).unwrap_or_default());
        match input(dir, &body) {
            Ok(input) => run(&mut all, fence, &id, &body, input, &mut shows, problems),
            Err(message) => problems.add(fence.line, Class::ScenarioFailed, message),
        }
        bodies.insert(id, body);
    }
    for (run, _) in shows.keys() {
        if !all.has(run) {
            let line = transcripts.iter().find(|t| t.console.run == *run).map_or(1, |t| t.line);
            problems.add(line, Class::UnknownReference, format!("no scenario has the id `{run}`"));
        }
    }
    all
}

/// The name under which a task reads the spread of the learner's edited chain.
pub(super) const AFTER: &str = "after";

fn run(
    all: &mut Scenarios,
    fence: &Fence,
    id: &str,
    body: &ScenarioBody,
    input: Input,
    shows: &mut super::compile::Shows,
    problems: &mut Problems,
) {
    let outcome = match facts::run(&input) {
        Ok(outcome) => outcome,
        Err(message) => {
            problems.add(fence.line, Class::ScenarioFailed, message);
            return;
        }
    };
    all.inputs.push(match &input {
        Input::Replay(case) => case.replace("\\n", "\n"),
        Input::Spread(spread) => format!(
            "{} {} {} {} {} {}",
            spread.rules, spread.client, spread.service, spread.connections, spread.batch, spread.seed
        ),
        Input::Picks(_) | Input::Queue(_) | Input::Lookups(_) | Input::Leaving(_) => fence.body.clone(),
    });
    check::published(fence, &input, &outcome.facts, problems);
    let cuts: Vec<u32> = shows.keys().filter(|(run, _)| run == id).filter_map(|(_, after)| *after).collect();
    for after in cuts {
        let commands = shows.remove(&(id.to_owned(), Some(after))).unwrap_or_default();
        match cut_short(&input, after, &commands).and_then(|input| facts::run(&input)) {
            Ok(outcome) => {
                all.cut.insert((id.to_owned(), after), outcome.facts);
            }
            Err(message) => problems.add(fence.line, Class::ScenarioFailed, message),
        }
    }
    all.facts.insert(id.to_owned(), outcome.facts);
    all.lines.push(fence.line);
    all.runs.push(Run {
        id: id.to_owned(),
        title: body.title.clone(),
        names: body.names.iter().map(|(address, name)| (address.clone(), name.clone())).collect(),
        input,
        digest: outcome.digest,
    });
}

fn input(dir: &Path, body: &ScenarioBody) -> Result<Input, String> {
    if let Some(spread) = &body.spread {
        return Ok(Input::Spread(SpreadInput {
            rules: beside(dir, &spread.rules)?,
            client: spread.client.clone(),
            service: spread.service.clone(),
            connections: spread.connections,
            batch: spread.batch,
            seed: spread.seed,
        }));
    }
    if let Some(computed) = computed(body) {
        return Ok(computed);
    }
    let Some(node) = &body.node else {
        let kinds = "`[spread]`, `[picks]`, `[queue]`, `[lookups]`, `[leaving]`";
        return Err(format!("a scenario has a `[node]` and `packets`, or one of {kinds}"));
    };
    let mut node = serde_json::to_value(node).map_err(|error| error.to_string())?;
    for step in node.get_mut("setup").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(name) = step.get("stdin_file").and_then(Value::as_str).map(str::to_owned) {
            let step = step.as_object_mut().ok_or("a set-up step is a table")?;
            step.remove("stdin_file");
            step.insert("stdin".to_owned(), Value::String(beside(dir, &name)?));
        }
    }
    let mut case = json!({
        "format": "chainwalk.replay/1",
        "seed": body.seed.unwrap_or(1),
        "node": node,
        "packets": serde_json::to_value(&body.packets).map_err(|error| error.to_string())?,
        "show": body.show,
    });
    if let Some(draws) = &body.draws {
        case["draws"] = json!(draws);
    }
    Ok(Input::Replay(case.to_string()))
}

/// A scenario whose input is its block and nothing else.
fn computed(body: &ScenarioBody) -> Option<Input> {
    let picks = body.picks.as_ref().map(|picks| {
        Input::Picks(PicksInput {
            schedulers: picks.schedulers.clone(),
            servers: picks.servers.clone(),
            arrivals: picks.arrivals.clone(),
            changes: picks.changes.clone(),
            persistent_s: picks.persistent_s,
            sysctls: picks.sysctls.clone(),
            seed: picks.seed,
        })
    });
    let queue = body.queue.as_ref().map(|queue| {
        Input::Queue(QueueInput {
            schedulers: queue.schedulers.clone(),
            pods: queue.pods,
            requests: queue.requests,
            load_percent: queue.load_percent,
            shortest_ms: queue.shortest_ms,
            longest_ms: queue.longest_ms,
            tail: queue.tail,
            seed: queue.seed,
            published: queue.published.clone(),
            within_percent: queue.within_percent,
        })
    });
    let lookups = body.lookups.as_ref().map(|lookups| {
        Input::Lookups(LookupsInput {
            forms: lookups.forms.clone(),
            services: lookups.services.clone(),
            endpoints: lookups.endpoints,
        })
    });
    let leaving = body.leaving.as_ref().map(|leaving| {
        Input::Leaving(LeavingInput {
            tables: leaving.tables.clone(),
            servers: leaving.servers.clone(),
            leaves: leaving.leaves.clone(),
        })
    });
    picks.or(queue).or(lookups).or(leaving)
}

/// The same case with its first `after` packets only, showing `commands`.
fn cut_short(input: &Input, after: u32, commands: &[String]) -> Result<Input, String> {
    let Input::Replay(case) = input else {
        return Err("`after` cuts a scenario of packets".to_owned());
    };
    let mut case: Value = serde_json::from_str(case).map_err(|error| error.to_string())?;
    if let Some(packets) = case["packets"].as_array_mut() {
        packets.truncate(after as usize);
    }
    case["show"] = json!(commands);
    Ok(Input::Replay(case.to_string()))
}
