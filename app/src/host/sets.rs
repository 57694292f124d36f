//! `ipset save` pasted before, between or behind the tables of `iptables-save`.

use std::borrow::Cow;

use chainwalk_engine::base::KernelVersion;
use chainwalk_engine::netns::Netns;
use chainwalk_engine::replay;
use chainwalk_engine::text::diag::{Diag, Severity};

/// A node with the sets of `text`, and the text without their lines: blank ones stand in for them, so that every
/// place in it stays where it was.
///
/// # Errors
/// The line that ipset refuses, in its words.
pub(super) fn load(text: &str, kernel: KernelVersion, seed: u64) -> Result<(Netns, Cow<'_, str>), Diag> {
    let mut netns = Netns::new(kernel, seed);
    if !text.lines().any(is_create) {
        return Ok((netns, Cow::Borrowed(text)));
    }
    let (mut sets, mut rules) = (String::new(), String::with_capacity(text.len()));
    let mut in_table = false;
    for line in text.split_inclusive('\n') {
        in_table = (in_table || line.starts_with('*')) && line.trim_end() != "COMMIT";
        let is_set = !in_table && (is_create(line) || line.starts_with("add "));
        let (to, other) = if is_set { (&mut sets, &mut rules) } else { (&mut rules, &mut sets) };
        to.push_str(line);
        other.push('\n');
    }
    replay::setup(&mut netns, "ipset restore", &sets).map_err(|error| diag(&error.message))?;
    Ok((netns, Cow::Owned(rules)))
}

/// `create NAME TYPE ...`, as `ipset save` begins each set.
fn is_create(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    line.starts_with("create ") && words.nth(2).is_some_and(|kind| kind.contains(':'))
}

/// `Error in line 7: ...` is about that line.
fn diag(message: &str) -> Diag {
    let place = message.split_once("line ").and_then(|(_, rest)| rest.split_once(':'));
    let line = place.and_then(|(number, _)| number.trim().parse().ok());
    Diag {
        severity: Severity::Error,
        line: line.unwrap_or(1),
        column: 1,
        len: 0,
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "create bad hash:ip family inet\nadd bad 192.0.2.7\n*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m set \
                        --match-set bad src -j DROP\nCOMMIT\n";

    #[test]
    fn sets_are_loaded_and_lines_stay_in_place() {
        let (netns, rules) = load(TEXT, KernelVersion::default(), 1).expect("ipset takes it");
        let shown = replay::show(&netns, "ipset save").expect("ipset lists");
        assert!(shown.contains("add bad 192.0.2.7"), "{shown}");
        assert_eq!(rules.lines().nth(2), Some("*filter"));
        assert_eq!(rules.lines().count(), TEXT.lines().count());
    }

    #[test]
    fn a_refused_line_is_named() {
        let wrong = TEXT.replace("192.0.2.7", "192.0.2.700");
        let diag = load(&wrong, KernelVersion::default(), 1).expect_err("no such address");
        assert_eq!(diag.line, 2, "{diag:?}");
    }

    #[test]
    fn a_ruleset_without_sets_is_not_copied() {
        assert!(matches!(load("*nat\nCOMMIT\n", KernelVersion::default(), 1), Ok((_, Cow::Borrowed(_)))));
    }
}
