//! [`Line`]: a line as it is read, which may differ from what was pasted, and remembers where each part of it
//! came from.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use super::fault::Span;
use crate::text::diag::Place;

/// A logical line.
#[derive(Clone, Debug)]
pub(super) struct Line<'t> {
    pub text: Cow<'t, str>,
    /// Number of the first physical line, from 1.
    pub number: u32,
    /// Characters cut off before the text.
    indent: u32,
    /// Where the parts of an edited line came from, in order of their position; empty when nothing was edited.
    pieces: Vec<Piece>,
    /// Made when a place far into a long line is asked for: what was pasted may be one line of many megabytes,
    /// with a place for each of its words.
    marks: OnceCell<Marks>,
}

/// Characters before every [`Marks::STEP`]th byte of a text.
#[derive(Clone, Debug)]
struct Marks(Box<[u32]>);

impl Marks {
    /// Bytes between two marks: so many are counted for a place, and four are kept for so many.
    const STEP: usize = 512;

    fn of(text: &str) -> Self {
        let mut before = 0;
        let mark = |bytes: &[u8]| {
            let here = before;
            before += characters(bytes);
            here
        };
        Self(text.as_bytes().chunks(Self::STEP).map(mark).collect())
    }

    /// Characters that begin before a byte of the text.
    fn before(&self, text: &str, byte: usize) -> u32 {
        let Some(&before) = self.0.get(byte / Self::STEP) else { return characters(text.as_bytes()) };
        before + characters(&text.as_bytes()[byte / Self::STEP * Self::STEP..byte])
    }
}

/// How many characters begin in these bytes: the bytes that go on with one are `10xxxxxx`.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u32
}

/// From this byte of the text on, characters stand one after the other in the original.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: u32,
    line: u32,
    /// From 0.
    column: u32,
}

impl<'t> Line<'t> {
    /// A physical line without the blanks around it.
    pub(super) fn trimmed(physical: &'t str, number: u32) -> Self {
        let text = physical.trim();
        let cut = physical.len() - physical.trim_start().len();
        let indent = if cut == 0 { 0 } else { physical[..cut].chars().count() as u32 };
        Self { indent, ..Self::exact(text, number) }
    }

    /// A physical line as it is.
    pub(super) const fn exact(physical: &'t str, number: u32) -> Self {
        Self { text: Cow::Borrowed(physical), number, indent: 0, pieces: Vec::new(), marks: OnceCell::new() }
    }

    /// A line made of another that stood at `number`.
    pub(super) const fn made(text: String, number: u32) -> Self {
        Self { text: Cow::Owned(text), number, indent: 0, pieces: Vec::new(), marks: OnceCell::new() }
    }

    pub(super) const fn is_indented(&self) -> bool {
        self.indent > 0
    }

    /// The place of a range of bytes in what was pasted.
    pub(super) fn place(&self, span: Span) -> Place {
        let (line, column) = self.origin(span.start as usize);
        let (end_line, end_column) = self.origin(span.end as usize);
        let len = if end_line == line { end_column.saturating_sub(column) } else { 0 };
        Place { line, column: column + 1, len }
    }

    /// The whole line.
    pub(super) fn whole(&self) -> Span {
        Span { start: 0, end: self.text.len() as u32 }
    }

    /// Line and column (from 0) of a byte.
    fn origin(&self, byte: usize) -> (u32, u32) {
        let byte = self.text.floor_char_boundary(byte);
        let at = self.pieces.partition_point(|p| p.from as usize <= byte);
        let start = match at.checked_sub(1).map(|i| self.pieces[i]) {
            Some(piece) => piece,
            None => Piece { from: 0, line: self.number, column: self.indent },
        };
        (start.line, start.column + self.characters(start.from as usize..byte))
    }

    /// How many characters a range of bytes holds.
    fn characters(&self, range: Range<usize>) -> u32 {
        if range.len() <= 2 * Marks::STEP {
            return characters(&self.text.as_bytes()[range]);
        }
        let marks = self.marks.get_or_init(|| Marks::of(&self.text));
        marks.before(&self.text, range.end) - marks.before(&self.text, range.start)
    }

