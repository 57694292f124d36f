//! Lesson pages.

use yew::prelude::*;

/// Which lesson.
#[derive(Debug, Clone, PartialEq, Properties)]
pub struct LessonProps {
    pub id: AttrValue,
}

/// One lesson.
#[component]
pub fn LessonPage(props: &LessonProps) -> Html {
    html! {
        <div class="page prose">
            <h1>{ "No such lesson" }</h1>
            <p>{ "There is no lesson called " }<code>{ &props.id }</code>{ "." }</p>
            <p><a href="#/">{ "All lessons" }</a></p>
        </div>
    }
}

/// The lessons there are, for the first page.
#[component]
pub fn LessonList() -> Html {
    html! {}
}
