//! What to say when the engine fails: one sentence, and a way on.

use yew::prelude::*;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) text: AttrValue,
    pub(super) on_dismiss: Callback<()>,
}

/// See the module.
#[component]
pub(super) fn Banner(props: &Props) -> Html {
    let dismiss = props.on_dismiss.reform(|_: MouseEvent| ());
    let reload = Callback::from(|_: MouseEvent| {
        let _ = crate::dom::window().location().reload();
    });
    html! {
        <div class="banner" role="alert">
            <p>{ &props.text }</p>
            <button type="button" class="button" onclick={reload}>{ "Reload" }</button>
            <button type="button" class="button" onclick={dismiss}>{ "Dismiss" }</button>
        </div>
    }
}
