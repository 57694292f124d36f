//! The engine's side of a lesson: runs its scenarios, evaluates its conditions, keeps what rows are asked of.

use std::sync::Arc;

use chainwalk_engine::base::{Draws, Instant};
use chainwalk_engine::netfilter::{Table, TableState, nft};
use chainwalk_engine::netns::{Netns, Ran};
use chainwalk_engine::replay;
use chainwalk_engine::trace::{Level, Trace};
use chainwalk_engine::view::{EmittedView, RuleWindow, TraceView, story};
use chainwalk_lessons::expr::{self, Facts};
use chainwalk_lessons::facts::{self, Computed};
use chainwalk_lessons::model::{Input, Run};
use chainwalk_lessons::spread;

use super::ask::{Ask, Passage, Played, Told, What};
use crate::protocol::Response;

/// Packets of lessons are numbered from here: smaller numbers belong to the Trace page.
pub const SENT_BASE: u32 = 1 << 24;
/// Packets whose rows can still be asked; the oldest are forgotten.
const PASSAGES_MAX: usize = 200;
/// The name under which a task reads the spread of the edited chain, as the lesson checker does.
const AFTER: &str = "after";

/// Results kept, so that a question about one and its figure run it once.
const COMPUTED_MAX: usize = 16;

/// What lessons have run in this session.
#[derive(Debug, Default)]
pub struct LessonHost {
    /// By their input; the oldest are forgotten.
    computed: Vec<(Input, Computed)>,
    passages: Vec<Kept>,
    /// Passages forgotten so far.
    forgotten: u32,
}

/// What the rows of one packet's way are made of.
#[derive(Debug)]
struct Kept {
    trace: Trace,
    index: story::VisitIndex,
    tables: Vec<(Arc<Table>, TableState)>,
    nft: nft::Ruleset,
}

impl LessonHost {
    /// Answers one question; `say` hears progress.
    pub fn answer(&mut self, ask: &Ask, say: &mut dyn FnMut(Response)) -> Told {
        let told = match &ask.what {
            What::Run(run) => self.play(ask, run, say),
            What::Judge(holds) => self.judge(ask, holds, Facts::new(), say).map(Told::Judged),
            What::Try { run, edit, check, never } => (|| {
                let Input::Spread(input) = &find(ask, run)?.input else {
                    return Err(format!("the scenario `{run}` has no chain to edit"));
                };
                let spread = spread::run_with(&spread::edit(input, edit)?, &mut progress(say))?;
                let facts = Facts::from([(AFTER.to_owned(), Computed::Spread(spread.clone()).facts()?)]);
                let never = self.judge(ask, never, facts.clone(), say)?;
                let check = self.judge(ask, std::slice::from_ref(check), facts, say)?;
                let passes = check == [true] && !never.contains(&true);
                Ok(Told::Tried { spread: Box::new(spread), passes, never })
            })(),
        };
        told.unwrap_or_else(Told::Refused)
    }

    /// Rows of a chain as a visit saw them; none for a packet that is not kept.
    pub fn rows(&self, sent: u32, visit: u32, from: u32, len: u32) -> RuleWindow {
        let at = sent.checked_sub(SENT_BASE).and_then(|number| number.checked_sub(self.forgotten));
        let Some(kept) = at.and_then(|at| self.passages.get(at as usize)) else {
            return RuleWindow::default();
        };
        let tables: Vec<_> = kept.tables.iter().map(|(table, state)| (&**table, state)).collect();
        let rules = story::Rules { tables: &tables, nft: &kept.nft };
        story::visit_rows(&kept.trace, &kept.index, rules, visit, from, len)
    }

    fn play(&mut self, ask: &Ask, id: &str, say: &mut dyn FnMut(Response)) -> Result<Told, String> {
        let run = find(ask, id)?;
        let (played, digest) = match &run.input {
            Input::Spread(_) | Input::Picks(_) | Input::Queue(_) | Input::Lookups(_) | Input::Leaving(_) => {
                let computed = self.computed(&run.input, say)?;
                let digest = computed.digest();
                (Played::Computed(Box::new(computed)), digest)
            }
            Input::Replay(case) => (Played::Packets(self.packets(case)?), facts::run(&run.input)?.digest),
        };
        Ok(Told::Ran { played, as_built: digest == run.digest })
    }

