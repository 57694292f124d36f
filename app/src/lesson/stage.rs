//! The stage: on wide pages the current figure stands beside the text and stays in sight.

use chainwalk_lessons::model::Block;
use wasm_bindgen::JsCast;
use web_sys::Element;
use yew::prelude::*;

use super::cx::use_lesson;
use super::figure::{FigureView, card_id};
use super::state::Action;
use crate::dom::{Listener, focus_id, use_media, window};

const WIDE: &str = "(min-width: 1200px)";

/// Whether the page has room for a stage.
#[hook]
pub(super) fn use_is_wide() -> bool {
    use_media(WIDE)
}

/// See the module.
#[component]
pub(super) fn Stage() -> Html {
    let cx = use_lesson();
    let open = cx.state.open(&cx.lesson.0);
    {
        let dispatch = cx.state.dispatcher();
        use_effect_with(open, move |_| {
            let follow = move || {
                // Whoever works in the figure keeps it while the text scrolls.
                if !is_in_use()
                    && let Some(at) = figure_in_sight()
                {
                    dispatch.dispatch(Action::Stage(at));
                }
            };
            follow();
            let listener = Listener::new(&window(), "scroll", move |_| follow());
            move || drop(listener)
        });
    }
    let current = cx.state.stage.filter(|at| *at < open);
    let figure = current.and_then(|at| match cx.lesson.0.blocks.get(at) {
        Some(Block::Figure(figure)) => Some((at, figure.clone())),
        _ => None,
    });
    html! {
        <aside class="lesson-stage" aria-label="Figure">
            if let Some((at, figure)) = figure {
                <FigureView key={at} {at} {figure} />
                <button type="button" class="button button-quiet" onclick={move |_: MouseEvent| focus_id(&card_id(at))}>
                    { "Back to the text" }
                </button>
            } else {
                <p class="lesson-stage-empty muted">{ "The figure appears here once you have answered the first question." }</p>
            }
        </aside>
    }
}

/// Whether the focus is on the stage.
fn is_in_use() -> bool {
    let focused = window().document().and_then(|document| document.active_element());
    focused.is_some_and(|element| element.closest(".lesson-stage").is_ok_and(|stage| stage.is_some()))
}

/// The last figure of the text whose card is above the lower third of the window.
fn figure_in_sight() -> Option<usize> {
    let cards = window().document()?.query_selector_all("[data-figure]").ok()?;
    let limit = window().inner_height().ok()?.as_f64()? * 0.7;
    let mut found = None;
    for i in 0..cards.length() {
        let card: Element = cards.get(i)?.dyn_into().ok()?;
        if found.is_none() || card.get_bounding_client_rect().top() < limit {
            found = card.get_attribute("data-figure").and_then(|at| at.parse().ok());
        }
    }
    found
}
