//! The planes side by side: numbers first, then station by station.

use std::rc::Rc;

use chainwalk_engine::view::Outcome;
use chainwalk_engine::view::planes::{LaneView, LockstepView, StationRow, WayView};
use yew::prelude::*;

use crate::trace::grouped;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct CompareProps {
    pub(super) lockstep: Option<Rc<LockstepView>>,
}

const PACKETS: [&str; 2] = ["The packet", "Its answer"];

/// See the module.
#[component]
pub(super) fn Compare(props: &CompareProps) -> Html {
    let Some(view) = &props.lockstep else { return Html::default() };
    html! {
        <>
            <div class="scroll-x" role="region" aria-label="Comparison" tabindex="0">
                <table class="compare">
                    { head(&view.lanes) }
                    { for (0..2).map(|packet| numbers(&view.lanes, packet)) }
                </table>
            </div>
            { for view.lanes.iter().filter(|lane| !lane.not_run.is_empty()).map(|lane| html! {
                <p class="small"><span class="not-emulated">{ &lane.name }</span>{ " " }{ &lane.not_run }</p>
            }) }
            <h3 class="lockstep-stations">{ "Station by station" }</h3>
            <div class="scroll-x" role="region" aria-label="Station by station" tabindex="0">
                <table class="compare compare-stations">
                    { head(&view.lanes) }
                    { for (0..2).map(|packet| stations(&view.stations[packet], view.lanes.len(), packet)) }
                </table>
            </div>
        </>
    }
}

fn head(lanes: &[LaneView]) -> Html {
    html! {
        <thead>
            <tr>
                <td></td>
                { for lanes.iter().map(|lane| html! { <th scope="col">{ &lane.name }</th> }) }
            </tr>
        </thead>
    }
}

fn group(title: &'static str, lanes: usize) -> Html {
    html! { <tr class="compare-group"><th scope="rowgroup" colspan={(lanes + 1).to_string()}>{ title }</th></tr> }
}

/// What one packet cost and did, a line a number.
fn numbers(lanes: &[LaneView], packet: usize) -> Html {
    let ways: Vec<Option<&WayView>> = lanes.iter().map(|lane| lane.ways.get(packet)).collect();
    if ways.iter().all(Option::is_none) {
        return Html::default();
    }
    let row = |name: &'static str, class: &'static str, of: &dyn Fn(&WayView) -> Html| {
        html! {
            <tr>
                <th scope="row">{ name }</th>
                { for ways.iter().map(|way| match way {
                    Some(way) => html! { <td {class}>{ of(way) }</td> },
                    None => html! { <td class="muted">{ "–" }</td> },
                }) }
            </tr>
        }
    };
    html! {
        <tbody>
            { group(PACKETS[packet], lanes.len()) }
            { row("verdict", "", &|way| outcome(way.outcome)) }
            { row(if packet == 0 { "goes to" } else { "comes back to" }, "mono", &|way| html! { { &way.destination } }) }
            { row("rules evaluated", "compare-number", &|way| html! { { grouped(way.rules) } }) }
            { row("set and map lookups", "compare-number", &|way| html! { { way.lookups } }) }
            { row("connection entries", "compare-number", &|way| html! { { way.connections } }) }
            { row("rewrites", "", &|way| list(&way.rewrites, "none")) }
            { row("path", "small", &|way| html! { { &way.path } }) }
            { row("entry", "small mono", &|way| html! { { if way.entry.is_empty() { "none" } else { &way.entry } } }) }
        </tbody>
    }
}

fn outcome(outcome: Outcome) -> Html {
    let (class, glyph) = match outcome {
        Outcome::Forwarded | Outcome::Delivered | Outcome::Sent => ("outcome outcome-accept", "✓ "),
        Outcome::Dropped | Outcome::Rejected => ("outcome outcome-drop", "✕ "),
        Outcome::Stolen | Outcome::Uncertain => ("outcome outcome-wait", "? "),
    };
    html! { <span {class}><span aria-hidden="true">{ glyph }</span>{ outcome.word() }</span> }
}

fn list(lines: &[String], none: &'static str) -> Html {
    if lines.is_empty() {
        return html! { <span class="muted">{ none }</span> };
    }
    html! { <ul class="compare-lines">{ for lines.iter().map(|line| html! { <li>{ line }</li> }) }</ul> }
}

fn stations(rows: &[StationRow], lanes: usize, packet: usize) -> Html {
    if rows.is_empty() {
        return Html::default();
    }
    html! {
        <tbody>
            { group(PACKETS[packet], lanes) }
            { for rows.iter().map(|row| html! {
                <tr>
                    <th scope="row">{ &row.title }</th>
                    { for row.cells.iter().map(|cell| html! { <td>{ list(cell, "–") }</td> }) }
                </tr>
            }) }
        </tbody>
    }
}
