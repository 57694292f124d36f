//! A question with options: a prediction before a run, or recall after it.
//!
//! Which option is right is the engine's word: each option carries a condition and the worker says which one holds.

use chainwalk_lessons::model::Choice;
use yew::prelude::*;

use super::cx::{use_lesson, written};
use super::state::{Action, Answer};
use super::waiting::{self, Waiting};
use crate::dom::focus_id;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Held until answered; answering starts the run.
    Predict {
        run: String,
    },
    Quiz,
}

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) kind: Kind,
    pub(super) id: AttrValue,
    /// HTML of the question.
    pub(super) ask: AttrValue,
    pub(super) options: Vec<Choice>,
}

/// See the module.
#[component]
pub(super) fn Question(props: &Props) -> Html {
    let cx = use_lesson();
    let answer = cx.state.answers.get(props.id.as_str()).copied();
    {
        let (cx, options) = (cx.clone(), props.options.clone());
        let kind = props.kind.clone();
        let asks = answer.is_some() && !cx.state.stopped;
        use_effect_with((asks, props.id.clone()), move |(asks, id)| {
            if *asks {
                cx.judge(id, &options);
                if let Kind::Predict { run } = &kind {
                    cx.play(run);
                }
            }
        });
    }
    {
        // The form that had the focus is gone once it is answered: the answer takes it.
        let was_open = use_mut_ref(|| false);
        use_effect_with((answer.is_some(), props.id.clone()), move |(answered, id)| {
            if was_open.replace(!*answered) && *answered {
                focus_id(&format!("answer-{id}"));
            }
        });
    }
    let title = match props.kind {
        Kind::Predict { .. } => "Before the run: what do you expect?",
        Kind::Quiz => "From memory",
    };
    html! {
        <section class="lesson-question">
            <p class="lesson-kicker">{ title }</p>
            <p class="lesson-ask" id={format!("ask-{}", props.id)}>{ written(&props.ask) }</p>
            if let Some(answer) = answer {
                <Answered id={props.id.clone()} answer={answer} right={cx.state.right.get(props.id.as_str()).copied()}
                    predicts={matches!(props.kind, Kind::Predict { .. })} options={props.options.clone()} />
            } else {
                <Open id={props.id.clone()} predicts={matches!(props.kind, Kind::Predict { .. })}
                    options={props.options.clone()} />
            }
        </section>
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct OpenProps {
    id: AttrValue,
    predicts: bool,
    options: Vec<Choice>,
}

/// The options as radio buttons.
#[component]
fn Open(props: &OpenProps) -> Html {
    let cx = use_lesson();
    let chosen = use_state(|| None::<usize>);
    let answer = |answer: Option<Answer>| {
        let (cx, id) = (cx.clone(), props.id.to_string());
        Callback::from(move |event: SubmitEvent| {
            event.prevent_default();
            if let Some(answer) = answer {
                cx.state.dispatch(Action::Answered(id.clone(), answer));
            }
        })
    };
    let skip = {
        let (cx, id) = (cx.clone(), props.id.to_string());
        Callback::from(move |_: MouseEvent| cx.state.dispatch(Action::Answered(id.clone(), Answer::Skipped)))
    };
    let submit = if props.predicts { "Run it" } else { "Check" };
    html! {
        <form onsubmit={answer(chosen.map(Answer::Chose))}>
            <fieldset class="lesson-options" aria-describedby={format!("ask-{}", props.id)}>
                <legend class="hidden">{ "Your answer" }</legend>
                { for props.options.iter().enumerate().map(|(at, option)| {
                    let onchange = {
                        let chosen = chosen.clone();
                        Callback::from(move |_: Event| chosen.set(Some(at)))
                    };
                    html! {
                        <label class="lesson-option">
                            <input type="radio" name={props.id.clone()} checked={*chosen == Some(at)} {onchange} />
                            <span>{ written(&option.say) }</span>
                        </label>
                    }
                }) }
            </fieldset>
            <p class="lesson-actions">
                <button type="submit" class="button button-primary" disabled={chosen.is_none()}>{ submit }</button>
                <button type="button" class="button button-quiet" onclick={skip}>{ "Skip this question" }</button>
            </p>
        </form>
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct AnsweredProps {
    id: AttrValue,
    answer: Answer,
    right: Option<usize>,
    predicts: bool,
    options: Vec<Choice>,
}

/// The reader's answer beside the engine's, each with its reason.
#[component]
fn Answered(props: &AnsweredProps) -> Html {
    let cx = use_lesson();
    let is_stopped = cx.state.stopped;
    // Where many wait, one bar is enough.
    let is_first = cx.state.waits(&cx.lesson.0) == Some(props.id.as_str());
    html! {
        <div id={format!("answer-{}", props.id)} tabindex="-1">
            <div class="lesson-answers" role="status">
                { match props.right {
                    None => waiting::sentence(is_stopped),
                    Some(right) => side_by_side(props, right),
                } }
            </div>
            if is_first {
                <Waiting home={format!("answer-{}", props.id)} />
            }
        </div>
    }
}

fn side_by_side(props: &AnsweredProps, right: usize) -> Html {
    let chose = match props.answer {
        Answer::Chose(at) => props.options.get(at).map(|option| (at, option)),
        Answer::Skipped => None,
    };
    let engine = if props.predicts { "The engine says" } else { "The answer" };
    html! {
        <>
            if let Some((at, option)) = chose.filter(|(at, _)| *at != right) {
                <div class="lesson-answer">
                    <p class="lesson-who">{ "You said" }</p>
                    <p>{ written(&option.say) }</p>
                    <p class="lesson-because" key={at}>{ written(&option.because) }</p>
                </div>
            }
            if let Some(option) = props.options.get(right) {
                <div class="lesson-answer lesson-answer-engine">
                    <p class="lesson-who">
                        <span aria-hidden="true">{ "✓ " }</span>
                        { if chose.is_some_and(|(at, _)| at == right) { "You said, and the engine agrees" } else { engine } }
                    </p>
                    <p>{ written(&option.say) }</p>
                    <p class="lesson-because">{ written(&option.because) }</p>
                </div>
            }
        </>
    }
}
