//! A problem in something a person typed or pasted: what is wrong, and where.

use serde::{Deserialize, Serialize};

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
