//! The rules a packet met, out of its trace.

use super::Options;
use super::report::{WalkEntry, WhyEntry};
use crate::base::Hook;
use crate::netfilter::assume::Unknown;
use crate::netns::Netns;
use crate::trace::{RuleRef, Trace, TraceKind};

/// The matched rules, or all of them, each with its tests when asked.
pub(super) fn entries(netns: &Netns, trace: &Trace, options: &Options) -> Vec<WalkEntry> {
    let mut hook = Hook::Prerouting;
    let mut out = Vec::new();
    for event in &trace.events {
        match &event.kind {
            TraceKind::Hook { hook: now } => hook = *now,
            TraceKind::Rule { rule, matched, checks, verdict } if options.all || *matched != Some(false) => {
                let (table, chain) = place(netns, *rule);
                let why = checks.iter().filter(|_| options.why).map(|check| WhyEntry {
                    field: check.field.to_string(),
                    have: check.have.clone(),
                    want: check.want.clone(),
                    pass: check.pass,
                });
                out.push(WalkEntry {
                    hook: hook.name(),
                    table,
                    chain,
                    rule: rule.index + 1,
                    matched: *matched,
                    verdict: verdict.clone(),
                    why: why.collect(),
                });
            }
            _ => {}
        }
    }
    out
}

/// Table and chain of a rule, by name.
pub(super) fn place(netns: &Netns, rule: RuleRef) -> (String, String) {
    if let Some(table) = netns.nft_table(rule.table) {
        let chain = table.chains.get_index(rule.chain as usize).map(|(name, _)| name.to_string());
        return (format!("{} {}", table.family.name(), table.name), chain.unwrap_or_default());
    }
    match netns.tables().get(usize::from(rule.table)) {
        Some(loaded) => (
            loaded.table.name.name().to_owned(),
            loaded.table.chains.get(rule.chain as usize).map_or(String::new(), |c| c.name.to_string()),
        ),
        None => (String::new(), String::new()),
    }
}

/// `-m bpf (filter FORWARD rule 3)`.
pub(super) fn unknown(netns: &Netns, unknown: &Unknown) -> String {
    let (table, chain) = place(netns, unknown.rule);
    format!("{} ({table} {chain} rule {})", unknown.name, unknown.rule.index + 1)
}
