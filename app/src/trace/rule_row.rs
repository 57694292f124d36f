//! One rule as a row: number, text, and why it matched or not.

use chainwalk_engine::view::{CheckView, RuleFate, RuleRow};
use yew::prelude::*;

/// What a row shows.
pub(super) struct Row<'a> {
    pub(super) number: u32,
    /// Rules in the chain.
    pub(super) of: u32,
    /// Absent until its page has arrived.
    pub(super) rule: Option<&'a RuleRow>,
    /// The walk has not come here at this step.
    pub(super) is_ahead: bool,
    pub(super) is_current: bool,
    pub(super) is_selected: bool,
    pub(super) onclick: Callback<MouseEvent>,
}

/// The row's id, for `aria-activedescendant`.
pub(super) fn id(number: u32) -> String {
    format!("rule-{number}")
}

/// Draws the row.
pub(super) fn row(row: &Row<'_>) -> Html {
    let fate = match row.rule {
        Some(rule) if !row.is_ahead => rule.fate,
        _ => RuleFate::NotReached,
    };
    let (class, glyph, word) = match fate {
        RuleFate::NotReached => ("rule-ahead", "", if row.is_ahead { "not walked" } else { "not reached" }),
        RuleFate::Passed => ("rule-passed", "✕", "no match"),
        RuleFate::Matched => ("rule-matched", "✓", "matches"),
        RuleFate::Uncertain => ("rule-uncertain", "?", "uncertain"),
    };
    let classes = classes!("rule", class, row.is_current.then_some("rule-current"));
    html! {
        <li key={row.number} id={id(row.number)} role="option" class={classes} aria-selected={row.is_selected.to_string()}
            aria-posinset={row.number.to_string()} aria-setsize={row.of.to_string()} onclick={row.onclick.clone()}>
            <span class="rule-number">{ row.number }</span>
            <span class="rule-glyph" aria-hidden="true">{ glyph }</span>
            <span class="rule-body">
                { match row.rule {
                    None => html! { <span class="rule-text muted">{ "…" }</span> },
                    Some(rule) => html! {
                        <>
                            <span class="rule-says">
                                <span class="rule-text">{ brief(&rule.text) }</span>
                                <span class="rule-target">{ &rule.target }</span>
                            </span>
                            <span class="rule-why">
                                <span class="hidden">{ word }{ ": " }</span>
                                { if fate == RuleFate::NotReached { html! {} } else { why(rule) } }
                                { for rule.not_emulated.iter().map(|name| html! {
                                    <span class="not-emulated">{ "not emulated: " }{ name }</span>
                                }) }
                            </span>
                        </>
                    },
                } }
            </span>
        </li>
    }
}

/// The deciding check of a rule that did not match; all checks of one that did.
fn why(rule: &RuleRow) -> Html {
    if let Some(failed) = rule.checks.iter().find(|check| check.pass == Some(false)) {
        return html! { <span>{ format!("{} is {}, wanted {}", failed.field, failed.have, failed.want) }</span> };
    }
    if rule.checks.is_empty() {
        return html! { <span>{ "no condition" }</span> };
    }
    let passed: Vec<_> = rule.checks.iter().filter(|check| check.pass == Some(true)).map(passed).collect();
    html! { <span>{ passed.join(" · ") }</span> }
}

fn passed(check: &CheckView) -> String {
    if check.found.is_empty() {
        format!("✓ {} {}", check.field, check.have)
    } else {
        // The element says the key, and what it leads to.
        format!(
            "✓ {} {} → {}",
            check.field,
            check.have,
            check.found.rsplit_once(" : ").map_or(&*check.want, |(_, to)| to)
        )
    }
}

/// The tests without comments, which say nothing to the kernel and would hide what does. The explanation of the
/// selected rule shows the rule whole.
pub(crate) fn brief(text: &str) -> String {
    const COMMENT: &str = "-m comment --comment ";
    let mut rest = text;
    let mut brief = String::new();
    while let Some((before, comment)) = rest.split_once(COMMENT) {
        brief.push_str(before);
        rest = comment.get(comment_len(comment)..).unwrap_or_default().trim_start();
    }
    brief.push_str(rest);
    let brief = brief.trim();
    if brief.is_empty() { "any packet".to_owned() } else { brief.to_owned() }
}

/// Bytes of the comment at the beginning of `text`: a word, or a quoted text with escapes.
fn comment_len(text: &str) -> usize {
    let Some(quoted) = text.strip_prefix('"') else { return text.find(' ').unwrap_or(text.len()) };
    let mut is_escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 2,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn comments_are_left_out_of_rows() {
        for (text, shown) in [
            (
                "-d 10.0.0.1/32 -m comment --comment \"a b\" -m tcp --dport 80",
                "-d 10.0.0.1/32 -m tcp --dport 80",
            ),
            ("-m comment --comment word", "any packet"),
            (r#"-m comment --comment "say \"hi\" now" -p tcp"#, "-p tcp"),
            ("-p tcp", "-p tcp"),
            ("", "any packet"),
            ("-m comment --comment \"never closed", "any packet"),
        ] {
            assert_eq!(brief(text), shown, "{text}");
        }
    }
}
