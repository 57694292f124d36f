//! The `nft` command, version 1.0.6: its language read and printed.
//!
//! A text is split into words (`lex`), read into commands (`read/command`), and the commands are applied to a copy of the
//! ruleset (`apply`), where rules and elements are read in the context of their table (`read/rule`, `read/elements`). The
//! copy replaces the ruleset if every command went through and the kernel's checks pass (`check`). What is read is brought
//! into the form that listings have (`read/lower`), so that `print` prints what it is given.
//!
//! Not emulated, and refused by name: `include`, `monitor`, `get element`, tables with an owner. Kept, printed, and named
//! as not emulated where a packet meets them: [`crate::netfilter::nft::Statement::not_emulated`].

mod apply;
mod check;
mod fault;
mod lex;
mod monitor;
mod print;
mod priority;
mod read;
mod symbols;

#[cfg(test)]
mod tests;

pub use monitor::trace;
pub use print::{ListOptions, list_ruleset, rule_halves, rule_text, statements_text};

use crate::base::Instant;
use crate::base::limits::RULESET_BYTES_MAX;
use crate::netfilter::nft::Ruleset;
use crate::text::diag::{Diag, Place};
use crate::text::xt::CliError;
use fault::Fault;

/// Why a text is refused: nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub diag: Diag,
    /// As the tool prints it, with the line and marks below.
    pub error: CliError,
}

/// Runs a text as `nft -f` does, all of it or nothing. What its `list` commands print.
pub fn run(
    ruleset: &mut Ruleset,
    text: &str,
    now: Instant,
    options: ListOptions,
) -> Result<String, Box<Refusal>> {
    let refuse = |fault: Fault| {
        let message = fault.framed("/dev/stdin", text);
        Box::new(Refusal { diag: fault.diag(), error: CliError { message, exit_code: 1 } })
    };
    if text.len() > RULESET_BYTES_MAX {
        let message = format!("the text is longer than {RULESET_BYTES_MAX} bytes");
        return Err(refuse(Fault::at(Place { line: 1, column: 1, len: 0 }, message)));
    }
    let tokens = lex::lex(text).map_err(refuse)?;
    let ops = read::command::read(&tokens).map_err(refuse)?;
    let done = apply::run(&tokens, &ops, ruleset, now, options).map_err(refuse)?;
    *ruleset = done.ruleset;
    Ok(done.printed)
}

/// Reads a listing or a list of commands into an empty ruleset.
pub fn parse(text: &str) -> Result<Ruleset, Box<Refusal>> {
    let mut ruleset = Ruleset::default();
    run(&mut ruleset, text, Instant::ZERO, ListOptions::default())?;
    Ok(ruleset)
}
