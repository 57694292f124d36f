//! [`Diag`]: a message about a place in a text. [`Diags`] collects them, capped and without repetition.

use crate::base::limits::DIAGS_MAX;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Read as meant, after a repair that is named.
    Note,
    /// Read, but something of it is not emulated or was left out.
    Warning,
    /// The real tool would refuse it here.
    Error,
}

/// A message about a place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diag {
    pub severity: Severity,
    /// From 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Length of the place in characters; zero for a point.
    pub len: u32,
    pub message: String,
}

/// `line 3, column 14: error: unknown option "--dprot"`
impl std::fmt::Display for Diag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "line {}, column {}: {kind}: {}", self.line, self.column, self.message)
    }
}

/// A place in a text, as [`Diag`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    pub column: u32,
    pub len: u32,
}

/// The messages of one reading.
///
/// The same remark about many places (a repair made on every line, one extension that is not emulated used by
/// a thousand rules) is one message that names the first place and counts the rest.
#[derive(Debug, Default)]
pub struct Diags {
    list: Vec<Diag>,
    /// Remarks that repeat: index into `list`, key, and the lines it was met at.
    repeated: Vec<Repeated>,
    left_out: u32,
}

#[derive(Debug)]
struct Repeated {
    at: usize,
    key: Box<str>,
    count: u32,
    first_lines: Vec<u32>,
}

/// Lines that a repeated remark lists before it only counts.
const LINES_LISTED: usize = 5;

impl Diags {
    pub fn error(&mut self, place: Place, message: impl Into<String>) {
        self.push(Severity::Error, place, message.into());
    }

    pub fn warning(&mut self, place: Place, message: impl Into<String>) {
        self.push(Severity::Warning, place, message.into());
    }

    pub fn note(&mut self, place: Place, message: impl Into<String>) {
        self.push(Severity::Note, place, message.into());
    }

    /// A remark that may be made many times: `key` tells which are the same.
    pub fn repeated(
        &mut self,
        severity: Severity,
        place: Place,
        key: &str,
        message: impl FnOnce() -> String,
    ) {
        if let Some(known) = self.repeated.iter_mut().find(|r| &*r.key == key) {
            known.count += 1;
            if known.first_lines.len() < LINES_LISTED && known.first_lines.last() != Some(&place.line) {
                known.first_lines.push(place.line);
            }
            return;
        }
        let at = self.list.len();
        self.push(severity, place, message());
        if self.list.len() > at {
            self.repeated.push(Repeated { at, key: key.into(), count: 1, first_lines: vec![place.line] });
        }
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    fn push(&mut self, severity: Severity, place: Place, message: String) {
        if self.list.len() >= DIAGS_MAX {
            self.left_out += 1;
            return;
        }
        self.list.push(Diag { severity, line: place.line, column: place.column, len: place.len, message });
    }

    /// The messages in the order of the text, counts filled in.
    pub fn finish(mut self) -> Vec<Diag> {
        for r in self.repeated {
            if r.count > 1 {
                let lines: Vec<String> = r.first_lines.iter().map(u32::to_string).collect();
                let more = if r.first_lines.len() < r.count as usize { ", ..." } else { "" };
                let diag = &mut self.list[r.at];
                diag.message =
                    format!("{} ({} times: lines {}{more})", diag.message, r.count, lines.join(", "));
            }
        }
        self.list.sort_by_key(|d| (d.line, d.column));
        if self.left_out > 0 {
            let line = self.list.last().map_or(1, |d| d.line);
            self.list.push(Diag {
                severity: Severity::Warning,
                line,
                column: 1,
                len: 0,
                message: format!("{} more messages are left out", self.left_out),
            });
        }
        self.list
    }
}
