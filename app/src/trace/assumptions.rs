//! What the engine took for granted, each changeable in place.

use chainwalk_engine::view::{AssumptionKind, AssumptionView};
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::controller::Desk;
use super::describe::DeskProps;
use super::packet_line::PacketFields;
use super::state::Action;

/// See the module.
#[component]
pub(super) fn Assumptions(props: &DeskProps) -> Html {
    let Some(node) = &props.desk.state.node else { return html! {} };
    if node.assumptions.is_empty() {
        return html! { <p class="muted small">{ "Nothing about the node was assumed." }</p> };
    }
    html! {
        <>
            <h3 class="small-head" id="assumed">{ "Assumed" }</h3>
            <ul class="assumptions" aria-labelledby="assumed">
                { for node.assumptions.iter().map(|assumption| html! {
                    <Assumption key={assumption.sentence.clone()} desk={props.desk.clone()} assumption={assumption.clone()} />
                }) }
            </ul>
        </>
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct AssumptionProps {
    desk: Desk,
    assumption: AssumptionView,
}

/// One assumption: the sentence, and the statement that would replace it.
#[component]
fn Assumption(props: &AssumptionProps) -> Html {
    let AssumptionProps { desk, assumption } = props;
    let typed = use_state(|| assumption.value.clone());
    let is_open = use_state(|| false);
    let can_change = assumption.kind != AssumptionKind::Other;
    let toggle = {
        let is_open = is_open.clone();
        Callback::from(move |_: MouseEvent| is_open.set(!*is_open))
    };
    let oninput = {
        let typed = typed.setter();
        Callback::from(move |event: InputEvent| {
            let input: HtmlInputElement = event.target_unchecked_into();
            typed.set(input.value());
        })
    };
    let apply = {
        let (desk, kind, typed) = (desk.clone(), assumption.kind, typed.clone());
        Callback::from(move |_: MouseEvent| state(&desk, kind, typed.trim()))
    };
    html! {
        <li class="assumption">
            <p>{ &assumption.sentence }
                if can_change && !*is_open {
                    { " " }
                    <button type="button" class="button button-quiet" aria-label={format!("Change: {}", assumption.sentence)}
                        onclick={toggle.clone()}>{ "Change" }</button>
                }
            </p>
            if *is_open {
                <div class="fact">
                    <input type="text" class="input-mono" aria-label={format!("Instead of: {}", assumption.sentence)}
                        spellcheck="false" autocomplete="off" value={(*typed).clone()} {oninput} />
                    <button type="button" class="button" onclick={apply}>{ "Use this" }</button>
                    <button type="button" class="button" onclick={toggle}>{ "Keep" }</button>
                </div>
            }
        </li>
    }
}

/// States what was assumed, and traces again with it.
fn state(desk: &Desk, kind: AssumptionKind, value: &str) {
    let mut facts = desk.state.facts.clone();
    match kind {
        AssumptionKind::Address => facts.addresses.push(value.to_owned()),
        AssumptionKind::Route => facts.routes.push(value.to_owned()),
        AssumptionKind::Sysctl => facts.sysctls.push(value.to_owned()),
        AssumptionKind::InDevice => {
            let fields = PacketFields { in_dev: value.to_owned(), ..desk.state.packet.clone() };
            desk.trace_line(fields.join());
            desk.act(Action::TypeFields(fields));
            return;
        }
        AssumptionKind::Other => return,
    }
    desk.act(Action::GiveFacts(facts.clone()));
    desk.trace_with(facts);
}
