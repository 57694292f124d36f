//! The link that carries everything shown.

use wasm_bindgen_futures::{JsFuture, spawn_local};
use yew::prelude::*;

use super::describe::DeskProps;
use super::intake::size_text;
use super::outline::grouped;
use super::state::LinkState;
use crate::dom::{base_url, window};

/// See the module.
#[component]
pub(super) fn Share(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let copied = use_state(|| false);
    {
        // The link that was asked for is copied when it arrives, and put into the address line.
        let copied = copied.setter();
        use_effect_with(desk.state.link.clone(), move |link| {
            copied.set(false);
            if let LinkState::Ready(link) = link {
                let url = url(link);
                show_in_address(&url);
                spawn_local(async move {
                    let clipboard = window().navigator().clipboard();
                    copied.set(JsFuture::from(clipboard.write_text(&url)).await.is_ok());
                });
            }
        });
    }
    let onclick = {
        let desk = desk.clone();
        Callback::from(move |_: MouseEvent| desk.share())
    };
    html! {
        <>
            <button type="button" class="button" {onclick}>{ "Make a link" }</button>
            { match &desk.state.link {
                LinkState::None => html! {},
                LinkState::Ready(link) => html! {
                    <p class="share" role="status">
                        { if *copied { "Link copied and put into the address line" } else { "The link is in the address line" } }
                        { format!(", {} characters. It holds the ruleset; send it only to who may read that. ", grouped(link.len() as u64)) }
                        <a href={format!("#/s/{link}")}>{ "Open it" }</a>
                    </p>
                },
                LinkState::TooLong(link) => {
                    let without = {
                        let desk = desk.clone();
                        Callback::from(move |_: MouseEvent| desk.share_without_rules())
                    };
                    html! {
                        <p class="share" role="status">
                            { format!("With this ruleset the link would be {} long, and chat and mail programs would cut it. ",
                                size_text(link.len() as u64)) }
                            <button type="button" class="button button-quiet" onclick={without}>{ "Make it without the ruleset" }</button>
                            { " and send the ruleset as a file beside it." }
                        </p>
                    }
                }
            } }
        </>
    }
}

fn url(link: &str) -> String {
    base_url(&format!("#/s/{link}")).unwrap_or_default()
}

/// Without an entry in the history and without opening the link anew.
fn show_in_address(url: &str) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(url));
    }
}
