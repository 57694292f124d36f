//! The station where the packet is: its hook users in order, the chain that is open, its rules.

use std::rc::Rc;

use chainwalk_engine::view::{StationView, StepKind, StopState, TraceView};
use yew::prelude::*;

use super::candidates::Candidates;
use super::moves;
use super::outline::{count, grouped};
use super::rule_list::RuleList;
use super::step_list::StepList;
use crate::backend::Engine;

#[derive(Debug, Clone, PartialEq, Properties)]
pub struct ChainPanelProps {
    pub trace: Rc<TraceView>,
    pub step: usize,
    /// Which packet of the session: rows are asked for by it.
    pub sent: u32,
    pub visit: Option<usize>,
    pub engine: Engine,
    /// A step was chosen from the list; without it there is no list.
    #[prop_or_default]
    pub on_step: Option<Callback<usize>>,
}

/// See the module.
#[component]
pub fn ChainPanel(props: &ChainPanelProps) -> Html {
    let ChainPanelProps { trace, step, sent, visit, engine, on_step } = props;
    let Some(at) = trace.steps.get(*step) else { return html! {} };
    let Some(station) = trace.stations.get(at.station as usize) else { return html! {} };
    let shown_visit = visit.and_then(|visit| trace.visits.get(visit).map(|shown| (visit, shown)));
    html! {
        <section class="chain" aria-labelledby="chain-title">
            <div class="chain-head">
                <h3 id="chain-title">{ title(station) }</h3>
                { stops(station, at.stop) }
            </div>
            { match shown_visit {
                None => html! {
                    <>
                        if at.candidates.is_empty() {
                            <p class="muted">{ nothing(station, at.kind) }</p>
                        } else {
                            <Candidates candidates={at.candidates.clone()} />
                        }
                        if let Some(on_step) = on_step {
                            <StepList trace={trace.clone()} step={*step} on_step={on_step.clone()} />
                        }
                    </>
                },
                Some((visit, shown)) => {
                    let walked = moves::walked_at(trace, visit, *step);
                    let current = at.rule.as_ref().filter(|rule| rule.chain == shown.chain).map(|rule| rule.number);
                    html! {
                        <>
                            { crumbs(trace, visit) }
                            <p class="chain-count small muted">
                                { walked_text(walked, shown.walked, shown.rules) }
                                if walked >= shown.walked && !shown.outcome.is_empty() {
                                    { " " }{ &shown.outcome }{ "." }
                                }
                            </p>
                            if shown.rules == 0 {
                                <p class="chain-none muted">{ "The chain is empty." }</p>
                            } else {
                                <RuleList key={format!("{sent}-{visit}")} engine={engine.clone()} sent={*sent}
                                    visit={visit as u32} rules={shown.rules} {walked} {current}
                                    name={format!("Rules of {} {}", shown.table, shown.chain)} />
                            }
                        </>
                    }
                }
            } }
        </section>
    }
}

fn title(station: &StationView) -> String {
    match station.label.as_str() {
        "" => station.place.title().to_owned(),
        label => format!("{} {label}", station.place.title()),
    }
}

/// The hook users in priority order; the one of the step is marked.
fn stops(station: &StationView, current: Option<u32>) -> Html {
    if station.stops.is_empty() {
        return html! {};
    }
    html! {
        <ol class="stops" aria-label="Users of this hook, in priority order">
            { for station.stops.iter().enumerate().map(|(at, stop)| {
                let (class, why) = match &stop.state {
                    StopState::Asked => ("stop", None),
                    StopState::Skipped(why) => ("stop stop-skipped", Some(why.as_str())),
                    StopState::NotReached => ("stop stop-skipped", Some("not reached")),
                };
                let is_current = current == Some(at as u32);
                html! {
                    <li {class} aria-current={is_current.then_some("step")} title={format!("priority {}", stop.priority)}>
                        { &stop.title }
                        if let Some(why) = why { <span class="stop-why">{ why }</span> }
                    </li>
                }
            }) }
        </ol>
    }
}

/// The chains from the hook's down to the open one.
fn crumbs(trace: &TraceView, visit: usize) -> Html {
    let stack = moves::stack(trace, visit);
    html! {
        <ol class="crumbs" aria-label="Open chain">
            if let Some(visit) = trace.visits.get(visit) { <li class="crumb-table">{ &visit.table }</li> }
            { for stack.iter().filter_map(|at| trace.visits.get(*at)).map(|visit| html! {
                <li class="mono">{ &visit.chain }</li>
            }) }
        </ol>
    }
}

/// `walked 3 of 9 rules` at the end of a visit, `rule 2 of 9` on the way.
fn walked_text(walked: u32, in_all: u32, rules: u32) -> String {
    if walked == 0 && in_all > 0 {
        format!("{}, none walked yet.", count(u64::from(rules), "rule"))
    } else {
        format!("{} of {} walked.", grouped(u64::from(walked)), count(u64::from(rules), "rule"))
    }
}

fn nothing(station: &StationView, kind: StepKind) -> &'static str {
    match kind {
        StepKind::Hook if station.stops.iter().all(|stop| stop.visits.is_empty()) => {
            "No chain is walked at this hook."
        }
        StepKind::Hook => "The hook asks its users in this order.",
        StepKind::Conntrack => "Connection tracking looks the packet up in its table.",
        StepKind::Route => "The routing decision: no rules here.",
        StepKind::Arrive
        | StepKind::Chain
        | StepKind::Rule
        | StepKind::ChainEnd
        | StepKind::Rewrite
        | StepKind::Skip
        | StepKind::Made
        | StepKind::Leave
        | StepKind::Note
        | StepKind::Verdict => "No chain is open here. The steps of this packet:",
    }
}
