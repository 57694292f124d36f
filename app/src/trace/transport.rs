//! Step, back, scrub, next hook, next rewrite. Nothing plays by itself.

use std::rc::Rc;

use chainwalk_engine::view::TraceView;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::moves::Move;
use crate::dom::Timer;

/// Time a step is shown while playing, in milliseconds.
const PLAY_MS: i32 = 1_400;

#[derive(Debug, Clone, PartialEq, Properties)]
pub struct TransportProps {
    pub trace: Rc<TraceView>,
    pub step: usize,
    pub on_move: Callback<Move>,
}

/// See the module.
#[component]
pub fn Transport(props: &TransportProps) -> Html {
    let TransportProps { trace, step, on_move } = props;
    let last = trace.steps.len().saturating_sub(1);
    let playing = use_state(|| false);
    {
        let (playing, on_move, is_last) = (playing.clone(), on_move.clone(), *step >= last);
        use_effect_with((*playing, *step, is_last), move |(on, _, is_last)| {
            let timer = match (*on, *is_last) {
                (true, false) => Some(Timer::new(PLAY_MS, move || on_move.emit(Move::Next))),
                (true, true) => {
                    playing.set(false);
                    None
                }
                (false, _) => None,
            };
            move || drop(timer)
        });
    }
    let scrub = on_move.reform(|event: InputEvent| {
        let slider: HtmlInputElement = event.target_unchecked_into();
        Move::To(slider.value().parse().unwrap_or(0))
    });
    let play = {
        let (playing, on_move, is_last) = (playing.clone(), on_move.clone(), *step >= last);
        Callback::from(move |_: MouseEvent| {
            if is_last && !*playing {
                on_move.emit(Move::Start);
            }
            playing.set(!*playing);
        })
    };
    let sentence = trace.steps.get(*step).map(|step| step.sentence.clone()).unwrap_or_default();
    let button = |label: &'static str, text: Html, to: Move, can: bool| {
        let onclick = on_move.reform(move |_: MouseEvent| to);
        // Not `disabled`: the button under the finger keeps the focus at the end of the way.
        html! {
            <button type="button" class="button transport-button" aria-label={label} title={label}
                aria-disabled={(!can).to_string()} {onclick}>{ text }</button>
        }
    };
    let (can_back, can_next) = (*step > 0, *step < last);
    html! {
        <section class="transport" aria-label="Steps">
            <div class="transport-bar">
                { button("First step", icon("M4 3v10M13 3 6 8l7 5z"), Move::Start, can_back) }
                { button("Back", icon("M11 3 4 8l7 5z"), Move::Back, can_back) }
                { button("Step", icon("M5 3l7 5-7 5z"), Move::Next, can_next) }
                { button("Last step", icon("M3 3l7 5-7 5zM12 3v10"), Move::End, can_next) }
                <button type="button" class="button transport-button" aria-pressed={playing.to_string()} onclick={play}
                    aria-label={if *playing { "Pause" } else { "Play" }} title={if *playing { "Pause" } else { "Play" }}>
                    { if *playing { icon("M5 3v10M11 3v10") } else { icon("M2.5 4v8M6 3l7 5-7 5z") } }
                </button>
                { button("Next hook", html! { <><span class="wide-only">{ "Next\u{a0}" }</span>{ "hook" }</> }, Move::NextHook, can_next) }
                { button("Next rewrite", html! { <><span class="wide-only">{ "Next\u{a0}" }</span>{ "rewrite" }</> }, Move::NextRewrite, can_next) }
                <input class="transport-slider" type="range" min="0" max={last.to_string()} value={step.to_string()}
                    aria-label="Step" aria-valuetext={format!("step {} of {}: {sentence}", step + 1, last + 1)}
                    oninput={scrub} />
                <span class="transport-count">{ format!("{} / {}", step + 1, last + 1) }</span>
            </div>
            <p class="transport-says" role="status">{ sentence }</p>
        </section>
    }
}

fn icon(path: &'static str) -> Html {
    html! { <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d={path} /></svg> }
}
