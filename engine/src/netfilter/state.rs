//! What stateful matches remember: per rule ([`RuleState`]) and per namespace ([`Shared`]).

use std::collections::{BTreeMap, BTreeSet};

use super::Counters;
use super::set::Sets;
use super::table::Table;
use super::xt::{CountedConnections, HashlimitTables, Match, RecentLists};
use crate::base::{Draws, Rng};

/// A slot of [`super::TableState::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(pub u32);

/// State that belongs to one match of one rule and is lost when the rule is replaced.
#[derive(Clone, Debug)]
pub enum RuleState {
    /// `statistic --mode random`: the rule's own stream of draws.
    Random(Rng),
    /// `statistic --mode nth`: `nth.count` of `xt_statistic`.
    Nth {
        count: u32,
    },
    /// `limit`: credit left and the jiffy it was reckoned at.
    Limit {
        credit: u32,
        seen_jiffies: u64,
    },
    Quota {
        left_bytes: u64,
    },
    Connlimit(Box<CountedConnections>),
}

/// State that rules of one namespace share by name.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The scenario's seed.
    pub seed: u64,
    pub draws: Draws,
    /// Lists of `-m recent`.
    pub recent: RecentLists,
    /// Buckets of `-m hashlimit`.
    pub hashlimit: HashlimitTables,
    /// Sets of ipset.
    pub sets: Sets,
    /// Objects of `-m nfacct`, by name.
    pub acct: BTreeMap<Box<str>, Counters>,
}

impl Shared {
    /// Follows a change of the tables: makes what the rules of `loaded` share by name, in their order, and
    /// forgets what the rules of no table in `all` name any more.
    pub fn follow<'a>(&mut self, loaded: &Table, all: impl Iterator<Item = &'a Table> + Clone) {
        let matches = |table: &'a Table| table.chains.iter().flat_map(|c| &c.rules).flat_map(|r| &r.matches);
        for bound in loaded.chains.iter().flat_map(|c| &c.rules).flat_map(|r| &r.matches) {
            bound.m.prepare(loaded.family, self);
        }
        let mut lists = BTreeSet::new();
        let mut buckets = BTreeSet::new();
        for table in all {
            for bound in matches(table) {
                match &bound.m {
                    Match::Recent(m) => _ = lists.insert((table.family, m.list_name())),
                    Match::Hashlimit(m) => _ = buckets.insert((table.family, m.table())),
                    _ => {}
                }
            }
        }
        self.recent.retain(|family, name| lists.contains(&(family, name)));
        self.hashlimit.retain(|family, name| buckets.contains(&(family, name)));
    }
}
