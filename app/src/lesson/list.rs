//! The lessons there are, for the first page.

use chainwalk_lessons::model::{Block, Entry};
use yew::prelude::*;

use super::{fetch, progress};

/// See the module.
#[component]
pub fn LessonList() -> Html {
    let entries = use_state(|| None::<Result<Vec<Entry>, String>>);
    {
        let entries = entries.setter();
        use_effect_with((), move |()| {
            wasm_bindgen_futures::spawn_local(async move {
                entries.set(Some(fetch::catalogue().await));
            });
        });
    }
    match &*entries {
        None => html! { <p class="muted" role="status">{ "Loading the list." }</p> },
        Some(Err(sentence)) => html! { <p class="problem" role="status">{ sentence }</p> },
        Some(Ok(entries)) => html! {
            <ol class="lesson-list">{ for entries.iter().map(entry) }</ol>
        },
    }
}

fn entry(entry: &Entry) -> Html {
    let begun = !progress::load(&entry.id).answers.is_empty();
    html! {
        <li class="lesson-entry" key={entry.id.clone()}>
            <a href={format!("#/lesson/{}", entry.id)}>{ &entry.title }</a>
            <p>{ &entry.summary }</p>
            <p class="muted">
                { format!("{} minutes", entry.minutes) }
                if begun { { " · begun" } }
            </p>
        </li>
    }
}

/// Questions of a lesson: answered and in all.
pub(super) fn count<'a>(
    blocks: impl Iterator<Item = &'a Block>,
    answered: impl Fn(&str) -> bool,
) -> (usize, usize) {
    let ids = blocks.filter_map(|block| match block {
        Block::Predict(predict) => Some(&predict.id),
        Block::Quiz(quiz) => Some(&quiz.id),
        Block::Task(task) => Some(&task.id),
        Block::Prose { .. } | Block::Console(_) | Block::Figure(_) | Block::Interview(_) => None,
    });
    ids.fold((0, 0), |(done, all), id| (done + usize::from(answered(id)), all + 1))
}
