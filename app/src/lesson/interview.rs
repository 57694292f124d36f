//! The words worth saying in an interview, what they may ask next, and what is often said and not true.

use chainwalk_lessons::model::{Interview, Probe};
use yew::prelude::*;

use super::cx::written;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) interview: Interview,
}

/// See the module.
#[component]
pub(super) fn InterviewBlock(props: &Props) -> Html {
    let interview = &props.interview;
    html! {
        <section class="lesson-interview" aria-labelledby="interview-title">
            <h2 id="interview-title">{ "The words worth saying in an interview" }</h2>
            <p class="lesson-prompt-text">{ written(&interview.prompt) }</p>
            <ul class="lesson-say">
                { for interview.say.iter().map(|say| html! { <li>{ written(say) }</li> }) }
            </ul>
            { pairs("They may go on to ask", "Show an answer", &interview.probes) }
            { pairs("Often said, and not true", "What is wrong with it", &interview.avoid) }
        </section>
    }
}

fn pairs(title: &str, open: &str, pairs: &[Probe]) -> Html {
    if pairs.is_empty() {
        return Html::default();
    }
    html! {
        <>
            <h3>{ title.to_owned() }</h3>
            { for pairs.iter().map(|pair| html! {
                <div class="lesson-pair">
                    <p>{ written(&pair.ask) }</p>
                    <details>
                        <summary>{ open.to_owned() }</summary>
                        <p>{ written(&pair.answer) }</p>
                    </details>
                </div>
            }) }
        </>
    }
}
