//! The right side: what became of the packet.

use std::rc::Rc;

use yew::prelude::*;

use super::chain_panel::ChainPanel;
use super::controller::Desk;
use super::describe::DeskProps;
use super::moves::{self, Move};
use super::now::Now;
use super::samples::SAMPLES;
use super::state::Action;
use super::transport::Transport;
use super::verdict::Verdict;
use crate::figure::river::River;

/// See the module.
#[component]
pub(super) fn See(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let Some(sent) = desk.state.shown() else { return empty(desk) };
    let trace = sent.trace.clone();
    let step = desk.state.step;
    // Another packet is another transport: its first sentence is not announced, the verdict is.
    let key = format!("{:p}", Rc::as_ptr(&trace));
    let on_step = {
        let desk = desk.clone();
        Callback::from(move |step| desk.act(Action::Move(Move::To(step))))
    };
    html! {
        <div class="see" id="see" tabindex="-1">
            <Verdict desk={desk.clone()} />
            <Transport key={key} trace={trace.clone()} {step} on_move={{
                let desk = desk.clone();
                Callback::from(move |to| desk.act(Action::Move(to)))
            }} />
            <River trace={trace.clone()} {step} on_step={on_step.clone()} />
            <div class="see-below">
                <ChainPanel trace={trace.clone()} {step} sent={desk.state.shown as u32}
                    visit={moves::visit_at(&trace, step)} engine={desk.engine.clone()} {on_step} />
                <Now {trace} {step} />
            </div>
        </div>
    }
}

/// Before the first trace: what to do, and questions to begin with.
fn empty(desk: &Desk) -> Html {
    html! {
        <div class="see see-empty">
            <p class="lead">{ "Give a ruleset and a packet, then press Trace." }</p>
            <p class="muted">
                { "You will see each hook the packet meets, each rule it is compared with and why it matched or not, \
                   what NAT rewrites, the connection entry, and the verdict. Or begin with one of these:" }
            </p>
            <ul class="questions">
                { for SAMPLES.iter().map(|sample| {
                    let desk = desk.clone();
                    let onclick = Callback::from(move |_: MouseEvent| desk.open(sample.state()));
                    html! {
                        <li>
                            <button type="button" class="question" {onclick}>
                                <span class="question-name">{ sample.name }</span>{ " " }
                                <span>{ sample.question }</span>
                            </button>
                        </li>
                    }
                }) }
            </ul>
        </div>
    }
}
