//! The verdict in one sentence, the packets sent so far, and how to go on.

use chainwalk_engine::view::{Outcome, UncertainView};
use yew::prelude::*;

use super::controller::Desk;
use super::describe::DeskProps;
use super::outline::count;
use super::share::Share;
use super::state::{Action, Sent};
use crate::protocol::Follow;

/// Class and glyph of an outcome: never colour alone.
pub(crate) fn mark(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Forwarded | Outcome::Delivered | Outcome::Sent => ("outcome outcome-accept", "✓"),
        Outcome::Dropped | Outcome::Rejected => ("outcome outcome-drop", "✕"),
        Outcome::Stolen | Outcome::Uncertain => ("outcome outcome-wait", "?"),
    }
}

/// See the module.
#[component]
pub(super) fn Verdict(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let Some(sent) = desk.state.shown() else { return html! {} };
    let verdict = &sent.trace.verdict;
    let (class, glyph) = mark(verdict.outcome);
    html! {
        <section class="verdict" aria-labelledby="verdict-title">
            <h2 class="hidden" id="verdict-title">{ "Verdict" }</h2>
            <p class="verdict-line" role="status">
                <span {class}><span aria-hidden="true">{ glyph }</span>{ " " }{ verdict.outcome.word() }</span>
                { " " }
                <span>{ &verdict.sentence }</span>
                { " " }
                <span class="muted">{ count(sent.trace.rules_walked, "rule") }{ " walked." }</span>
            </p>
            if let Some(uncertain) = &verdict.uncertain {
                { possibilities(uncertain) }
            }
            <div class="verdict-actions">
                { sent_list(desk) }
                <span class="spring" />
                { follow(desk, Follow::Reply, "Send the reply", !sent.trace.reply_line.is_empty()) }
                { follow(desk, Follow::Again, "Send it again", true) }
                <Share desk={desk.clone()} />
            </div>
        </section>
    }
}

fn possibilities(uncertain: &UncertainView) -> Html {
    html! {
        <div class="uncertain">
            <p>
                { "It depends on " }
                <span class="not-emulated">{ "not emulated: " }{ &uncertain.name }</span>
                { format!(" in rule {} of {} {}:", uncertain.rule.number, uncertain.rule.table, uncertain.rule.chain) }
            </p>
            <ul>
                { for uncertain.possibilities.iter().map(|possible| {
                    let (class, glyph) = mark(possible.outcome);
                    html! {
                        <li>
                            { &possible.condition }{ ": " }
                            <span {class}><span aria-hidden="true">{ glyph }</span>{ " " }{ possible.outcome.word() }</span>
                            { " " }{ &possible.sentence }
                        </li>
                    }
                }) }
            </ul>
        </div>
    }
}

/// `1 first packet`, `2 reply`, `3 again`: which one is shown.
fn sent_list(desk: &Desk) -> Html {
    let all = &desk.state.sent;
    if all.len() < 2 {
        return html! {};
    }
    html! {
        <div class="sent" role="group" aria-label="Packets of this connection">
            { for all.iter().enumerate().map(|(at, sent)| {
                let desk = desk.clone();
                let is_shown = at == desk.state.shown;
                let onclick = Callback::from(move |_: MouseEvent| desk.act(Action::Show(at)));
                let (_, glyph) = mark(sent.trace.verdict.outcome);
                html! {
                    <button type="button" class={classes!("sent-button", is_reply(sent).then_some("sent-reply"))}
                        aria-pressed={is_shown.to_string()} {onclick}>
                        { format!("{} {}", at + 1, label(sent)) }
                        <span aria-hidden="true">{ " " }{ glyph }</span>
                        <span class="hidden">{ sent.trace.verdict.outcome.word() }</span>
                    </button>
                }
            }) }
        </div>
    }
}

fn label(sent: &Sent) -> &'static str {
    match sent.follow {
        None => "first",
        Some(Follow::Reply) => "reply",
        Some(Follow::Again) => "again",
    }
}

fn is_reply(sent: &Sent) -> bool {
    sent.trace.packets.last().is_some_and(|packet| packet.is_reply)
}

fn follow(desk: &Desk, follow: Follow, label: &'static str, can: bool) -> Html {
    let onclick = {
        let desk = desk.clone();
        Callback::from(move |_: MouseEvent| desk.follow(follow))
    };
    html! { <button type="button" class="button" disabled={!can} {onclick}>{ label }</button> }
}
