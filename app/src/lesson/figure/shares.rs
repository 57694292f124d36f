//! Who got how many connections: a bar for each endpoint, a mark where the chain's own numbers put it.

use std::rc::Rc;

use chainwalk_lessons::chi_square::ChiSquare;
use chainwalk_lessons::spread::{Endpoint, Spread};
use yew::prelude::*;

use super::super::cx::use_lesson;
use super::super::sheet::Sheet;

/// Layout in SVG units; the drawing scales with its column.
const WIDTH: f64 = 640.0;
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
            .map(|e| format!("{} {:.1} %", cx.name(&props.run, &e.to), e.share * 100.0))
            .collect::<Vec<_>>()
            .join(", ")
    );
    html! {
        <>
            <svg class="shares" viewBox={format!("0 0 {WIDTH} {height}")} role="img" aria-label={label}>
                { for spread.endpoints.iter().enumerate().map(|(at, endpoint)| {
                    let top = row * at as f64;
                    let middle = (top + row / 2.0 + 5.0).to_string();
                    html! {
                        <g key={endpoint.to.clone()}>
                            <text class="shares-name" x="0" y={middle.clone()}>{ cx.name(&props.run, &endpoint.to) }</text>
                            <rect class="shares-bar" x={LABEL.to_string()} y={(top + row * 0.2).to_string()}
                                width={(x(endpoint.share) - LABEL).to_string()} height={(row * 0.6).to_string()} />
                            <line class="shares-mark" x1={x(endpoint.share_expected).to_string()} x2={x(endpoint.share_expected).to_string()}
                                y1={(top + row * 0.08).to_string()} y2={(top + row * 0.92).to_string()} />
                            <text class="shares-number" x={WIDTH.to_string()} y={middle} text-anchor="end">
                                { format!("{}  {:.2} %", grouped(endpoint.observed), endpoint.share * 100.0) }
                            </text>
                        </g>
                    }
                }) }
            </svg>
            <p class="shares-key muted">
                { "Bar: observed. Line: what the chain's numbers give." }
            </p>
            <p class="shares-verdict">{ verdict("equal shares", spread.uniform) }{ " " }{ verdict("the chain's numbers", spread.expected) }</p>
            <details>
                <summary>{ "The same as a table" }</summary>
                <Sheet label="Shares by endpoint" head={head()} rows={rows(&spread.endpoints)} />
            </details>
        </>
    }
}

/// One sentence: do the counts fit?
pub(in crate::lesson) fn verdict(with: &str, test: ChiSquare) -> String {
    if !test.statistic.is_finite() {
        return format!("The counts do not fit {with}: a pod that should get none got some.");
    }
    let p = if test.p < 0.0001 { "below 0.0001".to_owned() } else { format!("{:.4}", test.p) };
    let fits = if test.fits { "✓ fit" } else { "✕ do not fit" };
    format!(
        "The counts {fits} {with}: chi-square {:.2}, {} degrees of freedom, p {p}.",
        test.statistic, test.degrees
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
                format!("{:.1}", e.expected),
                grouped(e.observed),
                format!("{:.2} %", e.share * 100.0),
            ]
        })
        .collect()
}

/// 100000 as 100,000.
pub(in crate::lesson) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
    }
}
