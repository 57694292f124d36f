//! The page's conversations with the engine: sync, run, link.

use yew::{AttrValue, Callback, UseReducerHandle};

use super::ask::{Ask, Edit, Told};
use super::state::{About, Action, State};
use crate::backend::Engine;
use crate::protocol::{Request, Response};

/// The page's state and the engine, together: what a component needs to act.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Desk {
    pub(super) state: UseReducerHandle<State>,
    pub(super) engine: Engine,
}

impl Desk {
    pub(super) fn act(&self, action: Action) {
        self.state.dispatch(action);
    }

    /// Opens a sample.
    pub(super) fn sample(&self, number: u32) {
        self.ask(Ask::Sample(number));
    }

    pub(super) fn open_link(&self, link: &AttrValue) {
        self.ask(Ask::ReadLink(link.to_string()));
    }

    /// Syncs every plane with the page's objects.
    pub(super) fn update(&self) {
        let state = &self.state;
        let (text, node) = (state.text.to_string(), state.node.to_string());
        self.ask(Ask::Update { text, crowd: state.crowd, node });
    }

    /// Changes the manifests by form.
    pub(super) fn edit(&self, edit: Edit) {
        self.ask(Ask::Edit { text: self.state.text.to_string(), edit });
    }

    /// Sends the packet through every plane.
    pub(super) fn run(&self) {
        self.ask(Ask::Run { packet: self.state.packet.to_string(), connection: self.state.connection });
    }

    pub(super) fn share(&self) {
        self.ask(Ask::MakeLink(self.state.to_share()));
    }

    fn ask(&self, ask: Ask) {
        let dispatch = self.state.dispatcher();
        self.engine.ask(
            Request::Planes(Box::new(ask)),
            Callback::from(move |answer| {
                let action = match answer {
                    Response::Planes(told) => match *told {
                        Told::Opened(state, problems) => Action::Open(state, problems),
                        Told::WrongLink(problems) => Action::Wrong(About::Link, problems),
                        Told::Updated(view) => Action::Updated(view),
                        Told::Edited(Ok(text)) => Action::Type(text.into()),
                        Told::Edited(Err(why)) => Action::Failed(why),
                        Told::Wrong(problems) => Action::Wrong(About::Objects, problems),
                        Told::Ran(lockstep) => Action::Ran(lockstep),
                        Told::WrongPacket(problems) => Action::Wrong(About::Packet, problems),
                        Told::Link(link) => Action::Linked(link),
                        // Asked for, and heard, by the list.
                        Told::Rows(_) => return,
                    },
                    Response::Failed(how) => Action::Failed(how),
                    _ => return,
                };
                dispatch.dispatch(action);
            }),
        );
    }
}
