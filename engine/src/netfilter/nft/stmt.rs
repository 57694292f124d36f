//! Statements: what a rule does, in order, until one does not match or gives a verdict.

use std::net::IpAddr;
use std::sync::Arc;

use super::expr::{CtKey, Expr, ExthdrField, L3, MetaKey, Payload, SetRef};
use super::state::Slot;

/// One statement. Those that remember something name their [`Slot`].
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Goes on only where the test holds.
    Match {
        left: Expr,
        op: MatchOp,
        right: Expr,
    },
    /// `counter packets N bytes M`; the numbers are in the slot ([`super::StmtState::Counter`]).
    Counter {
        slot: Slot,
    },
    /// Matches while the bucket has tokens (`over`: once it has none).
    Limit {
        limit: Limit,
        slot: Slot,
    },
    Quota {
        quota: Quota,
        slot: Slot,
    },
    /// `ct count over N`: connections counted by the set element or rule.
    CtCount {
        over: bool,
        count: u32,
        slot: Slot,
    },
    /// `last`: when it was last reached.
    Last {
        slot: Slot,
    },
    /// `counter name "x"`, `limit name`, `quota name`, `ct helper set`, ...: a named object, by a name or by a map.
    Object {
        kind: super::ObjectKind,
        name: ObjectRef,
    },
    Log(Log),
    /// Answers with an error and drops.
    Reject(RejectWith),
    Nat(Nat),
    Notrack,
    Queue(Queue),
    /// `add @set { key timeout 1m counter }`; with data for a map.
    SetElement {
        op: SetOp,
        set: Arc<str>,
        key: Expr,
        /// Milliseconds.
        timeout: Option<u64>,
        /// Stateful statements each element made here gets.
        with: Vec<Statement>,
        data: Option<Expr>,
    },
    /// `meta mark set ...`.
    MetaSet {
        key: MetaKey,
        value: Expr,
    },
    /// `ct mark set ...`.
    CtSet {
        key: CtKey,
        direction: Option<super::Direction>,
        value: Expr,
    },
    /// `ip ttl set ...`.
    PayloadSet {
        field: Payload,
        value: Expr,
    },
    /// `tcp option maxseg size set ...`; without a value `reset tcp option`.
    ExthdrSet {
        field: ExthdrField,
        value: Option<Expr>,
    },
    Verdict(Verdict),
    /// `key vmap { ... }`: the verdict of the element that holds the key; without one the rule breaks off.
    VerdictMap {
        key: Expr,
        map: SetRef,
    },
    /// Named and kept, not emulated: its name, its text as printed, and whether the packet's way ends or may end here.
    Foreign {
        name: &'static str,
        text: Box<str>,
    },
}

/// How a match compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOp {
    /// Equal; of a prefix, range or set on the right: within.
    Eq,
    /// Not equal, not within.
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    /// Of a bitmask, without operator (`ct state new,established`): at least one of the bits.
    AnyBit,
    /// `tcp flags ! syn,rst`: none of the bits.
    NoBit,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Accept,
    Drop,
    Continue,
    Return,
    /// By the chain's name; a chain written in place (`jump { ... }`) has one like `__chain0`.
    Jump(Arc<str>),
    Goto(Arc<str>),
}

/// An object's name, or a map from a key to names.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectRef {
    Named(Arc<str>),
    Map { key: Box<Expr>, map: SetRef },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
}

impl LimitUnit {
    pub const ALL: [Self; 5] = [Self::Second, Self::Minute, Self::Hour, Self::Day, Self::Week];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    pub const fn seconds(self) -> u64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
            Self::Week => 604_800,
        }
    }
}

/// A token bucket (`nft_limit.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Packets, or bytes, per unit.
    pub rate: u64,
    pub unit: LimitUnit,
    /// Packets or bytes above the rate; 5 packets and no bytes when not given.
    pub burst: u32,
    pub bytes: bool,
    /// `rate over`.
    pub over: bool,
}

/// So many bytes (`nft_quota.c`). What is used up is in the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub bytes: u64,
    pub over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Emerg,
    Alert,
    Crit,
    Err,
    Warn,
    Notice,
    Info,
    Debug,
    Audit,
}

impl LogLevel {
    pub const ALL: [Self; 9] = [
        Self::Emerg,
        Self::Alert,
        Self::Crit,
        Self::Err,
        Self::Warn,
        Self::Notice,
        Self::Info,
        Self::Debug,
        Self::Audit,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Emerg => "emerg",
            Self::Alert => "alert",
            Self::Crit => "crit",
            Self::Err => "err",
            Self::Warn => "warn",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Audit => "audit",
        }
    }
}

/// `log prefix "x" level info flags all`, or to a netlink group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    pub prefix: Option<Box<str>>,
    /// Warn when not given.
    pub level: Option<LogLevel>,
    /// Bits of `NF_LOG_*`: 1 tcp sequence, 2 tcp options, 4 ip options, 8 skuid, 32 ether.
    pub flags: u8,
    pub group: Option<u16>,
    pub snaplen: Option<u32>,
    pub queue_threshold: Option<u16>,
}

