//! The packet that goes through every plane: chosen from what fits the objects, or written as a line.

use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::page::DeskProps;
use super::state::{About, Action};
use crate::dom::{base_url, window};
use crate::trace::Problems;
use chainwalk_engine::view::planes::ChoiceView;

/// See the module.
#[component]
pub(super) fn PacketPanel(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let state = &desk.state;
    {
        use_effect_with(state.link.clone(), |link| {
            if let Some(link) = link
                && let (Ok(url), Ok(history)) = (base_url(&format!("#/planes/{link}")), window().history())
            {
                let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&url));
                // Where the clipboard is refused, the address line still holds the link.
                let _ = window().navigator().clipboard().write_text(&url);
            }
        });
    }
    let Some(view) = &state.view else { return Html::default() };
    let (client, target) = state.chosen();
    let choose = |is_client: bool| {
        let desk = desk.clone();
        Callback::from(move |event: Event| {
            let select: HtmlSelectElement = event.target_unchecked_into();
            let at = select.value().parse().unwrap_or_default();
            let (client, target) =
                if is_client { (at, target.unwrap_or(0)) } else { (client.unwrap_or(0), at) };
            desk.act(Action::Choose(client, target));
        })
    };
    let problems = state.problems[About::Packet as usize].clone();
    html! {
        <div class="panel planes-packet">
            <div class="panel-head">
                <h2 id="lockstep-title">{ "One packet, every plane" }</h2>
                <button type="button" class="button button-quiet" onclick={{
                    let desk = desk.clone();
                    Callback::from(move |_: MouseEvent| desk.share())
                }}>{ "Make a link" }</button>
            </div>
            if let Some(link) = &state.link {
                <p class="small muted" role="status">
                    { format!("The link is in the address line, {} characters. It holds the manifests; send it only to who may read them.", link.len()) }
                </p>
            }
            <div class="planes-choose">
                { choices("From", "planes-from", &view.clients, client, choose(true)) }
                { choices("To", "planes-to", &view.targets, target, choose(false)) }
                <button type="button" class="button" onclick={{
                    let desk = desk.clone();
                    Callback::from(move |_: MouseEvent| desk.act(Action::Another))
                }}>{ "Another connection" }</button>
            </div>
            <label class="field">
                <span class="field-label">{ "In one line" }</span>
                <input type="text" class="input-mono" id="planes-line" spellcheck="false" autocomplete="off" autocapitalize="off"
                    aria-describedby="planes-line-problems" aria-invalid={(!problems.is_empty()).then_some("true")}
                    value={&state.packet} oninput={{
                        let desk = desk.clone();
                        Callback::from(move |event: InputEvent| {
                            let input: HtmlInputElement = event.target_unchecked_into();
                            desk.act(Action::Packet(input.value().into()));
                        })
                    }} />
            </label>
            <Problems {problems} id="planes-line-problems" />
        </div>
    }
}

fn choices(
    label: &'static str,
    id: &'static str,
    choices: &[ChoiceView],
    chosen: Option<usize>,
    onchange: Callback<Event>,
) -> Html {
    html! {
        <label class="field">
            <span class="field-label">{ label }</span>
            <select {id} {onchange}>
                if chosen.is_none() { <option value="" selected=true disabled=true>{ "as in the line" }</option> }
                { for choices.iter().enumerate().map(|(at, choice)| html! {
                    <option value={at.to_string()} selected={chosen == Some(at)}>{ format!("{} · {}", choice.label, choice.end_point) }</option>
                }) }
            </select>
        </label>
    }
}
