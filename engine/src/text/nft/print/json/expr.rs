//! Expressions, and constants as numbers, texts, ranges and prefixes.

use super::{array, object, one_or_array, set_ones, text, wrap};
use crate::netfilter::nft::types::value_name;
use crate::netfilter::nft::{Direction, Expr, ExthdrField, FibResult, NumgenMode, Payload, Span, Type};
use crate::text::nft::print::{Printer, expr};
use crate::text::nft::read::lower::prefix_len;
use crate::text::nft::symbols::{self, Radix};

impl Printer<'_> {
    pub(super) fn json_expr(&self, e: &Expr) -> String {
        match e {
            Expr::Value { ty, value } => self::value(*ty, *value),
            Expr::Prefix { ty: Type::IfName, value, .. } => text(&format!("{}*", value_name(*value))),
            Expr::Prefix { ty, value, len } => {
                object("prefix", &[("addr", self::value(*ty, *value)), ("len", len.to_string())])
            }
            Expr::Range { ty, low, high } => range(*ty, Span { low: *low, high: *high }),
            Expr::Meta(key) => object("meta", &[("key", text(expr::meta_name(*key)))]),
            Expr::Ct { key, direction, family } => {
                let name = match family {
                    Some(family) => format!("{} {}", family.name(), key.name()),
                    None => key.name().to_owned(),
                };
                json_ct(&name, *direction)
            }
            Expr::Payload(payload) => json_payload(payload),
            Expr::Exthdr(field) => json_exthdr(field),
            Expr::Fib { keys, result } => {
                let flags = set_ones(&[
                    (keys.saddr, "saddr"),
                    (keys.daddr, "daddr"),
                    (keys.mark, "mark"),
                    (keys.iif, "iif"),
                    (keys.oif, "oif"),
                ]);
                let result = match result {
                    FibResult::Oif | FibResult::Present => "oif",
                    FibResult::OifName => "oifname",
                    FibResult::Type => "type",
                };
                object("fib", &[("result", text(result)), ("flags", array(&flags))])
            }
            Expr::Rt { key, family } => {
                let mut inside = vec![("key", text(key.name()))];
                if let Some(family) = family {
                    inside.push(("family", text(family.name())));
                }
                object("rt", &inside)
            }
            Expr::Numgen(numgen) => {
                let mode = match numgen.mode {
                    NumgenMode::Random => "random",
                    NumgenMode::Inc => "inc",
                };
                object(
                    "numgen",
                    &[
                        ("mode", text(mode)),
                        ("mod", numgen.modulus.to_string()),
                        ("offset", numgen.offset.to_string()),
                    ],
                )
            }
            Expr::Hash(hash) => {
                let mut inside = vec![("mod", hash.modulus.to_string())];
                if let Some(seed) = hash.seed {
                    inside.push(("seed", seed.to_string()));
                }
                if hash.offset > 0 {
                    inside.push(("offset", hash.offset.to_string()));
                }
                match &hash.key {
                    Some(key) => {
                        inside.push(("expr", self.json_expr(key)));
                        object("jhash", &inside)
                    }
                    None => object("symhash", &inside),
                }
            }
            Expr::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.json_expr(part)).collect();
                wrap("concat", &array(&parts))
            }
            Expr::Binary { op, left, right } => {
                wrap(op.symbol(), &array(&[self.json_expr(left), self.json_expr(right)]))
            }
            Expr::Map { key, map } => self.json_map("map", key, map),
            Expr::Set(set) => self.json_set_ref(set),
            Expr::Foreign { text: foreign, .. } => text(foreign),
        }
    }
}

pub(super) fn json_ct(name: &str, direction: Option<Direction>) -> String {
    let mut inside = vec![("key", text(name))];
    if let Some(direction) = direction {
        inside.push(("dir", text(direction.name())));
    }
    object("ct", &inside)
}

pub(super) fn json_payload(payload: &Payload) -> String {
    match payload {
        Payload::Field { proto, field } => {
            object("payload", &[("protocol", text(proto.name())), ("field", text(field.name))])
        }
        Payload::Raw { base, offset_bits, bits } => object(
            "payload",
            &[("base", text(base.name())), ("offset", offset_bits.to_string()), ("len", bits.to_string())],
        ),
    }
}

pub(super) fn json_exthdr(field: &ExthdrField) -> String {
    let named = |kind: &str, name: &str, field: Option<&str>| {
        let mut inside = vec![("name", text(name))];
        if let Some(field) = field {
            inside.push(("field", text(field)));
        }
        object(kind, &inside)
    };
    match field {
        ExthdrField::Ipv6 { header, field } => named("exthdr", header.name, field.map(|f| f.name)),
        ExthdrField::TcpOption { option, number, field } => {
            let name = if *number > 0 { format!("{}{number}", option.name) } else { option.name.to_owned() };
            named("tcp option", &name, field.map(|f| f.name))
        }
        ExthdrField::TcpRaw { kind, offset_bits, bits } => object(
            "tcp option",
            &[
                ("base", kind.to_string()),
                ("offset", offset_bits.to_string()),
                ("len", if *bits == 0 { 8 } else { *bits }.to_string()),
            ],
        ),
        ExthdrField::IpOption { option, field } => named("ip option", option.name, field.map(|f| f.name)),
    }
}

/// A constant: a number where the type has no symbols, else its text without quotes.
pub(super) fn value(ty: Type, value: u128) -> String {
    match ty {
        Type::Integer(_) | Type::Mark | Type::InetService | Type::Uid | Type::Gid => value.to_string(),
        Type::Time => (value / 1000).to_string(),
        Type::CtLabel => value.trailing_zeros().to_string(),
        Type::Boolean => (value != 0).to_string(),
        ty if ty.is_bitmask() && value != 0 => {
            let names: Vec<String> = (0..ty.bits())
                .map(|bit| 1_u128 << bit)
                .filter(|bit| value & bit != 0)
                .map(|bit| {
                    let name = symbols::of(ty).iter().find(|(_, v)| *v == bit);
                    name.map_or_else(|| bit.to_string(), |(name, _)| text(name))
                })
                .collect();
            one_or_array(&names)
        }
        ty => {
            let mut out = String::new();
            symbols::print(&mut out, ty, value, Radix::Decimal);
            let has_name = symbols::of(ty).iter().any(|(_, v)| *v == value);
            // Realms are text in any case.
            let from_file = ty == Type::Realm;
            if !symbols::of(ty).is_empty() && !has_name && !from_file {
                return value.to_string();
            }
            text(out.trim_matches('"'))
        }
    }
}

pub(super) fn range(ty: Type, span: Span) -> String {
    let end =
        |v: u128| if symbols::of(ty).is_empty() || ty == Type::Day { value(ty, v) } else { v.to_string() };
    wrap("range", &array(&[end(span.low), end(span.high)]))
}

pub(super) fn spans(key: &[Span], types: &[Type]) -> String {
    let parts: Vec<String> = key
        .iter()
        .zip(types)
        .map(|(span, ty)| {
            if span.is_one() {
                value(*ty, span.low)
            } else if let Some(len) = prefix_len(*ty, *span) {
                object("prefix", &[("addr", value(*ty, span.low)), ("len", len.to_string())])
            } else if *ty == Type::IfName {
                text(&format!("{}*", value_name(span.low)))
            } else {
                range(*ty, *span)
            }
        })
        .collect();
    if let [one] = parts.as_slice() { one.clone() } else { wrap("concat", &array(&parts)) }
}
