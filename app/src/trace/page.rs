//! The page's layout: describe on the left, see on the right; one at a time on a narrow screen.

use std::cell::RefCell;

use yew::prelude::*;

use super::controller::Desk;
use super::describe::Describe;
use super::see::See;
use super::state::{Action, Pane, TraceState};
use crate::backend::Engine;
use crate::dom::{NARROW, focus_id, use_media};

thread_local! {
    /// What was typed, while another page is shown.
    static DRAFT: RefCell<TraceState> = RefCell::default();
}

/// What the route says.
#[derive(Debug, Clone, PartialEq, Properties)]
pub struct TracePageProps {
    /// The part of a link after `#/s/`.
    pub shared: Option<AttrValue>,
}

/// See the module.
#[component]
pub fn TracePage(props: &TracePageProps) -> Html {
    let engine = use_context::<Engine>().expect("the shell provides the engine");
    let state = use_reducer(|| DRAFT.with_borrow(TraceState::reopened));
    let desk = Desk { state: state.clone(), engine };
    {
        let desk = desk.clone();
        use_effect_with(props.shared.clone(), move |shared| {
            if let Some(link) = shared {
                desk.open_link(link.to_string());
            }
        });
    }
    {
        let state = state.clone();
        use_effect(move || DRAFT.set((*state).clone()));
    }
    {
        // On a narrow screen the answer takes the place of the form, and with it the focus.
        let is_narrow = use_media(NARROW);
        let traced = state.sent.len();
        use_effect_with(traced, move |traced| {
            if is_narrow && *traced > 0 {
                focus_id("see");
            }
        });
    }
    let pane = match state.pane {
        Pane::Describe => "describe",
        Pane::See => "see",
    };
    html! {
        <div class="trace" data-pane={pane}>
            <h1 class="hidden">{ "Trace a packet" }</h1>
            <Describe desk={desk.clone()} />
            <See desk={desk.clone()} />
            <PaneBar {desk} />
        </div>
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct PaneBarProps {
    desk: Desk,
}

/// The bar at the bottom of a narrow screen.
#[component]
fn PaneBar(props: &PaneBarProps) -> Html {
    let shown = props.desk.state.pane;
    let button = |pane: Pane, label: &'static str| {
        let desk = props.desk.clone();
        let onclick = Callback::from(move |_: MouseEvent| desk.act(Action::ShowPane(pane)));
        html! {
            <button type="button" class="pane-button" aria-pressed={(shown == pane).to_string()} {onclick}>
                { label }
            </button>
        }
    };
    html! {
        <div class="pane-bar" role="group" aria-label="Part of the page">
            { button(Pane::Describe, "Describe") }
            { button(Pane::See, "See") }
        </div>
    }
}
