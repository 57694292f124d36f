//! The two sides of a match.

use super::show::{fields_text, operand_text};
use super::value::Fields;
use super::{Flow, Stop, Walk, expr_text};
use crate::netfilter::nft::expr::Expr;
use crate::netfilter::nft::stmt::MatchOp;
use crate::netfilter::nft::types::{Type, name_value};
use crate::packet::Skb;

impl<'a> Walk<'a, '_, '_> {
    /// `nft_cmp`, `nft_bitwise`, `nft_range`, `nft_lookup`: goes on where the test holds.
    pub(super) fn compare(
        &mut self,
        left: &'a Expr,
        op: MatchOp,
        right: &'a Expr,
        skb: &Skb,
    ) -> Result<Flow, Stop> {
        let have = match self.fields(left, skb) {
            Ok(have) => have,
            Err(stop) => {
                if stop == Stop::Break {
                    self.check(false, || (expr_text(left), "none".to_owned(), wanted(op, right)));
                }
                return Err(stop);
            }
        };
        let mut element = None;
        let pass = match right {
            Expr::Set(set) => {
                element = self.find_for(set, &have, op == MatchOp::Ne, skb)?;
                element.is_some() != (op == MatchOp::Ne)
            }
            Expr::Range { low, high, .. } => {
                let within = have.as_slice().first().is_some_and(|v| low <= v && v <= high);
                within != (op == MatchOp::Ne)
            }
            Expr::Prefix { ty, value, len } => {
                let mask = prefix_mask(ty.bits(), *len);
                let within = have.as_slice().first().is_some_and(|v| v & mask == value & mask);
                within != (op == MatchOp::Ne)
            }
            Expr::Concat(_) => {
                let want = self.fields(right, skb)?;
                (have.as_slice() == want.as_slice()) != (op == MatchOp::Ne)
            }
            _ => {
                let want = self.value(right, skb)?;
                let one = have.as_slice().first().copied().unwrap_or(0);
                let (one, want) = self.indexes(left, one, want);
                holds(op, one, want)
            }
        };
        self.check(pass, || (expr_text(left), fields_text(left, have.as_slice()), wanted(op, right)));
        self.note_element(element.as_ref());
        if pass { Ok(Flow::Next) } else { Err(Stop::Break) }
    }

    /// Devices are compared by name; where one was given by its index, by that.
    fn indexes(&self, left: &Expr, have: u128, want: u128) -> (u128, u128) {
        const NAMES_FROM: u128 = 1 << 32;
        if left.ty() != Some(Type::IfIndex) || want >= NAMES_FROM || want == 0 {
            return (have, want);
        }
        let devices = [self.cx.indev, self.cx.outdev];
        let index = devices.iter().flatten().find(|d| name_value(d.name) == have).map(|d| d.id.0 + 1);
        (index.map_or(0, u128::from), want)
    }
}

const fn holds(op: MatchOp, have: u128, want: u128) -> bool {
    match op {
        MatchOp::Eq => have == want,
        MatchOp::Ne => have != want,
        MatchOp::Lt => have < want,
        MatchOp::Gt => have > want,
        MatchOp::Le => have <= want,
        MatchOp::Ge => have >= want,
        MatchOp::AnyBit => have & want != 0,
        MatchOp::NoBit => have & want == 0,
    }
}

/// The upper `len` of `bits` bits.
pub(super) fn prefix_mask(bits: u16, len: u16) -> u128 {
    let all = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
    let low = u32::from(bits.saturating_sub(len));
    all & u128::MAX.checked_shl(low).unwrap_or(0)
}

fn wanted(op: MatchOp, right: &Expr) -> String {
    let text = operand_text(right);
    match op {
        MatchOp::Eq | MatchOp::AnyBit => text,
        MatchOp::Ne => format!("!= {text}"),
        MatchOp::Lt => format!("< {text}"),
        MatchOp::Gt => format!("> {text}"),
        MatchOp::Le => format!("<= {text}"),
        MatchOp::Ge => format!(">= {text}"),
        MatchOp::NoBit => format!("! {text}"),
    }
}

/// What a key's fields are compared with, for a trace.
pub(super) fn key_words(key: &Expr, fields: &Fields) -> (String, String) {
    (expr_text(key), fields_text(key, fields.as_slice()))
}
