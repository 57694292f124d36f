//! What the Trace page knows, and how it changes.
//!
//! One reducer: what was typed, what the engine answered, and where transport stands. Nothing typed is ever
//! dropped by an answer. Does NOT own conversations (`controller`) nor drawing.

use std::rc::Rc;

use chainwalk_engine::view::{NodeView, ProblemView, RulesetView, Severity, TraceView};
use wasm_bindgen::JsValue;
use yew::{AttrValue, Reducible};

use super::intake::size_text;
use super::moves::{self, Move};
use super::packet_line::PacketFields;
use super::samples::SAMPLES;
use crate::protocol::{FamilyChoice, Follow, Input, NodeFacts, RunId, SharedState, TEXT_LIMIT_BYTES};

/// A ruleset too long for a text field: a JavaScript string or file that the page never copies.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// `pasted text` or the file's name.
    pub(super) name: AttrValue,
    pub(super) size_bytes: u64,
    pub(super) body: JsValue,
}

/// The ruleset as given.
#[derive(Debug, Clone)]
pub(super) enum RulesText {
    Typed(AttrValue),
    Held(Held),
}

/// One packet sent, and its way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    /// How it came about; `None` for the first.
    pub(super) follow: Option<Follow>,
    pub(super) trace: Rc<TraceView>,
}

/// What the engine is busy with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) run: RunId,
    pub(super) what: AttrValue,
    pub(super) done: u64,
    pub(super) total: u64,
}

/// Where the link stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum LinkState {
    #[default]
    None,
    Ready(AttrValue),
    TooLong(AttrValue),
}

/// The part of the page that a narrow screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pane {
    #[default]
    Describe,
    See,
}

/// What a sample took the place of.
#[derive(Debug, Clone)]
pub(super) struct Before {
    rules: RulesText,
    family: FamilyChoice,
    packet_line: AttrValue,
    facts: NodeFacts,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct TraceState {
    /// Grows with every action: states are compared by it, never by their texts.
    pub(super) version: u64,
    pub(super) rules: RulesText,
    pub(super) family: FamilyChoice,
    /// Grows with every change of `rules` or `family`.
    pub(super) revision: u32,
    /// The revision the engine holds.
    pub(super) loaded: Option<u32>,
    pub(super) ruleset: Option<Rc<RulesetView>>,
    pub(super) packet: PacketFields,
    /// What the line shows: as typed, or joined from the fields.
    pub(super) packet_line: AttrValue,
    pub(super) facts: NodeFacts,
    pub(super) node: Option<Rc<NodeView>>,
    pub(super) problems: Vec<(Input, ProblemView)>,
    pub(super) failure: Option<AttrValue>,
    pub(super) work: Option<Work>,
    pub(super) sent: Vec<Sent>,
    pub(super) shown: usize,
    pub(super) step: usize,
    pub(super) link: LinkState,
    /// The text holds Kubernetes objects: nodes that kube-proxy could run on.
    pub(super) offer: Vec<String>,
    pub(super) pane: Pane,
    /// Typed by the reader and replaced by a sample.
    pub(super) before: Option<Before>,
}

impl Default for TraceState {
    fn default() -> Self {
        Self {
            version: 0,
            rules: RulesText::Typed(AttrValue::default()),
            family: FamilyChoice::Auto,
            revision: 0,
            loaded: None,
            ruleset: None,
            packet: PacketFields::default(),
            packet_line: AttrValue::default(),
            facts: NodeFacts::default(),
            node: None,
            problems: Vec::new(),
            failure: None,
            work: None,
            sent: Vec::new(),
            shown: 0,
            step: 0,
            link: LinkState::None,
            offer: Vec::new(),
            pane: Pane::Describe,
            before: None,
        }
    }
}

/// What can happen to the page.
#[derive(Debug)]
pub(super) enum Action {
    TypeRules(AttrValue),
    HoldRules(Held),
    ChooseFamily(FamilyChoice),
    TypeLine(AttrValue),
    TypeFields(PacketFields),
    GiveFacts(NodeFacts),
    /// A sample or a link: everything at once.
    Open(SharedState),
    /// Undoes `Open`.
    PutBack,
    Begin(Work),
    Progress {
        what: String,
        done: u64,
        total: u64,
    },
    Loaded {
        revision: u32,
        ruleset: Box<RulesetView>,
    },
    Traced {
        follow: Option<Follow>,
        trace: Box<TraceView>,
        node: Box<NodeView>,
        notes: Vec<(Input, ProblemView)>,
    },
    Refused(Vec<(Input, ProblemView)>),
    /// The engine stopped or was stopped: its session is gone. The text says why, unless the reader asked.
    Lost(Option<String>),
    Done,
    Show(usize),
    Move(Move),
    Linked(LinkState),
    Offer(Vec<String>),
    ShowPane(Pane),
}

impl PartialEq for TraceState {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl TraceState {
    /// The packet shown.
    pub(super) fn shown(&self) -> Option<&Sent> {
        self.sent.get(self.shown)
    }

