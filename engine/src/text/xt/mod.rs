//! iptables-save and iptables-restore text, and the iptables commands (1.8.9, legacy and nft).
//!
//! Reading goes line by line: `repair` makes a line of what people paste, `words` splits it, `spec` reads the
//! words of one command or rule, `build` applies it to the tables, `check` makes the tests that the kernel makes
//! when a table is committed. `save` prints. What a match or target accepts and prints is its own affair
//! (`netfilter::xt`); nothing here knows an extension by name, except where the kernel ties a target to a table.
//!
//! Mirrors `iptables/iptables-restore.c`, `iptables/xshared.c` and the `xtables_*` of iptables 1.8.9.

mod addr;
mod apply;
mod build;
mod check;
mod command;
mod fault;
mod guess;
mod known;
mod lines;
mod list;
mod listing;
mod parse;
mod protocols;
mod reader;
mod registry;
mod repair;
mod restore;
mod save;
mod shell;
mod spec;
mod words;

pub use build::{Ruleset, TableCounters};
pub use command::command;
pub use parse::{ParseOptions, parse, parse_with};
pub use restore::{CliError, RestoreFailure, RestoreOptions, restore};
pub use save::{SaveOptions, rule_text, save};

#[cfg(test)]
mod tests;
