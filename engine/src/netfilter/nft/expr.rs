//! Expressions: where a statement's values come from.

use std::sync::Arc;

use super::field::{FieldSpec, HeaderSpec, Proto};
use super::set::AnonymousSet;
use super::state::Slot;
use super::types::Type;

/// What yields a value. Evaluation may find that there is none (another protocol, a short packet, no connection): the
/// rule then breaks off.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Value {
        ty: Type,
        value: u128,
    },
    /// `10.0.0.0/8`: the value and the number of leading bits that count. Only on the right of a match.
    Prefix {
        ty: Type,
        value: u128,
        len: u16,
    },
    /// Both ends included. Only on the right of a match and in NAT statements.
    Range {
        ty: Type,
        low: u128,
        high: u128,
    },
    Meta(MetaKey),
    Ct {
        key: CtKey,
        direction: Option<Direction>,
        family: Option<L3>,
    },
    Payload(Payload),
    /// A field of an IPv6 extension header, a TCP option or an IPv4 option; with no field, whether it is there.
    Exthdr(ExthdrField),
    Fib {
        keys: FibKeys,
        result: FibResult,
    },
    Rt {
        key: RtKey,
        family: Option<L3>,
    },
    Numgen(Numgen),
    Hash(Hash),
    /// Several values side by side, as keys of sets.
    Concat(Vec<Expr>),
    /// `meta mark & 0xff`; the right side is a constant or another expression.
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `key map { ... }`: the data of the element that holds the key. None of them: the rule breaks off.
    Map {
        key: Box<Expr>,
        map: SetRef,
    },
    /// On the right of a match: membership.
    Set(SetRef),
    /// What the engine does not emulate (`socket`, `osf`, `ipsec`, `xfrm`): the name, and its text as printed.
    Foreign {
        name: &'static str,
        text: Box<str>,
    },
}

/// A set or map, by its name or written in place.
#[derive(Clone, Debug, PartialEq)]
pub enum SetRef {
    Named(Arc<str>),
    Anonymous(Arc<AnonymousSet>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    And,
    Or,
    Xor,
    Lshift,
    Rshift,
}

impl BinaryOp {
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Lshift => "<<",
            Self::Rshift => ">>",
        }
    }
}

/// Network protocol that a key is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum L3 {
    Ip,
    Ip6,
}

impl L3 {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Ip6 => "ip6",
        }
    }
}

macro_rules! keys {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal, $ty:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Type of the value.
            pub const fn ty(self) -> Type {
                match self { $(Self::$variant => $ty,)* }
            }

            pub fn by_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|key| key.name() == name)
            }
        }
    };
}

keys! {
    /// `meta KEY` (`nft_meta.c`).
    MetaKey {
        Length = "length", Type::Integer(32);
        Protocol = "protocol", Type::EtherType;
        Nfproto = "nfproto", Type::NfProto;
        L4proto = "l4proto", Type::InetProto;
        Priority = "priority", Type::Classid;
        Mark = "mark", Type::Mark;
        Iif = "iif", Type::IfIndex;
        IifName = "iifname", Type::IfName;
        IifType = "iiftype", Type::IfaceType;
        Oif = "oif", Type::IfIndex;
        OifName = "oifname", Type::IfName;
        OifType = "oiftype", Type::IfaceType;
        SkUid = "skuid", Type::Uid;
        SkGid = "skgid", Type::Gid;
        Nftrace = "nftrace", Type::Integer(8);
        RtClassid = "rtclassid", Type::Realm;
        PktType = "pkttype", Type::PktType;
        Cpu = "cpu", Type::Integer(32);
        IifGroup = "iifgroup", Type::DevGroup;
        OifGroup = "oifgroup", Type::DevGroup;
        Cgroup = "cgroup", Type::Integer(32);
        Random = "random", Type::Integer(32);
        Secpath = "secpath", Type::Boolean;
        IifKind = "iifkind", Type::IfName;
        OifKind = "oifkind", Type::IfName;
        Ibrpvid = "ibrpvid", Type::Integer(16);
        Ibrvproto = "ibrvproto", Type::EtherType;
        IbrName = "ibrname", Type::IfName;
        ObrName = "obrname", Type::IfName;
        Time = "time", Type::Date;
        Day = "day", Type::Day;
        Hour = "hour", Type::Hour;
        Sdif = "sdif", Type::IfIndex;
        SdifName = "sdifname", Type::IfName;
    }
}

impl MetaKey {
    /// Whether it prints without the word `meta` (`meta_key_is_unqualified`).
    pub const fn is_unqualified(self) -> bool {
        matches!(
            self,
            Self::Iif | Self::IifName | Self::Oif | Self::OifName | Self::IifGroup | Self::OifGroup
        )
    }
}

keys! {
    /// `ct KEY` (`nft_ct.c`).
    CtKey {
        State = "state", Type::CtState;
        Direction = "direction", Type::CtDir;
        Status = "status", Type::CtStatus;
        Mark = "mark", Type::Mark;
        Expiration = "expiration", Type::Time;
        Helper = "helper", Type::Str;
        L3proto = "l3proto", Type::NfProto;
        Saddr = "saddr", Type::Ipv4Addr;
        Daddr = "daddr", Type::Ipv4Addr;
        Protocol = "protocol", Type::InetProto;
        ProtoSrc = "proto-src", Type::InetService;
        ProtoDst = "proto-dst", Type::InetService;
        Label = "label", Type::CtLabel;
        Packets = "packets", Type::Integer(64);
        Bytes = "bytes", Type::Integer(64);
        AvgPkt = "avgpkt", Type::Integer(64);
        Zone = "zone", Type::Integer(16);
        Event = "event", Type::CtEvent;
        Secmark = "secmark", Type::Integer(32);
        Id = "id", Type::Integer(32);
    }
}

/// Direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Original,
    Reply,
}

impl Direction {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Reply => "reply",
        }
    }
}

/// Bytes of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A named field. It has a value only in a packet of that protocol; `th` in any with a transport header.
    Field { proto: Proto, field: &'static FieldSpec },
    /// `@th,64,8`: so many bits from a bit of a header.
    Raw { base: PayloadBase, offset_bits: u16, bits: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PayloadBase {
    Link,
    Network,
    Transport,
    /// What stands behind the transport header.
    Inner,
}

impl PayloadBase {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "ll",
            Self::Network => "nh",
            Self::Transport => "th",
            Self::Inner => "ih",
        }
    }
}

/// A field of a header that is not at a fixed place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExthdrField {
    /// IPv6 extension header.
    Ipv6 { header: &'static HeaderSpec, field: Option<&'static FieldSpec> },
    /// TCP option. `number` is the block of `sack0` to `sack3`.
    TcpOption { option: &'static HeaderSpec, number: u8, field: Option<&'static FieldSpec> },
    /// `tcp option @42,16,4`, and `tcp option 42 exists` with no bits.
    TcpRaw { kind: u8, offset_bits: u16, bits: u16 },
    /// IPv4 option.
    IpOption { option: &'static HeaderSpec, field: Option<&'static FieldSpec> },
}

/// What a `fib` lookup looks up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FibKeys {
    pub saddr: bool,
    pub daddr: bool,
    pub mark: bool,
    pub iif: bool,
    pub oif: bool,
}

/// What a `fib` lookup answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FibResult {
    Oif,
    OifName,
    Type,
    /// `fib saddr . iif oif exists`: whether there is a route at all.
    Present,
}

keys! {
    /// `rt KEY`: of the route the packet takes (`nft_rt.c`).
    RtKey {
        Classid = "classid", Type::Realm;
        Nexthop = "nexthop", Type::Ipv4Addr;
        Mtu = "mtu", Type::Integer(16);
        Ipsec = "ipsec", Type::Boolean;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumgenMode {
    /// `floor(random u32 * modulus / 2^32)`.
    Random,
    /// A counter of the expression itself: 0, 1, ..., wraps at the modulus.
    Inc,
}

/// `numgen random mod 3 offset 10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numgen {
    pub mode: NumgenMode,
    pub modulus: u32,
    pub offset: u32,
    /// [`super::StmtState::Random`] or [`super::StmtState::Inc`].
    pub slot: Slot,
}

/// `jhash KEY mod N seed S offset O`, `symhash mod N offset O`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hash {
    /// What is hashed; none for `symhash`, which hashes the connection's addresses alike in both directions.
    pub key: Option<Box<Expr>>,
    pub modulus: u32,
    /// Drawn by the kernel when not given; then it is not printed.
    pub seed: Option<u32>,
    pub offset: u32,
}

impl Expr {
    /// Type of the value, where it has one and it does not depend on a map.
    pub fn ty(&self) -> Option<Type> {
        Some(match self {
            Self::Value { ty, .. } | Self::Prefix { ty, .. } | Self::Range { ty, .. } => *ty,
            Self::Meta(key) => key.ty(),
            Self::Ct { key, family, .. } => match (key, family) {
                (CtKey::Saddr | CtKey::Daddr, Some(L3::Ip6)) => Type::Ipv6Addr,
                _ => key.ty(),
            },
            Self::Payload(Payload::Field { field, .. }) => field.ty,
            Self::Payload(Payload::Raw { bits, .. }) => Type::Integer(*bits),
            Self::Exthdr(field) => field.ty(),
            Self::Fib { result, .. } => match result {
                FibResult::Oif => Type::IfIndex,
                FibResult::OifName => Type::IfName,
                FibResult::Type => Type::FibAddr,
                FibResult::Present => Type::Boolean,
            },
            Self::Rt { key: RtKey::Nexthop, family: Some(L3::Ip6) } => Type::Ipv6Addr,
            Self::Rt { key, .. } => key.ty(),
            Self::Numgen(_) | Self::Hash(_) => Type::Integer(32),
            Self::Binary { left, .. } => left.ty()?,
            Self::Map { map: SetRef::Anonymous(map), .. } => *map.data_types()?.first()?,
            Self::Concat(_) | Self::Map { .. } | Self::Set(_) | Self::Foreign { .. } => return None,
        })
    }

    /// Types of its parts: one for each member of a concatenation.
    pub fn types(&self) -> Vec<Type> {
        match self {
            Self::Concat(parts) => parts.iter().filter_map(Self::ty).collect(),
            other => other.ty().into_iter().collect(),
        }
    }
}

impl ExthdrField {
    pub fn ty(&self) -> Type {
        match self {
            Self::Ipv6 { field, .. } | Self::TcpOption { field, .. } | Self::IpOption { field, .. } => {
                field.map_or(Type::Boolean, |f| f.ty)
            }
            Self::TcpRaw { bits: 0, .. } => Type::Boolean,
            Self::TcpRaw { bits, .. } => Type::Integer(*bits),
        }
    }
}
