//! The figures of a lesson: in the text on narrow pages, on the stage beside it on wide ones.
//!
//! Each figure shows what this browser's engine computed, says in one sentence what there is to see, and has a table.

mod draws;
mod shares;
mod walked;
mod way;

use chainwalk_lessons::model::{Figure, Picture};
use yew::prelude::*;

use super::cx::{LessonCx, use_lesson, written};
use super::stage::use_is_wide;
use super::state::{Action, Shown};

pub(super) use shares::Shares;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    /// The figure's block in the lesson.
    pub(super) at: usize,
    pub(super) figure: Figure,
}

/// A figure's place in the text: its sentence, and on narrow pages the figure while it is the current one.
#[component]
pub(super) fn FigureBlock(props: &Props) -> Html {
    let cx = use_lesson();
    let is_wide = use_is_wide();
    let is_current = cx.state.stage == Some(props.at);
    let show = {
        let (cx, at) = (cx.clone(), props.at);
        Callback::from(move |_: MouseEvent| cx.state.dispatch(Action::Stage(at)))
    };
    let says = match (is_wide, is_current) {
        (true, true) => "Shown beside",
        (true, false) => "Show beside",
        (false, _) => "Show the figure",
    };
    if is_current && !is_wide {
        return html! { <FigureView at={props.at} figure={props.figure.clone()} /> };
    }
    html! {
        <div class={classes!("lesson-card", is_current.then_some("lesson-card-current"))} data-figure={props.at.to_string()}>
            <p class="lesson-caption">{ written(&props.figure.caption) }</p>
            <button type="button" class="button" aria-pressed={is_wide.then(|| is_current.to_string())} onclick={show}>
                { says }
            </button>
        </div>
    }
}

/// The figure itself.
#[component]
pub(super) fn FigureView(props: &Props) -> Html {
    let cx = use_lesson();
    {
        let cx = cx.clone();
        use_effect_with(props.figure.run.clone(), move |run| cx.play(run));
    }
    let figure = &props.figure;
    let title = cx.run(&figure.run).map(|run| run.title.clone()).unwrap_or_default();
    html! {
        <div class="lesson-figure" role="group" aria-label={format!("Figure: {title}")}>
            <p class="lesson-figure-title">{ &title }</p>
            { match cx.state.played.get(&figure.run) {
                None => html! { <p role="status" class="muted lesson-wait">{ "The engine is running it…" }</p> },
                Some(shown) => picture(&cx, figure, shown),
            } }
            <p class="lesson-figure-says">{ written(&figure.caption) }</p>
        </div>
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
        // The lesson checker refuses such a figure.
        (Shown::Packets(_), Picture::Shares | Picture::Walked | Picture::Draws)
        | (Shown::Spread(_), Picture::River) => Html::default(),
    }
}
