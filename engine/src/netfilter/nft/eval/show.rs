//! Values and expressions in the words of a trace: short, and readable beside the rule's own text, which is the text
//! layer's.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::netfilter::nft::expr::{BinaryOp, Expr, ExthdrField, FibResult, Payload, SetRef};
use crate::netfilter::nft::set::{Data, ElementStmt, Key, SetData, Span};
use crate::netfilter::nft::stmt::{Limit, Verdict};
use crate::netfilter::nft::types::{Type, value_name};
use crate::netfilter::xt::protocol_name;

/// Elements of a set that are spelled out.
const ELEMENTS_SHOWN: usize = 6;

/// An expression as a rule names it: `ip daddr`, `ct state`, `meta l4proto`.
pub fn expr_text(expr: &Expr) -> String {
    match expr {
        Expr::Value { .. } | Expr::Prefix { .. } | Expr::Range { .. } | Expr::Set(_) => operand_text(expr),
        Expr::Meta(key) if key.is_unqualified() => key.name().to_owned(),
        Expr::Meta(key) => format!("meta {}", key.name()),
        Expr::Ct { key, direction, family } => {
            let direction = direction.map_or(String::new(), |d| format!("{} ", d.name()));
            let family = family.map_or(String::new(), |f| format!("{} ", f.name()));
            format!("ct {direction}{family}{}", key.name())
        }
        Expr::Payload(Payload::Field { proto, field }) => format!("{} {}", proto.name(), field.name),
        Expr::Payload(Payload::Raw { base, offset_bits, bits }) => {
            format!("@{},{offset_bits},{bits}", base.name())
        }
        Expr::Exthdr(field) => exthdr_text(field),
        Expr::Fib { keys, result } => {
            let names = [
                (keys.saddr, "saddr"),
                (keys.daddr, "daddr"),
                (keys.mark, "mark"),
                (keys.iif, "iif"),
                (keys.oif, "oif"),
            ];
            let keys: Vec<_> = names.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
            let result = match result {
                FibResult::Oif | FibResult::Present => "oif",
                FibResult::OifName => "oifname",
                FibResult::Type => "type",
            };
            format!("fib {} {result}", keys.join(" . "))
        }
        Expr::Rt { key, .. } => format!("rt {}", key.name()),
        Expr::Numgen(_) => "numgen".to_owned(),
        Expr::Hash(hash) => match &hash.key {
            None => "symhash".to_owned(),
            Some(key) => format!("jhash {}", expr_text(key)),
        },
        Expr::Concat(parts) => {
            let parts: Vec<_> = parts.iter().map(expr_text).collect();
            parts.join(" . ")
        }
        Expr::Binary { op, left, right } => {
            let right = match (op, &**right) {
                (BinaryOp::Lshift | BinaryOp::Rshift, Expr::Value { value, .. }) => value.to_string(),
                (_, right) => operand_text(right),
            };
            format!("{} {} {right}", expr_text(left), op.symbol())
        }
        Expr::Map { key, map } => format!("{} map {}", expr_text(key), set_text(map)),
        Expr::Foreign { text, .. } => text.to_string(),
    }
}

fn exthdr_text(field: &ExthdrField) -> String {
    let named = |kind: &str, header: &str, field: Option<&str>| match field {
        Some(field) => format!("{kind}{header} {field}"),
        None => format!("{kind}{header}"),
    };
    match field {
        ExthdrField::Ipv6 { header, field } => named("", header.name, field.map(|f| f.name)),
        ExthdrField::TcpOption { option, field, .. } => {
            named("tcp option ", option.name, field.map(|f| f.name))
        }
        ExthdrField::TcpRaw { kind, .. } => format!("tcp option {kind}"),
        ExthdrField::IpOption { option, field } => named("ip option ", option.name, field.map(|f| f.name)),
    }
}

