//! Finds the iptables command in a line copied from a terminal or a script.

use std::ops::Range;

use super::lines::Line;
use crate::packet::Family;

/// A command line with iptables in it.
#[derive(Debug)]
pub(super) enum Found<'t> {
    /// `iptables -A ...`: its arguments.
    Command { family: Family, arguments: Line<'t> },
    /// `iptables-save`, `iptables -L`: only the command that printed what follows.
    Echo,
}

/// Looks for a command behind a prompt, `sudo` and the like. None when the line is something else.
pub(super) fn find<'t>(line: &Line<'t>) -> Option<Found<'t>> {
    let text = &*line.text;
    let mut at = 0;
    for word in text.split_ascii_whitespace() {
        let start = at + text[at..].find(word)?;
        at = start + word.len();
        let name = word.rsplit('/').next().unwrap_or(word);
        let Some((family, tool)) = tool(name) else {
            if before_command(word, start == 0) {
                continue;
            }
            return None;
        };
        if tool == Tool::SaveOrRestore {
            return Some(Found::Echo);
        }
        let arguments = strip_shell(&line.edited(&[(0..at, "")]));
        let listing = |w: &str| w.starts_with('-') && !w.starts_with("--") && w.contains(['L', 'S']);
        let mut words = arguments.text.split_ascii_whitespace();
        if words.any(|w| listing(w) || matches!(w, "--list" | "--list-rules" | "--version" | "-V")) {
            return Some(Found::Echo);
        }
        return Some(Found::Command { family, arguments });
    }
    None
}

#[derive(PartialEq, Eq)]
enum Tool {
    Iptables,
    SaveOrRestore,
}

fn tool(name: &str) -> Option<(Family, Tool)> {
    let (family, rest) = match name.strip_prefix("ip6tables") {
        Some(rest) => (Family::V6, rest),
        None => (Family::V4, name.strip_prefix("iptables")?),
    };
    match rest {
        "" | "-legacy" | "-nft" => Some((family, Tool::Iptables)),
        "-save" | "-restore" | "-legacy-save" | "-legacy-restore" | "-nft-save" | "-nft-restore" => {
            Some((family, Tool::SaveOrRestore))
        }
        _ => None,
    }
}

/// Words that may stand before the command: prompts, `sudo`, `+` of `set -x`, assignments.
fn before_command(word: &str, first: bool) -> bool {
    let prompt_end = word.ends_with(['$', '#', '%', '>', '~', ']']);
    matches!(word, "sudo" | "doas" | "exec" | "-E" | "+" | "++" | "&&" | "$" | ">")
        || prompt_end
        || (first && (word.contains('@') || word.starts_with('[')))
}

/// Does what a shell would: cuts pipes, redirections, comments and what follows, takes the backslash off `\!`,
/// and turns single quotes, which iptables-restore does not know, into double ones.
fn strip_shell<'t>(line: &Line<'t>) -> Line<'t> {
    let text = &*line.text;
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    let (mut single, mut double) = (false, false);
    let mut end = text.len();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\'' if !double => {
                single = !single;
                edits.push((at..at + 1, "\""));
            }
            b'"' if !single => double = !double,
            b'"' => edits.push((at..at + 1, "\\\"")),
            b'\\' if !single && !double => {
                edits.push((at..at + 1, ""));
                at += 1;
            }
            b'\\' if !single => at += 1,
            b'|' | b';' | b'>' | b'<' if !single && !double => end = at,
            b'&' | b'#' if !single && !double && at > 0 && bytes[at - 1] == b' ' => end = at,
            b'2' if !single && !double && text[at..].starts_with("2>") && at > 0 && bytes[at - 1] == b' ' => {
                end = at;
            }
            _ => {}
        }
        if end < text.len() {
            break;
        }
        at += 1;
    }
    edits.retain(|(range, _)| range.end <= end);
    let kept = text[..end].trim_end().len();
    edits.retain(|(range, _)| range.end <= kept);
    if kept < text.len() {
        edits.push((kept..text.len(), ""));
    }
    line.edited(&edits)
}
