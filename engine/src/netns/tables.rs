//! The tables of a namespace: loading them, and what their rules switch on. Those of nftables are in `nft`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::nft::NftTables;

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
    /// When it was first registered, among all tables and chains.
    since: u64,
}

/// All tables, in the order they were first loaded: that of registration.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) loaded: Vec<LoadedTable>,
    pub(super) nft: NftTables,
    /// The private list of the nat dispatcher: its entries are ordered among themselves only.
    pub(super) nat: HookTable,
    pub(super) uncertain: bool,
    /// Number of the next registration.
    next_since: u64,
}

impl Tables {
    pub(super) fn take_since(&mut self) -> u64 {
        self.next_since += 1;
        self.next_since
    }
}

impl Netns {
    /// Loads a sealed table, replacing the one of the same flavour, family and name, which keeps its place among
    /// the hook's users. `state` holds its counters.
    pub fn load(&mut self, table: Table, state: TableState) {
        let mut new = LoadedTable {
            uncertain: table.chains.iter().flat_map(|c| &c.rules).any(|rule| {
                rule.matches.iter().any(|b| matches!(b.m, Match::NotEmulated(_)))
                    || matches!(rule.target, Target::Ext(TargetExt::NotEmulated(_)))
            }),
            sets: set_references(&table),
            tracks: needs_conntrack(&table),
            table: Arc::new(table),
            state,
            since: 0,
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
            Some(at) => {
                let old = &mut self.tables.loaded[usize::from(at)];
                new.since = old.since;
                *old = new;
            }
            None => {
                new.since = self.tables.take_since();
                self.tables.loaded.push(new);
            }
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
        self.tables.nft.tracks(family)
            || self.tables.loaded.iter().any(|t| t.table.family == family && t.tracks)
    }

    /// Registers everyone anew (`nf_register_net_hooks` by the tables and chains, `nf_ct_netns_get` by the rules).
    pub(super) fn register_hooks(&mut self) {
        self.tables.uncertain = self.tables.nft.uncertain() || self.tables.loaded.iter().any(|t| t.uncertain);
        let mut wanted: Vec<(u64, bool, Registration)> = Vec::new();
        for (at, loaded) in self.tables.loaded.iter().enumerate() {
            let table = &loaded.table;
            for base in table.chains.iter().filter_map(|c| c.base.as_ref()) {
                let priority = table.name.priority_of(table.flavour, base.hook);
                let user = HookUser::Table(at as u16);
                let new = Registration { hook: base.hook, family: table.family, priority, user };
                wanted.push((loaded.since, table.name == TableName::Nat, new));
            }
        }
        self.tables.nft.registrations(&mut wanted);
        wanted.sort_by_key(|(since, ..)| *since);
        let mut hooks = HookTable::default();
        let mut nat = HookTable::default();
        for (_, is_nat, new) in wanted {
            if !is_nat {
                hooks.register(new);
                continue;
            }
            nat.register(new);
            // The first of a family brings the dispatcher, at all its hooks (`nf_nat_register_fn`).
            for &hook in TableName::Nat.hooks() {
                let priority = TableName::Nat.priority(hook);
                hooks.register(Registration { hook, priority, user: HookUser::Nat, ..new });
            }
        }
        self.tables.nat = nat;
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
        self.register_ipvs(&mut hooks);
        self.hooks = hooks;
    }

    /// IPVS registers with the first service of a family (`ip_vs_register_hooks`).
    fn register_ipvs(&self, hooks: &mut HookTable) {
        for family in [Family::V4, Family::V6].into_iter().filter(|family| self.ipvs.enabled(*family)) {
            for (hook, priority, user) in [
                (Hook::Input, Priority::IPVS_REPLY, HookUser::IpvsReply),
                (Hook::Input, Priority::IPVS_REQUEST, HookUser::IpvsRequest),
                (Hook::Output, Priority::IPVS_LOCAL_REPLY, HookUser::IpvsReply),
                (Hook::Output, Priority::IPVS_LOCAL_REQUEST, HookUser::IpvsRequest),
                (Hook::Forward, Priority::IPVS_FORWARD_ICMP, HookUser::IpvsForwardIcmp),
                (Hook::Forward, Priority::IPVS_FORWARD_REPLY, HookUser::IpvsReply),
            ] {
                hooks.register(Registration { hook, family, priority, user });
            }
        }
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
