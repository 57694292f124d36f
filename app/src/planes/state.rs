//! What the planes page knows, and how it changes. Nothing typed is ever dropped by an answer.

use std::rc::Rc;

use chainwalk_engine::view::ProblemView;
use chainwalk_engine::view::planes::{ChoiceView, LockstepView, PlanesView};
use yew::{AttrValue, Reducible};

use super::ask::PlanesState;

/// Source port of the first connection; the next one takes the next port.
const FIRST_PORT: u32 = 40_000;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Grows with every action: states are compared by it, never by their texts.
    version: u64,
    pub(super) text: AttrValue,
    pub(super) crowd: u32,
    pub(super) node: AttrValue,
    pub(super) plane: usize,
    pub(super) packet: AttrValue,
    pub(super) connection: u32,
    pub(super) view: Option<Rc<PlanesView>>,
    /// Grows with every sync: rows asked before are stale.
    pub(super) revision: u32,
    pub(super) lockstep: Option<Rc<LockstepView>>,
    /// Of the manifests, the packet, the link.
    pub(super) problems: [Vec<ProblemView>; 3],
    pub(super) failure: Option<AttrValue>,
    /// Typed by the reader and replaced by a sample.
    pub(super) before: Option<Rc<PlanesState>>,
    /// Text of the sample shown: what differs from it is the reader's own.
    sample: AttrValue,
    pub(super) link: Option<AttrValue>,
}

/// What `State::problems` is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum About {
    Objects,
    Packet,
    Link,
}

#[derive(Debug)]
pub(super) enum Action {
    Type(AttrValue),
    Crowd(u32),
    Node(AttrValue),
    Plane(usize),
    Packet(AttrValue),
    /// A sender and a destination, by their positions.
    Choose(usize, usize),
    Another,
    /// A sample or a link.
    Open(PlanesState, Vec<ProblemView>),
    PutBack,
    Updated(Box<PlanesView>),
    Ran(Box<LockstepView>),
    Wrong(About, Vec<ProblemView>),
    Failed(String),
    Linked(String),
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl State {
    pub(super) fn to_share(&self) -> PlanesState {
        PlanesState {
            text: self.text.to_string(),
            crowd: self.crowd,
            node: self.node.to_string(),
            plane: self.plane as u32,
            packet: self.packet.to_string(),
            connection: self.connection,
        }
    }

    /// Which sender and which destination the packet line names, if they are among those offered.
    pub(super) fn chosen(&self) -> (Option<usize>, Option<usize>) {
        let Some(view) = &self.view else { return (None, None) };
        let words: Vec<&str> = self.packet.split_whitespace().collect();
        let [proto, from, ">", to, "in", input, ..] = words[..] else { return (None, None) };
        let is_from = |choice: &ChoiceView| {
            choice.input == input
                && from
                    .rsplit_once(':')
                    .is_some_and(|(ip, _)| ip.trim_matches(['[', ']']) == choice.end_point)
        };
        let is_to = |choice: &ChoiceView| choice.end_point == to && choice.proto == proto;
        (view.clients.iter().position(is_from), view.targets.iter().position(is_to))
    }

    fn open(&mut self, state: PlanesState) {
        self.text = state.text.into();
        self.crowd = state.crowd;
        self.node = state.node.into();
        self.plane = state.plane as usize;
        self.packet = state.packet.into();
        self.connection = state.connection;
        self.problems = Default::default();
    }

    fn choose(&mut self, client: usize, target: usize) {
        let Some(view) = &self.view else { return };
        let Some(to) = view.targets.get(target) else { return };
        let wanted = view.clients.get(client).filter(|from| from.is_v6 == to.is_v6);
        let Some(from) = wanted.or_else(|| view.clients.iter().find(|from| from.is_v6 == to.is_v6)) else {
            return;
        };
        let port = FIRST_PORT + self.connection;
        let source = if from.is_v6 {
            format!("[{}]:{port}", from.end_point)
        } else {
            format!("{}:{port}", from.end_point)
        };
        self.packet = format!("{} {source} > {} in {}", to.proto, to.end_point, from.input).into();
    }
}

impl Reducible for State {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut state = Rc::unwrap_or_clone(self);
        state.version += 1;
        match action {
            Action::Type(text) => state.text = text,
            Action::Crowd(count) => state.crowd = count,
            Action::Node(node) => state.node = node,
            Action::Plane(plane) => state.plane = plane,
            Action::Packet(packet) => state.packet = packet,
            Action::Choose(client, target) => state.choose(client, target),
            Action::Another => {
                let (client, target) = state.chosen();
                state.connection += 1;
                if let (Some(client), Some(target)) = (client, target) {
                    state.choose(client, target);
                }
            }
            Action::Open(opened, problems) => {
                if !state.text.trim().is_empty() && state.text != state.sample {
                    state.before = Some(Rc::new(state.to_share()));
                }
                state.sample = opened.text.clone().into();
                state.open(opened);
                state.problems[About::Link as usize] = problems;
            }
            Action::PutBack => {
                if let Some(before) = state.before.take() {
                    state.open(Rc::unwrap_or_clone(before));
                }
            }
            Action::Updated(view) => {
                state.node = view.node.clone().into();
                state.plane = state.plane.min(view.planes.len().saturating_sub(1));
                state.view = Some(Rc::from(view));
                state.revision += 1;
                state.problems[About::Objects as usize].clear();
                state.failure = None;
                if state.packet.is_empty() {
                    state.choose(0, 0);
                }
            }
            Action::Ran(lockstep) => {
                state.lockstep = Some(Rc::from(lockstep));
                state.problems[About::Packet as usize].clear();
            }
            Action::Wrong(about, problems) => state.problems[about as usize] = problems,
            Action::Failed(how) => state.failure = Some(how.into()),
            Action::Linked(link) => {
                state.link = Some(link.into());
                return Rc::new(state);
            }
        }
        state.link = None;
        Rc::new(state)
    }
}
