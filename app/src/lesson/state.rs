//! What is answered, run and shown in one lesson.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use chainwalk_engine::view::TraceView;
use chainwalk_lessons::facts::Computed;
use chainwalk_lessons::leaving::Leaving;
use chainwalk_lessons::lookups::Lookups;
use chainwalk_lessons::model::{Block, Lesson};
use chainwalk_lessons::picks::Picks;
use chainwalk_lessons::queue::Queue;
use chainwalk_lessons::spread::Spread;
use yew::Reducible;

use super::ask::Played;
use super::progress::Progress;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// An option, from 0.
    Chose(usize),
    Skipped,
}

/// What a run showed, shared between figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Packets(Vec<(u32, Rc<TraceView>)>),
    Spread(Rc<Spread>),
    Picks(Rc<Picks>),
    Queue(Rc<Queue>),
    Lookups(Rc<Lookups>),
    Leaving(Rc<Leaving>),
}

impl From<Played> for Shown {
    fn from(played: Played) -> Self {
        match played {
            Played::Packets(passages) => {
                Self::Packets(passages.into_iter().map(|one| (one.sent, Rc::new(one.trace))).collect())
            }
            Played::Computed(computed) => match *computed {
                Computed::Spread(spread) => Self::Spread(Rc::new(spread)),
                Computed::Picks(picks) => Self::Picks(Rc::new(picks)),
                Computed::Queue(queue) => Self::Queue(Rc::new(queue)),
                Computed::Lookups(lookups) => Self::Lookups(Rc::new(lookups)),
                Computed::Leaving(leaving) => Self::Leaving(Rc::new(leaving)),
            },
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State {
    pub(super) answers: BTreeMap<String, Answer>,
    pub(super) done: BTreeSet<String>,
    /// The option that holds, by question, as the engine found it.
    pub(super) right: BTreeMap<String, usize>,
    pub(super) played: BTreeMap<String, Shown>,
    /// Block of the figure beside the text.
    pub(super) stage: Option<usize>,
    /// What the engine could not do.
    pub(super) trouble: Option<String>,
    /// A run gave another digest than when the lesson was built.
    pub(super) differs: bool,
    /// The reader stopped the engine; who still waits for it asks again when told to go on.
    pub(super) stopped: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Answered(String, Answer),
    Judged(String, usize),
    Played {
        run: String,
        shown: Shown,
        as_built: bool,
    },
    TaskDone(String),
    Stage(usize),
    Trouble(String),
    Stopped,
    GoOn,
    /// Answers questions up to the end with "skipped".
    SkipAll(Vec<String>),
    StartAgain,
}

impl State {
    pub(super) fn resume(progress: Progress) -> Self {
        Self { answers: progress.answers, done: progress.done, ..Self::default() }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress { answers: self.answers.clone(), done: self.done.clone() }
    }

    /// The first question that is answered and waits for the engine's word: what the engine is at.
    pub(super) fn waits<'a>(&self, lesson: &'a Lesson) -> Option<&'a str> {
        let asked = |block: &'a Block| match block {
            Block::Predict(predict) => Some(predict.id.as_str()),
            Block::Quiz(quiz) => Some(quiz.id.as_str()),
            _ => None,
        };
        let waits = |id: &&str| self.answers.contains_key(*id) && !self.right.contains_key(*id);
        lesson.blocks.iter().filter_map(asked).find(waits)
    }

    /// How many blocks are open: up to the first prediction without an answer, and that one.
    pub(super) fn open(&self, lesson: &Lesson) -> usize {
        let closed = lesson.blocks.iter().position(
            |block| matches!(block, Block::Predict(predict) if !self.answers.contains_key(&predict.id)),
        );
        closed.map_or(lesson.blocks.len(), |at| at + 1)
    }
}

impl Reducible for State {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut next = (*self).clone();
        match action {
            Action::Answered(id, answer) => {
                next.answers.insert(id, answer);
            }
            Action::Judged(id, option) => {
                next.right.insert(id, option);
            }
            Action::Played { run, shown, as_built } => {
                next.played.insert(run, shown);
                next.differs |= !as_built;
            }
            Action::TaskDone(id) => {
                next.done.insert(id);
            }
            Action::Stage(block) => next.stage = Some(block),
            Action::Trouble(sentence) => next.trouble = Some(sentence),
            Action::Stopped => {
                next.stopped = true;
                // The rows of a packet's way were in the engine's session, which is gone.
                next.played.retain(|_, shown| !matches!(shown, Shown::Packets(_)));
            }
            Action::GoOn => next.stopped = false,
            Action::SkipAll(ids) => {
                for id in ids {
                    next.answers.entry(id).or_insert(Answer::Skipped);
                }
            }
            Action::StartAgain => {
                next.answers.clear();
                next.done.clear();
                next.stage = None;
            }
        }
        Rc::new(next)
    }
}