    /// Problems of one input.
    pub(super) fn problems_of(&self, input: Input) -> Vec<ProblemView> {
        self.problems.iter().filter(|(of, _)| *of == input).map(|(_, problem)| problem.clone()).collect()
    }

    /// True when the engine holds the ruleset as it stands on the page.
    pub(super) fn is_loaded(&self) -> bool {
        self.loaded == Some(self.revision)
    }

    /// What a link would carry; the ruleset travels beside it when it is held.
    pub(super) fn to_share(&self) -> SharedState {
        SharedState {
            packet: self.packet_line.to_string(),
            follow: self.sent.iter().filter_map(|sent| sent.follow).collect(),
            shown: (self.shown as u32, self.step as u32),
            family: self.family,
            facts: self.facts.clone(),
            rules: match &self.rules {
                RulesText::Typed(text) => text.to_string(),
                RulesText::Held(_) => String::new(),
            },
        }
    }

    fn forget(&mut self, about: impl Fn(Input) -> bool) {
        self.problems.retain(|(input, _)| !about(*input));
        self.failure = None;
        self.link = LinkState::None;
    }

    fn change_rules(&mut self, rules: RulesText) {
        self.rules = rules;
        self.revision += 1;
        self.ruleset = None;
        self.offer.clear();
        self.forget(|input| matches!(input, Input::Rules | Input::Link));
    }

    /// Remembers what the reader typed before a sample takes its place. Samples are not remembered.
    fn keep_before(&mut self) {
        let is_own = match &self.rules {
            RulesText::Typed(text) => {
                !text.trim().is_empty() && SAMPLES.iter().all(|sample| sample.rules != text.as_str())
            }
            RulesText::Held(_) => true,
        };
        if is_own {
            self.before = Some(Before {
                rules: self.rules.clone(),
                family: self.family,
                packet_line: self.packet_line.clone(),
                facts: self.facts.clone(),
            });
        }
    }

    /// The state for a page that is opened again: whatever ran has lost its listener.
    pub(super) fn reopened(&self) -> Self {
        Self { work: None, loaded: None, ..self.clone() }
    }

    fn show(&mut self, shown: usize) {
        self.shown = shown.min(self.sent.len().saturating_sub(1));
        self.step = 0;
        self.link = LinkState::None;
    }

