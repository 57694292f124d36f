//! Repairs of what people paste: each makes one change that has a name, and only where the line as it stands
//! cannot be read.

use super::lines::{Line, Shape, shape};
use super::words;
use std::ops::Range;

/// Columns of the terminal that most wrapped pastes come from.
const TERMINAL_COLUMNS: usize = 80;

/// Blanks in a row that are no longer a separator but the gap that a wrapped line left.
const GAP_MIN: usize = 8;

/// Characters that are typography, not syntax: quotes, dashes, blanks. None when the line has none.
///
/// Inside straight quotes everything stays as it is: there it is the text of a comment.
pub(super) fn typography<'t>(line: &Line<'t>) -> Option<Line<'t>> {
    if line.text.is_ascii() {
        return None;
    }
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    let mut in_quotes = false;
    let mut word_start = true;
    let mut skip_to = 0;
    for (at, c) in line.text.char_indices() {
        if at < skip_to {
            continue;
        }
        let range = at..at + c.len_utf8();
        let mut blank = c == ' ' || c == '\t';
        match c {
            '"' => in_quotes = !in_quotes,
            // An escaped character closes nothing.
            '\\' if in_quotes => {
                skip_to = at + 1 + line.text[at + 1..].chars().next().map_or(0, char::len_utf8)
            }
            _ if in_quotes => {}
            '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' | '\u{ff02}' => {
                edits.push((range, "\""))
            }
            '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{2032}' => edits.push((range, "'")),
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{ff0d}' if word_start => {
                let rest = &line.text[at..];
                let dashes: usize = rest.chars().take_while(|c| is_dash(*c)).map(char::len_utf8).sum();
                let letters = rest[dashes..].bytes().take_while(u8::is_ascii_alphanumeric).count();
                // A long option lost one of its two dashes, or both became one.
                edits.push((at..at + dashes, if letters > 1 { "--" } else { "-" }));
                skip_to = at + dashes;
            }
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => {
                edits.push((range, " "));
                blank = true;
            }
            '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}' | '\u{ad}' => edits.push((range, "")),
            '\u{ff01}' => edits.push((range, "!")),
            _ => {}
        }
        word_start = blank;
    }
    (!edits.is_empty()).then(|| line.edited(&edits))
}

const fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{ff0d}')
}

/// A remark at the end of a line: `// ...`, `# ...`, or words that no option could hold.
pub(super) fn remark<'t>(line: &Line<'t>) -> Option<Line<'t>> {
    let (words, _) = words::split(&line.text, 0).ok()?;
    let begins = |text: &str| {
        text.starts_with("//")
            || text.starts_with(['#', ';', '\u{ff08}', '\u{2190}'])
            || !text.is_ascii()
            || text == "<--"
    };
    // Not at the beginning: that would be a line of its own.
    let cut = words.iter().skip(1).find(|w| !w.quoted && begins(&w.text))?.span.start as usize;
    let end = line.text[..cut].trim_end().len();
    Some(line.edited(&[(end..line.text.len(), "")]))
}

/// A long gap inside a word, where a terminal had wrapped it.
pub(super) fn gap<'t>(line: &Line<'t>) -> Option<Line<'t>> {
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    let bytes = line.text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b' ' {
            at += 1;
            continue;
        }
        let end = bytes[at..].iter().position(|&b| b != b' ').map_or(bytes.len(), |n| at + n);
        if end - at >= GAP_MIN {
            edits.push((at..end, ""));
        }
        at = end;
    }
    (!edits.is_empty()).then(|| line.edited(&edits))
}

/// `-s ! ADDRESS`, as iptables before 1.4.3 wrote it, is `! -s ADDRESS`.
pub(super) fn negation<'t>(line: &Line<'t>) -> Option<Line<'t>> {
    let (words, _) = words::split(&line.text, 0).ok()?;
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    for three in words.windows(3) {
        let [option, bang, value] = three else { continue };
        let option_like = option.text.starts_with('-') && !option.quoted;
        if option_like && &*bang.text == "!" && !value.text.starts_with('-') {
            let start = option.span.start as usize;
            edits.push((start..start, "! "));
            edits.push((bang.span.start as usize..value.span.start as usize, ""));
        }
    }
    (!edits.is_empty()).then(|| line.edited(&edits))
}

/// Single quotes, which a shell takes away before iptables sees them.
pub(super) fn single_quotes<'t>(line: &Line<'t>) -> Option<Line<'t>> {
    let text = &*line.text;
    if !text.contains('\'') || text.contains('"') {
        return None;
    }
    let edits: Vec<_> = text.match_indices('\'').map(|(at, _)| (at..at + 1, "\"")).collect();
    (edits.len() % 2 == 0).then(|| line.edited(&edits))
}

/// The prefix that a log puts before each line: `Jul 19 09:03:35 host unit[6717]: `.
pub(super) fn log_prefix(text: &str) -> Option<usize> {
    let shaped = |rest: &str| matches!(shape(rest), Shape::Ruleset) || rest.starts_with("# ");
    let mut from = 0;
    while let Some(colon) = text[from..].find(": ") {
        let end = from + colon + 2;
        // A process tag ends it, and a time of day stands in it.
        let prefix = &text[..end];
        let rest = text[end..].trim_start();
        let tag = prefix.ends_with("]: ") || prefix.ends_with("kernel: ");
        if tag && has_time(prefix) && shaped(rest) {
            return Some(text.len() - rest.len());
        }
        from = end;
    }
    None
}

/// `09:03:35` somewhere in it.
fn has_time(text: &str) -> bool {
    text.as_bytes()
        .windows(8)
        .any(|w| w[2] == b':' && w[5] == b':' && [0, 1, 3, 4, 6, 7].iter().all(|&i| w[i].is_ascii_digit()))
}

/// A ruleset whose line breaks were lost: its lines. None for a line that is one.
pub(super) fn lost_breaks<'t>(line: &Line<'t>) -> Option<Vec<Line<'t>>> {
    let (words, _) = words::split(&line.text, 0).ok()?;
    let begins = |at: usize| {
        let word = &words[at];
        let next_is = |text: &str| words.get(at + 1).is_some_and(|w| w.text == text);
        let plain = !word.quoted && at > 0;
        let counted = word.text.starts_with('[') && word.text.ends_with(']') && next_is("-A");
        let after_counters = words[at.saturating_sub(1)].text.starts_with('[');
        plain
            && (counted
                || (word.text == "-A" && !after_counters)
                || word.text == "COMMIT"
                || (word.text.len() > 1 && word.text.starts_with([':', '*'])))
    };
    let starts: Vec<usize> = (0..words.len()).filter(|&at| begins(at)).collect();
    if starts.is_empty() {
        return None;
    }
    let mut cuts: Vec<usize> = vec![0];
    cuts.extend(starts.iter().map(|&at| words[at].span.start as usize));
    cuts.push(line.text.len());
    let piece = |cut: &[usize]| {
        let end = line.text[..cut[1]].trim_end().len();
        line.part(cut[0]..end)
    };
    Some(cuts.windows(2).map(piece).collect())
}

/// How a line that was wrapped goes on: without a blank if it filled the terminal, with one otherwise; and the
/// other way if that does not read.
pub(super) fn ways_to_join<'t>(line: &Line<'t>, next: &Line<'_>) -> [Line<'t>; 2] {
    let direct = line.joined(next, "");
    let spaced = line.joined(next, " ");
    let full = line.text.chars().count().is_multiple_of(TERMINAL_COLUMNS);
    if full { [direct, spaced] } else { [spaced, direct] }
}