/// The right side of a match.
pub(super) fn operand_text(expr: &Expr) -> String {
    match expr {
        Expr::Value { ty, value } => value_text(*ty, *value),
        Expr::Prefix { ty: Type::IfName, value, .. } => format!("{}*", value_name(*value)),
        Expr::Prefix { ty, value, len } => format!("{}/{len}", value_text(*ty, *value)),
        Expr::Range { ty, low, high } => {
            format!("{}-{}", value_text(*ty, *low), value_text(*ty, *high))
        }
        Expr::Set(set) => set_text(set),
        Expr::Concat(parts) => {
            let parts: Vec<_> = parts.iter().map(operand_text).collect();
            parts.join(" . ")
        }
        other => expr_text(other),
    }
}

/// `@name`, or the first elements of a set written in place.
pub(super) fn set_text(set: &SetRef) -> String {
    match set {
        SetRef::Named(name) => format!("@{name}"),
        SetRef::Anonymous(set) => {
            let keys = set.elements.by_key.keys().take(ELEMENTS_SHOWN);
            let mut shown: Vec<_> = keys.map(|key| spans_text(key, &set.key)).collect();
            if set.elements.catch_all.is_some() {
                shown.push("*".to_owned());
            }
            let more = if set.elements.by_key.len() > ELEMENTS_SHOWN { ", ..." } else { "" };
            format!("{{ {}{more} }}", shown.join(", "))
        }
    }
}

fn spans_text(spans: &[Span], types: &[Type]) -> String {
    let field = |(at, span): (usize, &Span)| {
        let ty = types.get(at).copied().unwrap_or(Type::Integer(32));
        if span.is_one() {
            value_text(ty, span.low)
        } else {
            format!("{}-{}", value_text(ty, span.low), value_text(ty, span.high))
        }
    };
    let parts: Vec<_> = spans.iter().enumerate().map(field).collect();
    parts.join(" . ")
}

/// An element with what it maps to: `10.96.0.10 . tcp . 80 : goto service-dns`, `* : drop`.
pub(super) fn element_text(key: Option<&Key>, types: &[Type], data: Option<&Data>, of: &SetData) -> String {
    let key = key.map_or_else(|| "*".to_owned(), |key| spans_text(key, types));
    let data = match (data, of) {
        (None, _) => return key,
        (Some(Data::Values(spans)), SetData::Values(types)) => spans_text(spans, types),
        (Some(Data::Values(spans)), _) => spans_text(spans, &[]),
        (Some(Data::Verdict(verdict)), _) => verdict_text(verdict),
        (Some(Data::Object(name)), _) => format!("\"{name}\""),
    };
    format!("{key} : {data}")
}

fn verdict_text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accept => "accept".to_owned(),
        Verdict::Drop => "drop".to_owned(),
        Verdict::Continue => "continue".to_owned(),
        Verdict::Return => "return".to_owned(),
        Verdict::Jump(to) => format!("jump {to}"),
        Verdict::Goto(to) => format!("goto {to}"),
    }
}

