//! A loaded ruleset in outline: tables, chains, counts, and what the engine does not emulate.

use serde::{Deserialize, Serialize};

use super::problem::{ProblemView, problem_views};
use super::story::not_emulated;
use crate::netfilter::Verdict;
use crate::netfilter::table::Chain;
use crate::packet::Family;
use crate::text::diag::Diag;
use crate::text::xt::Ruleset;

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
    /// The chains on hooks, then the first of the others: a large ruleset has 70,000.
    pub chains: Vec<ChainView>,
    /// All chains of the table.
    pub chain_count: u32,
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

/// The outline of a ruleset that was read from `text`.
pub fn ruleset_view(ruleset: &Ruleset, diags: &[Diag], text: &str) -> RulesetView {
    let tables = ruleset.tables.iter().map(|table| TableView {
        name: table.name.name().to_owned(),
        chains: table.chains.iter().take(CHAINS_MAX).map(chain_view).collect(),
        chain_count: table.chains.len() as u32,
    });
    let mut parts: Vec<NotEmulatedView> = Vec::new();
    let mut devices: Vec<String> = Vec::new();
    for rule in ruleset.tables.iter().flat_map(|table| &table.chains).flat_map(|chain| &chain.rules) {
        for name in not_emulated(rule) {
            match parts.iter_mut().find(|part| part.name == name) {
                Some(part) => part.rules += 1,
                None => parts.push(NotEmulatedView { name, rules: 1, first_line: rule.line }),
            }
        }
        for test in [&rule.head.in_dev, &rule.head.out_dev].into_iter().flatten() {
            let name = &test.value.name;
            if !test.value.prefix
                && devices.len() < DEVICES_MAX
                && devices.iter().all(|known| **known != **name)
            {
                devices.push(name.to_string());
            }
        }
    }
    RulesetView {
        family: match ruleset.family {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
        .to_owned(),
        tables: tables.collect(),
        rules: ruleset.rule_count() as u32,
        lines: text.lines().count() as u32,
        bytes: text.len() as u64,
        problems: problem_views(&diags[..diags.len().min(PROBLEMS_MAX)], text),
        problems_left_out: diags.len().saturating_sub(PROBLEMS_MAX) as u32,
        not_emulated: parts,
        devices,
    }
}

/// Chains listed for a table.
const CHAINS_MAX: usize = 200;

/// Problems shown; who sees this many reads the first ones.
const PROBLEMS_MAX: usize = 50;

/// Device names offered.
const DEVICES_MAX: usize = 64;

fn chain_view(chain: &Chain) -> ChainView {
    let policy = chain.base.as_ref().map_or("", |base| match base.policy {
        Verdict::Accept => "ACCEPT",
        Verdict::Drop(_) | Verdict::Reject(_) | Verdict::Queue | Verdict::Stolen => "DROP",
    });
    ChainView { name: chain.name.to_string(), policy: policy.to_owned(), rules: chain.rules.len() as u32 }
}
