//! A task: the reader edits the endpoint rules of a chain, sends the connections again, and the engine judges.

use std::rc::Rc;

use chainwalk_lessons::model::{Edit, Input, Task};
use chainwalk_lessons::spread::{self, Spread};
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::ask::{Told, What};
use super::cx::{use_lesson, written};
use super::figure::Shares;
use super::state::Action;
use super::waiting::Waiting;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) task: Task,
}

/// What the last attempt gave.
#[derive(Debug, Clone, PartialEq)]
struct Attempt {
    spread: Rc<Spread>,
    passes: bool,
    never: Vec<bool>,
}

/// See the module.
#[component]
pub(super) fn TaskBlock(props: &Props) -> Html {
    let cx = use_lesson();
    let task = &props.task;
    let start = use_memo(task.run.clone(), |run| match cx.run(run).map(|run| &run.input) {
        Some(Input::Spread(input)) => spread::rules_of(input).unwrap_or_default(),
        _ => Default::default(),
    });
    let edit = use_state(|| start.0.clone());
    let attempt = use_state(|| None::<Attempt>);
    let busy = use_state(|| false);
    let hints = use_state(|| 0_usize);
    {
        // A stopped attempt has no answer: the button sends it again.
        let busy = busy.setter();
        use_effect_with(cx.state.stopped, move |stopped| {
            if *stopped {
                busy.set(false);
            }
        });
    }

    let send = {
        let (cx, task, edit) = (cx.clone(), task.clone(), edit.clone());
        let (attempt, busy) = (attempt.setter(), busy.clone());
        Callback::from(move |event: SubmitEvent| {
            event.prevent_default();
            busy.set(true);
            cx.go_on();
            let (attempt, busy, dispatch, id) =
                (attempt.clone(), busy.clone(), cx.state.dispatcher(), task.id.clone());
            let told = Callback::from(move |told: Told| {
                busy.set(false);
                if let Told::Tried { spread, passes, never } = told {
                    if passes {
                        dispatch.dispatch(Action::TaskDone(id.clone()));
                    }
                    attempt.set(Some(Attempt { spread: Rc::from(spread), passes, never }));
                }
            });
            let never = task.never.iter().map(|never| never.holds.clone()).collect();
            cx.ask(
                What::Try { run: task.run.clone(), edit: (*edit).clone(), check: task.check.clone(), never },
                told,
            );
        })
    };
    let show_me = {
        let (edit, solution) = (edit.setter(), task.solutions.first().cloned());
        Callback::from(move |_: MouseEvent| {
            if let Some(solution) = &solution {
                edit.set(solution.clone());
            }
        })
    };
    let reset = {
        let (edit, start) = (edit.setter(), start.0.clone());
        Callback::from(move |_: MouseEvent| edit.set(start.clone()))
    };
    let hint = {
        let hints = hints.clone();
        Callback::from(move |_: MouseEvent| hints.set(*hints + 1))
    };
    let wrong: Vec<usize> = edit
        .probabilities
        .iter()
        .enumerate()
        .filter(|(_, text)| !is_probability(text))
        .map(|(at, _)| at)
        .collect();
    html! {
        <section class="lesson-question lesson-task">
            <p class="lesson-kicker">{ "Do it" }</p>
            <p class="lesson-ask">{ written(&task.ask) }</p>
            <form onsubmit={send}>
                <div class="task-rules">
                    { for start.1.iter().enumerate().map(|(at, to)| html! {
                        <Rule key={at} {at} name={cx.name(&task.run, to)} edit={(*edit).clone()}
                            on_edit={let edit = edit.setter(); Callback::from(move |next| edit.set(next))} />
                    }) }
                </div>
                if let Some(at) = wrong.first() {
                    <p class="problem" role="alert">
                        { format!("Rule {}: a probability is a number from 0 to 1, such as 0.5; leave it empty for a rule that always matches.", at + 1) }
                    </p>
                }
                <p class="lesson-actions">
                    <button type="submit" class="button button-primary" disabled={*busy || !wrong.is_empty()}>
                        { if *busy { "Sending…" } else { "Send the connections" } }
                    </button>
                    <button type="button" class="button" onclick={reset}>{ "Reset" }</button>
                    if *hints < task.hints.len() {
                        <button type="button" class="button button-quiet" onclick={hint}>{ "Hint" }</button>
                    } else {
                        <button type="button" class="button button-quiet" onclick={show_me}>{ "Fill in a solution" }</button>
                    }
                </p>
                if *busy {
                    <Waiting />
                }
            </form>
            if *hints > 0 {
                <ol class="task-hints" role="status">
                    { for task.hints.iter().take(*hints).map(|hint| html! { <li>{ written(hint) }</li> }) }
                </ol>
            }
            if let Some(attempt) = &*attempt {
                <div role="status">{ said(task, attempt) }</div>
                <Shares run={task.run.clone()} spread={attempt.spread.clone()} />
            }
        </section>
    }
}

