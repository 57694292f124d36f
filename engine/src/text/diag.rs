//! [`Diag`]: a message about a place in a text.

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
