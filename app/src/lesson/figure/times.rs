//! Percentiles of a queue: for each scheduler a bar for half, nine in ten and ninety-nine in a hundred, and a line
//! where somebody published the last one.

use std::rc::Rc;

use chainwalk_lessons::queue::{Queue, Served};
use yew::prelude::*;

use super::super::sheet::same_as_table;
use super::draw::{WIDTH, bar, fixed, mark, name, number, percent, px, view_box};
use crate::trace::grouped;

const LABEL: f64 = 110.0;
const NUMBERS: f64 = 80.0;
const ROW: f64 = 24.0;
const GAP: f64 = 14.0;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) queue: Rc<Queue>,
}

/// See the module.
#[component]
pub(super) fn TimesFigure(props: &Props) -> Html {
    let queue = &props.queue;
    let block = 3.0 * ROW + GAP;
    let height = block * queue.schedulers.len() as f64;
    let most =
        queue.schedulers.iter().map(|s| s.times.p99.max(s.published.unwrap_or(0.0))).fold(1.0, f64::max);
    let x = |ms: f64| LABEL + (WIDTH - LABEL - NUMBERS) * ms / most;
    let label = queue.schedulers.iter().map(|s| format!("{}: 99 % within {}", s.name, seconds(s.times.p99)));
    html! {
        <>
            <svg class="shares" viewBox={view_box(height)} role="img" aria-label={label.collect::<Vec<_>>().join(", ")}>
                { for queue.schedulers.iter().enumerate().map(|(at, served)| bars(served, block * at as f64, &x)) }
            </svg>
            <p class="shares-key muted">
                { "From top to bottom: half of the requests, 90 %, 99 % are answered within this time. Line: published." }
            </p>
            { same_as_table("Times by scheduler", head(), queue.schedulers.iter().map(row).collect()) }
        </>
    }
}

fn bars(served: &Served, top: f64, x: &dyn Fn(f64) -> f64) -> Html {
    let times = [("50 %", served.times.p50), ("90 %", served.times.p90), ("99 %", served.times.p99)];
    html! {
        <g key={served.name.clone()}>
            { name(top + 17.0, served.name.clone()) }
            { for times.into_iter().enumerate().map(|(at, (share, ms))| {
                let top = top + ROW * at as f64;
                html! {
                    <>
                        <text class="draws-number" x={px(LABEL - 10.0)} y={px(top + 17.0)} text-anchor="end">{ share }</text>
                        { bar("shares-bar", (LABEL, (x(ms) - LABEL).max(1.0)), (top + 4.0, ROW - 8.0)) }
                        { number(top + 17.0, seconds(ms)) }
                    </>
                }
            }) }
            { for served.published.map(|published| mark(x(published), (top + 2.0 * ROW, top + 3.0 * ROW))) }
        </g>
    }
}

fn head() -> Vec<String> {
    [
        "Scheduler",
        "50 %",
        "90 %",
        "99 %",
        "Longest",
        "Published 99 %",
        "Off",
        "Waited",
        "Waited beside an idle pod",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn row(served: &Served) -> Vec<String> {
    vec![
        format!("{}, {}", served.name, served.title),
        seconds(served.times.p50),
        seconds(served.times.p90),
        seconds(served.times.p99),
        seconds(served.times.max),
        served.published.map(seconds).unwrap_or_default(),
        served
            .off
            .map(|off| (if off < 0.0 { "" } else { "+" }).to_owned() + &percent(off * 100.0, 1))
            .unwrap_or_default(),
        grouped(u64::from(served.waited)),
        grouped(u64::from(served.beside_idle)),
    ]
}

/// `4.32 s` of milliseconds.
fn seconds(ms: f64) -> String {
    fixed(ms / 1000.0, 2) + " s"
}
