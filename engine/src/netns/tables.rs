//! The tables of a namespace: loading them, and what their rules switch on.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Netns;
use crate::base::Hook;
use crate::base::hook::Priority;
use crate::conntrack::Knob;
use crate::netfilter::hook::Registration;
use crate::netfilter::rule::Target;
use crate::netfilter::xt::{Match, TargetExt};
use crate::netfilter::{Flavour, HookTable, HookUser, Table, TableName, TableState};
use crate::packet::Family;

/// A loaded table: its program, shared between copies of the namespace, and its counters.
#[derive(Clone, Debug)]
pub struct LoadedTable {
    pub table: Arc<Table>,
    pub state: TableState,
    /// A rule has a part that is not emulated.
    pub(super) uncertain: bool,
    /// IP sets that rules refer to, and how often.
    sets: BTreeMap<Box<str>, u32>,
    tracks: bool,
}

/// All tables, in the order they were first loaded: that of registration.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) loaded: Vec<LoadedTable>,
    /// The private list of the nat dispatcher, by family.
    pub(super) nat: [Vec<u16>; 2],
    pub(super) uncertain: bool,
}

impl Netns {
    /// Loads a sealed table, replacing the one of the same flavour, family and name, which keeps its place among
    /// the hook's users. `state` holds its counters.
    pub fn load(&mut self, table: Table, state: TableState) {
        let new = LoadedTable {
            uncertain: table.chains.iter().flat_map(|c| &c.rules).any(|rule| {
                rule.matches.iter().any(|b| matches!(b.m, Match::NotEmulated(_)))
                    || matches!(rule.target, Target::Ext(TargetExt::NotEmulated(_)))
            }),
            sets: set_references(&table),
            tracks: needs_conntrack(&table),
            table: Arc::new(table),
            state,
        };
        // xt_connbytes.c: "Forcing CT accounting to be enabled".
        if new
            .table
            .chains
            .iter()
            .flat_map(|c| &c.rules)
            .flat_map(|r| &r.matches)
            .any(|b| b.m.needs_accounting())
        {
            self.ct.config.put(Knob::Acct, 1);
        }
        let loaded = Arc::clone(&new.table);
        match self.find(new.table.flavour, new.table.family, new.table.name) {
            // The kernel swaps the rules of a registered table, so it keeps its place.
            Some(at) => self.tables.loaded[usize::from(at)] = new,
            None => self.tables.loaded.push(new),
        }
        self.shared.follow(&loaded, self.tables.loaded.iter().map(|t| &*t.table));
        self.register_hooks();
    }

    /// Loads a table that is made anew, as `iptables-nft-restore` does with every table it names: its chains
    /// are registered again, and run before others of their priority.
    pub fn load_anew(&mut self, table: Table, state: TableState) {
        if let Some(at) = self.find(table.flavour, table.family, table.name) {
            self.tables.loaded.remove(usize::from(at));
        }
        self.load(table, state);
    }

    /// Whether some rule may be unable to answer: a part is not emulated, or asks about a set nobody loaded.
    pub(super) fn uncertain(&self) -> bool {
        let lacks = |name: &str| self.shared.sets.get(name).is_none();
        self.tables.uncertain || self.tables.loaded.iter().any(|t| t.sets.keys().any(|name| lacks(name)))
    }

    /// How many rules refer to an IP set.
    pub fn set_references(&self, name: &str) -> u32 {
        self.tables.loaded.iter().filter_map(|t| t.sets.get(name)).sum()
    }

    /// Index of a table in the namespace.
    pub fn find(&self, flavour: Flavour, family: Family, name: TableName) -> Option<u16> {
        let same =
            |t: &LoadedTable| (t.table.flavour, t.table.family, t.table.name) == (flavour, family, name);
        self.tables.loaded.iter().position(same).map(|at| at as u16)
    }

    /// The loaded tables, in order of registration; traces name them by their position.
    pub fn tables(&self) -> &[LoadedTable] {
        &self.tables.loaded
    }

