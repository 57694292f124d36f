//! A lesson's page: loads it, lays out text and figure, keeps progress.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use yew::prelude::*;

use super::blocks::Blocks;
use super::cx::{LessonCx, Shared};
use super::stage::{Stage, use_is_wide};
use super::state::{Action, State};
use super::waiting::Far;
use super::{fetch, list, progress};
use crate::backend::Engine;
use crate::dom::window;

/// Which lesson.
#[derive(Debug, Clone, PartialEq, Properties)]
pub struct LessonProps {
    pub id: AttrValue,
}

/// See the module.
#[component]
pub fn LessonPage(props: &LessonProps) -> Html {
    let loaded = use_state(|| None::<Result<Shared, String>>);
    {
        let loaded = loaded.setter();
        use_effect_with(props.id.clone(), move |id| {
            let id = id.clone();
            wasm_bindgen_futures::spawn_local(async move {
                let lesson = fetch::lesson(&id).await;
                loaded.set(Some(lesson.map(|lesson| Shared(Rc::new(lesson)))));
            });
        });
    }
    match &*loaded {
        None => {
            html! { <div class="page"><p role="status" class="muted">{ "Loading the lesson." }</p></div> }
        }
        Some(Err(sentence)) => html! {
            <div class="page prose">
                <h1>{ "This lesson is not here" }</h1>
                <p>{ sentence }</p>
                <p><a href="#/">{ "All lessons" }</a></p>
            </div>
        },
        Some(Ok(lesson)) => html! { <Lesson lesson={lesson.clone()} /> },
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct Props {
    lesson: Shared,
}

#[component]
fn Lesson(props: &Props) -> Html {
    let entry = &props.lesson.0.entry;
    let engine = use_context::<Engine>().expect("the shell provides the engine");
    let state = {
        let id = entry.id.clone();
        use_reducer(move || State::resume(progress::load(&id)))
    };
    let asked = use_memo((), |()| RefCell::new(BTreeSet::new()));
    let kept = use_state(|| true);
    let far = use_state_eq(Far::default);
    {
        let (id, kept) = (entry.id.clone(), kept.setter());
        use_effect_with(state.progress(), move |now| kept.set(progress::save(&id, now)));
    }
    {
        let title = entry.title.clone();
        use_effect_with((), move |()| {
            if let Some(document) = window().document() {
                document.set_title(&format!("{title} · Chainwalk"));
            }
        });
    }
    let is_wide = use_is_wide();
    let cx =
        LessonCx { lesson: props.lesson.clone(), state: state.clone(), engine, asked, far: far.setter() };
    let (done, all) = list::count(props.lesson.0.blocks.iter(), |id| {
        state.answers.contains_key(id) || state.done.contains(id)
    });
    html! {
        <ContextProvider<LessonCx> context={cx}>
        <ContextProvider<Far> context={*far}>
            <div class={classes!("lesson", is_wide.then_some("lesson-wide"))}>
                <article class="lesson-column" aria-labelledby="lesson-title">
                    <header class="lesson-head">
                        <h1 id="lesson-title">{ &entry.title }</h1>
                        <p class="lead">{ &entry.summary }</p>
                        <p class="muted">
                            { format!("About {} minutes · {done} of {all} questions and tasks · ", entry.minutes) }
                            <a href={format!("lessons/{}/", entry.id)}>{ "Read it without the lab" }</a>
                        </p>
                        if !*kept {
                            <p class="problem problem-note">
                                { "This browser keeps nothing for this page, so your answers last until you leave it." }
                            </p>
                        }
                    </header>
                    if let Some(sentence) = &state.trouble {
                        <p class="problem" role="alert">{ sentence }</p>
                    }
                    if state.differs {
                        <p class="problem problem-warning" role="alert">
                            { "A run gave another digest here than when the lesson was built. The figures show this \
                               browser's run; numbers in the text may differ. Please report it." }
                        </p>
                    }
                    <Blocks />
                    <Foot lesson={props.lesson.clone()} state={state.clone()} />
                </article>
                if is_wide { <Stage /> }
            </div>
        </ContextProvider<Far>>
        </ContextProvider<LessonCx>>
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct FootProps {
    lesson: Shared,
    state: UseReducerHandle<State>,
}

/// Sources, and the way to begin anew.
#[component]
fn Foot(props: &FootProps) -> Html {
    let lesson = &props.lesson.0;
    if props.state.open(lesson) < lesson.blocks.len() {
        return Html::default();
    }
    let again = {
        let state = props.state.clone();
        Callback::from(move |_: MouseEvent| {
            state.dispatch(Action::StartAgain);
            window().scroll_to_with_x_and_y(0.0, 0.0);
        })
    };
    html! {
        <footer class="lesson-foot">
            <h2>{ "Sources" }</h2>
            <ul>
                { for lesson.sources.iter().map(|source| html! {
                    <li>
                        if source.url.is_empty() { { &source.title } } else {
                            <a href={source.url.clone()} rel="noopener">{ &source.title }</a>
                        }
                    </li>
                }) }
            </ul>
            <p class="lesson-actions">
                <a class="button" href="#/">{ "All lessons" }</a>
                <button type="button" class="button button-quiet" onclick={again}>{ "Forget my answers and start again" }</button>
            </p>
        </footer>
    }
}
