//! What the engine is busy with, how far it is, and the way to stop it.

use yew::prelude::*;

use super::describe::DeskProps;

/// See the module.
#[component]
pub(super) fn Working(props: &DeskProps) -> Html {
    let Some(work) = &props.desk.state.work else { return html! {} };
    let cancel = {
        let desk = props.desk.clone();
        Callback::from(move |_: MouseEvent| desk.cancel())
    };
    let far = (work.total > 0).then(|| format!(", {} %", work.done * 100 / work.total));
    html! {
        <div class="working">
            // Who listens hears what runs, not every percent of it: that is for the eye, and for who asks the bar.
            <span><span role="status">{ &work.what }</span><span aria-hidden="true">{ far }{ "…" }</span></span>
            if work.total > 0 {
                <progress aria-label={&work.what} max={work.total.to_string()} value={work.done.to_string()} />
            }
            <button type="button" class="button" onclick={cancel}>{ "Cancel" }</button>
        </div>
    }
}
