//! Requests at each pod over a stretch of time: a lane a pod, a step as high as the requests that are there.

use std::fmt::Write as _;
use std::rc::Rc;

use chainwalk_lessons::queue::{Queue, Served};
use yew::prelude::*;

use super::super::sheet::same_as_table;
use super::draw::{WIDTH, fixed, lane, name, number, px, view_box};

const LABEL: f64 = 110.0;
const NUMBERS: f64 = 60.0;
const LANE: f64 = 44.0;
/// Space above each scheduler for its name.
const TITLE: f64 = 26.0;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) queue: Rc<Queue>,
}

/// See the module.
#[component]
pub(super) fn Backlog(props: &Props) -> Html {
    let queue = &props.queue;
    let block = TITLE + LANE * f64::from(queue.pods);
    let height = block * queue.schedulers.len() as f64 + 22.0;
    let most = queue.schedulers.iter().map(highest).max().unwrap_or(1).max(1);
    let label =
        queue.schedulers.iter().map(|s| format!("{}: at most {} requests at one pod", s.name, highest(s)));
    let span = span(queue);
    html! {
        <>
            <svg class="shares" viewBox={view_box(height)} role="img" aria-label={label.collect::<Vec<_>>().join("; ")}>
                { for queue.schedulers.iter().enumerate().map(|(at, served)| lanes(served, block * at as f64, most)) }
                { for (0..=4).map(|quarter| html! {
                    <text class="draws-number" x={px(LABEL + plot() * f64::from(quarter) / 4.0)}
                        y={px(height - 5.0)} text-anchor="middle">{ fixed(span * f64::from(quarter) / 4.0, 0) + " s" }</text>
                }) }
            </svg>
            <p class="shares-key muted">
                { format!("Height: requests at the pod, the one it works on included; the highest step is {most}. Right: the most in this time.") }
            </p>
            { same_as_table("Requests at each pod", head(queue), rows(queue)) }
        </>
    }
}

const fn plot() -> f64 {
    WIDTH - LABEL - NUMBERS
}

fn highest(served: &Served) -> u32 {
    served.backlog.iter().flatten().copied().max().unwrap_or(0)
}

/// Seconds from the first moment to the end of the last.
fn span(queue: &Queue) -> f64 {
    let step = match queue.window.as_slice() {
        [first, second, ..] => second - first,
        _ => 0.0,
    };
    step * queue.window.len() as f64 / 1000.0
}

fn lanes(served: &Served, top: f64, most: u32) -> Html {
    html! {
        <g key={served.name.clone()}>
            { name(top + 18.0, format!("{}, {}", served.name, served.title)) }
            { for served.backlog.iter().enumerate().map(|(pod, counts)| {
                let floor = top + TITLE + LANE * (pod as f64 + 1.0) - 4.0;
                html! {
                    <>
                        <text class="draws-number" x="0" y={px(floor - 6.0)}>{ format!("pod {}", pod + 1) }</text>
                        <path class="shares-bar" d={steps(counts, floor, most)} />
                        { lane((LABEL, LABEL + plot()), floor) }
                        { number(floor - 6.0, counts.iter().max().copied().unwrap_or(0).to_string()) }
                    </>
                }
            }) }
        </g>
    }
}

/// A filled stair: one step a moment.
fn steps(counts: &[u32], floor: f64, most: u32) -> String {
    let step = plot() / counts.len().max(1) as f64;
    let mut path = format!("M{} {}", px(LABEL), px(floor));
    for (at, count) in counts.iter().enumerate() {
        let height = (LANE - 8.0) * f64::from(*count) / f64::from(most);
        let from = LABEL + step * at as f64;
        _ = write!(path, "L{} {}H{}", px(from), px(floor - height), px(from + step));
    }
    path + &format!("V{}Z", px(floor))
}

fn head(queue: &Queue) -> Vec<String> {
    let lanes = queue
        .schedulers
        .iter()
        .flat_map(|served| (1..=served.backlog.len()).map(|pod| format!("{}, pod {pod}", served.name)));
    std::iter::once("Second".to_owned()).chain(lanes).collect()
}

fn rows(queue: &Queue) -> Vec<Vec<String>> {
    let from = queue.window.first().copied().unwrap_or(0.0);
    let row = |(at, moment): (usize, &f64)| {
        let counts = queue.schedulers.iter().flat_map(|served| &served.backlog);
        let counts = counts.map(|lane| lane.get(at).map(u32::to_string).unwrap_or_default());
        std::iter::once(fixed((moment - from) / 1000.0, 1)).chain(counts).collect()
    };
    queue.window.iter().enumerate().map(row).collect()
}
