//! The way of one packet of a run: the Trace page's river, transport and open chain, and the run's other packets.

use std::rc::Rc;

use chainwalk_engine::view::TraceView;
use yew::prelude::*;

use crate::backend::Engine;
use crate::figure::river::River;
use crate::trace::{ChainPanel, Move, Now, Transport, target, visit_at};

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) engine: Engine,
    pub(super) packets: Vec<(u32, Rc<TraceView>)>,
    /// The packet to begin with.
    pub(super) packet: usize,
}

/// See the module.
#[component]
pub(super) fn Way(props: &Props) -> Html {
    // Which packet, and which of its steps.
    let at = use_state(|| (props.packet, 0_usize));
    let (packet, step) = *at;
    let Some((sent, trace)) = props.packets.get(packet) else { return Html::default() };
    let on_move = {
        let (at, trace) = (at.clone(), trace.clone());
        Callback::from(move |to: Move| at.set((packet, target(&trace, step, to))))
    };
    let on_step = {
        let at = at.clone();
        Callback::from(move |step: usize| at.set((packet, step)))
    };
    html! {
        <div class="lesson-way">
            if props.packets.len() > 1 {
                <fieldset class="segments lesson-packets">
                    <legend class="hidden">{ "Packet of this connection" }</legend>
                    { for props.packets.iter().enumerate().map(|(number, (_, trace))| {
                        let at = at.clone();
                        let onchange = Callback::from(move |_: Event| at.set((number, 0)));
                        html! {
                            <label class="segment" key={number}>
                                <input type="radio" name="lesson-packet" checked={number == packet} {onchange} />
                                <span>{ name(number, trace) }</span>
                            </label>
                        }
                    }) }
                </fieldset>
            }
            <p class="lesson-verdict">{ &trace.verdict.sentence }</p>
            <Transport trace={trace.clone()} {step} {on_move} />
            <River trace={trace.clone()} {step} {on_step} />
            <div class="lesson-way-below">
                <ChainPanel trace={trace.clone()} {step} sent={*sent} visit={visit_at(trace, step)}
                    engine={props.engine.clone()} />
                <Now trace={trace.clone()} {step} />
            </div>
        </div>
    }
}

/// `1 SYN`, `2 SYN, ACK ◁`.
fn name(number: usize, trace: &TraceView) -> String {
    let first = trace.packets.first();
    let detail = first.map(|packet| packet.detail.as_str()).unwrap_or_default();
    let is_reply = trace.packets.last().is_some_and(|packet| packet.is_reply);
    format!("{} {detail}{}", number + 1, if is_reply { " ◁" } else { "" })
}
