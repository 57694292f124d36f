//! Why the selected rule matched or not: each test with the packet's value and the wanted one.

use std::rc::Rc;

use chainwalk_engine::view::{RuleFate, RuleRow};
use yew::prelude::*;

use super::outline::count;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct WhyProps {
    pub(super) rule: Rc<RuleRow>,
    /// The walk has not come here at this step.
    pub(super) is_ahead: bool,
}

/// See the module.
#[component]
pub(super) fn Why(props: &WhyProps) -> Html {
    let rule = &props.rule;
    html! {
        <div class="why">
            <h4 class="small-head">{ format!("Rule {}: {}", rule.number, says(rule, props.is_ahead)) }</h4>
            <pre class="wrap">{ whole(rule) }</pre>
            if !rule.checks.is_empty() {
                <table class="checks">
                    <thead><tr><th scope="col">{ "test" }</th><th scope="col">{ "packet" }</th><th scope="col">{ "wanted" }</th><th scope="col"><span class="hidden">{ "result" }</span></th></tr></thead>
                    <tbody>
                        { for rule.checks.iter().map(|check| {
                            let (class, result) = match (&check.not_emulated, check.pass) {
                                (Some(_), _) => ("check-open", "? not emulated"),
                                (None, Some(true)) => ("check-pass", "✓ yes"),
                                (None, Some(false)) => ("check-fail", "✕ no"),
                                (None, None) => ("check-open", "not asked"),
                            };
                            html! {
                                <tr>
                                    <th scope="row"><span class="mono">{ &check.text }</span></th>
                                    <td class="mono">{ &check.have }</td>
                                    <td class="mono">
                                        { &check.want }
                                        if !check.found.is_empty() {
                                            <span class="check-found"><span class="check-found-word">{ "holds " }</span>{ &check.found }</span>
                                        }
                                    </td>
                                    <td {class}>{ result }</td>
                                </tr>
                            }
                        }) }
                    </tbody>
                </table>
            }
            { for rule.not_emulated.iter().map(|name| html! { <p class="not-emulated">{ "not emulated: " }{ name }</p> }) }
            <p class="muted small">
                { if rule.counts {
                    format!("{}, {}", count(rule.packets, "packet"), count(rule.bytes, "byte"))
                } else {
                    "not counted".to_owned()
                } }
                if rule.line > 0 { { format!(" · line {} of the text", rule.line) } }
            </p>
        </div>
    }
}

/// The rule as it is written.
fn whole(rule: &RuleRow) -> String {
    let mut text = format!("{} {}", rule.text, rule.target).trim().to_owned();
    if !rule.comment.is_empty() {
        text.push_str(&format!(" comment \"{}\"", rule.comment));
    }
    text
}

fn says(rule: &RuleRow, is_ahead: bool) -> &'static str {
    match rule.fate {
        RuleFate::NotReached if is_ahead => "still ahead",
        RuleFate::NotReached => "not reached",
        RuleFate::Passed => "does not match",
        RuleFate::Matched => "matches",
        RuleFate::Uncertain => "uncertain",
    }
}