    /// What a scenario gave that is not about single packets, run once.
    fn computed(&mut self, input: &Input, say: &mut dyn FnMut(Response)) -> Result<Computed, String> {
        if let Some((_, computed)) = self.computed.iter().find(|(known, _)| known == input) {
            return Ok(computed.clone());
        }
        let computed = facts::compute(input, &mut progress(say))?;
        if self.computed.len() == COMPUTED_MAX {
            self.computed.remove(0);
        }
        self.computed.push((input.clone(), computed.clone()));
        Ok(computed)
    }

    /// Runs what the conditions read, and evaluates them.
    fn judge(
        &mut self,
        ask: &Ask,
        conditions: &[String],
        mut facts: Facts,
        say: &mut dyn FnMut(Response),
    ) -> Result<Vec<bool>, String> {
        for condition in conditions {
            for name in expr::runs_read(condition).map_err(|error| error.to_string())? {
                if facts.contains_key(&name) {
                    continue;
                }
                let found = match &find(ask, &name)?.input {
                    input @ Input::Replay(_) => facts::run(input)?.facts,
                    input => self.computed(input, say)?.facts()?,
                };
                facts.insert(name, found);
            }
        }
        let holds = conditions.iter().map(|condition| expr::holds(condition, &facts));
        holds.map(|holds| holds.map_err(|error| error.to_string())).collect()
    }

    /// Takes the packets of a case through its node with every step recorded.
    fn packets(&mut self, case: &str) -> Result<Vec<Passage>, String> {
        let case = replay::parse(case).map_err(|error| error.to_string())?;
        let mut node = replay::node(&case.node, case.seed).map_err(|error| error.to_string())?;
        node.shared.draws = Draws::supplied(case.draws.iter().copied());
        let mut passages = Vec::with_capacity(case.packets.len());
        for spec in &case.packets {
            node.now = Instant::from_millis(spec.at_ms);
            let ran = match replay::skb(&node, spec)? {
                replay::Built::Received(skb, dev) => node.run_received(*skb, dev, Level::Full),
                replay::Built::Local(skb) => node.run_local(*skb, Level::Full),
                replay::Built::Malformed(error) => return Err(error.to_string()),
            };
            let trace = told(&node, &ran);
            passages.push(Passage { sent: self.keep(&node, ran.trace), trace });
        }
        Ok(passages)
    }

    fn keep(&mut self, node: &Netns, trace: Trace) -> u32 {
        if self.passages.len() == PASSAGES_MAX {
            self.passages.remove(0);
            self.forgotten += 1;
        }
        let index = story::VisitIndex::of(&trace);
        let tables =
            node.tables().iter().map(|loaded| (loaded.table.clone(), loaded.state.clone())).collect();
        self.passages.push(Kept { trace, index, tables, nft: node.nft().clone() });
        SENT_BASE + self.forgotten + self.passages.len() as u32 - 1
    }
}

/// The way of one packet, as pages draw it.
fn told(node: &Netns, ran: &Ran) -> TraceView {
    let tables: Vec<_> = node.tables().iter().map(|loaded| &*loaded.table).collect();
    let emitted = ran.emitted.iter().map(|emitted| EmittedView {
        dev: node.inet.device(emitted.dev).name.to_string(),
        packet: story::packet_view(&emitted.packet),
        made: emitted.made,
    });
    let listing = replay::show(node, "conntrack -L").unwrap_or_default();
    story::tell(story::Told {
        trace: &ran.trace,
        tables: &tables,
        nft: node.nft(),
        disposition: &ran.end.disposition,
        because: &ran.end.because,
        ct_info: ran.ct_info,
        emitted: emitted.collect(),
        // A lesson whose packet meets something that is not emulated is refused when it is built.
        uncertain: None,
        table: listing.lines().map(|line| story::entry_view(line, true)).collect(),
        reply_line: String::new(),
    })
}

fn progress(say: &mut dyn FnMut(Response)) -> impl FnMut(u32, u32) {
    |done, total| {
        let what = "Running it".to_owned();
        say(Response::Progress { what, done: u64::from(done), total: u64::from(total) });
    }
}

fn find<'a>(ask: &'a Ask, run: &str) -> Result<&'a Run, String> {
    ask.runs.iter().find(|known| known.id == run).ok_or_else(|| format!("the lesson has no scenario `{run}`"))
}

#[cfg(test)]
mod tests;
