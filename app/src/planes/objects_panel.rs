//! The objects: manifests as text, generated Services beside them, and the node to look at.

use web_sys::{HtmlSelectElement, HtmlTextAreaElement};
use yew::prelude::*;

use super::controller::Desk;
use super::form::ObjectsForm;
use super::page::DeskProps;
use super::samples::NAMES;
use super::state::{About, Action};
use crate::trace::Problems;

/// Numbers of generated Services that are offered.
const CROWDS: [(u32, &str); 4] = [(0, "none"), (100, "100"), (1_000, "1,000"), (5_000, "5,000")];

/// See the module.
#[component]
pub(super) fn ObjectsPanel(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let state = &desk.state;
    let problems = state.problems[About::Objects as usize].clone();
    let oninput = {
        let desk = desk.clone();
        Callback::from(move |event: InputEvent| {
            let field: HtmlTextAreaElement = event.target_unchecked_into();
            desk.act(Action::Type(field.value().into()));
        })
    };
    html! {
        <section class="panel planes-objects" aria-labelledby="objects-title">
            <div class="panel-head">
                <h2 id="objects-title">{ "Services and EndpointSlices" }</h2>
                { node(desk) }
            </div>
            { samples(desk) }
            <Problems problems={state.problems[About::Link as usize].clone()} id="planes-link-problems" />
            <textarea id="objects-text" rows="18" spellcheck="false" autocomplete="off" autocapitalize="off" wrap="off"
                aria-labelledby="objects-title" aria-describedby="objects-problems"
                aria-invalid={(!problems.is_empty()).then_some("true")}
                placeholder="kind: Service\n…\n---\nkind: EndpointSlice\n…"
                value={&state.text} {oninput} />
            <Problems {problems} id="objects-problems" />
            if let Some(view) = &state.view {
                <p class="small muted" role="status">{ &view.synced }</p>
                if !view.remarks.is_empty() || !view.assumed.is_empty() {
                    <ul class="assumptions small">
                        { for view.remarks.iter().map(|remark| html! { <li class="assumption planes-remark">{ remark }</li> }) }
                        { for view.assumed.iter().map(|assumed| html! { <li class="assumption">{ assumed }</li> }) }
                    </ul>
                }
            }
            <ObjectsForm desk={desk.clone()} />
            { crowd(desk) }
            if let Some(failure) = &state.failure {
                <p class="problem" role="alert">{ failure }</p>
            }
        </section>
    }
}

fn samples(desk: &Desk) -> Html {
    html! {
        <div class="samples" role="group" aria-label="Samples">
            <span class="field-label">{ "Samples" }</span>
            { for (0..).zip(NAMES).map(|(number, name)| {
                let desk = desk.clone();
                let onclick = Callback::from(move |_: MouseEvent| desk.sample(number));
                html! { <button type="button" class="button button-quiet" {onclick}>{ name }</button> }
            }) }
            if desk.state.before.is_some() {
                <button type="button" class="button" onclick={{
                    let desk = desk.clone();
                    Callback::from(move |_: MouseEvent| desk.act(Action::PutBack))
                }}>{ "Put back what I had" }</button>
            }
        </div>
    }
}

fn node(desk: &Desk) -> Html {
    let Some(view) = &desk.state.view else { return Html::default() };
    let onchange = {
        let desk = desk.clone();
        Callback::from(move |event: Event| {
            let select: HtmlSelectElement = event.target_unchecked_into();
            desk.act(Action::Node(select.value().into()));
        })
    };
    html! {
        <label class="inline-field">
            <span class="field-label">{ "Node" }</span>
            <select id="planes-node" {onchange}>
                { for view.nodes.iter().map(|name| html! {
                    <option value={name.clone()} selected={*name == *desk.state.node}>{ name }</option>
                }) }
            </select>
        </label>
    }
}

fn crowd(desk: &Desk) -> Html {
    let onchange = {
        let desk = desk.clone();
        Callback::from(move |event: Event| {
            let select: HtmlSelectElement = event.target_unchecked_into();
            desk.act(Action::Crowd(select.value().parse().unwrap_or_default()));
        })
    };
    html! {
        <label class="inline-field">
            <span class="field-label">{ "Generated Services beside these, 3 endpoints each" }</span>
            <select id="planes-crowd" {onchange}>
                { for CROWDS.map(|(count, label)| html! {
                    <option value={count.to_string()} selected={count == desk.state.crowd}>{ label }</option>
                }) }
            </select>
        </label>
    }
}
