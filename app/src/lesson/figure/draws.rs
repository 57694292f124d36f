//! The first connections of a spread one by one: a column a connection, a lane an endpoint.

use std::rc::Rc;

use chainwalk_lessons::spread::Spread;
use yew::prelude::*;

use super::super::cx::use_lesson;
use super::super::sheet::same_as_table;
use super::draw::{WIDTH, lane, name, number, px, view_box};

const LABEL: f64 = 150.0;
const LANE: f64 = 40.0;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) run: AttrValue,
    pub(super) spread: Rc<Spread>,
}

/// See the module.
#[component]
pub(super) fn Draws(props: &Props) -> Html {
    let cx = use_lesson();
    let spread = &props.spread;
    let size = spread.batches.size as usize;
    let first = &spread.first[..size.min(spread.first.len())];
    let step = (WIDTH - LABEL - 50.0) / first.len().max(1) as f64;
    let height = LANE * spread.endpoints.len() as f64 + 24.0;
    let counts: Vec<String> = spread
        .endpoints
        .iter()
        .zip(&spread.batches.first)
        .map(|(endpoint, count)| format!("{} {count}", cx.name(&props.run, &endpoint.to)))
        .collect();
    let rows = first.iter().enumerate().map(|(i, to)| vec![(i + 1).to_string(), to.clone()]);
    html! {
        <>
            <svg class="draws" viewBox={view_box(height)} role="img"
                aria-label={format!("The first {} connections: {}", first.len(), counts.join(", "))}>
                { for spread.endpoints.iter().enumerate().map(|(row, endpoint)| {
                    let middle = LANE * row as f64 + LANE / 2.0;
                    html! {
                        <g key={endpoint.to.clone()}>
                            { name(middle + 5.0, cx.name(&props.run, &endpoint.to)) }
                            { lane((LABEL, WIDTH - 50.0), middle) }
                            { for first.iter().enumerate().filter(|(_, to)| **to == endpoint.to).map(|(at, _)| html! {
                                <circle class="draws-dot" cx={px(LABEL + step * (at as f64 + 0.5))} cy={px(middle)} r="9" />
                            }) }
                            { number(middle + 5.0, spread.batches.first.get(row).copied().unwrap_or(0).to_string()) }
                        </g>
                    }
                }) }
                { for (0..first.len()).map(|at| html! {
                    <text class="draws-number" x={px(LABEL + step * (at as f64 + 0.5))} y={px(height - 6.0)} text-anchor="middle">{ at + 1 }</text>
                }) }
            </svg>
            <p class="shares-key muted">{ "From left to right: the connections in order. At the right: how many each pod has then." }</p>
            { same_as_table("The first connections", ["Connection", "Went to"].map(str::to_owned).to_vec(), rows.collect()) }
        </>
    }
}
