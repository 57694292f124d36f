//! A loaded ruleset in outline: tables, chains, counts, and what the engine does not emulate.

use serde::{Deserialize, Serialize};

use super::problem::ProblemView;

/// One chain in outline. Its rules are asked for by window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainView {
    pub name: String,
    /// `ACCEPT` or `DROP` for a chain on a hook; empty for a user chain.
    pub policy: String,
    pub rules: u32,
}

/// One table in outline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableView {
    pub name: String,
    pub chains: Vec<ChainView>,
}

/// Something that was read and kept, and is not emulated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotEmulatedView {
    /// `match recent`, `target TPROXY`, `option --log-uid`.
    pub name: String,
    /// Rules that use it.
    pub rules: u32,
    /// Line of the first one, counted from 1.
    pub first_line: u32,
}

/// What a paste turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RulesetView {
    /// `IPv4` or `IPv6`.
    pub family: String,
    pub tables: Vec<TableView>,
    /// Rules in all tables.
    pub rules: u32,
    /// Lines of the text.
    pub lines: u32,
    pub bytes: u64,
    pub problems: Vec<ProblemView>,
    /// Problems left out of `problems` because there were too many to show.
    pub problems_left_out: u32,
    pub not_emulated: Vec<NotEmulatedView>,
    /// Device names that rules mention, in order of first mention: suggestions for the packet's device.
    pub devices: Vec<String>,
}

impl RulesetView {
    /// True when nothing in the text can be traced through.
    pub fn is_unusable(&self) -> bool {
        self.tables.is_empty()
    }
}
