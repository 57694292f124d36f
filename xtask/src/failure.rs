//! The one error of this crate: what went wrong, and the command that would help.

use std::fmt;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// A step that could not be done. Printed as is; nobody matches on its content.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// Adds the exact command to run next.
    pub(crate) fn hint(mut self, command: impl Into<String>) -> Self {
        self.hint = Some(command.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if let Some(command) = &self.hint {
            write!(f, "\n  run: {command}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Self::new(error.to_string()).hint("cargo xtask --help")
    }
}

/// Says which file or program an input/output error is about.
pub(crate) trait About<T> {
    fn about(self, what: impl fmt::Display) -> Result<T>;
}

impl<T> About<T> for std::io::Result<T> {
    fn about(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::new(format!("{what}: {error}")))
    }
}
