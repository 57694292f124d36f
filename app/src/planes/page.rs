//! The page's layout, and when it asks the engine anew: after a pause in typing.

use std::cell::RefCell;

use yew::prelude::*;

use super::compare::Compare;
use super::controller::Desk;
use super::held_panel::HeldPanel;
use super::objects_panel::ObjectsPanel;
use super::packet_panel::PacketPanel;
use super::samples::FIRST;
use super::state::State;
use crate::backend::Engine;
use crate::dom::Timer;

/// Pause after which a text counts as typed.
const PAUSE_MS: i32 = 350;

thread_local! {
    /// What was typed, while another page is shown.
    static DRAFT: RefCell<State> = RefCell::default();
}

/// What the route says.
#[derive(Debug, Clone, PartialEq, Properties)]
pub struct PlanesPageProps {
    /// The part of a link after `#/planes/`.
    pub shared: Option<AttrValue>,
}

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct DeskProps {
    pub(super) desk: Desk,
}

/// See the module.
#[component]
pub fn PlanesPage(props: &PlanesPageProps) -> Html {
    let engine = use_context::<Engine>().expect("the shell provides the engine");
    let state = use_reducer(|| DRAFT.with_borrow(State::clone));
    let desk = Desk { state: state.clone(), engine };
    {
        let desk = desk.clone();
        use_effect_with(props.shared.clone(), move |shared| match shared {
            Some(link) => desk.open_link(link),
            None if desk.state.text.is_empty() => desk.sample(FIRST),
            None => {}
        });
    }
    {
        let state = state.clone();
        use_effect(move || DRAFT.set((*state).clone()));
    }
    {
        // The first sync, and that of a sample, need not wait for more typing.
        let desk = desk.clone();
        let is_first = state.view.is_none();
        use_effect_with((state.text.clone(), state.crowd, state.node.clone()), move |(text, ..)| {
            let wait = if is_first { 0 } else { PAUSE_MS };
            let timer = (!text.is_empty()).then(|| Timer::new(wait, move || desk.update()));
            move || drop(timer)
        });
    }
    {
        let desk = desk.clone();
        let is_ready = state.view.is_some() && !state.packet.is_empty();
        use_effect_with((state.revision, state.packet.clone(), state.connection), move |_| {
            let timer = is_ready.then(|| Timer::new(PAUSE_MS / 4, move || desk.run()));
            move || drop(timer)
        });
    }
    html! {
        <div class="planes">
            <header class="planes-head">
                <h1>{ "Four data planes" }</h1>
                <p class="lead">{ "What kube-proxy writes into a node, in each of its modes, and the same packet through all of them." }</p>
            </header>
            <ObjectsPanel desk={desk.clone()} />
            <HeldPanel desk={desk.clone()} />
            <section class="lockstep" aria-labelledby="lockstep-title">
                <PacketPanel desk={desk.clone()} />
                <Compare lockstep={state.lockstep.clone()} />
            </section>
        </div>
    }
}
