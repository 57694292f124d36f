//! The rule behind "no outcome is written into a lesson": a number in prose is an input of a scenario, a
//! number the front matter gives a reason for, or a reference.
//!
//! Numbers of one digit pass: they count things in sentences, and a reader can check them by eye.

use std::collections::BTreeSet;

use super::problem::{Class, Problems};
use super::reference::without;

/// What may stand as a literal: every number that occurs in scenario inputs and `given`.
#[derive(Debug, Default)]
pub(super) struct Allowed(BTreeSet<String>);

impl Allowed {
    pub(super) fn add_text(&mut self, text: &str) {
        self.0.extend(literals(text).map(str::to_owned));
    }

    pub(super) fn check(&self, text: &str, line: usize, problems: &mut Problems) {
        let text = without(text);
        for (i, row) in text.lines().enumerate() {
            for literal in literals(row) {
                if !self.0.contains(literal) {
                    let message = format!(
                        "`{literal}` is written out: refer to a run (`{{{{run.member}}}}`), make it an input of a \
                         scenario, or add it to `given` in the front matter with a reason"
                    );
                    problems.add(line + i, Class::LiteralNumber, message);
                }
            }
        }
    }
}

/// Tokens that begin with a digit, more than one character long: `80`, `10.96.0.1`, `0.333`, `100,000`.
/// A digit inside a word (`eth0`, `KUBE-SVC-67NZ`, `ip6tables`) begins no number.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | ',' | '_' | '-' | '\u{fffc}')))
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '\u{fffc}'))
        .flat_map(|word| word.split('-'))
        .filter(|word| word.len() > 1 && word.starts_with(|c: char| c.is_ascii_digit()))
        .filter(|word| !word.contains('\u{fffc}'))
        .filter(|word| word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(inputs: &str, prose: &str) -> Vec<usize> {
        let mut allowed = Allowed::default();
        allowed.add_text(inputs);
        let mut problems = Problems { file: "f".to_owned(), list: Vec::new() };
        allowed.check(prose, 10, &mut problems);
        problems.list.into_iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn literals_need_an_input() {
        assert_eq!(check("", "It took 12 rules"), [10]);
        assert_eq!(check("dport = 80", "port 80, then `{{call.x}}`\nand 8080."), [11]);
        assert_eq!(check("", "one in 3, eth0, KUBE-SVC-67NZ, `10-by-10`"), [10, 10]);
        assert_eq!(check("\"10.96.10.20\"", "`10.96.10.20:80`"), [10]);
        assert_eq!(check("", "{{a.b}}00 and {{x}}, 2^31"), [10]);
    }
}