/// What REJECT answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectWith {
    TcpReset,
    /// Code of an ICMP destination unreachable.
    Icmp(u8),
    /// Code of an ICMPv6 destination unreachable.
    Icmpv6(u8),
    /// `NFT_REJECT_ICMPX_*`: no-route 0, port-unreachable 1, host-unreachable 2, admin-prohibited 3.
    Icmpx(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatKind {
    Snat,
    Dnat,
    Masquerade,
    Redirect,
}

impl NatKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Snat => "snat",
            Self::Dnat => "dnat",
            Self::Masquerade => "masquerade",
            Self::Redirect => "redirect",
        }
    }
}

/// A NAT statement. A map whose data is an address and a port (`dnat ip to ip saddr map @x`) stands in `addr` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Nat {
    pub kind: NatKind,
    /// As printed (`dnat ip to`); tables of one family need none.
    pub family: Option<L3>,
    /// Constant, range, prefix or map.
    pub addr: Option<Expr>,
    pub port: Option<Expr>,
    pub random: bool,
    pub fully_random: bool,
    pub persistent: bool,
    /// `prefix`: keep the host bits (`NF_NAT_RANGE_NETMAP`).
    pub prefix: bool,
    /// The map's data is an address and a port.
    pub concat: bool,
    /// The map's data is an interval.
    pub interval: bool,
}

/// `queue flags bypass to 1-3`.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Constant, range or another expression; queue 0 when not given.
    pub to: Option<Expr>,
    pub bypass: bool,
    pub fanout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// Keeps the time an element has left.
    Add,
    /// Gives it its full time again.
    Update,
    Delete,
}

impl SetOp {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

impl Statement {
    /// The name of what the engine does not emulate, if this is such a thing or holds one.
    pub fn not_emulated(&self) -> Option<&'static str> {
        let mut found = None;
        self.visit(&mut |expr| {
            if let Expr::Foreign { name, .. } = expr {
                found = Some(*name);
            }
        });
        match self {
            Self::Foreign { name, .. } => Some(name),
            _ => found,
        }
    }

    /// Calls `look` on each expression, outermost first.
    pub fn visit(&self, look: &mut impl FnMut(&Expr)) {
        match self {
            Self::Match { left, right, .. } => {
                left.visit(look);
                right.visit(look);
            }
            Self::Object { name: ObjectRef::Map { key, .. }, .. } => key.visit(look),
            Self::Nat(nat) => nat.addr.iter().chain(&nat.port).for_each(|e| e.visit(look)),
            Self::Queue(queue) => queue.to.iter().for_each(|e| e.visit(look)),
            Self::SetElement { key, data, with, .. } => {
                key.visit(look);
                data.iter().for_each(|e| e.visit(look));
                with.iter().for_each(|s| s.visit(look));
            }
            Self::MetaSet { value, .. }
            | Self::CtSet { value, .. }
            | Self::PayloadSet { value, .. }
            | Self::ExthdrSet { value: Some(value), .. } => value.visit(look),
            Self::VerdictMap { key, .. } => key.visit(look),
            Self::Counter { .. }
            | Self::Limit { .. }
            | Self::Quota { .. }
            | Self::CtCount { .. }
            | Self::Last { .. }
            | Self::Object { .. }
            | Self::Log(_)
            | Self::Reject(_)
            | Self::Notrack
            | Self::ExthdrSet { value: None, .. }
            | Self::Verdict(_)
            | Self::Foreign { .. } => {}
        }
    }

    /// Sets and maps it refers to.
    pub fn set_refs(&self) -> Vec<SetRef> {
        let mut refs = Vec::new();
        self.visit(&mut |expr| match expr {
            Expr::Set(set) | Expr::Map { map: set, .. } => refs.push(set.clone()),
            _ => {}
        });
        match self {
            Self::SetElement { set, .. } => refs.push(SetRef::Named(Arc::clone(set))),
            Self::VerdictMap { map, .. } | Self::Object { name: ObjectRef::Map { map, .. }, .. } => {
                refs.push(map.clone());
            }
            _ => {}
        }
        refs
    }
}

impl Expr {
    /// Calls `look` on the expression and on all it is made of, outermost first.
    pub fn visit(&self, look: &mut impl FnMut(&Self)) {
        look(self);
        match self {
            Self::Concat(parts) => parts.iter().for_each(|e| e.visit(look)),
            Self::Binary { left, right, .. } => {
                left.visit(look);
                right.visit(look);
            }
            Self::Map { key, .. } => key.visit(look),
            Self::Hash(hash) => hash.key.iter().for_each(|e| e.visit(look)),
            Self::Value { .. }
            | Self::Prefix { .. }
            | Self::Range { .. }
            | Self::Meta(_)
            | Self::Ct { .. }
            | Self::Payload(_)
            | Self::Exthdr(_)
            | Self::Fib { .. }
            | Self::Rt { .. }
            | Self::Numgen(_)
            | Self::Set(_)
            | Self::Foreign { .. } => {}
        }
    }
}

/// An address as a value of its type.
pub fn address_value(addr: IpAddr) -> u128 {
    match addr {
        IpAddr::V4(a) => a.to_bits().into(),
        IpAddr::V6(a) => a.to_bits(),
    }
}
