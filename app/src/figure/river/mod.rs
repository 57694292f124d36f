//! The river: hooks as stations, the packet's way through them, horizontal where there is room.
//!
//! Each station it came to is a button that goes to the first step there; arrow keys move between them. The
//! same facts stand in a table below.

mod layout;
mod place;
mod table;

use std::rc::Rc;

use chainwalk_engine::view::TraceView;
use yew::prelude::*;

use crate::dom::{NARROW, focus_id, use_media};
use layout::{Drawing, Edge, Orientation, Reach, StationBox};

/// What the river shows.
#[derive(Debug, Clone, PartialEq, Properties)]
pub struct RiverProps {
    pub trace: Rc<TraceView>,
    pub step: usize,
    /// A station was chosen: the step to go to.
    pub on_step: Callback<usize>,
}

/// See the module.
#[component]
pub fn River(props: &RiverProps) -> Html {
    let is_narrow = use_media(NARROW);
    let orientation = if is_narrow { Orientation::Vertical } else { Orientation::Horizontal };
    let drawing = layout::draw(&props.trace, props.step, orientation);
    let class = classes!("river", drawing.is_reply.then_some("river-reply"));
    html! {
        <figure class={class}>
            <svg viewBox={format!("0 0 {} {}", drawing.width, drawing.height)} role="group"
                aria-label="The packet's way through the hooks">
                { for drawing.edges.iter().map(edge) }
                { for drawing.boxes.iter().map(|shown| station(shown, props, &drawing)) }
                { capsule(&drawing) }
            </svg>
            <table::RiverTable trace={props.trace.clone()} />
        </figure>
    }
}

fn reach_class(reach: Reach) -> &'static str {
    match reach {
        Reach::Off => "off",
        Reach::Ahead => "ahead",
        Reach::Passed => "passed",
        Reach::Current => "current",
    }
}

fn edge(edge: &Edge) -> Html {
    html! {
        <g class={classes!("edge", reach_class(edge.reach))} aria-hidden="true">
            <path d={edge.path.clone()} />
            <path class="edge-head" d={edge.head.clone()} />
        </g>
    }
}

fn station(shown: &StationBox, props: &RiverProps, drawing: &Drawing) -> Html {
    let class = classes!("station", reach_class(shown.reach), shown.end.map(|(class, _)| class));
    let text = |x: u32, y: u32, class: &'static str, text: &str| {
        html! { <text class={class} x={(shown.x + x).to_string()} y={(shown.y + y).to_string()}>{ text.to_owned() }</text> }
    };
    let body = html! {
        <>
            <rect class="station-box" x={shown.x.to_string()} y={shown.y.to_string()} width={shown.width.to_string()}
                height={shown.height.to_string()} rx="6" />
            { text(10, 20, "station-title", &shown.title) }{ " " }
            if let Some((_, glyph)) = shown.end {
                <text class="station-end" x={(shown.x + shown.width - 10).to_string()} y={(shown.y + 20).to_string()} aria-hidden="true">{ glyph }</text>
            }
            { for shown.stops.iter().enumerate().map(|(at, stop)| {
                let y = shown.y + 41 + at as u32 * layout::STOP_PX;
                html! {
                    <g class={classes!("stop-row", stop.class)}>
                        <text class="stop-title" x={(shown.x + 10).to_string()} y={y.to_string()}>{ &stop.title }</text>{ " " }
                        <text class="stop-note" x={(shown.x + shown.width - 10).to_string()} y={y.to_string()}>{ &stop.note }</text>{ " " }
                    </g>
                }
            }) }
        </>
    };
    let Some(step) = shown.first_step else {
        return html! { <g {class} aria-hidden="true" key={shown.id.clone()}>{ body }</g> };
    };
    let onclick = props.on_step.reform(move |_: MouseEvent| step);
    let onkeydown = {
        let (on_step, order, at) = (props.on_step.clone(), drawing.order.clone(), shown.id.clone());
        Callback::from(move |event: KeyboardEvent| {
            let here = order.iter().position(|id| *id == at).unwrap_or(0);
            let to = match event.key().as_str() {
                "Enter" | " " => {
                    event.prevent_default();
                    on_step.emit(step);
                    return;
                }
                "ArrowRight" | "ArrowDown" => here + 1,
                "ArrowLeft" | "ArrowUp" => here.saturating_sub(1),
                "Home" => 0,
                "End" => order.len() - 1,
                _ => return,
            };
            event.prevent_default();
            if let Some(id) = order.get(to) {
                focus_id(id);
            }
        })
    };
    html! {
        <g {class} id={shown.id.clone()} role="button" tabindex={if shown.is_tab_stop { "0" } else { "-1" }}
            aria-current={(shown.reach == Reach::Current).then_some("step")}
            key={shown.id.clone()} {onclick} {onkeydown}>
            { body }
        </g>
    }
}

/// The packet at this step: source, arrow, destination; the half that was rewritten is marked.
fn capsule(drawing: &Drawing) -> Html {
    let capsule = &drawing.capsule;
    let half = |text: &str, changed: bool| {
        html! { <tspan class={if changed { "capsule-nat" } else { "" }}>{ text.to_owned() }</tspan> }
    };
    let arrow = if drawing.is_reply { " ◁ " } else { " ▶ " };
    let (first, second) = if drawing.is_reply {
        (half(&capsule.dst, capsule.dst_changed), half(&capsule.src, capsule.src_changed))
    } else {
        (half(&capsule.src, capsule.src_changed), half(&capsule.dst, capsule.dst_changed))
    };
    html! {
        <g class="capsule" aria-hidden="true">
            <path class="capsule-pointer" d={capsule.pointer.clone()} />
            <rect x={capsule.x.to_string()} y={capsule.y.to_string()} width={capsule.width.to_string()}
                height={capsule.height.to_string()} rx="13" />
            <text x={(capsule.x + capsule.width / 2).to_string()} y={(capsule.y + 18).to_string()}>
                { first }<tspan class="capsule-arrow">{ arrow }</tspan>{ second }
            </text>
        </g>
    }
}
