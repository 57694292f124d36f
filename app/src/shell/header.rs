//! The line at the top: where am I, where can I go, light or dark.

use yew::prelude::*;

use super::theme::ThemeSwitch;
use crate::route::Route;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) route: Route,
}

/// See the module.
#[component]
pub(super) fn Header(props: &Props) -> Html {
    let is_trace = matches!(props.route, Route::Trace | Route::Shared(_));
    let is_planes = matches!(props.route, Route::Planes(_));
    let is_lesson = matches!(props.route, Route::Home | Route::Lesson(_));
    let current = |is: bool| is.then_some("page");
    html! {
        <header class="header">
            <a class="header-name" href="#/">
                <svg class="header-mark" viewBox="0 0 26 14" aria-hidden="true">
                    <path d="M1 7h5M11 7h4M20 7h5" />
                    <circle cx="8.5" cy="7" r="2.6" />
                    <circle class="header-mark-full" cx="17.5" cy="7" r="2.6" />
                </svg>
                { "Chainwalk" }
            </a>
            <nav class="header-nav" aria-label="Pages">
                <a href="#/" aria-current={current(is_lesson)}>{ "Lessons" }</a>
                <a href="#/trace" aria-current={current(is_trace)}>{ "Trace" }</a>
                <a href="#/planes" aria-current={current(is_planes)}>{ "Planes" }</a>
            </nav>
            <ThemeSwitch />
        </header>
    }
}
