//! What a ruleset turned out to be: counts, what was repaired, what is not emulated.

use std::rc::Rc;

use chainwalk_engine::view::RulesetView;
use yew::prelude::*;

use super::problems::Problems;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct OutlineProps {
    pub(super) ruleset: Rc<RulesetView>,
}

/// See the module.
#[component]
pub(super) fn Outline(props: &OutlineProps) -> Html {
    let ruleset = &props.ruleset;
    let chains: u32 = ruleset.tables.iter().map(|table| table.chain_count).sum();
    let tables: Vec<_> = ruleset.tables.iter().map(|table| table.name.as_str()).collect();
    html! {
        <div class="outline">
            <p>
                <strong>{ &ruleset.family }</strong>
                { format!(" · {} · {} · {}", count(u64::from(ruleset.rules), "rule"), count(u64::from(chains), "chain"), tables.join(", ")) }
            </p>
            if !ruleset.not_emulated.is_empty() {
                <ul class="not-emulated-list">
                    { for ruleset.not_emulated.iter().map(|part| html! {
                        <li>
                            <span class="not-emulated">{ "not emulated: " }{ &part.name }</span>
                            { format!(" in {}, first at line {}", count(u64::from(part.rules), "rule"), part.first_line) }
                        </li>
                    }) }
                </ul>
            }
            <Problems problems={ruleset.problems.clone()} left_out={ruleset.problems_left_out} id="outline-problems" />
        </div>
    }
}

/// `1 rule`, `20,000 rules`.
pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

/// `20,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts_read_well() {
        let counts = [0, 1, 999, 1_000, 210_000, 1_234_567].map(|number| count(number, "rule"));
        assert_eq!(
            counts,
            ["0 rules", "1 rule", "999 rules", "1,000 rules", "210,000 rules", "1,234,567 rules"]
        );
    }
}
