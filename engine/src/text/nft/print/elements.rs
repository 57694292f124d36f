//! Elements of sets: their order, their layout, and how one prints.

use std::fmt::Write as _;

use super::Printer;
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::types::value_name;
use crate::netfilter::nft::{
    AnonymousSet, Data, Element, Elements, Key, Set, SetData, Span, StmtState, Type,
};
use crate::text::nft::read::lower::prefix_len;
use crate::text::nft::symbols::{self, Radix};

/// Continuation lines of a list of elements.
const NEXT_LINE: &str = ",\n\t\t\t     ";

impl Printer<'_> {
    /// `{ a, b }` of a rule, on one line.
    pub(super) fn anonymous_elements(&self, out: &mut String, set: &AnonymousSet, radix: Radix) {
        out.push_str("{ ");
        let elements = ordered(&set.elements, &set.key, set.interval);
        let mut first = true;
        for (key, element) in elements.into_iter().chain(catch_all(&set.elements)) {
            if !std::mem::take(&mut first) {
                out.push_str(", ");
            }
            self.element(out, key, element, &set.key, &set.data, radix);
        }
        out.push_str(" }");
    }

    /// The list of a named set, in lines.
    pub(super) fn named_elements(&self, out: &mut String, set: &Set, elements: &Elements) {
        let per_line = per_line(&set.key);
        out.push_str("{ ");
        let mut on_line = 0;
        let all = ordered(elements, &set.key, set.flags.interval);
        for (key, element) in all.into_iter().chain(catch_all(elements)).filter(|(_, e)| self.alive(e)) {
            if on_line == per_line {
                out.push_str(NEXT_LINE);
                on_line = 0;
            } else if on_line > 0 {
                out.push_str(", ");
            }
            on_line += 1;
            self.element(out, key, element, &set.key, &set.data, Radix::Decimal);
        }
        out.push_str(" }");
    }

    fn element(
        &self,
        out: &mut String,
        key: Option<&Key>,
        element: &Element,
        types: &[Type],
        data: &SetData,
        radix: Radix,
    ) {
        match key {
            None => out.push('*'),
            Some(key) => spans(out, key, types, radix),
        }
        for state in &element.state {
            out.push(' ');
            self.element_stmt(out, state.kind, Some(&state.state));
        }
        if let Some(ms) = element.timeout {
            out.push_str(" timeout ");
            symbols::print_span(out, ms);
        }
        if let Some(at) = element.expires.filter(|_| !self.options.stateless) {
            out.push_str(" expires ");
            symbols::print_span(out, at.since(self.now).as_millis());
        }
        if let Some(comment) = &element.comment {
            let _ = write!(out, " comment \"{comment}\"");
        }
        if let Some(value) = &element.data {
            out.push_str(" : ");
            match (value, data) {
                (Data::Values(key), SetData::Values(types)) => spans(out, key, types, Radix::Decimal),
                (Data::Values(_), _) => {}
                (Data::Verdict(verdict), _) => self.verdict(out, verdict, 0),
                (Data::Object(name), _) => {
                    let _ = write!(out, "\"{name}\"");
                }
            }
        }
    }

    /// A stateful statement of an element; with no state, as a declaration has it.
    pub(super) fn element_stmt(&self, out: &mut String, kind: ElementStmt, state: Option<&StmtState>) {
        match (kind, state) {
            (ElementStmt::Counter, Some(StmtState::Counter(c))) if !self.options.stateless => {
                let _ = write!(out, "counter packets {} bytes {}", c.packets, c.bytes);
            }
            (ElementStmt::Counter, _) => out.push_str("counter"),
            (ElementStmt::Limit(limit), _) => {
                out.push_str("limit ");
                super::stmt::limit(out, &limit);
            }
            (ElementStmt::Quota(quota), state) => {
                out.push_str("quota ");
                super::stmt::quota(out, &quota, state.unwrap_or(&StmtState::Free), self.options.stateless);
            }
            (ElementStmt::CtCount { over, count }, _) => {
                let _ = write!(out, "ct count {}{count}", if over { "over " } else { "" });
            }
            (ElementStmt::Last, _) => out.push_str("last"),
        }
    }
}

fn catch_all(elements: &Elements) -> Option<(Option<&Key>, &Element)> {
    elements.catch_all.as_ref().map(|e| (None, e))
}

