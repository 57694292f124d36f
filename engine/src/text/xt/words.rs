//! Splits a line into words, as iptables-restore does (`add_param_to_argv`) or as a shell does.

use std::borrow::Cow;

use super::fault::{Fault, Span};

/// Longest word that iptables-restore takes (`struct xt_param_buf`, terminator excluded).
const WORD_BYTES_MAX: usize = 1023;

#[derive(Clone, Debug)]
pub(super) struct Word<'t> {
    /// Quotes removed, escapes resolved.
    pub text: Cow<'t, str>,
    pub span: Span,
    /// It held a quoted part.
    pub quoted: bool,
}

/// Words in iptables-restore's way: only double quotes quote, a backslash escapes only inside them, and a
/// closing quote ends the word.
///
/// `from` is the byte to begin at. The flag tells whether a quote was left open: the rest of the line is then
/// its word.
pub(super) fn split(line: &str, from: usize) -> Result<(Vec<Word<'_>>, bool), Fault> {
    let bytes = line.as_bytes();
    let mut words = Vec::with_capacity(24);
    let mut at = from;
    let mut open = false;
    while at < bytes.len() {
        if matches!(bytes[at], b' ' | b'\t') {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && !matches!(bytes[at], b' ' | b'\t' | b'"') {
            at += 1;
        }
        let word = if bytes.get(at) == Some(&b'"') {
            let (text, end, closed) = quoted(line, start, at);
            at = end;
            open |= !closed;
            Word { text, span: span(start, end), quoted: true }
        } else {
            Word { text: Cow::Borrowed(&line[start..at]), span: span(start, at), quoted: false }
        };
        if word.text.len() > WORD_BYTES_MAX {
            return Err(Fault::parameter(word.span, "Parameter too long!"));
        }
        words.push(word);
    }
    Ok((words, open))
}

/// The word that begins at `start` and whose opening quote is at `quote`: its text, where it ends, and whether
/// the quote was closed.
fn quoted(line: &str, start: usize, quote: usize) -> (Cow<'_, str>, usize, bool) {
    let bytes = line.as_bytes();
    let body = quote + 1;
    let mut at = body;
    while at < bytes.len() && !matches!(bytes[at], b'"' | b'\\') {
        at += 1;
    }
    if bytes.get(at) != Some(&b'\\') {
        let closed = at < bytes.len();
        let text = if start == quote {
            Cow::Borrowed(&line[body..at])
        } else {
            Cow::Owned([&line[start..quote], &line[body..at]].concat())
        };
        return (text, (at + 1).min(bytes.len()), closed);
    }
    let mut text = [&line[start..quote], &line[body..at]].concat();
    let mut escaped = false;
    let mut closed = false;
    for (offset, c) in line[at..].char_indices() {
        if escaped {
            text.push(c);
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '"' {
            at += offset + 1;
            closed = true;
            break;
        } else {
            text.push(c);
        }
    }
    (Cow::Owned(text), if closed { at } else { bytes.len() }, closed)
}

pub(super) const fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}
