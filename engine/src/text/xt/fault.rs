//! [`Fault`]: why the tool refuses a line, in its own words.

/// A range of bytes of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

/// How the tool ends, which decides what it prints around the message and its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// `xtables_error(PARAMETER_PROBLEM, ...)`: exit code 2, the message behind the tool's name.
    Parameter,
    /// The same without the tool's name: `Bad argument`.
    Bare,
    /// The library refused: exit code 1, `line N failed` or the message behind the tool's name.
    Failed,
    /// The kernel refused when the table was committed: legacy exit code 1, nft exit code 4.
    Kernel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub class: Class,
    pub message: String,
    pub span: Span,
}

impl Fault {
    pub(super) fn parameter(span: Span, message: impl Into<String>) -> Self {
        Self { class: Class::Parameter, message: message.into(), span }
    }

    pub(super) fn bare(span: Span, message: impl Into<String>) -> Self {
        Self { class: Class::Bare, message: message.into(), span }
    }

    pub(super) fn failed(span: Span, message: impl Into<String>) -> Self {
        Self { class: Class::Failed, message: message.into(), span }
    }
}
