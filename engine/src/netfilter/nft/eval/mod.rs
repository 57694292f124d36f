//! Evaluation: walks a base chain for a packet (`nft_do_chain`).
//!
//! | file | owns |
//! |---|---|
//! | `mod` | chains, rules, verdicts, the trace of them |
//! | `statement` | what each statement does |
//! | `value` | what each expression yields |
//! | `compare` | the two sides of a match |
//! | `meta`, `ct`, `header` | keys of the packet, of its connection, bytes of its headers |
//! | `rewrite` | `... set ...` |
//! | `rate` | limits, quotas, counted connections |
//! | `lookup` | elements of sets, and making them |
//! | `nat` | mappings |
//! | `unknown` | what is not emulated |
//! | `hear` | what a listener to traces is told |
//! | `show` | values and expressions in the words of a trace |
//!
//! Names of sets, chains and objects are looked up in the table as the packet comes by; the text layer has made sure
//! that they are there.

mod compare;
mod ct;
mod hash;
mod header;
mod hear;
mod lookup;
mod meta;
mod nat;
mod rate;
mod rewrite;
mod show;
mod statement;
mod unknown;
mod value;

use std::sync::Arc;

use super::monitor::What;
use super::state::NftState;
use super::stmt::Verdict as Word;
use super::table::{Policy, Rule, Table};
use crate::base::limits::RULES_PER_WALK_MAX;
use crate::netfilter::{Cx, Verdict};
use crate::packet::Skb;
use crate::trace::{Check, DropReason, Entry, RuleRef, TraceKind};

pub use show::{expr_text, value_text};

/// Depth of the kernel's stack of jumps (`NFT_JUMP_STACK_SIZE`).
const JUMP_DEPTH_MAX: usize = 16;

/// Traces and hooks name tables of nftables by numbers from here on; below are those of iptables.
pub const TABLE_BASE: u16 = 0x8000;

/// Why an expression or statement gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// `NFT_BREAK`: the rule does not match.
    Break,
    /// Not emulated, by its name.
    Unknown(&'static str),
}

/// What a rule or statement leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Flow {
    /// On to the next statement or rule.
    Next,
    Jump(Arc<str>),
    Goto(Arc<str>),
    Return,
    Verdict(Verdict),
}

/// Runs base chain `chain` (its position in `table`). `number` is the table's number in traces.
pub fn run(
    table: &Table,
    number: u16,
    chain: u32,
    state: &mut NftState,
    cx: &mut Cx<'_>,
    skb: &mut Skb,
) -> Verdict {
    let place = RuleRef { table: number, chain, index: 0 };
    Walk { table, state, cx, place, checks: Vec::new(), why: false, evaluated: 0, heard: false }
        .chains(chain as usize, skb)
}

/// One traversal.
pub(super) struct Walk<'a, 'c, 'd> {
    pub(super) table: &'a Table,
    pub(super) state: &'a mut NftState,
    pub(super) cx: &'c mut Cx<'d>,
    /// The rule being evaluated.
    pub(super) place: RuleRef,
    /// Tests of the rule so far, collected when a trace wants them.
    pub(super) checks: Vec<Check>,
    pub(super) why: bool,
    evaluated: u64,
    /// A listener to traces knows the packet.
    heard: bool,
}

impl<'a> Walk<'a, '_, '_> {
    fn chains(mut self, base: usize, skb: &mut Skb) -> Verdict {
        let mut returns: Vec<(usize, usize)> = Vec::new();
        let (mut at, mut index) = (base, 0);
        self.enter(at, Entry::Hook);
        let verdict = loop {
            let Some((_, chain)) = self.table.chains.get_index(at) else {
                break Verdict::Drop(DropReason::Loop);
            };
            let flow = match chain.rules.get(index) {
                Some(rule) => {
                    self.place = RuleRef { chain: at as u32, index: index as u32, ..self.place };
                    index += 1;
                    self.rule(rule, skb)
                }
                None => {
                    if !returns.is_empty() {
                        self.cx.trace.record(self.cx.now, || TraceKind::ChainEnd {
                            table: self.place.table,
                            chain: at as u32,
                        });
                    }
                    Flow::Return
                }
            };
            match flow {
                Flow::Next => {}
                Flow::Return => match returns.pop() {
                    Some(caller) => (at, index) = caller,
                    None => break self.policy(base, skb),
                },
                Flow::Jump(ref to) | Flow::Goto(ref to) => {
                    let jumps = matches!(flow, Flow::Jump(_));
                    let too_deep = jumps && returns.len() >= JUMP_DEPTH_MAX;
                    let Some(to) = self.table.chains.get_index_of(to) else {
                        break Verdict::Drop(DropReason::Loop);
                    };
                    if too_deep || self.evaluated > RULES_PER_WALK_MAX {
                        break Verdict::Drop(DropReason::Loop);
                    }
                    if jumps {
                        returns.push((at, index));
                    }
                    (at, index) = (to, 0);
                    self.enter(at, if jumps { Entry::Jump } else { Entry::Goto });
                }
                Flow::Verdict(verdict) => break verdict,
            }
        };
        self.cx.trace.rules_evaluated += self.evaluated;
        verdict
    }

