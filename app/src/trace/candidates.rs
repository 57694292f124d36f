//! The servers that an IPVS scheduler could choose, as it saw them.

use chainwalk_engine::view::CandidateView;
use yew::prelude::*;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct CandidatesProps {
    pub(super) candidates: Vec<CandidateView>,
}

const COLUMNS: [&str; 5] = ["server", "weight", "active", "inactive", "judged by"];

/// See the module.
#[component]
pub(super) fn Candidates(props: &CandidatesProps) -> Html {
    html! {
        <div class="scroll-x candidates" role="region" aria-label="Servers as the scheduler saw them" tabindex="0">
            <table class="checks">
                <thead><tr>
                    { for COLUMNS.map(|name| html! { <th scope="col">{ name }</th> }) }
                    <th scope="col"><span class="hidden">{ "result" }</span></th>
                </tr></thead>
                <tbody>
                    { for props.candidates.iter().map(|seen| html! {
                        <tr>
                            <th scope="row"><span class="mono">{ &seen.server }</span></th>
                            <td>{ seen.weight }</td>
                            <td>{ seen.active }</td>
                            <td>{ seen.inactive }</td>
                            <td class="mono">{ if seen.score.is_empty() { "not looked at" } else { &seen.score } }</td>
                            <td class="check-pass">{ if seen.chosen { "✓ chosen" } else { "" } }</td>
                        </tr>
                    }) }
                </tbody>
            </table>
        </div>
    }
}