/// Elements on a line before the next begins, by the first field's type (`calculate_delim`).
fn per_line(types: &[Type]) -> u32 {
    let [ty] = types else { return 1 };
    match ty {
        Type::InetProto
        | Type::InetService
        | Type::TcpFlag
        | Type::Mark
        | Type::IfIndex
        | Type::Classid
        | Type::Uid
        | Type::Gid
        | Type::CtDir
        | Type::ArpOp
        | Type::NfProto
        | Type::DccpPkttype
        | Type::Integer(_) => 5,
        Type::Ipv4Addr | Type::CtState | Type::CtStatus | Type::PktType => 2,
        _ => 1,
    }
}

/// The fields of a key, each a value, a prefix, a range or the beginning of a name.
pub(super) fn spans(out: &mut String, key: &[Span], types: &[Type], radix: Radix) {
    for (index, (span, ty)) in key.iter().zip(types).enumerate() {
        if index > 0 {
            out.push_str(" . ");
        }
        self::span(out, *span, *ty, radix);
    }
}

/// One field as a set shows it: what can be a prefix of an address is one.
pub(super) fn span(out: &mut String, span: Span, ty: Type, radix: Radix) {
    if span.is_one() {
        symbols::print(out, ty, span.low, radix);
    } else if let Some(len) = prefix_len(ty, span) {
        symbols::print(out, ty, span.low, radix);
        let _ = write!(out, "/{len}");
    } else if ty == Type::IfName {
        let free = 128 - (span.high - span.low).leading_zeros();
        let stem = value_name(span.low);
        debug_assert!(free.is_multiple_of(8), "names are cut at bytes");
        let _ = write!(out, "\"{stem}*\"");
    } else {
        range(out, ty, span.low, span.high, radix);
    }
}

/// Both ends; the tool prints numbers there instead of symbols.
pub(super) fn range(out: &mut String, ty: Type, low: u128, high: u128, radix: Radix) {
    let end = |out: &mut String, value: u128| match ty {
        Type::Time => {
            let _ = write!(out, "{}s", value / 1000);
        }
        _ if !symbols::of(ty).is_empty() => {
            let _ = if ty.is_bitmask() { write!(out, "0x{value:x}") } else { write!(out, "{value}") };
        }
        _ => symbols::print(out, ty, value, radix),
    };
    end(out, low);
    out.push('-');
    end(out, high);
}

/// Elements in the order they are listed: intervals by value, concatenations of intervals as they were added, the rest
/// by the bytes of the key as one number (`list_expr_sort`).
pub(super) fn ordered<'e>(
    elements: &'e Elements,
    types: &[Type],
    interval: bool,
) -> Vec<(Option<&'e Key>, &'e Element)> {
    let mut list: Vec<(&Key, &Element)> = elements.by_key.iter().collect();
    match (interval, types) {
        (true, [_]) => {}
        (true, _) => list.sort_by_key(|(_, e)| e.sequence),
        (false, [ty]) => match ty {
            Type::IfName | Type::Str => list.sort_by_key(|(key, _)| key[0].low.swap_bytes()),
            Type::IfIndex => list.sort_by_key(|(key, e)| index_rank(key[0].low, e.sequence)),
            ty if ty.is_bitmask() => {
                // The lowest bit decides; of equal ones the newest comes first.
                list.sort_by_key(|(key, e)| (lowest_bit(key[0].low), std::cmp::Reverse(e.sequence)));
            }
            _ => {}
        },
        (false, types) => list.sort_by_cached_key(|(key, _)| reversed_bytes(key, types)),
    }
    list.into_iter().map(|(key, element)| (Some(key), element)).collect()
}

const fn lowest_bit(value: u128) -> u128 {
    value & value.wrapping_neg()
}

/// Interfaces sort by index, which only `lo` is known to have.
fn index_rank(value: u128, sequence: u64) -> u128 {
    if value <= u32::MAX.into() {
        value
    } else if value_name(value) == "lo" {
        1
    } else {
        (1 << 32) + u128::from(sequence)
    }
}

/// The bytes of the key from the last to the first: the tool compares them as one little-endian number.
fn reversed_bytes(key: &Key, types: &[Type]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (span, ty) in key.iter().zip(types) {
        let len = usize::from(ty.bits().div_ceil(8));
        let value = span.low.to_be_bytes();
        let value = &value[16 - len..];
        if ty.is_network_order() || matches!(ty, Type::IfName | Type::Str) || len == 1 {
            bytes.extend_from_slice(value);
        } else {
            bytes.extend(value.iter().rev());
        }
    }
    bytes.reverse();
    bytes
}
