//! What stands where the engine's answer will be: that it runs or was stopped, how far it is, and the button that stops
//! it or runs it again.
//!
//! How far it is changes many times a second, so it has a context of its own, and only a sighted reader and whoever
//! asks the progress bar hear of it: the live regions around say that it runs, and then what came of it.

use yew::prelude::*;

use super::cx::use_lesson;
use crate::dom::focus_id;

/// `done` of `total`; total is zero while nothing long runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Far {
    pub(super) done: u64,
    pub(super) total: u64,
}

/// The sentence for a live region.
pub(super) fn sentence(is_stopped: bool) -> Html {
    let says = if is_stopped { "Stopped before it was done." } else { "The engine is running it…" };
    html! { <p class="muted">{ says }</p> }
}

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    /// What takes the focus when the run goes on: the button will be gone when it is done.
    #[prop_or_default]
    pub(super) home: Option<AttrValue>,
}

/// The bar and the button; nothing where nothing long runs.
#[component]
pub(super) fn Waiting(props: &Props) -> Html {
    let cx = use_lesson();
    let far = use_context::<Far>().unwrap_or_default();
    let is_stopped = cx.state.stopped;
    if far.total == 0 && !is_stopped {
        return Html::default();
    }
    let percent = far.done * 100 / far.total.max(1);
    let home = props.home.clone();
    let onclick = Callback::from(move |_: MouseEvent| {
        if !is_stopped {
            return cx.stop();
        }
        if let Some(home) = &home {
            focus_id(home);
        }
        cx.go_on();
    });
    html! {
        <div class="working">
            if !is_stopped {
                <progress aria-label="How far the engine is" max="100" value={percent.to_string()} />
                <span aria-hidden="true">{ format!("{percent} %") }</span>
            }
            // One button: who stopped it by keyboard is still on it.
            <button type="button" class="button" {onclick}>{ if is_stopped { "Run it again" } else { "Stop" } }</button>
        </div>
    }
}
