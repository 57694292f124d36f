//! Tables, chains, rules, and the whole ruleset of a namespace.

use std::sync::Arc;

use indexmap::IndexMap;

use super::object::{Object, ObjectKind};
use super::set::Set;
use super::state::NftState;
use super::stmt::Statement;
use crate::base::Hook;
use crate::base::hook::Priority;
use crate::packet::Family;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableFamily {
    Ip,
    Ip6,
    Inet,
    Arp,
    Bridge,
    Netdev,
}

impl TableFamily {
    pub const ALL: [Self; 6] = [Self::Ip, Self::Ip6, Self::Inet, Self::Arp, Self::Bridge, Self::Netdev];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Ip6 => "ip6",
            Self::Inet => "inet",
            Self::Arp => "arp",
            Self::Bridge => "bridge",
            Self::Netdev => "netdev",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Whether packets run through its chains here. The others are kept and printed.
    pub const fn is_emulated(self) -> bool {
        matches!(self, Self::Ip | Self::Ip6 | Self::Inet)
    }

    /// Whether its chains see packets of `family`.
    pub const fn sees(self, family: Family) -> bool {
        match self {
            Self::Ip => matches!(family, Family::V4),
            Self::Ip6 => matches!(family, Family::V6),
            Self::Inet => true,
            Self::Arp | Self::Bridge | Self::Netdev => false,
        }
    }
}

/// Hooks a base chain may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NftHook {
    Inet(Hook),
    /// Not emulated, as all that hangs on a device.
    Ingress,
    Egress,
}

impl NftHook {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inet(hook) => hook.name(),
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "ingress" => Some(Self::Ingress),
            "egress" => Some(Self::Egress),
            _ => Hook::ALL.into_iter().find(|h| h.name() == name).map(Self::Inet),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainKind {
    Filter,
    /// Asked about the first packet of a connection only.
    Nat,
    /// At OUTPUT: routes anew what was changed.
    Route,
}

impl ChainKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Nat => "nat",
            Self::Route => "route",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Accept,
    Drop,
}

/// What makes a chain a base chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    pub kind: ChainKind,
    pub hook: NftHook,
    pub priority: Priority,
    pub policy: Policy,
    pub devices: Vec<Box<str>>,
    /// `flags offload`.
    pub offload: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    pub name: Arc<str>,
    pub handle: u64,
    pub base: Option<Base>,
    pub rules: Vec<Rule>,
    pub comment: Option<Box<str>>,
    /// Written in place behind a jump or goto; printed there and nowhere else.
    pub anonymous: bool,
    /// Line of the text it was read from, from 1; zero when made otherwise.
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub handle: u64,
    pub statements: Vec<Statement>,
    pub comment: Option<Box<str>>,
    /// Line of the text it was read from, from 1; zero when made otherwise.
    pub line: u32,
}

/// A table. Objects of each kind keep the order they were made in.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub family: TableFamily,
    pub name: Arc<str>,
    pub handle: u64,
    /// `flags dormant`: its base chains are not registered.
    pub dormant: bool,
    pub comment: Option<Box<str>>,
    pub chains: IndexMap<Arc<str>, Chain>,
    pub sets: IndexMap<Arc<str>, Set>,
    pub objects: IndexMap<(ObjectKind, Arc<str>), Object>,
    /// Kept as printed, not emulated: name and the lines between its braces.
    pub flowtables: IndexMap<Arc<str>, Vec<Box<str>>>,
    /// Handle of the next thing made in it.
    pub next_handle: u64,
}

impl Table {
    pub fn new(family: TableFamily, name: Arc<str>, handle: u64) -> Self {
        Self {
            family,
            name,
            handle,
            dormant: false,
            comment: None,
            chains: IndexMap::new(),
            sets: IndexMap::new(),
            objects: IndexMap::new(),
            flowtables: IndexMap::new(),
            next_handle: 1,
        }
    }

    /// The next handle of this table (`nf_tables_alloc_handle`): one sequence for chains, rules, sets and objects,
    /// anonymous ones included.
    pub fn take_handle(&mut self) -> u64 {
        let handle = self.next_handle;
        self.next_handle += 1;
        handle
    }

    /// Base chains, in the order they were made.
    pub fn base_chains(&self) -> impl Iterator<Item = (&Chain, &Base)> {
        self.chains.values().filter_map(|chain| Some((chain, chain.base.as_ref()?)))
    }
}

/// The ruleset of a namespace: programs, and the state beside them.
#[derive(Clone, Debug, Default)]
pub struct Ruleset {
    /// In the order they were made. Shared between copies of a namespace.
    pub tables: Vec<Arc<Table>>,
    pub state: NftState,
    /// Handle of the last table made.
    pub last_table_handle: u64,
}

impl Ruleset {
    pub fn find(&self, family: TableFamily, name: &str) -> Option<usize> {
        self.tables.iter().position(|t| t.family == family && &*t.name == name)
    }

    pub fn table(&self, family: TableFamily, name: &str) -> Option<&Table> {
        self.find(family, name).map(|at| &*self.tables[at])
    }
}
