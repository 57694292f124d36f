//! The nftables ruleset of a namespace: loading it, what its base chains register, what its rules switch on.

use std::collections::BTreeMap;

use super::Netns;
use crate::base::PLANES;
use crate::conntrack::Knob;
use crate::netfilter::HookUser;
use crate::netfilter::hook::Registration;
use crate::netfilter::nft::eval::TABLE_BASE;
use crate::netfilter::nft::{ChainKind, CtKey, Expr, NftHook, ObjectKind, Ruleset, Statement, Table};
use crate::packet::Family;

/// A base chain by the handles of its table and of itself: one made anew is another.
type BaseChain = (u64, u64);

/// The ruleset, and what follows from its rules.
#[derive(Clone, Debug, Default)]
pub(super) struct NftTables {
    pub(super) ruleset: Ruleset,
    /// When each base chain was registered.
    since: BTreeMap<BaseChain, u64>,
    tracks: [bool; 2],
    uncertain: bool,
}

impl NftTables {
    pub(super) const fn tracks(&self, family: Family) -> bool {
        self.tracks[family as usize]
    }

    pub(super) const fn uncertain(&self) -> bool {
        self.uncertain
    }

    /// What the base chains register: when, whether with the nat dispatcher, and where.
    pub(super) fn registrations(&self, wanted: &mut Vec<(u64, bool, Registration)>) {
        for (number, table) in self.ruleset.tables.iter().enumerate() {
            if table.dormant {
                continue;
            }
            for (at, chain) in table.chains.values().enumerate() {
                let Some(base) = &chain.base else { continue };
                let NftHook::Inet(hook) = base.hook else { continue };
                let since = self.since.get(&(table.handle, chain.handle)).copied().unwrap_or(u64::MAX);
                let user = HookUser::Nft { table: TABLE_BASE + number as u16, chain: at as u32 };
                for family in [Family::V4, Family::V6].into_iter().filter(|f| table.family.sees(*f)) {
                    let new = Registration { hook, family, priority: base.priority, user };
                    wanted.push((since, base.kind == ChainKind::Nat, new));
                }
            }
        }
    }
}

impl Netns {
    /// The nftables ruleset and its state.
    pub const fn nft(&self) -> &Ruleset {
        &self.tables.nft.ruleset
    }

    /// A table of nftables by its number in traces.
    pub fn nft_table(&self, number: u16) -> Option<&Table> {
        let at = number.checked_sub(TABLE_BASE).filter(|_| PLANES)?;
        self.tables.nft.ruleset.tables.get(usize::from(at)).map(|t| &**t)
    }

    /// Puts a changed ruleset in the place of the present one. Base chains that stay keep their place among the users
    /// of a hook; new ones run before others of their priority.
    pub fn set_nft(&mut self, ruleset: Ruleset) {
        let mut since = BTreeMap::new();
        for table in ruleset.tables.iter().filter(|t| !t.dormant) {
            for (chain, _) in table.base_chains() {
                let key = (table.handle, chain.handle);
                let known = self.tables.nft.since.get(&key).copied();
                since.insert(key, known.unwrap_or_else(|| self.tables.take_since()));
            }
        }
        let statements = || {
            let tables = ruleset.tables.iter().filter(|t| t.family.is_emulated());
            tables.flat_map(|t| t.chains.values().flat_map(|c| &c.rules).map(move |r| (t, r)))
        };
        let mut tracks = [false; 2];
        let (mut uncertain, mut counts) = (false, false);
        for (table, rule) in statements() {
            for statement in &rule.statements {
                uncertain |= statement.may_be_unknown();
                counts |= needs_accounting(statement);
                if needs_conntrack(statement) {
                    tracks[Family::V4 as usize] |= table.family.sees(Family::V4);
                    tracks[Family::V6 as usize] |= table.family.sees(Family::V6);
                }
            }
        }
        // nft_ct.c: `nf_ct_set_acct`.
        if counts {
            self.ct.config.put(Knob::Acct, 1);
        }
        self.tables.nft = super::nft::NftTables { ruleset, since, tracks, uncertain };
        self.register_hooks();
    }
}

/// Whether the expression takes a reference on connection tracking (`nf_ct_netns_get`).
fn reads_conntrack(expr: &Expr) -> bool {
    matches!(expr, Expr::Ct { .. })
}

fn needs_conntrack(statement: &Statement) -> bool {
    let mut needs = false;
    statement.visit(&mut |expr| needs |= reads_conntrack(expr));
    needs
        || match statement {
            Statement::Nat(_) | Statement::CtCount { .. } | Statement::CtSet { .. } => true,
            Statement::Object { kind, .. } => {
                matches!(kind, ObjectKind::CtHelper | ObjectKind::CtTimeout | ObjectKind::CtExpectation)
            }
            Statement::SetElement { with, .. } => with.iter().any(needs_conntrack),
            _ => false,
        }
}

fn needs_accounting(statement: &Statement) -> bool {
    let mut needs = false;
    statement.visit(&mut |expr| {
        needs |= matches!(expr, Expr::Ct { key: CtKey::Packets | CtKey::Bytes | CtKey::AvgPkt, .. });
    });
    needs
}

#[cfg(test)]
mod tests;
