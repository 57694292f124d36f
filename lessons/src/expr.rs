//! The small language of references (`{{call.packets[0].emitted[0].dst}}`) and of the conditions
//! under which an option, a task or a claim holds.
//!
//! Owns its grammar and its evaluation over the facts of runs (JSON values). It does not run
//! anything: facts come from [`crate::facts`].
//!
//! ```text
//! expr  = and { "or" and }              and  = not { "and" not }       not = "not" not | cmp
//! cmp   = sum [ op sum ]                op   = == != < <= > >=         sum = prod { (+ | -) prod }
//! prod  = unary { (* | /) unary }       unary = "-" unary | post       post = atom { .name | [expr] }
//! atom  = number | 'text' | true | false | null | name | name "(" [ expr { "," expr } ] ")" | "(" expr ")"
//! ```

mod eval;
mod functions;
mod parse;

use std::collections::BTreeMap;

use serde_json::Value;

pub use functions::FUNCTIONS;

/// What the runs of a lesson produced, by run id.
pub type Facts = BTreeMap<String, Value>;

/// Why an expression could not be read or has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprError {
    /// Byte offset in the expression, where known.
    pub at: Option<usize>,
    pub message: String,
}

impl ExprError {
    fn new(at: Option<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl std::fmt::Display for ExprError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.at {
            Some(at) => write!(f, "{} (at character {})", self.message, at + 1),
            None => f.write_str(&self.message),
        }
    }
}

/// The value of `source` over `facts`.
///
/// # Errors
/// A syntax error, a name no run has, a missing member, or operands that do not fit.
pub fn value(source: &str, facts: &Facts) -> Result<Value, ExprError> {
    eval::eval(&parse::parse(source)?, facts)
}

/// Whether `source` holds over `facts`; anything but a boolean is an error.
///
/// # Errors
/// As [`value`], and when the value is not a boolean.
pub fn holds(source: &str, facts: &Facts) -> Result<bool, ExprError> {
    match value(source, facts)? {
        Value::Bool(yes) => Ok(yes),
        other => Err(ExprError::new(None, format!("expected true or false, got {}", text(&other)))),
    }
}

/// How a value reads in prose: text as it is, whole numbers without a point, the rest as JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Number(n) => match n.as_f64() {
            Some(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
            _ => n.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The names of runs an expression reads, in order of appearance.
///
/// # Errors
/// A syntax error.
pub fn runs_read(source: &str) -> Result<Vec<String>, ExprError> {
    let mut names = Vec::new();
    parse::parse(source)?.names(&mut names);
    Ok(names)
}

#[cfg(test)]
mod tests;
