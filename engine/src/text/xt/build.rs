//! [`Ruleset`]: the tables a text describes; and the workbench that commands change one table on.

use std::cell::Cell;
use std::hash::{BuildHasherDefault, DefaultHasher};

use indexmap::IndexMap;

use crate::base::Hook;
use crate::netfilter::rule::Verdict;
use crate::netfilter::table::{Base, Chain, ChainId, Flavour, Table, TableName, TableState};
use crate::netfilter::{Counters, Rule, Target};
use crate::packet::Family;

/// Tables of one family and one flavour, with the counters that came with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruleset {
    pub family: Family,
    pub flavour: Flavour,
    /// In the order they were made.
    pub tables: Vec<Table>,
    /// One for each table.
    pub counters: Vec<TableCounters>,
}

/// Counters of one table's policies and rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCounters {
    /// By [`ChainId`]; zero for user chains.
    pub policies: Vec<Counters>,
    /// By [`ChainId`], then by position.
    pub rules: Vec<Vec<Counters>>,
}

impl TableCounters {
    /// Zero for every chain and rule of `table`.
    pub fn zero(table: &Table) -> Self {
        Self {
            policies: vec![Counters::default(); table.chains.len()],
            rules: table.chains.iter().map(|c| vec![Counters::default(); c.rules.len()]).collect(),
        }
    }

    /// The counters of a running table.
    pub fn of(table: &Table, state: &TableState) -> Self {
        let rules = |c: &Chain| {
            let first = c.first_rule as usize;
            state.rules[first..first + c.rules.len()].to_vec()
        };
        Self { policies: state.chains.clone(), rules: table.chains.iter().map(rules).collect() }
    }
}

impl Ruleset {
    pub const fn new(family: Family, flavour: Flavour) -> Self {
        Self { family, flavour, tables: Vec::new(), counters: Vec::new() }
    }

    pub fn table(&self, name: TableName) -> Option<&Table> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// Rules in all tables.
    pub fn rule_count(&self) -> usize {
        self.tables.iter().flat_map(|t| &t.chains).map(|c| c.rules.len()).sum()
    }

    /// Seals every table ([`Table::seal`]) and returns the states to run with, counters filled in.
    pub fn seal(&mut self, seed: u64) -> Vec<TableState> {
        self.tables
            .iter_mut()
            .zip(&self.counters)
            .map(|(table, counters)| {
                let mut state = table.seal(seed);
                state.chains.copy_from_slice(&counters.policies);
                for (chain, rules) in table.chains.iter().zip(&counters.rules) {
                    let first = chain.first_rule as usize;
                    state.rules[first..first + rules.len()].copy_from_slice(rules);
                }
                state
            })
            .collect()
    }
}

type Names = IndexMap<Box<str>, ChainId, BuildHasherDefault<DefaultHasher>>;

/// One table being changed. Chains keep their ids until [`Workbench::finish`] drops the deleted ones and sorts
/// the rest, so a command may refer to them in between.
#[derive(Debug)]
pub(super) struct Workbench {
    pub table: Table,
    pub counters: TableCounters,
    names: Names,
    /// By [`ChainId`]: rules that jump or go there.
    references: Vec<u32>,
    deleted: Vec<bool>,
    last_found: Cell<ChainId>,
}

impl Workbench {
    pub(super) fn empty(flavour: Flavour, family: Family, name: TableName) -> Self {
        let table = Table::new(flavour, family, name);
        let counters = TableCounters::zero(&table);
        Self::of(table, counters)
    }

    pub(super) fn of(table: Table, counters: TableCounters) -> Self {
        let names =
            table.chains.iter().enumerate().map(|(i, c)| (c.name.clone(), ChainId(i as u32))).collect();
        let mut references = vec![0; table.chains.len()];
        for rule in table.chains.iter().flat_map(|c| &c.rules) {
            if let Some(to) = jumps_to(rule) {
                references[to.0 as usize] += 1;
            }
        }
        let deleted = vec![false; table.chains.len()];
        Self { table, counters, names, references, deleted, last_found: Cell::new(ChainId(0)) }
    }

    pub(super) fn find(&self, name: &str) -> Option<ChainId> {
        // Most rules go to the chain of the rule before.
        let last = self.last_found.get();
        if &*self.table.chain(last).name == name && !self.deleted[last.0 as usize] {
            return Some(last);
        }
        self.names.get(name).copied()
    }

    /// The same for a chain that a rule is added to: the next rule likely asks again.
    pub(super) fn find_again(&self, name: &str) -> Option<ChainId> {
        let id = self.find(name)?;
        self.last_found.set(id);
        Some(id)
    }

    pub(super) fn is_builtin(&self, id: ChainId) -> bool {
        self.table.chain(id).base.is_some()
    }

    pub(super) fn references(&self, id: ChainId) -> u32 {
        self.references[id.0 as usize]
    }

    /// Adds a user chain; the name must be free.
    pub(super) fn add_chain(&mut self, name: &str) -> ChainId {
        debug_assert!(self.find(name).is_none(), "chain {name} exists");
        let id = ChainId(self.table.chains.len() as u32);
        self.table.chains.push(Chain { name: name.into(), base: None, rules: Vec::new(), first_rule: 0 });
        self.counters.policies.push(Counters::default());
        self.counters.rules.push(Vec::new());
        self.names.insert(name.into(), id);
        self.references.push(0);
        self.deleted.push(false);
        id
    }

