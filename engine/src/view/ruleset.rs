//! A loaded ruleset in outline: tables, chains, counts, and what the engine does not emulate.

use serde::{Deserialize, Serialize};

use super::problem::{ProblemView, problem_views};
use super::story::{nft_not_emulated, not_emulated};
use crate::base::PLANES;
use crate::netfilter::table::Chain;
use crate::netfilter::{Verdict, nft};
use crate::netns::Netns;
use crate::packet::Family;
use crate::replay::infer::nft_devices;
use crate::text::diag::Diag;
use crate::text::xt::Ruleset;

/// One chain in outline. Its rules are asked for by window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainView {
    pub name: String,
    /// `ACCEPT` or `DROP`, in small letters for nftables, for a chain on a hook; empty for a user chain.
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

/// What a paste turned out to be: the tables of iptables and nftables, virtual servers, sets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RulesetView {
    /// What there is: `IPv4` or `IPv6` for rules of iptables, `nftables`, `IPVS`.
    pub kinds: Vec<String>,
    pub tables: Vec<TableView>,
    /// Named sets and maps, those of ipset among them.
    pub sets: u32,
    /// Services of IPVS, and the servers behind them.
    pub virtual_servers: u32,
    pub real_servers: u32,
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
        self.tables.is_empty() && self.virtual_servers == 0
    }

    /// Adds what was loaded into `netns` beside iptables.
    pub fn add_node(&mut self, netns: &Netns) {
        self.sets += netns.shared.sets.names().len() as u32;
        if !PLANES {
            return;
        }
        let ruleset = netns.nft();
        if !ruleset.tables.is_empty() {
            self.kinds.push("nftables".to_owned());
        }
        for table in &ruleset.tables {
            self.add_table(table, &ruleset.state);
        }
        for name in nft_devices(ruleset) {
            if self.devices.len() < DEVICES_MAX && !self.devices.contains(&name) {
                self.devices.push(name);
            }
        }
        let ipvs = &netns.ipvs;
        self.virtual_servers = ipvs.services().count() as u32;
        self.real_servers = ipvs.services().map(|(_, service)| service.dests.len() as u32).sum();
        if self.virtual_servers > 0 {
            self.kinds.push("IPVS".to_owned());
        }
    }

    fn add_table(&mut self, table: &nft::Table, state: &nft::NftState) {
        let name = format!("{} {}", table.family.name(), table.name);
        let shown = || table.chains.values().filter(|chain| !chain.anonymous);
        self.sets += table.sets.len() as u32;
        self.rules += table.chains.values().map(|chain| chain.rules.len() as u32).sum::<u32>();
        self.tables.push(TableView {
            name: name.clone(),
            chains: shown().take(CHAINS_MAX).map(nft_chain_view).collect(),
            chain_count: shown().count() as u32,
        });
        if !table.family.is_emulated() {
            // Whole tables: their rules are not looked into.
            let rules = table.chains.values().map(|chain| chain.rules.len() as u32).sum();
            let first_line = table.chains.values().map(|chain| chain.line).min().unwrap_or_default();
            self.not_emulated.push(NotEmulatedView { name: format!("table {name}"), rules, first_line });
            return;
        }
        for chain in table.chains.values() {
            if let Some(hook @ (nft::NftHook::Ingress | nft::NftHook::Egress)) =
                chain.base.as_ref().map(|base| base.hook)
            {
                let (name, rules) = (format!("hook {}", hook.name()), chain.rules.len() as u32);
                self.not_emulated.push(NotEmulatedView { name, rules, first_line: chain.line });
                continue;
            }
            for rule in &chain.rules {
                for name in nft_not_emulated(table, rule, state) {
                    note(&mut self.not_emulated, name, rule.line);
                }
            }
        }
    }
}

/// Counts a part that is not emulated.
fn note(parts: &mut Vec<NotEmulatedView>, name: String, line: u32) {
    match parts.iter_mut().find(|part| part.name == name) {
        Some(part) => part.rules += 1,
        None => parts.push(NotEmulatedView { name, rules: 1, first_line: line }),
    }
}

/// The outline of iptables' part of a ruleset, if it has one, with the messages about the whole `text`.
pub fn ruleset_view(ruleset: Option<&Ruleset>, diags: &[Diag], text: &str) -> RulesetView {
    let mut view = RulesetView {
        lines: text.lines().count() as u32,
        bytes: text.len() as u64,
        problems: problem_views(&diags[..diags.len().min(PROBLEMS_MAX)], text),
        problems_left_out: diags.len().saturating_sub(PROBLEMS_MAX) as u32,
        ..RulesetView::default()
    };
    let Some(ruleset) = ruleset else { return view };
    let tables = ruleset.tables.iter().map(|table| TableView {
        name: table.name.name().to_owned(),
        chains: table.chains.iter().take(CHAINS_MAX).map(chain_view).collect(),
        chain_count: table.chains.len() as u32,
    });
    let mut parts: Vec<NotEmulatedView> = Vec::new();
    let mut devices: Vec<String> = Vec::new();
    for rule in ruleset.tables.iter().flat_map(|table| &table.chains).flat_map(|chain| &chain.rules) {
        for name in not_emulated(rule) {
            note(&mut parts, name, rule.line);
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
    let family = match ruleset.family {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    };
    if !ruleset.tables.is_empty() {
        view.kinds.push(family.to_owned());
    }
    view.tables = tables.collect();
    view.rules = ruleset.rule_count() as u32;
    view.not_emulated = parts;
    view.devices = devices;
    view
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

fn nft_chain_view(chain: &nft::Chain) -> ChainView {
    let policy = chain.base.as_ref().map_or("", |base| match base.policy {
        nft::Policy::Accept => "accept",
        nft::Policy::Drop => "drop",
    });
    ChainView { name: chain.name.to_string(), policy: policy.to_owned(), rules: chain.rules.len() as u32 }
}
