//! `iptables-restore`: tables in, tables out, and what the tool prints when it refuses.

use super::build::Ruleset;
use super::fault::Class;
use super::parse::{ParseOptions, read};
use super::spec;
use crate::netfilter::table::Flavour;
use crate::packet::Family;

/// A command that ended in failure, as a shell sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliError {
    /// What stands on standard error, newline at the end.
    pub message: String,
    pub exit_code: u8,
}

/// What an iptables-restore that failed left behind: the tables committed before.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreFailure {
    pub ruleset: Ruleset,
    pub error: CliError,
}

/// How iptables-restore is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreOptions {
    pub family: Family,
    pub flavour: Flavour,
    /// `-c`
    pub counters: bool,
    /// `-n`
    pub noflush: bool,
}

/// Runs `text` through iptables-restore on the tables of `base`. Each `COMMIT` takes effect on its own.
pub fn restore(text: &str, base: &Ruleset, options: RestoreOptions) -> Result<Ruleset, Box<RestoreFailure>> {
    let RestoreOptions { family, flavour, counters, noflush } = options;
    let options = ParseOptions {
        family: Some(family),
        flavour: Some(flavour),
        ignore_counters: !counters,
        strict: true,
        base: Some(base),
        noflush,
    };
    let outcome = read(text, &options, &mut |_, _| true);
    let Some((line, fault)) = outcome.fault else {
        let Some(refused) = outcome.diags.iter().find(|d| d.severity == crate::text::diag::Severity::Error)
        else {
            return Ok(outcome.ruleset);
        };
        let error = CliError { message: format!("{}\n", refused.message), exit_code: 2 };
        return Err(Box::new(RestoreFailure { ruleset: outcome.ruleset, error }));
    };
    let tool = spec::restore_name(flavour, family);
    let version = match flavour {
        Flavour::Legacy => "v1.8.9 (legacy)",
        Flavour::Nft => "v1.8.9 (nf_tables)",
    };
    let usage =
        format!("Error occurred at line: {line}\nTry `{tool} -h' or '{tool} --help' for more information.\n");
    let message = &fault.message;
    let (message, exit_code) = match fault.class {
        Class::Parameter => (format!("{tool} {version}: {message}\n{usage}"), 2),
        Class::Bare => (format!("{message}\n{usage}"), 2),
        Class::Other => (format!("{tool} {version}: {message}\n"), 1),
        Class::Failed => (format!("{tool}: {message}\n"), 1),
        Class::Kernel => match flavour {
            Flavour::Legacy => (format!("{tool}: {message}\n"), 1),
            Flavour::Nft => (format!("{tool} {version}: \n{message}\n"), 4),
        },
    };
    Err(Box::new(RestoreFailure { ruleset: outcome.ruleset, error: CliError { message, exit_code } }))
}