    /// Drops a user chain, which must be empty and unreferenced.
    pub(super) fn delete_chain(&mut self, id: ChainId) {
        let name = std::mem::take(&mut self.table.chains[id.0 as usize].name);
        self.names.swap_remove(&name);
        self.deleted[id.0 as usize] = true;
    }

    pub(super) fn rename(&mut self, id: ChainId, name: &str) {
        let old = std::mem::replace(&mut self.table.chains[id.0 as usize].name, name.into());
        self.names.swap_remove(&old);
        self.names.insert(name.into(), id);
    }

    pub(super) fn insert(&mut self, id: ChainId, at: usize, rule: Rule, counters: Counters) {
        if let Some(to) = jumps_to(&rule) {
            self.references[to.0 as usize] += 1;
        }
        let chain = id.0 as usize;
        self.table.chains[chain].rules.insert(at, rule);
        self.counters.rules[chain].insert(at, counters);
    }

    pub(super) fn append(&mut self, id: ChainId, rule: Rule, counters: Counters) {
        if let Some(to) = jumps_to(&rule) {
            self.references[to.0 as usize] += 1;
        }
        push(&mut self.table.chains[id.0 as usize].rules, rule);
        push(&mut self.counters.rules[id.0 as usize], counters);
    }

    pub(super) fn remove(&mut self, id: ChainId, at: usize) {
        let rule = self.table.chains[id.0 as usize].rules.remove(at);
        self.counters.rules[id.0 as usize].remove(at);
        self.unreference(&rule);
    }

    pub(super) fn flush(&mut self, id: ChainId) {
        let rules = std::mem::take(&mut self.table.chains[id.0 as usize].rules);
        self.counters.rules[id.0 as usize].clear();
        for rule in &rules {
            self.unreference(rule);
        }
    }

    /// What iptables-restore does without `--noflush`: no rules, no user chains; policies stay.
    pub(super) fn flush_all(&mut self) {
        for id in self.ids() {
            self.flush(id);
        }
        for id in self.ids().filter(|&id| !self.is_builtin(id)).collect::<Vec<_>>() {
            self.delete_chain(id);
        }
    }

    pub(super) fn set_policy(&mut self, id: ChainId, policy: Verdict, counters: Counters) {
        if let Some(base) = &mut self.table.chains[id.0 as usize].base {
            base.policy = policy;
            base.counted = true;
            self.counters.policies[id.0 as usize] = counters;
        }
    }

    /// The chains that are not deleted.
    pub(super) fn ids(&self) -> impl Iterator<Item = ChainId> + use<> {
        let live: Vec<ChainId> =
            (0..self.deleted.len()).filter(|&i| !self.deleted[i]).map(|i| ChainId(i as u32)).collect();
        live.into_iter()
    }

    fn unreference(&mut self, rule: &Rule) {
        if let Some(to) = jumps_to(rule) {
            self.references[to.0 as usize] -= 1;
        }
    }

    /// The table in the order that iptables-save prints: built-in chains in hook order, user chains by name.
    pub(super) fn finish(self) -> (Table, TableCounters) {
        let Self { mut table, mut counters, deleted, .. } = self;
        let mut order: Vec<usize> = (0..table.chains.len()).filter(|&i| !deleted[i]).collect();
        let rank = |c: &Chain| c.base.as_ref().map_or(Hook::ALL.len(), |b: &Base| b.hook as usize);
        let key = |i: usize| (rank(&table.chains[i]), &*table.chains[i].name);
        let sorted = order.len() == table.chains.len() && order.is_sorted_by(|&a, &b| key(a) <= key(b));
        if sorted {
            return (table, counters);
        }
        order.sort_by(|&a, &b| key(a).cmp(&key(b)));
        let mut new_id = vec![ChainId(0); table.chains.len()];
        for (new, &old) in order.iter().enumerate() {
            new_id[old] = ChainId(new as u32);
        }
        let mut old_chains: Vec<Option<Chain>> = table.chains.into_iter().map(Some).collect();
        table.chains = order.iter().filter_map(|&old| old_chains[old].take()).collect();
        counters.policies = order.iter().map(|&old| counters.policies[old]).collect();
        counters.rules = order.iter().map(|&old| std::mem::take(&mut counters.rules[old])).collect();
        for rule in table.chains.iter_mut().flat_map(|c| &mut c.rules) {
            if let Target::Jump(to) | Target::Goto(to) = &mut rule.target {
                *to = new_id[to.0 as usize];
            }
        }
        (table, counters)
    }
}

/// Appends to a list that most often stays at one or two: the first room is for one.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().max(1));
    }
    list.push(item);
}

/// The chain that a rule jumps or goes to.
pub(super) const fn jumps_to(rule: &Rule) -> Option<ChainId> {
    match rule.target {
        Target::Jump(to) | Target::Goto(to) => Some(to),
        Target::None | Target::Accept | Target::Drop | Target::Return | Target::Queue | Target::Ext(_) => {
            None
        }
    }
}
