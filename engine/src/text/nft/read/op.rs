//! What commands say: which object, how, and with what. Rules and elements are stretches of tokens.

use std::sync::Arc;

use super::cursor::Stretch;
use crate::netfilter::Counters;
use crate::netfilter::nft::set::{ElementStmt, SetFlags};
use crate::netfilter::nft::{ChainKind, Limit, NftHook, ObjectKind, Policy, Quota, TableFamily, Type};
use crate::text::diag::Place;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub(in crate::text::nft) struct Named {
    pub(in crate::text::nft) text: Arc<str>,
    pub(in crate::text::nft) place: Place,
}

/// A table, by family and name.
#[derive(Clone, Debug)]
pub(in crate::text::nft) struct TableId {
    pub(in crate::text::nft) family: TableFamily,
    pub(in crate::text::nft) name: Named,
}

/// How an object is made or taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::text::nft) enum Mode {
    /// `add`: may be there already. `delete`: must be there.
    Usual,
    /// `create`: must be new.
    Create,
    /// `destroy`: may be missing.
    Destroy,
}

/// By name, or by `handle N`.
#[derive(Clone, Debug)]
pub(in crate::text::nft) enum By {
    Name(Named),
    Handle(u64, Place),
}

#[derive(Clone, Debug)]
pub(in crate::text::nft) struct BaseDecl {
    pub(in crate::text::nft) kind: ChainKind,
    pub(in crate::text::nft) hook: NftHook,
    pub(in crate::text::nft) priority: i32,
    pub(in crate::text::nft) devices: Vec<Box<str>>,
    pub(in crate::text::nft) place: Place,
}

#[derive(Clone, Debug)]
pub(in crate::text::nft) struct ChainDecl {
    pub(in crate::text::nft) name: Named,
    pub(in crate::text::nft) base: Option<BaseDecl>,
    pub(in crate::text::nft) policy: Option<Policy>,
    pub(in crate::text::nft) comment: Option<Box<str>>,
    pub(in crate::text::nft) offload: bool,
}

/// Types of a set, or expressions that have them.
#[derive(Clone, Debug)]
pub(in crate::text::nft) enum Types {
    None,
    Named(Vec<Type>),
    Typeof(Stretch),
}

#[derive(Clone, Debug)]
pub(in crate::text::nft) enum DataDecl {
    None,
    Verdict,
    Objects(ObjectKind),
    Values { types: Types, interval: bool },
}

#[derive(Clone, Debug)]
pub(in crate::text::nft) struct SetDecl {
    pub(in crate::text::nft) name: Named,
    pub(in crate::text::nft) is_map: bool,
    pub(in crate::text::nft) key: Types,
    pub(in crate::text::nft) data: DataDecl,
    pub(in crate::text::nft) flags: SetFlags,
    pub(in crate::text::nft) timeout: Option<u64>,
    pub(in crate::text::nft) gc_interval: Option<u64>,
    pub(in crate::text::nft) size: Option<u32>,
    pub(in crate::text::nft) memory: bool,
    pub(in crate::text::nft) auto_merge: bool,
    pub(in crate::text::nft) comment: Option<Box<str>>,
    pub(in crate::text::nft) with: Vec<ElementStmt>,
    pub(in crate::text::nft) elements: Option<Stretch>,
}

#[derive(Clone, Debug)]
pub(in crate::text::nft) enum ObjectDecl {
    Counter(Counters),
    Quota(Quota, u64),
    Limit(Limit),
    CtHelper { helper: Box<str>, protocol: u8, family: Option<TableFamily> },
    Foreign(ObjectKind, Vec<Box<str>>),
}

/// Where a rule goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::text::nft) enum RulePlace {
    End,
    Start,
    /// Behind the rule of this handle.
    After(u64),
    Before(u64),
    AfterIndex(u64),
    BeforeIndex(u64),
}

/// What `list`, `reset` and `flush` are about.
#[derive(Clone, Debug)]
pub(in crate::text::nft) enum Subject {
    Ruleset(Option<TableFamily>),
    Table(TableId),
    Chain(TableId, Named),
    /// `set` or `map`.
    Set(TableId, Named),
    Object(ObjectKind, TableId, Named),
    Tables(Option<TableFamily>),
    Chains(Option<TableFamily>),
    Sets(Option<TableFamily>, Option<TableId>),
    Maps(Option<TableFamily>, Option<TableId>),
    Objects(ObjectKind, Option<TableFamily>, Option<TableId>),
}

#[derive(Clone, Debug)]
pub(in crate::text::nft) enum Op {
    AddTable { table: TableId, mode: Mode, dormant: Option<bool>, comment: Option<Box<str>> },
    DeleteTable { family: TableFamily, by: By, mode: Mode },
    AddChain { table: TableId, chain: ChainDecl, mode: Mode },
    DeleteChain { table: TableId, by: By, mode: Mode },
    RenameChain { table: TableId, chain: Named, to: Named },
    AddRule { table: TableId, chain: Named, place: RulePlace, rule: Stretch, at: Place },
    ReplaceRule { table: TableId, chain: Named, handle: u64, rule: Stretch, at: Place },
    DeleteRule { table: TableId, chain: Named, handle: u64, at: Place, mode: Mode },
    AddSet { table: TableId, set: SetDecl, mode: Mode },
    DeleteSet { table: TableId, by: By, mode: Mode },
    AddElements { table: TableId, set: Named, elements: Stretch, mode: Mode },
    DeleteElements { table: TableId, set: Named, elements: Stretch, mode: Mode },
    GetElement { set: Named },
    AddObject { table: TableId, name: Named, object: ObjectDecl, comment: Option<Box<str>>, mode: Mode },
    DeleteObject { table: TableId, kind: ObjectKind, by: By, mode: Mode },
    AddFlowtable { table: TableId, name: Named, lines: Vec<Box<str>> },
    DeleteFlowtable { table: TableId, name: Named, mode: Mode },
    Flush(Subject),
    List(Subject),
    Reset(Subject),
}
