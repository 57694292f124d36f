//! The first connections of a spread one by one: a column a connection, a lane an endpoint.

use std::rc::Rc;

use chainwalk_lessons::spread::Spread;
use yew::prelude::*;

use super::super::cx::use_lesson;
use super::super::sheet::Sheet;

const WIDTH: f64 = 640.0;
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
            <svg class="draws" viewBox={format!("0 0 {WIDTH} {height}")} role="img"
                aria-label={format!("The first {} connections: {}", first.len(), counts.join(", "))}>
                { for spread.endpoints.iter().enumerate().map(|(lane, endpoint)| {
                    let middle = LANE * lane as f64 + LANE / 2.0;
                    html! {
                        <g key={endpoint.to.clone()}>
                            <text class="shares-name" x="0" y={(middle + 5.0).to_string()}>{ cx.name(&props.run, &endpoint.to) }</text>
                            <line class="draws-lane" x1={LABEL.to_string()} x2={(WIDTH - 50.0).to_string()} y1={middle.to_string()} y2={middle.to_string()} />
                            { for first.iter().enumerate().filter(|(_, to)| **to == endpoint.to).map(|(at, _)| html! {
                                <circle class="draws-dot" cx={(LABEL + step * (at as f64 + 0.5)).to_string()} cy={middle.to_string()} r="9" />
                            }) }
                            <text class="shares-number" x={WIDTH.to_string()} y={(middle + 5.0).to_string()} text-anchor="end">
                                { spread.batches.first.get(lane).copied().unwrap_or(0) }
                            </text>
                        </g>
                    }
                }) }
                { for (0..first.len()).map(|at| html! {
                    <text class="draws-number" x={(LABEL + step * (at as f64 + 0.5)).to_string()} y={(height - 6.0).to_string()} text-anchor="middle">{ at + 1 }</text>
                }) }
            </svg>
            <p class="shares-key muted">{ "From left to right: the connections in order. At the right: how many each pod has then." }</p>
            <details>
                <summary>{ "The same as a table" }</summary>
                <Sheet label="The first connections" head={["Connection", "Went to"].map(str::to_owned).to_vec()} rows={rows.collect::<Vec<_>>()} />
            </details>
        </>
    }
}
