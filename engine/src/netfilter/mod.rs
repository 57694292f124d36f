//! Rules and their evaluation: tables, chains, the registry of matches and targets, the hook table.
//!
//! Owns what a rule is and what it decides. Does not own the packet path (that is `netns`) nor connections
//! (that is [`crate::conntrack`]).

pub mod assume;
pub mod cx;
pub mod eval;
pub mod hook;
pub mod index;
pub mod ledger;
pub mod nft;
pub mod rule;
pub mod set;
pub mod state;
pub mod table;
pub mod xt;

pub use assume::Assume;
pub use cx::{AddrType, Cx, DevRef, Fib};
pub use hook::{HookTable, HookUser};
pub use rule::{Counters, IfName, IpMatch, Net, Rule, Target, Verdict};
pub use state::{RuleState, Shared, StateId};
pub use table::{Base, Chain, ChainId, Flavour, Table, TableName, TableState};
