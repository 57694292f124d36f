//! Entry points of reading, and the limits of what is read.

use super::build::Ruleset;
use super::fault::Fault;
use super::reader::Reader;
use crate::base::limits::RULESET_BYTES_MAX;
use crate::netfilter::table::Flavour;
use crate::packet::Family;
use crate::text::diag::{Diag, Place};

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions<'b> {
    /// Guessed from the text when none.
    pub family: Option<Family>,
    /// Guessed from the text's first comment when none; legacy if that says nothing.
    pub flavour: Option<Flavour>,
    /// Drop the counters of the text (iptables-restore without `-c`).
    pub ignore_counters: bool,
    /// Behave as iptables-restore does: no repairs, stop at the first error.
    pub strict: bool,
    /// Tables that exist already.
    pub base: Option<&'b Ruleset>,
    /// `--noflush`: keep what the text does not name.
    pub noflush: bool,
}

/// Reads iptables-save or iptables-restore text, or iptables commands.
///
/// Unless `strict`, it reads what people paste: repairs that can only mean one thing are made and named in
/// notes, the rest is reported by line and column, and one bad line does not lose the others.
pub fn parse(text: &str, options: &ParseOptions<'_>) -> (Ruleset, Vec<Diag>) {
    parse_with(text, options, &mut |_, _| true)
}

/// The same, telling how far it is: `progress(done_bytes, total_bytes)` answers whether to go on. What was read
/// before it said no is returned.
pub fn parse_with(
    text: &str,
    options: &ParseOptions<'_>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> (Ruleset, Vec<Diag>) {
    let read = read(text, options, progress);
    (read.ruleset, read.diags)
}

/// What came of a text.
pub(super) struct Read {
    pub ruleset: Ruleset,
    pub diags: Vec<Diag>,
    /// Strict reading: what stopped it, and at which line.
    pub fault: Option<(u32, Fault)>,
}

pub(super) fn read(
    text: &str,
    options: &ParseOptions<'_>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Read {
    let mut reader = Reader::new(text, options);
    match inadmissible(text) {
        Some((place, message)) => reader.diags.error(place, message),
        None if options.strict => reader.run_strict(text, progress),
        None => reader.run_lenient(text, progress),
    }
    reader.finish()
}

/// Why a text cannot be a ruleset at all.
fn inadmissible(text: &str) -> Option<(Place, String)> {
    let start = Place { line: 1, column: 1, len: 0 };
    if text.len() > RULESET_BYTES_MAX {
        let (got, most) = (text.len() >> 20, RULESET_BYTES_MAX >> 20);
        return Some((start, format!("the text is {got} MB long; at most {most} MB are read")));
    }
    let odd = |b: u8| b < 0x20 && !matches!(b, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b);
    // In blocks, which compile to wide comparisons.
    let block = text.as_bytes().chunks(4096).position(|c| c.iter().fold(false, |any, &b| any | odd(b)))?;
    let at = block * 4096 + text.as_bytes()[block * 4096..].iter().position(|&b| odd(b))?;
    let line = text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() as u32 + 1;
    let byte = text.as_bytes()[at];
    let message = format!(
        "this looks like a binary file: line {line} holds the byte {byte:#04x}; expected the output of iptables-save"
    );
    Some((Place { line, column: 1, len: 0 }, message))
}
