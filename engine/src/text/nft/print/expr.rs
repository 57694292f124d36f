//! How expressions print.

use std::fmt::Write as _;

use super::{Printer, elements};
use crate::netfilter::nft::types::value_name;
use crate::netfilter::nft::{
    BinaryOp, Expr, ExthdrField, FibResult, MetaKey, NumgenMode, Payload, SetRef, Type,
};
use crate::text::nft::symbols::{self, Radix};

impl Printer<'_> {
    pub(super) fn expr(&self, out: &mut String, expr: &Expr) {
        self.expr_in(out, expr, Radix::Decimal);
    }

    /// With the radix of integers beside raw bytes.
    pub(super) fn expr_in(&self, out: &mut String, expr: &Expr, radix: Radix) {
        let _ = match expr {
            Expr::Value { ty, value } => {
                symbols::print(out, *ty, *value, radix);
                Ok(())
            }
            Expr::Prefix { ty: Type::IfName, value, .. } => write!(out, "\"{}*\"", value_name(*value)),
            Expr::Prefix { ty, value, len } => {
                symbols::print(out, *ty, *value, radix);
                write!(out, "/{len}")
            }
            Expr::Range { ty, low, high } => {
                elements::range(out, *ty, *low, *high, radix);
                Ok(())
            }
            Expr::Meta(key) => {
                meta(out, *key);
                Ok(())
            }
            Expr::Ct { key, direction, family } => {
                out.push_str("ct ");
                if let Some(direction) = direction {
                    let _ = write!(out, "{} ", direction.name());
                }
                if let Some(family) = family {
                    let _ = write!(out, "{} ", family.name());
                }
                write!(out, "{}", key.name())
            }
            Expr::Payload(payload) => {
                self::payload(out, payload);
                Ok(())
            }
            Expr::Exthdr(field) => {
                exthdr(out, field);
                Ok(())
            }
            Expr::Fib { keys, result } => {
                let names = [
                    (keys.saddr, "saddr"),
                    (keys.daddr, "daddr"),
                    (keys.mark, "mark"),
                    (keys.iif, "iif"),
                    (keys.oif, "oif"),
                ];
                let names: Vec<&str> =
                    names.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
                let result = match result {
                    FibResult::Oif | FibResult::Present => "oif",
                    FibResult::OifName => "oifname",
                    FibResult::Type => "type",
                };
                write!(out, "fib {} {result}", names.join(" . "))
            }
            Expr::Rt { key, family } => match family {
                Some(family) => write!(out, "rt {} {}", family.name(), key.name()),
                None => write!(out, "rt {}", key.name()),
            },
            Expr::Numgen(numgen) => {
                let mode = match numgen.mode {
                    NumgenMode::Random => "random",
                    NumgenMode::Inc => "inc",
                };
                let _ = write!(out, "numgen {mode} mod {}", numgen.modulus);
                offset(out, numgen.offset)
            }
            Expr::Hash(hash) => {
                match &hash.key {
                    Some(key) => {
                        out.push_str("jhash ");
                        self.expr(out, key);
                    }
                    None => out.push_str("symhash"),
                }
                let _ = write!(out, " mod {}", hash.modulus);
                if let Some(seed) = hash.seed {
                    let _ = write!(out, " seed 0x{seed:x}");
                }
                offset(out, hash.offset)
            }
            Expr::Concat(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        out.push_str(" . ");
                    }
                    self.expr(out, part);
                }
                Ok(())
            }
            Expr::Binary { op, left, right } => {
                let radix = if reads_raw(left) { Radix::Hex } else { radix };
                self.operand(out, *op, left, radix);
                let _ = write!(out, " {} ", op.symbol());
                self.operand(out, *op, right, radix);
                Ok(())
            }
            Expr::Map { key, map } => {
                self.expr(out, key);
                out.push_str(" map ");
                self.set_ref(out, map, key);
                Ok(())
            }
            Expr::Set(set) => {
                self.set_ref_in(out, set, radix);
                Ok(())
            }
            Expr::Foreign { text, .. } => write!(out, "{text}"),
        };
    }

    /// An operand in parentheses if its operator is weaker.
    fn operand(&self, out: &mut String, op: BinaryOp, operand: &Expr, radix: Radix) {
        let weaker = match operand {
            Expr::Binary { op: inner, .. } => strength(op) < strength(*inner),
            Expr::Value { ty, value } => {
                ty.is_bitmask() && value.count_ones() > 1 && strength(op) < strength(BinaryOp::Or)
            }
            _ => false,
        };
        if weaker {
            out.push('(');
        }
        self.expr_in(out, operand, radix);
        if weaker {
            out.push(')');
        }
    }

    /// `@name` or `{ ... }`.
    pub(super) fn set_ref(&self, out: &mut String, set: &SetRef, key: &Expr) {
        let radix = if reads_raw(key) { Radix::Hex } else { Radix::Decimal };
        self.set_ref_in(out, set, radix);
    }

    fn set_ref_in(&self, out: &mut String, set: &SetRef, radix: Radix) {
        match set {
            SetRef::Named(name) => {
                let _ = write!(out, "@{name}");
            }
            SetRef::Anonymous(set) => self.anonymous_elements(out, set, radix),
        }
    }
}

