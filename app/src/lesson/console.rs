//! A terminal transcript. The lesson checker has compared it with what the engine prints.

use chainwalk_lessons::model::Console;
use wasm_bindgen_futures::JsFuture;
use yew::prelude::*;

use crate::dom::{Timer, window};

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) console: Console,
}

/// See the module.
#[component]
pub(super) fn ConsoleBlock(props: &Props) -> Html {
    html! {
        <div class="lesson-console">
            { for props.console.entries.iter().map(|entry| html! {
                <div class="lesson-command" role="group" aria-label={format!("Command: {}", entry.command)}>
                    <div class="lesson-prompt">
                        <code>{ "$ " }{ &entry.command }</code>
                        <Copy text={entry.command.clone()} />
                    </div>
                    <pre class="lesson-output" tabindex="0" aria-label="Output">{ &entry.output }</pre>
                </div>
            }) }
        </div>
    }
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct CopyProps {
    text: AttrValue,
}

/// Copies the command without its prompt.
#[component]
fn Copy(props: &CopyProps) -> Html {
    let said = use_state(|| "Copy");
    let timer = use_mut_ref(|| None::<Timer>);
    let copy = {
        let (text, said) = (props.text.clone(), said.clone());
        Callback::from(move |_: MouseEvent| {
            let promise = window().navigator().clipboard().write_text(&text);
            let (said, timer) = (said.clone(), timer.clone());
            wasm_bindgen_futures::spawn_local(async move {
                let ok = JsFuture::from(promise).await.is_ok();
                said.set(if ok { "Copied" } else { "Select it" });
                *timer.borrow_mut() = Some(Timer::new(2_000, move || said.set("Copy")));
            });
        })
    };
    html! {
        <button type="button" class="button button-quiet lesson-copy" onclick={copy}
            aria-label={format!("{}: {}", *said, props.text)}>{ *said }</button>
    }
}
