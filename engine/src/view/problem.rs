//! A problem in something a person typed or pasted: what is wrong, and where.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::diag::{self, Diag};

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// Read, repaired, and said so.
    Note,
    /// Read, but the reader should look.
    Warning,
    /// Left out.
    Error,
}

/// One problem, ready to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemView {
    pub severity: Severity,
    /// Counted from 1; 0 when the problem has no place (an empty text).
    pub line: u32,
    /// Characters from the line's start, counted from 1; 0 when it concerns the whole line.
    pub column: u32,
    /// Characters concerned; 0 when unknown.
    pub len: u32,
    /// What is wrong and what was expected, as one sentence.
    pub message: String,
    /// What to write instead; empty when there is no suggestion.
    pub hint: String,
    /// The line itself, cut to a readable length around the column.
    pub excerpt: String,
    /// Where `column` falls in `excerpt`, characters counted from 0.
    pub excerpt_column: u32,
}

/// Longest excerpt, in characters.
const EXCERPT_MAX: usize = 100;

/// Messages about `text`, each with the line it is about. One pass over the text, however many there are.
pub fn problem_views(diags: &[Diag], text: &str) -> Vec<ProblemView> {
    let mut wanted: Vec<u32> = diags.iter().map(|diag| diag.line).collect();
    wanted.sort_unstable();
    let mut lines = BTreeMap::new();
    let mut text_lines = (1..).zip(text.lines());
    for number in wanted {
        if !lines.contains_key(&number)
            && let Some((_, line)) = text_lines.by_ref().find(|(at, _)| *at == number)
        {
            lines.insert(number, line);
        }
    }
    diags.iter().map(|diag| view(diag, lines.get(&diag.line).copied().unwrap_or_default())).collect()
}

/// One message about `text`.
pub fn problem_view(diag: &Diag, text: &str) -> ProblemView {
    view(diag, text.lines().nth((diag.line as usize).saturating_sub(1)).unwrap_or_default())
}

fn view(diag: &Diag, line: &str) -> ProblemView {
    let (excerpt, excerpt_column) = excerpt(line, (diag.column as usize).saturating_sub(1));
    ProblemView {
        severity: match diag.severity {
            diag::Severity::Note => Severity::Note,
            diag::Severity::Warning => Severity::Warning,
            diag::Severity::Error => Severity::Error,
        },
        line: diag.line,
        column: diag.column,
        len: diag.len,
        message: sentence(&diag.message),
        hint: String::new(),
        excerpt,
        excerpt_column: excerpt_column as u32,
    }
}

/// The part of `line` around `column` (from 0), and where the column falls in it.
fn excerpt(line: &str, column: usize) -> (String, usize) {
    // Only what is near the place is looked at: a line can be megabytes long.
    let near: Vec<char> = line.chars().take(column + EXCERPT_MAX).collect();
    let from = if column > EXCERPT_MAX * 2 / 3 { column - EXCERPT_MAX / 3 } else { 0 };
    let from = from.min(near.len());
    let to = (from + EXCERPT_MAX).min(near.len());
    let mut text = if from > 0 { "…".to_owned() } else { String::new() };
    text.extend(near[from..to].iter().map(|c| match c {
        // Listings of nft are set with tabs; a mark below has to fall in the same place everywhere.
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => *c,
    }));
    (text, column - from + usize::from(from > 0))
}

/// First letter in upper case, full stop at the end.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let rest = chars.as_str();
    let stop = if rest.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{rest}{stop}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diag(line: u32, column: u32, message: &str) -> Diag {
        Diag { severity: diag::Severity::Error, line, column, len: 3, message: message.to_owned() }
    }

    #[test]
    fn the_line_stands_beside_the_message() {
        let view = problem_view(&diag(2, 4, "no such option"), "*filter\n-A X --bad\n");
        assert_eq!((view.excerpt.as_str(), view.excerpt_column), ("-A X --bad", 3));
        assert_eq!(view.message, "No such option.");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = "x".repeat(500) + "HERE" + &"y".repeat(500);
        let view = problem_view(&diag(1, 501, "wrong"), &line);
        let at = view.excerpt_column as usize;
        assert_eq!(view.excerpt.chars().skip(at).take(4).collect::<String>(), "HERE");
        assert!(view.excerpt.chars().count() <= EXCERPT_MAX + 1);
    }

    #[test]
    fn many_messages_find_their_lines() {
        let diags = [diag(3, 1, "c"), diag(1, 1, "a"), diag(3, 2, "c again"), diag(7, 1, "none")];
        let excerpts: Vec<_> =
            problem_views(&diags, "one\ntwo\nthree").into_iter().map(|view| view.excerpt).collect();
        assert_eq!(excerpts, ["three", "one", "three", ""]);
    }

    #[test]
    fn a_place_outside_the_text_is_no_place() {
        let view = problem_view(&diag(9, 9, "ends early"), "one line");
        assert_eq!(view.excerpt, "");
    }
}
