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
    /// `xtables_error(OTHER_PROBLEM, ...)`: exit code 1, the message behind the tool's name and version.
    Other,
    /// The library refused: exit code 1, `line N failed` or the message behind the tool's name.
    Failed,
    /// The kernel refused when the table was committed: legacy exit code 1, nft exit code 4.
    Kernel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub class: Class,
    /// The tool's words; a newline at the end where the tool has one too many.
    pub message: String,
    /// What we add for the reader, beginning with a blank.
    pub hint: String,
    pub span: Span,
}

impl Fault {
    const fn new(class: Class, span: Span, message: String) -> Self {
        Self { class, message, hint: String::new(), span }
    }

    /// The tool's words and ours.
    pub(super) fn explained(&self) -> String {
        format!("{}{}", self.message.trim_end(), self.hint)
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(super) fn other(span: Span, message: impl Into<String>) -> Self {
        Self::new(Class::Other, span, message.into())
    }

    pub(super) fn kernel(span: Span, message: impl Into<String>) -> Self {
        Self::new(Class::Kernel, span, message.into())
    }

    pub(super) fn parameter(span: Span, message: impl Into<String>) -> Self {
        Self::new(Class::Parameter, span, message.into())
    }

    pub(super) fn bare(span: Span, message: impl Into<String>) -> Self {
        Self::new(Class::Bare, span, message.into())
    }

    pub(super) fn failed(span: Span, message: impl Into<String>) -> Self {
        Self::new(Class::Failed, span, message.into())
    }
}