fn said(task: &Task, attempt: &Attempt) -> Html {
    if attempt.passes {
        return html! { <p class="task-said task-done"><span aria-hidden="true">{ "✓ " }</span>{ written(&task.done) }</p> };
    }
    let caught = task.never.iter().zip(&attempt.never).filter(|(_, holds)| **holds);
    let words: Vec<&str> = caught.map(|(never, _)| never.say.as_str()).collect();
    if words.is_empty() {
        return html! { <p class="task-said">{ "Not there yet. Compare the bars, and look at which rule takes too much." }</p> };
    }
    html! { <>{ for words.into_iter().map(|say| html! { <p class="task-said">{ written(say) }</p> }) }</> }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct RuleProps {
    at: usize,
    name: AttrValue,
    edit: Edit,
    on_edit: Callback<Edit>,
}

/// One endpoint rule: its probability, and whether it is in the chain.
#[component]
fn Rule(props: &RuleProps) -> Html {
    let at = props.at;
    let probability = props.edit.probabilities.get(at).cloned().unwrap_or_default();
    let is_in = !props.edit.dropped.contains(&at);
    let on_text = {
        let (edit, on_edit) = (props.edit.clone(), props.on_edit.clone());
        Callback::from(move |event: InputEvent| {
            let mut edit = edit.clone();
            if let (Some(slot), Some(field)) =
                (edit.probabilities.get_mut(at), event.target_dyn_into::<HtmlInputElement>())
            {
                *slot = field.value().trim().to_owned();
                on_edit.emit(edit);
            }
        })
    };
    let on_check = {
        let (edit, on_edit) = (props.edit.clone(), props.on_edit.clone());
        Callback::from(move |_: Event| {
            let mut edit = edit.clone();
            if is_in {
                edit.dropped.push(at)
            } else {
                edit.dropped.retain(|dropped| *dropped != at)
            }
            on_edit.emit(edit);
        })
    };
    let invalid = (!is_probability(&probability)).then_some("true");
    html! {
        <div class="task-rule">
            <label class="task-in">
                <input type="checkbox" checked={is_in} onchange={on_check} />
                <span>{ &props.name }</span>
            </label>
            <label class="task-probability">
                <span class="field-label">{ "probability" }</span>
                <input type="text" class="input-mono" inputmode="decimal" autocomplete="off" spellcheck="false"
                    value={probability} placeholder="always" disabled={!is_in} aria-invalid={invalid} oninput={on_text} />
            </label>
        </div>
    }
}

/// Empty, or a number from 0 to 1 in decimal notation.
fn is_probability(text: &str) -> bool {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_at_most_one = match whole.trim_start_matches('0') {
        "" => true,
        "1" => part.bytes().all(|digit| digit == b'0'),
        _ => false,
    };
    text != "." && are_digits(whole) && are_digits(part) && is_at_most_one
}

#[cfg(test)]
mod tests {
    use super::is_probability;

    #[test]
    fn probabilities_are_told_from_other_texts() {
        let good = ["", "0", "1", "1.0", "0.5", ".5", "0.3333333333"];
        let bad = ["1.1", "-0.1", "half", "0,5", "NaN", "inf", ".", "0.5.5"];
        assert!(good.into_iter().all(is_probability));
        assert!(!bad.into_iter().any(is_probability));
    }
}
