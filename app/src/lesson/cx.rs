//! What every block of a lesson can reach: the lesson, its state, and the engine.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use chainwalk_lessons::model::{Choice, Lesson, Run};
use yew::prelude::*;

use super::ask::{Ask, Told, What};
use super::state::{Action, State};
use super::waiting::Far;
use crate::backend::Engine;
use crate::protocol::{Request, Response};

/// A lesson, compared by identity: it never changes once loaded.
#[derive(Debug, Clone)]
pub(super) struct Shared(pub(super) Rc<Lesson>);

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Clone, PartialEq)]
pub(super) struct LessonCx {
    pub(super) lesson: Shared,
    pub(super) state: UseReducerHandle<State>,
    pub(super) engine: Engine,
    /// Runs and questions on their way, so that nothing is asked twice.
    pub(super) asked: Rc<RefCell<BTreeSet<String>>>,
    /// Where it is told how far the engine is.
    pub(super) far: UseStateSetter<Far>,
}

impl std::fmt::Debug for LessonCx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LessonCx").field("lesson", &self.lesson.0.entry.id).finish_non_exhaustive()
    }
}

impl LessonCx {
    pub(super) fn run(&self, id: &str) -> Option<&Run> {
        self.lesson.0.runs.iter().find(|run| run.id == id)
    }

    /// What the scenario's author calls an address; the address itself where it has no name.
    pub(super) fn name(&self, run: &str, address: &str) -> String {
        let bare = address.rsplit_once(':').map_or(address, |(bare, _)| bare);
        let names = self.run(run).map(|run| run.names.as_slice()).unwrap_or_default();
        let found = names.iter().find(|(known, _)| known == address || known == bare);
        found.map_or_else(|| address.to_owned(), |(_, name)| name.clone())
    }

    /// Asks the engine; what it refuses is shown on the page.
    pub(super) fn ask(&self, what: What, told: Callback<Told>) {
        let (dispatch, asked, far) = (self.state.dispatcher(), self.asked.clone(), self.far.clone());
        let answer = Callback::from(move |response: Response| {
            if let Response::Progress { done, total, .. } = response {
                return far.set(Far { done, total });
            }
            far.set(Far::default());
            match response {
                Response::Lesson(answer) => match *answer {
                    Told::Refused(sentence) => dispatch.dispatch(Action::Trouble(sentence)),
                    answer => told.emit(answer),
                },
                Response::Failed(sentence) => {
                    asked.borrow_mut().clear();
                    dispatch.dispatch(Action::Trouble(sentence));
                }
                Response::Cancelled => {
                    asked.borrow_mut().clear();
                    dispatch.dispatch(Action::Stopped);
                }
                _ => {}
            }
        });
        let ask = Ask { runs: self.lesson.0.runs.clone(), what };
        self.engine.ask(Request::Lesson(Box::new(ask)), answer);
    }

    /// Stops what runs.
    pub(super) fn stop(&self) {
        self.engine.cancel();
    }

    /// Lets all who still wait ask again.
    pub(super) fn go_on(&self) {
        self.state.dispatch(Action::GoOn);
    }

    /// Runs a scenario, unless it has been run.
    pub(super) fn play(&self, run: &str) {
        if self.state.played.contains_key(run) || !self.asked.borrow_mut().insert(format!("run {run}")) {
            return;
        }
        let (dispatch, id) = (self.state.dispatcher(), run.to_owned());
        let told = Callback::from(move |told: Told| {
            if let Told::Ran { played, as_built } = told {
                dispatch.dispatch(Action::Played { run: id.clone(), shown: played.into(), as_built });
            }
        });
        self.ask(What::Run(run.to_owned()), told);
    }

    /// Finds out which option of a question holds.
    pub(super) fn judge(&self, id: &str, options: &[Choice]) {
        if self.state.right.contains_key(id) || !self.asked.borrow_mut().insert(format!("judge {id}")) {
            return;
        }
        let (dispatch, id) = (self.state.dispatcher(), id.to_owned());
        let told = Callback::from(move |told: Told| {
            if let Told::Judged(holds) = told
                && let Some(right) = holds.iter().position(|holds| *holds)
            {
                dispatch.dispatch(Action::Judged(id.clone(), right));
            }
        });
        self.ask(What::Judge(options.iter().map(|option| option.holds.clone()).collect()), told);
    }
}

/// The lesson around this component.
///
/// # Panics
/// Outside a lesson page, which provides it.
#[hook]
pub(super) fn use_lesson() -> LessonCx {
    use_context::<LessonCx>().expect("blocks are drawn inside a lesson page")
}

/// HTML that `lessons-build` wrote.
pub(super) fn written(html: &str) -> Html {
    Html::from_html_unchecked(AttrValue::from(html.to_owned()))
}