/// The values of an expression, one a field.
pub(super) fn fields_text(expr: &Expr, values: &[u128]) -> String {
    let parts = match expr {
        Expr::Concat(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    let texts: Vec<_> = parts
        .iter()
        .zip(values)
        .map(|(part, value)| value_text(part.ty().unwrap_or(Type::Integer(32)), *value))
        .collect();
    texts.join(" . ")
}

const CT_STATES: &[(u128, &str)] =
    &[(1, "invalid"), (8, "new"), (2, "established"), (4, "related"), (64, "untracked")];
const CT_STATUS: &[(u128, &str)] = &[
    (1, "expected"),
    (2, "seen-reply"),
    (4, "assured"),
    (8, "confirmed"),
    (16, "snat"),
    (32, "dnat"),
    (512, "dying"),
];
const TCP_FLAGS: &[(u128, &str)] =
    &[(1, "fin"), (2, "syn"), (4, "rst"), (8, "psh"), (16, "ack"), (32, "urg"), (64, "ecn"), (128, "cwr")];
const FIB_TYPES: &[&str] = &[
    "unspec",
    "unicast",
    "local",
    "broadcast",
    "anycast",
    "multicast",
    "blackhole",
    "unreachable",
    "prohibit",
    "throw",
    "nat",
    "xresolve",
];

/// One value of a type.
pub fn value_text(ty: Type, value: u128) -> String {
    let bits = |names: &[(u128, &str)]| {
        let set: Vec<_> = names.iter().filter(|(bit, _)| value & bit != 0).map(|(_, n)| *n).collect();
        if set.is_empty() { format!("{value:#x}") } else { set.join(",") }
    };
    match ty {
        Type::Ipv4Addr => Ipv4Addr::from_bits(value as u32).to_string(),
        Type::Ipv6Addr => Ipv6Addr::from_bits(value).to_string(),
        Type::IfName | Type::Str => format!("\"{}\"", value_name(value)),
        Type::IfIndex if value < 1 << 32 => value.to_string(),
        Type::IfIndex => format!("\"{}\"", value_name(value)),
        Type::InetProto => match protocol_name(value as u8) {
            Some(name) if value < 256 => name.to_owned(),
            Some(_) | None => value.to_string(),
        },
        Type::CtState => bits(CT_STATES),
        Type::CtStatus => bits(CT_STATUS),
        Type::TcpFlag => bits(TCP_FLAGS),
        Type::CtDir => if value == 0 { "original" } else { "reply" }.to_owned(),
        Type::FibAddr => {
            let name = usize::try_from(value).ok().and_then(|at| FIB_TYPES.get(at));
            name.map_or_else(|| value.to_string(), |name| (*name).to_owned())
        }
        Type::Boolean => if value == 0 { "missing" } else { "exists" }.to_owned(),
        Type::NfProto => match value {
            2 => "ipv4".to_owned(),
            10 => "ipv6".to_owned(),
            other => other.to_string(),
        },
        Type::EtherType => match value {
            0x0800 => "ip".to_owned(),
            0x86dd => "ip6".to_owned(),
            other => format!("{other:#06x}"),
        },
        Type::PktType => match value {
            0 => "host".to_owned(),
            1 => "broadcast".to_owned(),
            2 => "multicast".to_owned(),
            other => other.to_string(),
        },
        Type::EtherAddr | Type::LlAddr => {
            let bytes = value.to_be_bytes();
            let parts: Vec<_> = bytes[10..].iter().map(|b| format!("{b:02x}")).collect();
            parts.join(":")
        }
        Type::Mark | Type::Classid | Type::CtEvent | Type::CtLabel => format!("{value:#x}"),
        Type::Time => format!("{value} ms"),
        Type::Hour => {
            format!("{:02}:{:02}:{:02}", value / 3600, value / 60 % 60, value % 60)
        }
        Type::Integer(_)
        | Type::ArpOp
        | Type::InetService
        | Type::IcmpType
        | Type::IcmpCode
        | Type::Icmpv6Type
        | Type::Icmpv6Code
        | Type::IcmpxCode
        | Type::IgmpType
        | Type::DccpPkttype
        | Type::MhType
        | Type::IfaceType
        | Type::Realm
        | Type::Uid
        | Type::Gid
        | Type::DevGroup
        | Type::Dscp
        | Type::Ecn
        | Type::Date
        | Type::Day
        | Type::CgroupV2 => value.to_string(),
    }
}

/// A rewritten field's value.
pub(super) fn raw_text(field: &Payload, value: u128) -> String {
    match field {
        Payload::Field { field, .. } => value_text(field.ty, value),
        Payload::Raw { .. } => format!("{value:#x}"),
    }
}

/// A limit, quota or count: its word and what it allows.
pub(super) fn rate_words(kind: &ElementStmt) -> (&'static str, String) {
    match kind {
        ElementStmt::Counter => ("counter", String::new()),
        ElementStmt::Last => ("last", String::new()),
        ElementStmt::Limit(Limit { rate, unit, burst, bytes, over }) => {
            let over = if *over { "over " } else { "" };
            let what = if *bytes { "bytes" } else { "packets" };
            ("limit", format!("rate {over}{rate}/{} burst {burst} {what}", unit.name()))
        }
        ElementStmt::Quota(quota) => {
            ("quota", format!("{}{} bytes", if quota.over { "over " } else { "" }, quota.bytes))
        }
        ElementStmt::CtCount { over, count } => {
            ("ct count", format!("{}{count}", if *over { "over " } else { "" }))
        }
    }
}
