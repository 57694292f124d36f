//! Why a text or a command is refused, and how the tool says so.

use std::fmt::Write as _;

use crate::text::diag::{Diag, Place, Severity};

/// A refusal at a place of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(super) place: Place,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn at(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    pub(super) fn syntax(place: Place, what: &str) -> Self {
        Self::at(place, format!("syntax error, {what}"))
    }

    /// The kernel's refusal.
    pub(super) fn kernel(place: Place, errno: Errno) -> Self {
        Self::at(place, format!("Could not process rule: {}", errno.text()))
    }

    pub(super) fn diag(&self) -> Diag {
        Diag {
            severity: Severity::Error,
            line: self.place.line,
            column: self.place.column,
            len: self.place.len,
            message: self.message.clone(),
        }
    }

    /// The message with the line of the text below it and marks below that, as `nft -f FILE` prints it.
    pub(super) fn framed(&self, file: &str, text: &str) -> String {
        let Place { line, column, len } = self.place;
        let len = len.max(1);
        let shown = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or("");
        let mut out =
            format!("{file}:{line}:{column}-{}: Error: {}\n{shown}\n", column + len - 1, self.message);
        for c in shown.chars().take(column.saturating_sub(1) as usize) {
            out.push(if c == '\t' { '\t' } else { ' ' });
        }
        let _ = writeln!(out, "{}", "^".repeat(len as usize));
        out
    }
}

/// The kernel's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errno {
    NoEntry,
    Exists,
    Busy,
    Invalid,
    NotSupported,
    TooManyLinks,
    FileTableOverflow,
}

impl Errno {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::NoEntry => "No such file or directory",
            Self::Exists => "File exists",
            Self::Busy => "Device or resource busy",
            Self::Invalid => "Invalid argument",
            Self::NotSupported => "Operation not supported",
            Self::TooManyLinks => "Too many links",
            Self::FileTableOverflow => "Too many open files in system",
        }
    }
}
