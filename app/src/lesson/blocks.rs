//! The blocks of a lesson in reading order, up to the first question without an answer.

use chainwalk_lessons::model::Block;
use yew::prelude::*;

use super::console::ConsoleBlock;
use super::cx::{LessonCx, use_lesson, written};
use super::figure::FigureBlock;
use super::interview::InterviewBlock;
use super::question::{Kind, Question};
use super::state::Action;
use super::task::TaskBlock;

/// See the module.
#[component]
pub(super) fn Blocks() -> Html {
    let cx = use_lesson();
    let blocks = &cx.lesson.0.blocks;
    let open = cx.state.open(&cx.lesson.0);
    {
        // An answer opens what it was about: the first figure of the new part.
        let (dispatch, lesson) = (cx.state.dispatcher(), cx.lesson.clone());
        let opened = use_mut_ref(|| open);
        use_effect_with(open, move |open| {
            let before = opened.replace(*open);
            let new = lesson.0.blocks.iter().enumerate().take(*open).skip(before);
            if let Some((at, _)) = new.into_iter().find(|(_, block)| matches!(block, Block::Figure(_))) {
                dispatch.dispatch(Action::Stage(at));
            }
        });
    }
    html! {
        <>
            { for blocks.iter().take(open).enumerate().map(|(at, one)| block(at, one)) }
            if open < blocks.len() {
                <Held cx={cx.clone()} left={blocks.len() - open} />
            }
        </>
    }
}

fn block(at: usize, block: &Block) -> Html {
    match block {
        Block::Prose { html } => html! { <div key={at} class="lesson-prose prose">{ written(html) }</div> },
        Block::Console(console) => html! { <ConsoleBlock key={at} console={console.clone()} /> },
        Block::Predict(predict) => html! {
            <Question key={at} kind={Kind::Predict { run: predict.run.clone() }} id={predict.id.clone()}
                ask={predict.ask.clone()} options={predict.options.clone()} />
        },
        Block::Quiz(quiz) => html! {
            <Question key={at} kind={Kind::Quiz} id={quiz.id.clone()} ask={quiz.ask.clone()}
                options={quiz.options.clone()} />
        },
        Block::Figure(figure) => html! { <FigureBlock key={at} {at} figure={figure.clone()} /> },
        Block::Task(task) => html! { <TaskBlock key={at} task={task.clone()} /> },
        Block::Interview(interview) => html! { <InterviewBlock key={at} interview={interview.clone()} /> },
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct HeldProps {
    cx: LessonCx,
    left: usize,
}

/// What follows is held until the question is answered; one click opens everything.
#[component]
fn Held(props: &HeldProps) -> Html {
    let skip_all = {
        let cx = props.cx.clone();
        Callback::from(move |_: MouseEvent| {
            let predictions = cx.lesson.0.blocks.iter().filter_map(|block| match block {
                Block::Predict(predict) => Some(predict.id.clone()),
                _ => None,
            });
            cx.state.dispatch(Action::SkipAll(predictions.collect()));
        })
    };
    html! {
        <p class="lesson-held">
            { "The lesson goes on when you have answered. " }
            <button type="button" class="button button-quiet" onclick={skip_all}>{ "Open all of it without questions" }</button>
        </p>
    }
}
