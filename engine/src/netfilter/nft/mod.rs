//! nftables: what a ruleset is. `nft` text is read and printed by [`crate::text`]; this is what it means.
//!
//! The model stands at the level of the language, not of the kernel's registers: a rule is a list of statements over
//! typed expressions, in the form that `nft list ruleset` prints. What the kernel's bytecode tests besides (that the
//! packet is TCP before `tcp dport` is read) is part of what an expression means: a field that the packet lacks, or that
//! belongs to another protocol, has no value, and a statement over it breaks off the rule.
//!
//! | file | owns |
//! |---|---|
//! | `types` | data types: width, name, what kind of value |
//! | `field` | header fields, extension headers, TCP options by name, offset and width |
//! | `expr` | expressions: where values come from |
//! | `stmt` | statements: what a rule does |
//! | `set` | sets, maps, their elements |
//! | `object` | named counters, quotas, limits and what the kernel keeps beside them |
//! | `table` | tables, chains, rules |
//! | `state` | what evaluation changes: counters, buckets, elements of dynamic sets |
//! | `monitor` | what a listener to traces hears |
//! | `eval` | what a packet meets in a base chain |
//!
//! The program (tables, chains, rules) is shared between copies of a namespace; everything a packet may change lives in
//! [`NftState`], found by [`Slot`] and [`SetId`].

pub mod eval;
pub mod expr;
pub mod field;
pub mod monitor;
pub mod object;
pub mod set;
pub mod state;
pub mod stmt;
pub mod table;
pub mod types;

pub use expr::{
    BinaryOp, CtKey, Direction, Expr, ExthdrField, FibKeys, FibResult, Hash, L3, MetaKey, Numgen, NumgenMode,
    Payload, PayloadBase, RtKey, SetRef,
};
pub use field::{FieldSpec, Proto};
pub use object::{Object, ObjectKind};
pub use set::{AnonymousSet, Data, Element, Elements, Key, Set, SetData, SetFlags, Span};
pub use state::{CountedConnection, NftState, SetId, Slot, StmtState};
pub use stmt::{
    Limit, LimitUnit, Log, LogLevel, MatchOp, Nat, NatKind, Queue, Quota, RejectWith, SetOp, Statement,
    Verdict,
};
pub use table::{Base, Chain, ChainKind, NftHook, Policy, Rule, Ruleset, Table, TableFamily};
pub use types::Type;
