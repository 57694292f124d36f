//! The river as a table: the same facts for everyone who cannot or does not want to read the drawing.

use std::rc::Rc;

use chainwalk_engine::view::{StopState, TraceView};
use yew::prelude::*;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct RiverTableProps {
    pub(super) trace: Rc<TraceView>,
}

/// See the module.
#[component]
pub(super) fn RiverTable(props: &RiverTableProps) -> Html {
    let trace = &props.trace;
    html! {
        <details class="river-table">
            <summary>{ "The same as a table" }</summary>
            <div class="scroll-x" tabindex="0" role="region" aria-label="Stations">
            <table>
                <thead>
                    <tr>
                        <th scope="col">{ "station" }</th><th scope="col">{ "user" }</th>
                        <th scope="col">{ "rules walked" }</th><th scope="col">{ "what happened" }</th>
                    </tr>
                </thead>
                <tbody>
                    { for trace.stations.iter().flat_map(|station| {
                        let name = format!("{} {}", station.place.title(), station.label);
                        let rows: Vec<Html> = if station.stops.is_empty() {
                            vec![html! { <tr><th scope="row">{ name }</th><td /><td /><td /></tr> }]
                        } else {
                            station.stops.iter().map(|stop| {
                                let visits = stop.visits.iter().filter_map(|visit| trace.visits.get(*visit as usize));
                                let walked: u32 = visits.map(|visit| visit.walked).sum();
                                let (walked, what) = match &stop.state {
                                    StopState::Asked if stop.visits.is_empty() => (String::new(), stop.summary.clone()),
                                    StopState::Asked => (walked.to_string(), stop.summary.clone()),
                                    StopState::Skipped(why) => (String::new(), format!("not asked: {why}")),
                                    StopState::NotReached => (String::new(), "not reached".to_owned()),
                                };
                                html! { <tr><th scope="row">{ &name }</th><td>{ &stop.title }</td><td>{ walked }</td><td>{ what }</td></tr> }
                            }).collect()
                        };
                        rows
                    }) }
                </tbody>
            </table>
            </div>
        </details>
    }
}