    /// The line with ranges of bytes replaced. `edits` are in order and do not overlap.
    pub(super) fn edited(&self, edits: &[(Range<usize>, &str)]) -> Line<'t> {
        let mut text = String::with_capacity(self.text.len() + 16);
        let mut pieces = Vec::with_capacity(2 * edits.len() + self.pieces.len() + 1);
        let mut kept = 0;
        for (range, with) in edits {
            self.keep(kept..range.start, &mut text, &mut pieces);
            let (line, column) = self.origin(range.start);
            pieces.push(Piece { from: text.len() as u32, line, column });
            text.push_str(with);
            kept = range.end;
        }
        self.keep(kept..self.text.len(), &mut text, &mut pieces);
        self.remade(text, pieces)
    }

    /// A range of the line, as a line: needs no more memory than the range.
    pub(super) fn part(&self, range: Range<usize>) -> Line<'t> {
        let (mut text, mut pieces) = (String::with_capacity(range.len()), Vec::new());
        self.keep(range, &mut text, &mut pieces);
        self.remade(text, pieces)
    }

    /// Copies a range into a new line.
    fn keep(&self, range: Range<usize>, text: &mut String, pieces: &mut Vec<Piece>) {
        let base = text.len();
        let (line, column) = self.origin(range.start);
        pieces.push(Piece { from: base as u32, line, column });
        let first = self.pieces.partition_point(|piece| piece.from as usize <= range.start);
        for piece in self.pieces[first..].iter().take_while(|piece| (piece.from as usize) < range.end) {
            pieces.push(Piece { from: (base + piece.from as usize - range.start) as u32, ..*piece });
        }
        text.push_str(&self.text[range]);
    }

    /// This line and the next as one.
    pub(super) fn joined(&self, next: &Line<'_>, between: &str) -> Line<'t> {
        let mut text = String::with_capacity(self.text.len() + next.text.len() + 1);
        let mut pieces = Vec::new();
        self.keep(0..self.text.len(), &mut text, &mut pieces);
        text.push_str(between);
        next.keep(0..next.text.len(), &mut text, &mut pieces);
        self.remade(text, pieces)
    }

    fn remade(&self, text: String, pieces: Vec<Piece>) -> Line<'t> {
        Line {
            text: Cow::Owned(text),
            number: self.number,
            indent: self.indent,
            pieces,
            marks: OnceCell::new(),
        }
    }

    /// The line from a byte on.
    pub(super) fn without_start(&self, bytes: usize) -> Line<'t> {
        self.edited(&[(0..bytes, "")])
    }
}

/// What a line seems to be, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Blank,
    /// `#`
    Comment,
    /// `*table`, `:chain`, `-A ...`, `[1:2] -A ...`, `COMMIT`.
    Ruleset,
    /// Anything else: a prompt, prose, the rest of a wrapped line.
    Other,
}

/// The shape of a line without blanks around it.
pub(super) fn shape(text: &str) -> Shape {
    let bytes = text.as_bytes();
    match bytes.first() {
        None => Shape::Blank,
        Some(b'#') => Shape::Comment,
        Some(b':') if bytes.len() > 1 && !bytes[1].is_ascii_whitespace() => Shape::Ruleset,
        Some(b'*') => {
            let name = text[1..].split_ascii_whitespace().next().unwrap_or_default();
            let letters = name.bytes().all(|b| b.is_ascii_lowercase());
            if letters && !name.is_empty() { Shape::Ruleset } else { Shape::Other }
        }
        Some(b'[') => {
            let counters = text.find(']').map(|end| &text[1..end]);
            let digits = |c: &str| c.bytes().all(|b| b.is_ascii_digit() || b == b':') && c.contains(':');
            if counters.is_some_and(digits) { Shape::Ruleset } else { Shape::Other }
        }
        Some(b'-') if is_command(bytes) => Shape::Ruleset,
        Some(b'C') if text == "COMMIT" => Shape::Ruleset,
        Some(_) => Shape::Other,
    }
}

/// Whether a line begins with an option that names a command: only such a line begins a rule; others go on
/// with the line before.
fn is_command(bytes: &[u8]) -> bool {
    match bytes {
        [b'-', letter, b' ' | b'\t', ..] | [b'-', letter] => b"ADICRNXFPEZLS".contains(letter),
        [b'-', b'-', rest @ ..] => ["append", "insert", "delete", "new-chain", "policy", "flush", "replace"]
            .iter()
            .any(|name| rest.starts_with(name.as_bytes())),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
