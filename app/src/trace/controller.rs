//! The page's conversations with the engine: load, trace, follow, link.
//!
//! Owns: which requests a press makes, and which action each answer becomes.

use wasm_bindgen::JsValue;
use yew::{Callback, UseReducerDispatcher, UseReducerHandle};

use super::moves::Move;
use super::state::{Action, LinkState, RulesText, TraceState, Work, too_long};
use crate::backend::Engine;
use crate::link::LINK_LIMIT_CHARS;
use crate::protocol::{FamilyChoice, Follow, Input, NodeFacts, ProxyMode, Request, Response, SharedState};

/// The page's state and the engine, together: what a component needs to act.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Desk {
    pub(super) state: UseReducerHandle<TraceState>,
    pub(super) engine: Engine,
}

type Dispatch = UseReducerDispatcher<TraceState>;

impl Desk {
    /// Changes the state.
    pub(super) fn act(&self, action: Action) {
        self.state.dispatch(action);
    }

    /// Sends the packet as it stands on the page through a fresh node.
    pub(super) fn trace(&self) {
        self.trace_with(self.state.facts.clone());
    }

    /// The same with other facts about the node.
    pub(super) fn trace_with(&self, facts: NodeFacts) {
        self.trace_as(self.state.packet_line.to_string(), facts);
    }

    /// The same with another packet.
    pub(super) fn trace_line(&self, packet: String) {
        self.trace_as(packet, self.state.facts.clone());
    }

    fn trace_as(&self, packet: String, facts: NodeFacts) {
        if let RulesText::Held(held) = &self.state.rules
            && let Some(problem) = too_long(held)
        {
            return self.act(Action::Refused(vec![(Input::Rules, problem)]));
        }
        if !self.state.is_loaded() {
            self.load();
        }
        self.send(Request::Trace { packet, facts }, None);
    }

    /// Sends one more packet of the same connection.
    pub(super) fn follow(&self, follow: Follow) {
        self.send(Request::Follow(follow), Some(follow));
    }

    /// Stops what runs.
    pub(super) fn cancel(&self) {
        self.engine.cancel();
    }

    /// Makes the link to what is shown.
    pub(super) fn share(&self) {
        let held = match &self.state.rules {
            RulesText::Typed(_) => None,
            RulesText::Held(held) => Some(held.body.clone()),
        };
        self.make_link(self.state.to_share(), held);
    }

    /// The same without the ruleset: who opens it pastes the ruleset first.
    pub(super) fn share_without_rules(&self) {
        self.make_link(SharedState { rules: String::new(), ..self.state.to_share() }, None);
    }

    fn make_link(&self, state: SharedState, held: Option<JsValue>) {
        let dispatch = self.state.dispatcher();
        self.engine.ask_with(
            Request::MakeLink(state),
            held,
            Callback::from(move |answer| match answer {
                Response::Link(link) if link.len() > LINK_LIMIT_CHARS => {
                    dispatch.dispatch(Action::Linked(LinkState::TooLong(link.into())));
                }
                Response::Link(link) => dispatch.dispatch(Action::Linked(LinkState::Ready(link.into()))),
                other => hear(&dispatch, other, None),
            }),
        );
    }

    /// Opens the part of a link after `#/s/`.
    pub(super) fn open_link(&self, link: String) {
        let (desk, dispatch) = (self.clone(), self.state.dispatcher());
        self.engine.ask(
            Request::ReadLink(link),
            Callback::from(move |answer| match answer {
                Response::Opened { state, problems } => {
                    let is_whole = problems.is_empty();
                    let problems = problems.into_iter().map(|problem| (Input::Link, problem)).collect();
                    dispatch.dispatch(Action::Open(state.clone()));
                    dispatch.dispatch(Action::Refused(problems));
                    if is_whole {
                        desk.replay(state);
                    }
                }
                other => hear(&dispatch, other, None),
            }),
        );
    }

    /// Opens a sample or a link and sends its packets again.
    pub(super) fn open(&self, shared: SharedState) {
        self.act(Action::Open(shared.clone()));
        self.replay(shared);
    }

    fn replay(&self, shared: SharedState) {
        if shared.packet.is_empty() {
            return;
        }
        // `Open` has made exactly one change of the ruleset.
        self.load_text(JsValue::from_str(&shared.rules), self.state.revision + 1, shared.family);
        self.send(Request::Trace { packet: shared.packet, facts: shared.facts }, None);
        for follow in shared.follow {
            self.follow(follow);
        }
        let (shown, step) = shared.shown;
        let dispatch = self.state.dispatcher();
        // Answers come in order, so this one comes when all packets have been sent.
        self.engine.ask(
            Request::Hello,
            Callback::from(move |_| {
                dispatch.dispatch(Action::Show(shown as usize));
                dispatch.dispatch(Action::Move(Move::To(step as usize)));
            }),
        );
    }

    fn load(&self) {
        self.load_text(self.text(), self.state.revision, self.state.family);
    }

    fn text(&self) -> JsValue {
        match &self.state.rules {
            RulesText::Typed(text) => JsValue::from_str(text),
            RulesText::Held(held) => held.body.clone(),
        }
    }

    /// Puts what kube-proxy writes for the objects on the page in their place, and traces a packet.
    pub(super) fn run_proxy(&self, node: String, mode: ProxyMode) {
        let desk = self.clone();
        self.engine.ask_with(
            Request::RunProxy { node, mode },
            Some(self.text()),
            Callback::from(move |answer| match answer {
                Response::Proxied(state) => desk.open(*state),
                other => hear(&desk.state.dispatcher(), other, None),
            }),
        );
    }

    fn load_text(&self, text: JsValue, revision: u32, family: FamilyChoice) {
        let dispatch = self.state.dispatcher();
        let on_answer = Callback::from(move |answer| match answer {
            Response::Loaded(ruleset) => {
                dispatch.dispatch(Action::Loaded { revision, ruleset: Box::new(ruleset) });
            }
            Response::Objects(nodes) => dispatch.dispatch(Action::Offer(nodes)),
            other => hear(&dispatch, other, None),
        });
        let run = self.engine.ask_with(Request::Load { family }, Some(text), on_answer);
        self.act(Action::Begin(Work { run, what: "Reading the ruleset".into(), done: 0, total: 0 }));
    }

    fn send(&self, request: Request, follow: Option<Follow>) {
        let dispatch = self.state.dispatcher();
        self.engine.ask(request, Callback::from(move |answer| hear(&dispatch, answer, follow)));
    }
}

/// What every answer means for the page.
fn hear(dispatch: &Dispatch, answer: Response, follow: Option<Follow>) {
    let action = match answer {
        Response::Progress { what, done, total } => Action::Progress { what, done, total },
        Response::Traced { trace, node, notes, .. } => Action::Traced { follow, trace, node, notes },
        Response::Refused(problems) => Action::Refused(problems),
        Response::Failed(how) => Action::Lost(Some(how)),
        Response::Cancelled => Action::Lost(None),
        // Answered where they are asked for.
        Response::Hello { .. }
        | Response::Loaded(_)
        | Response::Objects(_)
        | Response::Proxied(_)
        | Response::Rows(_)
        | Response::Link(_)
        | Response::Opened { .. }
        | Response::Fidelity(_)
        | Response::Lesson(_)
        | Response::NeedsPlanes
        | Response::Planes(_) => Action::Done,
    };
    dispatch.dispatch(action);
}