    /// Whether connections of a family are tracked.
    pub fn tracks(&self, family: Family) -> bool {
        self.tables.loaded.iter().any(|t| t.table.family == family && t.tracks)
    }

    /// Registers everyone anew (`nf_register_net_hooks` by the tables, `nf_ct_netns_get` by the rules).
    fn register_hooks(&mut self) {
        let mut hooks = HookTable::default();
        self.tables.nat = [Vec::new(), Vec::new()];
        self.tables.uncertain = self.tables.loaded.iter().any(|t| t.uncertain);
        for (at, loaded) in self.tables.loaded.iter().enumerate() {
            let table = &loaded.table;
            let user = match table.name {
                TableName::Nat => {
                    // The dispatcher's list is ordered as hooks are: the newest first.
                    self.tables.nat[table.family as usize].insert(0, at as u16);
                    HookUser::Nat
                }
                TableName::Raw | TableName::Mangle | TableName::Filter | TableName::Security => {
                    HookUser::Table(at as u16)
                }
            };
            for base in table.chains.iter().filter_map(|c| c.base.as_ref()) {
                let priority = table.name.priority(base.hook);
                hooks.register(Registration { hook: base.hook, family: table.family, priority, user });
            }
        }
        for family in [Family::V4, Family::V6] {
            let tracks = self.tracks(family);
            self.ct.set_enabled(family, tracks);
            if !tracks {
                continue;
            }
            let mut add =
                |hook, priority, user| hooks.register(Registration { hook, family, priority, user });
            for hook in [Hook::Prerouting, Hook::Output] {
                add(hook, Priority::CONNTRACK_DEFRAG, HookUser::Defrag);
                add(hook, Priority::CONNTRACK, HookUser::Conntrack);
            }
            for hook in [Hook::Input, Hook::Postrouting] {
                add(hook, Priority::CONNTRACK_CONFIRM, HookUser::Confirm);
            }
        }
        self.hooks = hooks;
    }
}

fn set_references(table: &Table) -> BTreeMap<Box<str>, u32> {
    let mut sets = BTreeMap::new();
    let mut refer = |name: &str| *sets.entry(name.into()).or_default() += 1;
    for rule in table.chains.iter().flat_map(|c| &c.rules) {
        rule.matches.iter().filter_map(|b| b.m.set_name()).for_each(&mut refer);
        if let Target::Ext(target) = &rule.target {
            target.set_names().into_iter().flatten().for_each(&mut refer);
        }
    }
    sets
}

/// Matches whose `checkentry` takes a reference on connection tracking (`nf_ct_netns_get`).
const TRACKING_MATCHES: &[&str] =
    &["conntrack", "state", "connmark", "connbytes", "connlimit", "connlabel", "helper", "cluster"];
/// Targets that do; `CT --notrack` is the exception.
const TRACKING_TARGETS: &[&str] = &[
    "DNAT",
    "SNAT",
    "MASQUERADE",
    "REDIRECT",
    "NETMAP",
    "CONNMARK",
    "CONNSECMARK",
    "CT",
    "SYNPROXY",
    "CLUSTERIP",
];

/// An empty nat table does not switch conntrack on; the first rule that needs it does.
fn needs_conntrack(table: &Table) -> bool {
    table.chains.iter().flat_map(|c| &c.rules).any(|rule| {
        rule.matches.iter().any(|b| TRACKING_MATCHES.contains(&b.m.name()))
            || match &rule.target {
                Target::Ext(target) => {
                    let mut text = String::new();
                    if target.name() == "CT" {
                        target.save(&mut text);
                    }
                    TRACKING_TARGETS.contains(&target.name()) && !text.contains("--notrack")
                }
                Target::None
                | Target::Accept
                | Target::Drop
                | Target::Return
                | Target::Queue
                | Target::Jump(_)
                | Target::Goto(_) => false,
            }
    })
}
