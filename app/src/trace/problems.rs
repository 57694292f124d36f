//! What is wrong, and where: the sentence, the line with its place marked, and what to write instead.

use chainwalk_engine::view::{ProblemView, Severity};
use yew::prelude::*;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(crate) struct ProblemsProps {
    pub(crate) problems: Vec<ProblemView>,
    /// The list's id, for `aria-describedby` of the input.
    pub(crate) id: AttrValue,
    #[prop_or_default]
    pub(crate) left_out: u32,
}

/// Longest list shown at once.
const SHOWN_MAX: usize = 12;

/// See the module.
#[component]
pub(crate) fn Problems(props: &ProblemsProps) -> Html {
    let more = props.problems.len().saturating_sub(SHOWN_MAX) + props.left_out as usize;
    let is_error = props.problems.iter().any(|problem| problem.severity == Severity::Error);
    html! {
        <div id={&props.id} class="problems" role={if is_error { "alert" } else { "note" }}
            hidden={props.problems.is_empty()}>
            { for props.problems.iter().take(SHOWN_MAX).map(problem) }
            if more > 0 {
                <p class="muted">{ format!("and {more} more.") }</p>
            }
        </div>
    }
}

fn problem(problem: &ProblemView) -> Html {
    let (class, word) = match problem.severity {
        Severity::Error => ("problem", ""),
        Severity::Warning => ("problem problem-warning", "Look: "),
        Severity::Note => ("problem problem-note", "Repaired: "),
    };
    html! {
        <div {class}>
            <p>
                <strong>{ place(problem) }{ word }</strong>
                { &problem.message }
                if !problem.hint.is_empty() {
                    <span class="problem-hint">{ " " }{ &problem.hint }</span>
                }
            </p>
            if !problem.excerpt.is_empty() {
                <pre>{ excerpt(problem) }</pre>
            }
        </div>
    }
}

/// `Line 7, column 21. ` for texts of several lines, `Column 5. ` for a single one.
fn place(problem: &ProblemView) -> String {
    match (problem.line, problem.column) {
        (0, _) => String::new(),
        (line, 0) => format!("Line {line}. "),
        (line, column) => format!("Line {line}, column {column}. "),
    }
}

/// The line with its place marked.
fn excerpt(problem: &ProblemView) -> Html {
    if problem.column == 0 {
        return html! { { &problem.excerpt } };
    }
    let chars: Vec<char> = problem.excerpt.chars().collect();
    let from = (problem.excerpt_column as usize).min(chars.len());
    let to = (from + problem.len.max(1) as usize).min(chars.len());
    let part = |range: std::ops::Range<usize>| chars[range].iter().collect::<String>();
    html! {
        <>
            { part(0..from) }
            if from < to { <mark>{ part(from..to) }</mark> } else { <mark>{ "\u{a0}" }</mark> }
            { part(to..chars.len()) }
        </>
    }
}
