//! The figures of a lesson: in the text on narrow pages, on the stage beside it on wide ones.
//!
//! Each figure shows what this browser's engine computed, says in one sentence what there is to see, and has a table.

mod backlog;
mod draw;
mod draws;
mod leaving;
mod lookups;
mod picks;
mod shares;
mod times;
mod walked;
mod way;

use chainwalk_lessons::model::{Figure, Picture};
use yew::prelude::*;

use super::cx::{LessonCx, use_lesson, written};
use super::stage::use_is_wide;
use super::state::{Action, Shown};
use super::waiting;
use crate::dom::focus_id;

pub(super) use shares::Shares;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    /// The figure's block in the lesson.
    pub(super) at: usize,
    pub(super) figure: Figure,
}

/// The current figure, wherever it stands.
pub(super) const FIGURE_ID: &str = "lesson-figure";

/// The button in the text that leads to a figure.
pub(super) fn card_id(at: usize) -> String {
    format!("figure-card-{at}")
}

/// A figure's place in the text: its sentence, and on narrow pages the figure while it is the current one.
#[component]
pub(super) fn FigureBlock(props: &Props) -> Html {
    let cx = use_lesson();
    let is_wide = use_is_wide();
    let is_current = cx.state.stage == Some(props.at);
    // The figure may have to be drawn first: the focus follows after the next drawing.
    let to_figure = use_state(|| false);
    {
        let to_figure = to_figure.clone();
        use_effect_with((*to_figure, is_current), move |(wanted, is_current)| {
            if *wanted && *is_current {
                focus_id(FIGURE_ID);
                to_figure.set(false);
            }
        });
    }
    let show = {
        let (cx, at, to_figure) = (cx.clone(), props.at, to_figure.setter());
        Callback::from(move |_: MouseEvent| {
            cx.state.dispatch(Action::Stage(at));
            to_figure.set(true);
        })
    };
    let says = if is_current { "Go to the figure" } else { "Show the figure" };
    if is_current && !is_wide {
        return html! { <FigureView at={props.at} figure={props.figure.clone()} /> };
    }
    html! {
        <div class={classes!("lesson-card", is_current.then_some("lesson-card-current"))} data-figure={props.at.to_string()}>
            <p class="lesson-caption">{ written(&props.figure.caption) }</p>
            <button type="button" class="button" id={card_id(props.at)} onclick={show}>{ says }</button>
        </div>
    }
}

/// The figure itself.
#[component]
pub(super) fn FigureView(props: &Props) -> Html {
    let cx = use_lesson();
    {
        let cx = cx.clone();
        use_effect_with((props.figure.run.clone(), cx.state.stopped), move |(run, stopped)| {
            if !stopped {
                cx.play(run);
            }
        });
    }
    let figure = &props.figure;
    let title = cx.run(&figure.run).map(|run| run.title.clone()).unwrap_or_default();
    html! {
        <div class="lesson-figure" id={FIGURE_ID} tabindex="-1" role="group" aria-label={format!("Figure: {title}")}>
            <p class="lesson-figure-title">{ &title }</p>
            { names(&cx, figure) }
            { match cx.state.played.get(&figure.run) {
                None => html! { <div role="status" class="lesson-wait">{ waiting::sentence(cx.state.stopped) }</div> },
                Some(shown) => picture(&cx, figure, shown),
            } }
            <p class="lesson-figure-says">{ written(&figure.caption) }</p>
        </div>
    }
}

/// Who is who among the addresses of a packet's way.
fn names(cx: &LessonCx, figure: &Figure) -> Html {
    let names = cx.run(&figure.run).map(|run| run.names.as_slice()).unwrap_or_default();
    if names.is_empty() || figure.show != Picture::River {
        return Html::default();
    }
    html! {
        <dl class="lesson-names">
            { for names.iter().map(|(address, name)| html! {
                <div><dt>{ address }</dt><dd>{ name }</dd></div>
            }) }
        </dl>
    }
}

fn picture(cx: &LessonCx, figure: &Figure, shown: &Shown) -> Html {
    let run = AttrValue::from(figure.run.clone());
    match (shown, figure.show) {
        (Shown::Packets(packets), Picture::River) => html! {
            <way::Way engine={cx.engine.clone()} packets={packets.clone()} packet={figure.packet as usize} />
        },
        (Shown::Spread(spread), Picture::Shares) => html! { <Shares {run} spread={spread.clone()} /> },
        (Shown::Spread(spread), Picture::Walked) => {
            html! { <walked::Walked {run} spread={spread.clone()} /> }
        }
        (Shown::Spread(spread), Picture::Draws) => html! { <draws::Draws {run} spread={spread.clone()} /> },
        (Shown::Picks(picks), Picture::Picks) => html! { <picks::PicksFigure picks={picks.clone()} /> },
        (Shown::Queue(queue), Picture::Times) => html! { <times::TimesFigure queue={queue.clone()} /> },
        (Shown::Queue(queue), Picture::Backlog) => html! { <backlog::Backlog queue={queue.clone()} /> },
        (Shown::Lookups(lookups), Picture::Lookups) => {
            html! { <lookups::LookupsFigure lookups={lookups.clone()} /> }
        }
        (Shown::Leaving(leaving), Picture::Leaving) => {
            html! { <leaving::LeavingFigure leaving={leaving.clone()} /> }
        }
        // The lesson checker refuses a figure of another kind of run.
        _ => Html::default(),
    }
}
