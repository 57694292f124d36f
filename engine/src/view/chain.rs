//! Rules of a chain as a reader sees them, a window at a time.
//!
//! Owns: rule rows, the checks of each match with both values, and windows over long chains. A chain of
//! 20,000 rules is never sent whole: the page asks for the rows it can show.

use serde::{Deserialize, Serialize};

/// Names one rule of the loaded ruleset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RuleRef {
    pub table: String,
    pub chain: String,
    /// Counted from 1, as `iptables -L --line-numbers` does.
    pub number: u32,
}

/// What a visit did with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleFate {
    /// The walk ended before this rule.
    NotReached,
    /// Evaluated; a match said no.
    Passed,
    /// Evaluated; all matches said yes.
    Matched,
    /// Evaluated; a part that is not emulated decides it.
    Uncertain,
}

/// One match of a rule against the packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckView {
    /// The match as written: `-d 10.96.0.1/32`, `--ctstate RELATED,ESTABLISHED`, `ip daddr @blocked`.
    pub text: String,
    /// What is compared: `destination`, `connection state`.
    pub field: String,
    /// The packet's value.
    pub have: String,
    /// The wanted value.
    pub want: String,
    /// The element of a set or map that holds the packet's value, with what it maps to; empty where none was found.
    pub found: String,
    /// `None` when it was not asked (an earlier match said no) or is not emulated.
    pub pass: Option<bool>,
    /// The name to show as *not emulated: NAME*.
    pub not_emulated: Option<String>,
}

/// One rule as a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRow {
    /// Counted from 1.
    pub number: u32,
    /// The rule's tests in the tool's words; empty when it has none.
    pub text: String,
    /// What it does when they pass: `-j ACCEPT`, `counter accept`; empty when it only counts.
    pub target: String,
    /// The comment of an nftables rule; iptables has it among the tests.
    pub comment: String,
    /// Whether it counts: a rule of nftables does so only where it says `counter`.
    pub counts: bool,
    /// Counters at the time of asking.
    pub packets: u64,
    pub bytes: u64,
    /// Line of the pasted text, counted from 1; 0 when the rule came from elsewhere.
    pub line: u32,
    pub fate: RuleFate,
    /// Empty for a rule that was not reached.
    pub checks: Vec<CheckView>,
    /// Parts of the rule that are kept but not emulated.
    pub not_emulated: Vec<String>,
}

/// Rows `from .. from + rows.len()` (counted from 0) of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuleWindow {
    pub from: u32,
    /// Rules in the whole chain.
    pub total: u32,
    pub rows: Vec<RuleRow>,
}
