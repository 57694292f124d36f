//! All steps as a list, where no chain is open: an overview, and a way to any of them.

use std::rc::Rc;

use chainwalk_engine::view::{StepKind, StepView, TraceView};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;
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
    let list = use_node_ref();
    {
        let list = list.clone();
        use_effect_with(*step, move |_| bring_into_view(&list));
    }
    let from = step.saturating_sub(AROUND);
    let to = (step + AROUND).min(trace.steps.len());
    html! {
        <ol class="step-list" ref={list} start={(from + 1).to_string()} aria-label="Steps">
            { for (from..to).map(|at| {
                let shown = &trace.steps[at];
                let onclick = on_step.reform(move |_: MouseEvent| at);
                html! {
                    <li key={at} class={class(shown)}>
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

/// Hooks are headings of the list; NAT and the verdict stand out.
fn class(step: &StepView) -> &'static str {
    match step.kind {
        StepKind::Hook => "step-hook",
        StepKind::Verdict => "step-verdict",
        _ if step.changes.iter().any(|change| change.field.is_nat()) => "step-rewrite",
        _ => "",
    }
}

/// Scrolls the list, not the page, to the current step.
fn bring_into_view(list: &NodeRef) {
    let Some(list) = list.cast::<HtmlElement>() else { return };
    let Ok(Some(current)) = list.query_selector("[aria-current]") else { return };
    let Ok(current) = current.dyn_into::<HtmlElement>() else { return };
    let top = current.offset_top() - list.offset_top();
    if top < list.scroll_top() || top + current.offset_height() > list.scroll_top() + list.client_height() {
        list.set_scroll_top(top - list.client_height() / 3);
    }
}