    fn enter(&mut self, chain: usize, entry: Entry) {
        let table = self.place.table;
        self.cx.trace.record(self.cx.now, || TraceKind::Chain { table, chain: chain as u32, entry });
    }

    fn policy(&mut self, base: usize, skb: &mut Skb) -> Verdict {
        let policy = self.table.chains.get_index(base).and_then(|(_, c)| Some(c.base.as_ref()?.policy));
        let (verdict, name) = match policy {
            Some(Policy::Drop) => (Verdict::Drop(DropReason::Policy), "drop"),
            Some(Policy::Accept) | None => (Verdict::Accept, "accept"),
        };
        let mark = skb.mark;
        self.hear(base, skb, || What::Policy { verdict: name, mark });
        let table = self.place.table;
        self.cx.trace.record(self.cx.now, || TraceKind::Policy {
            table,
            chain: base as u32,
            verdict: name.to_owned(),
        });
        verdict
    }

    /// Runs a rule's statements until one breaks off or gives a verdict.
    fn rule(&mut self, rule: &'a Rule, skb: &mut Skb) -> Flow {
        self.evaluated += 1;
        self.why = self.cx.trace.full();
        self.checks.clear();
        let events = self.cx.trace.events.len();
        let mut flow = Flow::Next;
        let mut matched = Some(true);
        for statement in &rule.statements {
            match self.statement(statement, skb) {
                Ok(Flow::Next) => {}
                Ok(other) => {
                    flow = other;
                    break;
                }
                Err(Stop::Break) => {
                    matched = Some(false);
                    break;
                }
                Err(Stop::Unknown(name)) => {
                    let assumed = self.cx.assume.decide(self.place, name);
                    self.check(assumed, || {
                        ("not emulated".to_owned(), "unknown".to_owned(), name.to_owned())
                    });
                    let is_test = statement.is_test();
                    if !assumed && is_test {
                        matched = Some(false);
                        break;
                    }
                    if matched == Some(true) {
                        matched = None;
                    }
                    // A test that holds goes on; of what does something, one world goes on behind it, the other
                    // ends in it.
                    if assumed && !is_test {
                        flow = Flow::Verdict(Verdict::Stolen);
                        break;
                    }
                }
            }
        }
        if matched != Some(false) {
            let verdict = || What::Rule { handle: rule.handle, verdict: hear::verdict_of(&flow) };
            let heard = self.state.monitor.events.len();
            self.hear(self.place.chain as usize, skb, verdict);
            if matches!(flow, Flow::Verdict(Verdict::Reject(_))) {
                self.state.monitor.withhold(heard);
            }
        }
        self.record(events, matched, &flow);
        flow
    }

    /// Puts the rule's own event in front of those of its statements.
    fn record(&mut self, at: usize, matched: Option<bool>, flow: &Flow) {
        if !(self.cx.trace.full() || (self.cx.trace.on() && matched != Some(false))) {
            return;
        }
        let verdict = match (matched, flow) {
            (Some(false), _) => String::new(),
            (_, Flow::Next) => "continue".to_owned(),
            (_, Flow::Jump(to)) => format!("jump {to}"),
            (_, Flow::Goto(to)) => format!("goto {to}"),
            (_, Flow::Return) => "return".to_owned(),
            (_, Flow::Verdict(verdict)) => verdict_word(verdict).to_owned(),
        };
        let rule = self.place;
        let checks = std::mem::take(&mut self.checks);
        self.cx.trace.record(self.cx.now, || TraceKind::Rule { rule, matched, checks, verdict });
        // Effects were recorded as they happened; a reader wants the rule first.
        if let Some(events) = self.cx.trace.events.get_mut(at..) {
            events.rotate_right(1);
        }
    }

    /// Notes a test for the trace: what is compared, the packet's value, the wanted one.
    pub(super) fn check(&mut self, pass: bool, words: impl FnOnce() -> (String, String, String)) {
        if self.why {
            let (field, have, want) = words();
            self.checks.push(Check { field: field.into(), have, want, found: None, pass });
        }
    }
}

const fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Accept => "accept",
        Verdict::Drop(_) => "drop",
        Verdict::Reject(_) => "reject",
        Verdict::Queue => "queue",
        Verdict::Stolen => "stolen",
    }
}

impl From<&Word> for Flow {
    fn from(word: &Word) -> Self {
        match word {
            Word::Accept => Self::Verdict(Verdict::Accept),
            Word::Drop => Self::Verdict(Verdict::Drop(DropReason::Rule)),
            Word::Continue => Self::Next,
            Word::Return => Self::Return,
            Word::Jump(to) => Self::Jump(Arc::clone(to)),
            Word::Goto(to) => Self::Goto(Arc::clone(to)),
        }
    }
}
