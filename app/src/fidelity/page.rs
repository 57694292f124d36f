//! The ledger as a page, with a filter.

use std::rc::Rc;

use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::ledger::Section;
use crate::backend::Engine;
use crate::protocol::{Request, Response};

/// See the module.
#[component]
pub fn FidelityPage() -> Html {
    let engine = use_context::<Engine>().expect("the shell provides the engine");
    let sections = use_state(Rc::<Vec<Section>>::default);
    let filter = use_state(String::new);
    {
        let sections = sections.setter();
        use_effect_with((), move |()| {
            engine.ask(
                Request::Fidelity,
                Callback::from(move |answer| {
                    if let Response::Fidelity(told) = answer {
                        sections.set(Rc::new(told));
                    }
                }),
            );
        });
    }
    let oninput = {
        let filter = filter.setter();
        Callback::from(move |event: InputEvent| {
            let input: HtmlInputElement = event.target_unchecked_into();
            filter.set(input.value().to_ascii_lowercase());
        })
    };
    html! {
        <div class="page fidelity">
            <label class="field fidelity-filter">
                <span class="field-label">{ "Show only rows with" }</span>
                <input type="text" id="fidelity-filter" placeholder="statistic, not emulated, TCP …" {oninput} />
            </label>
            if sections.is_empty() { <p class="muted" role="status">{ "Loading." }</p> }
            { for sections.iter().enumerate().map(|(at, shown)| section(at, shown, &filter)) }
        </div>
    }
}

fn section(at: usize, shown: &Section, filter: &str) -> Html {
    let rows: Vec<_> = shown
        .rows
        .iter()
        .filter(|row| row.iter().any(|cell| cell.to_ascii_lowercase().contains(filter)))
        .collect();
    if !filter.is_empty() && rows.is_empty() {
        return Html::default();
    }
    let title = if at == 0 {
        html! { <h1>{ &shown.title }</h1> }
    } else {
        html! { <h2>{ &shown.title }</h2> }
    };
    html! {
        <section key={shown.title.clone()}>
            { title }
            if filter.is_empty() {
                { for shown.notes.iter().map(|note| html! { <p>{ rich(note) }</p> }) }
            }
            if !rows.is_empty() {
                <div class="scroll-x" role="region" aria-label={shown.title.clone()} tabindex="0">
                    <table class="compare">
                        <thead><tr>{ for shown.head.iter().map(|name| html! { <th scope="col">{ name }</th> }) }</tr></thead>
                        <tbody>{ for rows.iter().map(|row| html! { <tr>{ for row.iter().map(|cell| html! { <td>{ standing(cell) }</td> }) }</tr> }) }</tbody>
                    </table>
                </div>
            }
        </section>
    }
}

/// A cell that says how well something is emulated, with its sign.
fn standing(cell: &str) -> Html {
    let (class, sign) = match cell.split(':').next().unwrap_or_default() {
        "exact" => ("check-pass", "✓ "),
        "simplified" => ("check-open", "~ "),
        "not emulated" => ("check-fail fidelity-not", "✕ "),
        _ => return rich(cell),
    };
    html! { <span {class}><span aria-hidden="true">{ sign }</span>{ rich(cell) }</span> }
}

/// Words between backticks are code, those between asterisks are stressed.
fn rich(text: &str) -> Html {
    let parts = text.split('`').enumerate().map(|(at, part)| {
        if at % 2 == 1 {
            html! { <code>{ part.to_owned() }</code> }
        } else {
            html! { { part.replace('*', "") } }
        }
    });
    html! { <>{ for parts }</> }
}
