//! The ruleset: paste, drop, open a file or take a sample; then what it turned out to be.

use wasm_bindgen::JsCast;
use web_sys::{ClipboardEvent, DragEvent, HtmlInputElement, HtmlTextAreaElement};
use yew::prelude::*;

use super::controller::Desk;
use super::describe::DeskProps;
use super::held_rules::HeldRules;
use super::intake;
use super::offer::Offer;
use super::outline::Outline;
use super::problems::Problems;
use super::samples::SAMPLES;
use super::state::{Action, RulesText};
use crate::protocol::{FamilyChoice, Input};

/// See the module.
#[component]
pub(super) fn RulesPanel(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let is_over = use_state(|| false);
    let act = {
        let desk = desk.clone();
        Callback::from(move |action| desk.act(action))
    };
    let ondragover = {
        let is_over = is_over.setter();
        Callback::from(move |event: DragEvent| {
            event.prevent_default();
            is_over.set(true);
        })
    };
    let ondragleave = {
        let is_over = is_over.setter();
        Callback::from(move |_: DragEvent| is_over.set(false))
    };
    let ondrop = {
        let (is_over, act) = (is_over.setter(), act.clone());
        Callback::from(move |event: DragEvent| {
            event.prevent_default();
            is_over.set(false);
            if let Some(file) =
                event.data_transfer().and_then(|data| data.files()).and_then(|files| files.get(0))
            {
                intake::from_file(file, act.clone());
            }
        })
    };
    let class = if *is_over { "panel rules drop-here" } else { "panel rules" };
    html! {
        <section {class} aria-labelledby="rules-title" {ondragover} {ondragleave} {ondrop}>
            <div class="panel-head">
                <h2 id="rules-title">{ "Ruleset" }</h2>
                <span class="spring" />
                <label class="button button-file">
                    { "Open a file" }
                    <input type="file" onchange={on_file(act.clone())} />
                </label>
                { family(desk) }
            </div>
            { samples(desk) }
            { match &desk.state.rules {
                RulesText::Typed(text) => field(desk, text, act.clone()),
                RulesText::Held(held) => html! { <HeldRules held={held.clone()} revision={desk.state.revision} on_action={act.clone()} /> },
            } }
            <Problems problems={desk.state.problems_of(Input::Rules)} id="rules-problems" />
            if !desk.state.offer.is_empty() {
                <Offer desk={desk.clone()} />
            }
            if let Some(ruleset) = &desk.state.ruleset {
                <Outline ruleset={ruleset.clone()} />
            }
        </section>
    }
}

fn field(desk: &Desk, text: &AttrValue, act: Callback<Action>) -> Html {
    let oninput = {
        let act = act.clone();
        Callback::from(move |event: InputEvent| {
            let field: HtmlTextAreaElement = event.target_unchecked_into();
            act.emit(Action::TypeRules(field.value().into()));
        })
    };
    let onpaste = Callback::from(move |event: Event| {
        if let Some(action) = event.dyn_ref::<ClipboardEvent>().and_then(intake::from_paste) {
            event.prevent_default();
            act.emit(action);
        }
    });
    let is_wrong = !desk.state.problems_of(Input::Rules).is_empty();
    html! {
        <textarea
            id="rules-text" rows="8" spellcheck="false" autocomplete="off" autocapitalize="off" wrap="off"
            aria-labelledby="rules-title" aria-describedby="rules-problems"
            aria-invalid={is_wrong.then_some("true")}
            placeholder="Paste the output of iptables-save or\nnft list ruleset, also with ipset save and\nipvsadm -Sn; or nft commands, or\nKubernetes manifests; or drop a file here."
            value={text} {oninput} {onpaste}
        />
    }
}

fn family(desk: &Desk) -> Html {
    let choices = [(FamilyChoice::Auto, "Auto"), (FamilyChoice::V4, "IPv4"), (FamilyChoice::V6, "IPv6")];
    html! {
        <fieldset class="segments">
            <legend class="hidden">{ "Address family of the ruleset" }</legend>
            { for choices.map(|(choice, label)| {
                let desk = desk.clone();
                let checked = desk.state.family == choice;
                let onchange = Callback::from(move |_: Event| desk.act(Action::ChooseFamily(choice)));
                html! {
                    <label class="segment">
                        <input type="radio" name="family" {checked} {onchange} />
                        <span>{ label }</span>
                    </label>
                }
            }) }
        </fieldset>
    }
}

fn on_file(act: Callback<Action>) -> Callback<Event> {
    Callback::from(move |event: Event| {
        let input: HtmlInputElement = event.target_unchecked_into();
        if let Some(file) = input.files().and_then(|files| files.get(0)) {
            intake::from_file(file, act.clone());
        }
        // Choosing the same file again shall be heard again.
        input.set_value("");
    })
}

fn samples(desk: &Desk) -> Html {
    html! {
        <div class="samples" role="group" aria-label="Samples">
            <span class="field-label">{ "Samples" }</span>
            { for SAMPLES.iter().map(|sample| {
                let desk = desk.clone();
                let onclick = Callback::from(move |_: MouseEvent| desk.open(sample.state()));
                html! { <button type="button" class="button button-quiet" {onclick}>{ sample.name }</button> }
            }) }
            if desk.state.before.is_some() {
                <button type="button" class="button" onclick={put_back(desk)}>{ "Put back what I had" }</button>
            }
        </div>
    }
}

fn put_back(desk: &Desk) -> Callback<MouseEvent> {
    let desk = desk.clone();
    Callback::from(move |_| desk.act(Action::PutBack))
}