/// Lower binds tighter (`expr_binop_precedence`).
const fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Lshift | BinaryOp::Rshift => 1,
        BinaryOp::And => 2,
        BinaryOp::Xor => 3,
        BinaryOp::Or => 4,
    }
}

/// Whether integers beside it print in hexadecimal.
pub(super) fn reads_raw(expr: &Expr) -> bool {
    let mut raw = false;
    expr.visit(&mut |e| raw |= matches!(e, Expr::Payload(Payload::Raw { .. })));
    raw
}

fn offset(out: &mut String, offset: u32) -> std::fmt::Result {
    if offset == 0 { Ok(()) } else { write!(out, " offset {offset}") }
}

/// `iifname`, `meta mark`.
pub(super) fn meta(out: &mut String, key: MetaKey) {
    if !key.is_unqualified() {
        out.push_str("meta ");
    }
    out.push_str(meta_name(key));
}

/// The key as 1.0.6 names it.
pub(super) const fn meta_name(key: MetaKey) -> &'static str {
    match key {
        MetaKey::Secpath => "ipsec",
        key => key.name(),
    }
}

pub(super) fn payload(out: &mut String, payload: &Payload) {
    let _ = match payload {
        Payload::Field { proto, field } => write!(out, "{} {}", proto.name(), field.name),
        Payload::Raw { base, offset_bits, bits } => write!(out, "@{},{offset_bits},{bits}", base.name()),
    };
}

pub(super) fn exthdr(out: &mut String, field: &ExthdrField) {
    let _ = match field {
        ExthdrField::Ipv6 { header, field: Some(field) } => write!(out, "{} {}", header.name, field.name),
        ExthdrField::Ipv6 { header, field: None } => write!(out, "exthdr {}", header.name),
        ExthdrField::TcpOption { option, number, field } => {
            let _ = write!(out, "tcp option {}", option.name);
            if *number > 0 {
                let _ = write!(out, "{number}");
            }
            match field {
                Some(field) => write!(out, " {}", field.name),
                None => Ok(()),
            }
        }
        ExthdrField::TcpRaw { kind, bits: 0, .. } => write!(out, "tcp option {kind}"),
        ExthdrField::TcpRaw { kind, offset_bits, bits } => {
            write!(out, "tcp option @{kind},{offset_bits},{bits}")
        }
        ExthdrField::IpOption { option, field } => {
            let _ = write!(out, "ip option {}", option.name);
            match field {
                Some(field) => write!(out, " {}", field.name),
                None => Ok(()),
            }
        }
    };
}