    fn traced(&mut self, follow: Option<Follow>, trace: Box<TraceView>, node: Box<NodeView>) {
        if follow.is_none() {
            self.sent.clear();
        }
        self.sent.push(Sent { follow, trace: Rc::from(trace) });
        self.node = Some(Rc::from(node));
        self.show(self.sent.len() - 1);
        self.pane = Pane::See;
        self.work = None;
        self.forget(|input| !matches!(input, Input::Link));
    }
}

impl Reducible for TraceState {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut state = Rc::unwrap_or_clone(self);
        state.version += 1;
        match action {
            Action::TypeRules(text) => state.change_rules(RulesText::Typed(text)),
            Action::HoldRules(held) => {
                let too_long = too_long(&held);
                state.change_rules(RulesText::Held(held));
                state.problems.extend(too_long.map(|problem| (Input::Rules, problem)));
            }
            Action::ChooseFamily(family) => {
                state.family = family;
                let rules = state.rules.clone();
                state.change_rules(rules);
            }
            Action::TypeLine(line) => {
                state.packet = PacketFields::split(&line);
                state.packet_line = line;
                state.forget(|input| input == Input::Packet);
            }
            Action::TypeFields(fields) => {
                state.packet_line = fields.join().into();
                state.packet = fields;
                state.forget(|input| input == Input::Packet);
            }
            Action::GiveFacts(facts) => {
                state.facts = facts;
                state.forget(|input| !matches!(input, Input::Rules | Input::Packet | Input::Link));
            }
            Action::Open(shared) => {
                state.keep_before();
                state.sent.clear();
                state.node = None;
                state.family = shared.family;
                state.change_rules(RulesText::Typed(shared.rules.into()));
                state.packet = PacketFields::split(&shared.packet);
                state.packet_line = shared.packet.into();
                state.facts = shared.facts;
                state.problems.clear();
            }
            Action::PutBack => {
                if let Some(before) = state.before.take() {
                    state.family = before.family;
                    state.change_rules(before.rules);
                    state.packet = PacketFields::split(&before.packet_line);
                    state.packet_line = before.packet_line;
                    state.facts = before.facts;
                    state.problems.clear();
                }
            }
            Action::Begin(work) => {
                state.work = Some(work);
                state.failure = None;
            }
            Action::Progress { what, done, total } => {
                if let Some(work) = &mut state.work {
                    (work.what, work.done, work.total) = (what.into(), done, total);
                }
            }
            Action::Loaded { revision, ruleset } => {
                state.loaded = Some(revision);
                if revision == state.revision {
                    state.ruleset = Some(Rc::from(ruleset));
                }
            }
            Action::Traced { follow, trace, node, notes } => {
                state.traced(follow, trace, node);
                state.problems.extend(notes);
            }
            Action::Refused(problems) => {
                let concerned: Vec<Input> = problems.iter().map(|(input, _)| *input).collect();
                state.forget(|input| concerned.contains(&input));
                state.problems.extend(problems);
                state.work = None;
                state.pane = Pane::Describe;
            }
            Action::Lost(why) => {
                state.loaded = None;
                state.work = None;
                state.failure = why.map(AttrValue::from);
            }
            Action::Done => state.work = None,
            Action::Show(shown) => state.show(shown),
            Action::Move(to) => {
                if let Some(sent) = state.sent.get(state.shown) {
                    state.step = moves::target(&sent.trace, state.step, to);
                    state.link = LinkState::None;
                }
            }
            Action::Linked(link) => {
                state.link = link;
                state.work = None;
            }
            Action::Offer(nodes) => {
                state.offer = nodes;
                state.work = None;
                state.pane = Pane::Describe;
            }
            Action::ShowPane(pane) => state.pane = pane,
        }
        Rc::new(state)
    }
}

/// The problem with a text that is longer than the page reads.
pub(super) fn too_long(held: &Held) -> Option<ProblemView> {
    (held.size_bytes > TEXT_LIMIT_BYTES).then(|| ProblemView {
        severity: Severity::Error,
        line: 0,
        column: 0,
        len: 0,
        message: format!(
            "{} is more than this page reads at once: {}.",
            size_text(held.size_bytes),
            size_text(TEXT_LIMIT_BYTES)
        ),
        hint: "Save only the tables you ask about: iptables-save -t nat, iptables-save -t filter.".to_owned(),
        excerpt: String::new(),
        excerpt_column: 0,
    })
}

#[cfg(test)]
mod tests;
