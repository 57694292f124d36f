//! All steps as a list, where no chain is open: an overview, and a way to any of them.

use std::rc::Rc;

use chainwalk_engine::view::{StepKind, TraceView};
use yew::prelude::*;

/// Steps listed before and after the current one; a longer way is listed around it.
const AROUND: usize = 100;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct StepListProps {
    pub(super) trace: Rc<TraceView>,
    pub(super) step: usize,
    pub(super) on_step: Callback<usize>,
}

/// See the module.
#[component]
pub(super) fn StepList(props: &StepListProps) -> Html {
    let StepListProps { trace, step, on_step } = props;
    let from = step.saturating_sub(AROUND);
    let to = (step + AROUND).min(trace.steps.len());
    html! {
        <ol class="step-list" start={(from + 1).to_string()} aria-label="Steps">
            { for (from..to).map(|at| {
                let shown = &trace.steps[at];
                let onclick = on_step.reform(move |_: MouseEvent| at);
                html! {
                    <li key={at} class={class(shown.kind)}>
                        <button type="button" aria-current={(at == *step).then_some("step")} {onclick}>
                            <span class="step-number">{ at + 1 }</span>
                            <span>{ &shown.sentence }</span>
                        </button>
                    </li>
                }
            }) }
        </ol>
    }
}

/// Hooks are headings of the list; rewrites and the verdict stand out.
fn class(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Hook => "step-hook",
        StepKind::Rewrite => "step-rewrite",
        StepKind::Verdict => "step-verdict",
        StepKind::Arrive
        | StepKind::Conntrack
        | StepKind::Chain
        | StepKind::Rule
        | StepKind::ChainEnd
        | StepKind::Route
        | StepKind::Skip
        | StepKind::Made
        | StepKind::Leave
        | StepKind::Note => "",
    }
}
