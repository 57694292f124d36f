//! A tab a mode: what the node holds there, and why each row is there.

use chainwalk_engine::view::planes::{PlaneView, RowQuery};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::controller::Desk;
use super::held_list::HeldList;
use super::page::DeskProps;
use super::state::Action;
use crate::dom::focus_id;
use crate::trace::grouped;

/// See the module.
#[component]
pub(super) fn HeldPanel(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let only_changes = use_state(|| false);
    let service = use_state(AttrValue::default);
    let Some(view) = &desk.state.view else {
        return html! { <section class="panel planes-held"><p class="muted" role="status">{ "Syncing." }</p></section> };
    };
    let Some(plane) = view.planes.get(desk.state.plane) else { return Html::default() };
    let lit = plane.added + plane.removed + plane.changed;
    let only = *only_changes && lit > 0;
    // A Service that an edit removed is no longer a filter.
    let of_service = if view.services.iter().any(|name| *name == **service) {
        (*service).clone()
    } else {
        AttrValue::default()
    };
    let query = RowQuery {
        plane: desk.state.plane as u32,
        only_changes: only,
        service: of_service.to_string(),
        from: 0,
        len: 0,
    };
    let start = if only || !of_service.is_empty() { 0 } else { plane.first_change };
    let key = format!("{} {} {only} {of_service}", desk.state.revision, desk.state.plane);
    html! {
        <section class="panel planes-held" aria-labelledby="held-title">
            <h2 id="held-title" class="hidden">{ "What the node holds" }</h2>
            { tabs(desk, &view.planes) }
            <div class="tab-panel" role="tabpanel" id="plane-panel" aria-labelledby={tab_id(desk.state.plane)}>
                <div class="held-bar">
                    <p class="held-count">{ says(plane, &view.node) }</p>
                    { service_filter(&view.services, &of_service, &service) }
                    <label class="check-field">
                        <input type="checkbox" checked={only} disabled={lit == 0} onchange={{
                            let only_changes = only_changes.setter();
                            Callback::from(move |event: Event| {
                                let input: HtmlInputElement = event.target_unchecked_into();
                                only_changes.set(input.checked());
                            })
                        }} />
                        { "Only what changed" }
                    </label>
                </div>
                <HeldList {key} engine={desk.engine.clone()} {query} {start} name={format!("{} on {}", plane.name, view.node)} />
            </div>
        </section>
    }
}

fn tab_id(at: usize) -> String {
    format!("plane-tab-{at}")
}

/// The tabs pattern of the ARIA practices: one stop for Tab, arrows, Home and End move and choose.
fn tabs(desk: &Desk, planes: &[PlaneView]) -> Html {
    let (count, chosen) = (planes.len(), desk.state.plane);
    let onkeydown = {
        let desk = desk.clone();
        Callback::from(move |event: KeyboardEvent| {
            let to = match event.key().as_str() {
                "ArrowRight" => (chosen + 1) % count,
                "ArrowLeft" => (chosen + count - 1) % count,
                "Home" => 0,
                "End" => count - 1,
                _ => return,
            };
            event.prevent_default();
            desk.act(Action::Plane(to));
            focus_id(&tab_id(to));
        })
    };
    html! {
        <div class="tabs" role="tablist" aria-label="Modes of kube-proxy" {onkeydown}>
            { for planes.iter().enumerate().map(|(at, plane)| {
                let desk = desk.clone();
                let onclick = Callback::from(move |_: MouseEvent| desk.act(Action::Plane(at)));
                let is_chosen = at == chosen;
                html! {
                    <button type="button" class="tab" role="tab" id={tab_id(at)} aria-selected={is_chosen.to_string()}
                        aria-controls="plane-panel" tabindex={if is_chosen { "0" } else { "-1" }} {onclick}>
                        <span class="tab-name">{ &plane.name }</span>
                        <span class="tab-count">{ grouped(u64::from(plane.held)) }</span>
                        { lit(plane) }
                    </button>
                }
            }) }
        </div>
    }
}

fn lit(plane: &PlaneView) -> Html {
    let part = |class: &'static str, sign: &'static str, count: u32, word: &'static str| {
        if count == 0 {
            return Html::default();
        }
        html! { <span {class}><span aria-hidden="true">{ sign }</span>{ count }<span class="hidden">{ word }</span></span> }
    };
    html! {
        <>
            { part("lit-added", "+", plane.added, " added") }
            { part("lit-removed", "−", plane.removed, " removed") }
            { part("lit-changed", "~", plane.changed, " changed") }
        </>
    }
}

fn says(plane: &PlaneView, node: &str) -> String {
    let mut text = format!("{node} holds {} rows", grouped(u64::from(plane.held)));
    if plane.added + plane.removed + plane.changed > 0 {
        text.push_str(&format!(
            "; the last edit added {}, removed {}, changed {}",
            plane.added, plane.removed, plane.changed
        ));
    }
    text + "."
}

fn service_filter(services: &[String], chosen: &AttrValue, set: &UseStateHandle<AttrValue>) -> Html {
    let onchange = {
        let set = set.setter();
        Callback::from(move |event: Event| {
            let select: HtmlSelectElement = event.target_unchecked_into();
            set.set(select.value().into());
        })
    };
    html! {
        <label class="inline-field">
            <span class="field-label">{ "Service" }</span>
            <select id="planes-service" {onchange}>
                <option value="" selected={chosen.is_empty()}>{ "all" }</option>
                { for services.iter().map(|name| html! {
                    <option value={name.clone()} selected={*name == **chosen}>{ name }</option>
                }) }
            </select>
        </label>
    }
}
