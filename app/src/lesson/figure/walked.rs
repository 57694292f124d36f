//! How many endpoint rules a connection reads before one says yes: a stair, one step an endpoint.

use std::rc::Rc;

use chainwalk_lessons::spread::Spread;
use yew::prelude::*;

use super::super::cx::use_lesson;
use super::super::sheet::Sheet;
use super::shares::grouped;

const WIDTH: f64 = 640.0;
const LABEL: f64 = 150.0;
const ROW: f64 = 22.0;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) run: AttrValue,
    pub(super) spread: Rc<Spread>,
}

/// See the module.
#[component]
pub(super) fn Walked(props: &Props) -> Html {
    let cx = use_lesson();
    let spread = &props.spread;
    let most = spread.endpoints.iter().map(|e| e.endpoint_rules).max().unwrap_or(1).max(1);
    // One cell a rule that is read.
    let cell = (WIDTH - LABEL - 50.0) / f64::from(most);
    let height = ROW * spread.endpoints.len() as f64;
    let label = format!(
        "Endpoint rules read: from {} for the first endpoint to {} for the last, {:.2} on average",
        spread.endpoint_rules.min, spread.endpoint_rules.max, spread.endpoint_rules.mean
    );
    let rows = spread.endpoints.iter().map(|e| {
        vec![
            e.to.clone(),
            e.endpoint_rules.to_string(),
            grouped(e.observed),
            format!("{:.2} %", e.share * 100.0),
        ]
    });
    html! {
        <>
            <svg class="walked" viewBox={format!("0 0 {WIDTH} {height}")} role="img" aria-label={label}>
                { for spread.endpoints.iter().enumerate().map(|(at, endpoint)| {
                    let top = ROW * at as f64;
                    html! {
                        <g key={endpoint.to.clone()}>
                            <text class="shares-name" x="0" y={(top + 16.0).to_string()}>{ cx.name(&props.run, &endpoint.to) }</text>
                            { for (0..endpoint.endpoint_rules).map(|rule| {
                                let class = if rule + 1 == endpoint.endpoint_rules { "walked-yes" } else { "walked-no" };
                                html! {
                                    <rect {class} x={(LABEL + cell * f64::from(rule)).to_string()} y={(top + 4.0).to_string()}
                                        width={(cell - 2.0).to_string()} height={(ROW - 8.0).to_string()} />
                                }
                            }) }
                            <text class="shares-number" x={WIDTH.to_string()} y={(top + 16.0).to_string()} text-anchor="end">
                                { endpoint.endpoint_rules }
                            </text>
                        </g>
                    }
                }) }
            </svg>
            <p class="shares-key muted">
                { format!("Outlined: a rule that drew and said no. Filled: the one that said yes. On average {:.2} are read; with all \
                    other rules on the way, {:.1}.", spread.endpoint_rules.mean, spread.rules.mean) }
            </p>
            <details>
                <summary>{ "The same as a table" }</summary>
                <Sheet label="Endpoint rules read" rows={rows.collect::<Vec<_>>()}
                    head={["Endpoint", "Endpoint rules read", "Connections", "Share"].map(str::to_owned).to_vec()} />
            </details>
        </>
    }
}
