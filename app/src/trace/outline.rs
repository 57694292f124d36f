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
    html! {
        <div class="outline">
            <p>
                <strong>{ ruleset.kinds.join(" and ") }</strong>
                { for held(ruleset).into_iter().map(|part| html! { <>{ " · " }{ part }</> }) }
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

/// What there is, counted.
fn held(ruleset: &RulesetView) -> Vec<String> {
    let chains: u32 = ruleset.tables.iter().map(|table| table.chain_count).sum();
    let mut held = Vec::new();
    let mut add = |number: u32, what: &str| {
        if number > 0 {
            held.push(count(u64::from(number), what));
        }
    };
    add(ruleset.virtual_servers, "virtual server");
    add(ruleset.real_servers, "real server");
    add(ruleset.sets, "set");
    if !ruleset.tables.is_empty() {
        let tables: Vec<_> = ruleset.tables.iter().map(|table| table.name.as_str()).collect();
        held.extend([
            count(u64::from(ruleset.rules), "rule"),
            count(u64::from(chains), "chain"),
            tables.join(", "),
        ]);
    }
    held
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
    use chainwalk_engine::view::TableView;

    use super::*;

    #[test]
    fn counts_read_well() {
        let counts = [0, 1, 999, 1_000, 210_000, 1_234_567].map(|number| count(number, "rule"));
        assert_eq!(
            counts,
            ["0 rules", "1 rule", "999 rules", "1,000 rules", "210,000 rules", "1,234,567 rules"]
        );
    }

    #[test]
    fn only_what_there_is_is_counted() {
        let servers = RulesetView { virtual_servers: 1, real_servers: 3, ..RulesetView::default() };
        assert_eq!(held(&servers), ["1 virtual server", "3 real servers"]);
        let table = TableView { name: "inet fw".to_owned(), chains: Vec::new(), chain_count: 2 };
        let rules = RulesetView { tables: vec![table], rules: 5, ..RulesetView::default() };
        assert_eq!(held(&rules), ["5 rules", "2 chains", "inet fw"]);
    }
}
