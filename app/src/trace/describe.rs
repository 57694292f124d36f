//! The left side: what the reader gives.

use yew::prelude::*;

use super::controller::Desk;
use super::node_panel::NodePanel;
use super::packet_panel::PacketPanel;
use super::problems::Problems;
use super::rules_panel::RulesPanel;
use crate::protocol::Input;

/// The page's state and the engine.
#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct DeskProps {
    pub(super) desk: Desk,
}

/// See the module.
#[component]
pub(super) fn Describe(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let onsubmit = {
        let desk = desk.clone();
        Callback::from(move |event: SubmitEvent| {
            event.prevent_default();
            desk.trace();
        })
    };
    html! {
        <form class="describe" {onsubmit} novalidate=true aria-label="Describe">
            <Problems problems={desk.state.problems_of(Input::Link)} id="link-problems" />
            <RulesPanel desk={desk.clone()} />
            <PacketPanel desk={desk.clone()} />
            <NodePanel desk={desk.clone()} />
            if let Some(failure) = &desk.state.failure {
                <p class="problem" role="alert">{ failure }</p>
            }
        </form>
    }
}
