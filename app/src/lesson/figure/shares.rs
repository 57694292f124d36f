//! Who got how many connections: a bar for each endpoint, a mark where the chain's own numbers put it.

use std::rc::Rc;

use chainwalk_lessons::chi_square::ChiSquare;
use chainwalk_lessons::spread::{Endpoint, Spread};
use yew::prelude::*;

use super::super::cx::use_lesson;
use super::super::sheet::same_as_table;
use super::draw::{WIDTH, bar, fixed, mark, name, number, percent, view_box};
use crate::trace::grouped;

/// Layout in SVG units; the drawing scales with its column.
const LABEL: f64 = 150.0;
const NUMBERS: f64 = 120.0;
const BAR: f64 = WIDTH - LABEL - NUMBERS;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(in crate::lesson) struct Props {
    pub(in crate::lesson) run: AttrValue,
    pub(in crate::lesson) spread: Rc<Spread>,
}

/// See the module.
#[component]
pub(in crate::lesson) fn Shares(props: &Props) -> Html {
    let cx = use_lesson();
    let spread = &props.spread;
    let row = if spread.endpoints.len() > 8 { 22.0 } else { 40.0 };
    let height = row * spread.endpoints.len() as f64;
    // The longest bar or mark fills the width.
    let most = spread.endpoints.iter().map(|e| e.share.max(e.share_expected)).fold(0.01, f64::max);
    let x = |share: f64| LABEL + BAR * share / most;
    let label = format!(
        "Shares of {} connections: {}",
        grouped(u64::from(spread.connections)),
        spread
            .endpoints
            .iter()
            .map(|e| format!("{} {}", cx.name(&props.run, &e.to), percent(e.share * 100.0, 1)))
            .collect::<Vec<_>>()
            .join(", ")
    );
    html! {
        <>
            <svg class="shares" viewBox={view_box(height)} role="img" aria-label={label}>
                { for spread.endpoints.iter().enumerate().map(|(at, endpoint)| {
                    let top = row * at as f64;
                    let middle = top + row / 2.0 + 5.0;
                    html! {
                        <g key={endpoint.to.clone()}>
                            { name(middle, cx.name(&props.run, &endpoint.to)) }
                            { bar("shares-bar", (LABEL, x(endpoint.share) - LABEL), (top + row * 0.2, row * 0.6)) }
                            { mark(x(endpoint.share_expected), (top + row * 0.08, top + row * 0.92)) }
                            { number(middle, format!("{}  {}", grouped(endpoint.observed), percent(endpoint.share * 100.0, 2))) }
                        </g>
                    }
                }) }
            </svg>
            <p class="shares-key muted">
                { "Bar: observed. Line: what the chain's numbers give." }
            </p>
            <p class="shares-verdict">{ verdict("equal shares", spread.uniform) }{ " " }{ verdict("the chain's numbers", spread.expected) }</p>
            { same_as_table("Shares by endpoint", head(), rows(&spread.endpoints)) }
        </>
    }
}

/// One sentence: do the counts fit?
pub(in crate::lesson) fn verdict(with: &str, test: ChiSquare) -> String {
    if !test.statistic.is_finite() {
        return format!("The counts do not fit {with}: a pod that should get none got some.");
    }
    let p = if test.p < 0.0001 { "below 0.0001".to_owned() } else { fixed(test.p, 4) };
    let fits = if test.fits { "✓ fit" } else { "✕ do not fit" };
    format!(
        "The counts {fits} {with}: chi-square {}, {} degrees of freedom, p {p}.",
        fixed(test.statistic, 2),
        test.degrees
    )
}

fn head() -> Vec<String> {
    ["Endpoint", "Rule", "Probability", "Threshold", "Expected", "Observed", "Share"]
        .map(str::to_owned)
        .to_vec()
}

fn rows(endpoints: &[Endpoint]) -> Vec<Vec<String>> {
    endpoints
        .iter()
        .map(|e| {
            vec![
                e.to.clone(),
                e.rule.to_string(),
                if e.probability.is_empty() { "the rest".to_owned() } else { e.probability.clone() },
                e.threshold.map(|t| grouped(u64::from(t))).unwrap_or_default(),
                fixed(e.expected, 1),
                grouped(e.observed),
                percent(e.share * 100.0, 2),
            ]
        })
        .collect()
}
