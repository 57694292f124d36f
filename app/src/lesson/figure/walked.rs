//! How many endpoint rules a connection reads before one says yes: a stair, one step an endpoint.

use std::rc::Rc;

use chainwalk_lessons::spread::Spread;
use yew::prelude::*;

use super::super::cx::use_lesson;
use super::super::sheet::same_as_table;
use super::draw::{WIDTH, bar, fixed, name, number, percent, view_box};
use crate::trace::grouped;

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
        "Endpoint rules read: from {} for the first endpoint to {} for the last, {} on average",
        spread.endpoint_rules.min,
        spread.endpoint_rules.max,
        fixed(spread.endpoint_rules.mean, 2)
    );
    let rows = spread.endpoints.iter().map(|e| {
        vec![e.to.clone(), e.endpoint_rules.to_string(), grouped(e.observed), percent(e.share * 100.0, 2)]
    });
    html! {
        <>
            <svg class="walked" viewBox={view_box(height)} role="img" aria-label={label}>
                { for spread.endpoints.iter().enumerate().map(|(at, endpoint)| {
                    let top = ROW * at as f64;
                    html! {
                        <g key={endpoint.to.clone()}>
                            { name(top + 16.0, cx.name(&props.run, &endpoint.to)) }
                            { for (0..endpoint.endpoint_rules).map(|rule| {
                                let class = if rule + 1 == endpoint.endpoint_rules { "walked-yes" } else { "walked-no" };
                                bar(class, (LABEL + cell * f64::from(rule), cell - 2.0), (top + 4.0, ROW - 8.0))
                            }) }
                            { number(top + 16.0, endpoint.endpoint_rules.to_string()) }
                        </g>
                    }
                }) }
            </svg>
            <p class="shares-key muted">
                { format!("Outlined: a rule that drew and said no. Filled: the one that said yes. On average {} are read; with all \
                    other rules on the way, {}.", fixed(spread.endpoint_rules.mean, 2), fixed(spread.rules.mean, 1)) }
            </p>
            { same_as_table(
                "Endpoint rules read",
                ["Endpoint", "Endpoint rules read", "Connections", "Share"].map(str::to_owned).to_vec(),
                rows.collect(),
            ) }
        </>
    }
}
