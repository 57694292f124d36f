//! `{{expression}}` in text: replaced by the value a run produced.

use super::problem::{Class, Problems};
use crate::expr::{self, Facts};

/// `text` with every reference resolved. A reference that has no value is reported at its line and left out.
pub(super) fn resolve(text: &str, line: usize, facts: &Facts, problems: &mut Problems) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        out.push_str(&rest[..start]);
        let here = line + text[..text.len() - rest.len() + start].matches('\n').count();
        let Some(len) = rest[start..].find("}}") else {
            problems.add(here, Class::UnknownReference, "`{{` without `}}`");
            return out;
        };
        let source = rest[start + 2..start + len].trim();
        match expr::value(source, facts) {
            Ok(value) => out.push_str(&expr::text(&value)),
            Err(error) => {
                problems.add(here, Class::UnknownReference, format!("`{{{{{source}}}}}`: {error}"));
            }
        }
        rest = &rest[start + len + 2..];
    }
    out.push_str(rest);
    out
}

/// `text` with every reference blanked: what an author wrote as a literal.
pub(super) fn without(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (inside, tail) = after.split_once("}}").unwrap_or((after, ""));
        // Keep line breaks, so that lines still count.
        out.extend(inside.chars().filter(|c| *c == '\n'));
        out.push('\u{fffc}');
        rest = tail;
    }
    out.push_str(rest);
    out
}
