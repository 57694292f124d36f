//! The page's layout.

use yew::prelude::*;

#[derive(Debug, Clone, PartialEq, Properties)]
pub struct Props {
    /// The part of a link after `#/s/`.
    pub shared: Option<AttrValue>,
}

/// See the module.
#[component]
pub fn TracePage(_props: &Props) -> Html {
    html! { <div class="page"><h1>{ "Trace" }</h1></div> }
}
