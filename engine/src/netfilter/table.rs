//! Tables and chains: the immutable program, and the mutable state that runs beside it.

use std::sync::Arc;

use super::index::ChainIndex;
use super::rule::{Counters, Rule, Verdict};
use super::state::{RuleState, StateId};
use crate::base::Hook;
use crate::base::hook::Priority;
use crate::packet::Family;

/// A chain of a table, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u32);

/// Which tool owns the table. Both flavours can be loaded at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flavour {
    /// `iptables-legacy`: x_tables.
    Legacy,
    /// `iptables-nft`: nf_tables through the compatibility layer.
    Nft,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableName {
    Raw,
    Mangle,
    Nat,
    Filter,
    Security,
}

impl TableName {
    pub const ALL: [Self; 5] = [Self::Raw, Self::Mangle, Self::Nat, Self::Filter, Self::Security];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Mangle => "mangle",
            Self::Nat => "nat",
            Self::Filter => "filter",
            Self::Security => "security",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The hooks with a built-in chain, in the order that iptables-save prints them.
    pub const fn hooks(self) -> &'static [Hook] {
        match self {
            Self::Raw => &[Hook::Prerouting, Hook::Output],
            Self::Mangle => &Hook::ALL,
            Self::Nat => &[Hook::Prerouting, Hook::Input, Hook::Output, Hook::Postrouting],
            Self::Filter | Self::Security => &[Hook::Input, Hook::Forward, Hook::Output],
        }
    }

    /// Where the table stands in `hook` (`NF_IP_PRI_*`).
    pub const fn priority(self, hook: Hook) -> Priority {
        match self {
            Self::Raw => Priority::RAW,
            Self::Mangle => Priority::MANGLE,
            Self::Nat => match hook {
                Hook::Prerouting | Hook::Output | Hook::Forward => Priority::NAT_DST,
                Hook::Input | Hook::Postrouting => Priority::NAT_SRC,
            },
            Self::Filter => Priority::FILTER,
            Self::Security => Priority::SECURITY,
        }
    }

    /// The same for the tables that a flavour of the tool makes: iptables-nft puts security behind nat (150).
    pub const fn priority_of(self, flavour: Flavour, hook: Hook) -> Priority {
        match (flavour, self) {
            (Flavour::Nft, Self::Security) => Priority(150),
            (Flavour::Legacy | Flavour::Nft, _) => self.priority(hook),
        }
    }
}

/// What makes a chain a base chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    pub hook: Hook,
    /// Accept or Drop.
    pub policy: Verdict,
    /// Whether the policy counts packets. It always does in x_tables; a base chain of nf_tables does when it was
    /// made with counters, which iptables-nft asks for where a policy is stated.
    pub counted: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    pub name: Box<str>,
    pub base: Option<Base>,
    pub rules: Vec<Rule>,
    /// Index of this chain's first rule in [`TableState::rules`]; set by [`Table::seal`].
    pub first_rule: u32,
}

/// One iptables table: its program. Counters and per-rule state are in [`TableState`].
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub flavour: Flavour,
    pub family: Family,
    pub name: TableName,
    /// Built-in chains first, in hook order; then user chains.
    pub chains: Vec<Chain>,
}

impl Table {
    /// A table with its built-in chains, empty, policy ACCEPT.
    pub fn new(flavour: Flavour, family: Family, name: TableName) -> Self {
        let chains = name
            .hooks()
            .iter()
            .map(|&hook| Chain {
                name: hook.chain().into(),
                base: Some(Base { hook, policy: Verdict::Accept, counted: flavour == Flavour::Legacy }),
                rules: Vec::new(),
                first_rule: 0,
            })
            .collect();
        Self { flavour, family, name, chains }
    }

    /// Whether the kernel holds the table. A legacy table exists once it is loaded; iptables-nft makes only what is
    /// asked for, so `*filter` and `COMMIT` alone make nothing.
    pub fn exists(&self) -> bool {
        let made =
            |chain: &Chain| !chain.rules.is_empty() || chain.base.as_ref().is_none_or(|base| base.counted);
        self.flavour == Flavour::Legacy || self.chains.iter().any(made)
    }

    pub fn chain(&self, id: ChainId) -> &Chain {
        &self.chains[id.0 as usize]
    }

    /// The base chain at `hook`, if this table has one.
    pub fn base_chain(&self, hook: Hook) -> Option<ChainId> {
        let at = self.chains.iter().position(|c| c.base.as_ref().is_some_and(|b| b.hook == hook))?;
        Some(ChainId(at as u32))
    }

    /// Numbers the rules, gives stateful matches their slots and returns fresh state to run with. Call after
    /// every change of the program.
    ///
    /// `seed` is the scenario's; each rule forks its own stream by its place.
    pub fn seal(&mut self, seed: u64) -> TableState {
        let mut state =
            TableState { chains: vec![Counters::default(); self.chains.len()], ..Default::default() };
        state.indexes = self.chains.iter().map(|chain| ChainIndex::build(&chain.rules)).collect();
        for chain in &mut self.chains {
            chain.first_rule = state.rules.len() as u32;
            for (index, rule) in chain.rules.iter_mut().enumerate() {
                state.rules.push(Counters::default());
                for bound in &mut rule.matches {
                    let label = || format!("{}:{}:{index}", self.name.name(), chain.name);
                    bound.state = bound.m.initial_state(seed, &label).map(|initial| {
                        state.states.push(initial);
                        StateId(state.states.len() as u32 - 1)
                    });
                }
            }
        }
        state
    }
}

/// The mutable side of a table: counters and what stateful matches remember.
#[derive(Clone, Debug, Default)]
pub struct TableState {
    /// Policy counters, by [`ChainId`]; zero and unused for user chains.
    pub chains: Vec<Counters>,
    /// Rule counters, by [`Chain::first_rule`] plus position.
    pub rules: Vec<Counters>,
    pub states: Vec<RuleState>,
    /// Dispatch of the long chains, by [`ChainId`].
    pub indexes: Arc<[Option<ChainIndex>]>,
}
