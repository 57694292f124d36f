//! Keys, elements, lists of elements: of sets in place and of `add element`.

use std::sync::Arc;

use super::cursor::Cursor;
use super::expr::constant;
use super::limits;
use crate::base::{Duration, Instant};
use crate::netfilter::nft::set::{Data, Element, ElementState, ElementStmt, Elements, Key, SetData, Span};
use crate::netfilter::nft::{StmtState, Type, Verdict};
use crate::text::diag::Place;
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::lex::Kind;
use crate::text::nft::symbols;

/// Deepest nesting of lists, which variables put inside each other.
const NESTING_MAX: u32 = 16;

/// Longest comment (`NFTNL_UDATA_COMMENT_MAXLEN`).
pub(in crate::text::nft) const COMMENT_MAX: usize = 128;

/// What a list is a list of.
#[derive(Clone, Copy, Debug)]
pub(in crate::text::nft) struct Shape<'s> {
    pub(in crate::text::nft) key: &'s [Type],
    pub(in crate::text::nft) data: &'s SetData,
    /// Stateful statements that each element gets.
    pub(in crate::text::nft) with: &'s [ElementStmt],
}

/// An element as written.
#[derive(Clone, Debug)]
pub(in crate::text::nft) struct Item {
    /// None for `*`.
    pub(in crate::text::nft) key: Option<Key>,
    pub(in crate::text::nft) element: Element,
    /// Milliseconds left, where stated.
    pub(in crate::text::nft) expires: Option<u64>,
    pub(in crate::text::nft) place: Place,
}

/// A list in braces. A name that stands where data should tells which kind of data there must be.
pub(in crate::text::nft) fn list(
    cur: &mut Cursor<'_, '_>,
    shape: Shape<'_>,
    need_data: bool,
) -> Result<Vec<Item>, Fault> {
    let mut items = Vec::new();
    braces(cur, shape, need_data, 0, &mut items)?;
    Ok(items)
}

fn braces(
    cur: &mut Cursor<'_, '_>,
    shape: Shape<'_>,
    need_data: bool,
    depth: u32,
    items: &mut Vec<Item>,
) -> Result<(), Fault> {
    if depth > NESTING_MAX {
        return Err(Fault::at(cur.peek().place, "lists are nested too deeply"));
    }
    cur.expect("{")?;
    cur.skip_breaks();
    if cur.sees("}") {
        return Err(cur.unexpected());
    }
    loop {
        cur.skip_breaks();
        if cur.eat("}") {
            return Ok(());
        }
        if cur.sees("{") {
            braces(cur, shape, need_data, depth + 1, items)?;
        } else {
            items.push(item(cur, shape, need_data)?);
        }
        cur.skip_breaks();
        if !cur.eat(",") {
            let close = cur.sees("}");
            if !close {
                let fault = cur.unexpected();
                return Err(Fault {
                    message: format!("{}, expecting comma or '}}'", fault.message),
                    ..fault
                });
            }
            cur.next();
            return Ok(());
        }
    }
}

fn item(cur: &mut Cursor<'_, '_>, shape: Shape<'_>, need_data: bool) -> Result<Item, Fault> {
    let start = cur.peek().place;
    let key = if cur.eat("*") { None } else { Some(key(cur, shape.key)?) };
    let until = cur.last_place();
    let place = span_of(start, until);
    let mut element =
        Element { data: None, timeout: None, expires: None, comment: None, state: Vec::new(), sequence: 0 };
    let mut expires = None;
    loop {
        let token = cur.peek();
        match token.text {
            "timeout" if token.kind == Kind::Word => {
                cur.next();
                element.timeout = Some(span_ms(cur)?);
            }
            "expires" if token.kind == Kind::Word => {
                cur.next();
                expires = Some(span_ms(cur)?);
            }
            "comment" if token.kind == Kind::Word => {
                cur.next();
                element.comment = Some(comment(cur)?);
            }
            _ => match stateful(cur)? {
                Some(state) => element.state.push(state),
                None => break,
            },
        }
    }
    for kind in shape.with {
        if !element.state.iter().any(|s| std::mem::discriminant(&s.kind) == std::mem::discriminant(kind)) {
            element.state.push(ElementState { kind: *kind, state: kind.fresh() });
        }
    }
    let has_data = !matches!(shape.data, SetData::None);
    if cur.sees(":") {
        if !has_data {
            return Err(Fault::at(place, "mapping outside of map context"));
        }
        cur.next();
        element.data = Some(data(cur, shape.data)?);
    } else if has_data && need_data {
        let fault = cur.unexpected();
        return Err(Fault { message: format!("{}, expecting colon", fault.message), ..fault });
    }
    Ok(Item { key, element, expires, place })
}

pub(in crate::text::nft) fn span_of(start: Place, until: Place) -> Place {
    if start.line == until.line {
        Place { len: (until.column + until.len).saturating_sub(start.column), ..start }
    } else {
        start
    }
}

/// `a . b-c . d/8`, one span a type.
pub(super) fn key(cur: &mut Cursor<'_, '_>, types: &[Type]) -> Result<Key, Fault> {
    let mut spans = Vec::with_capacity(types.len());
    let start = cur.peek().place;
    for (index, ty) in types.iter().enumerate() {
        if index > 0 {
            if !cur.sees(".") {
                let message = "datatype mismatch, expected a concatenation of as many fields as the set has";
                return Err(Fault::at(span_of(start, cur.last_place()), message));
            }
            cur.next();
        }
        spans.push(span(cur, *ty)?);
    }
    if cur.sees(".") {
        return Err(Fault::at(cur.peek().place, "unexpected concat component, too many fields for this set"));
    }
    Ok(spans.into())
}

/// A value, a range, a prefix or the beginning of a name.
pub(super) fn span(cur: &mut Cursor<'_, '_>, ty: Type) -> Result<Span, Fault> {
    let token = cur.peek();
    let parens = ty.is_bitmask() && cur.eat("(");
    if ty == Type::IfName
        && matches!(token.kind, Kind::Word | Kind::Quoted)
        && !cur.done()
        && let Some(stem) = token.text.strip_suffix('*').filter(|stem| !stem.ends_with('\\'))
    {
        if stem.is_empty() {
            return Err(Fault::at(token.place, "All-wildcard strings are not supported"));
        }
        if stem.len() > 15 {
            return Err(Fault::at(token.place, "String exceeds maximum length of 16"));
        }
        cur.next();
        return Ok(wildcard(stem));
    }
    let mut low = constant(cur, ty)?;
    if ty.is_bitmask() {
        while cur.sees("|") || cur.sees("or") || (parens && cur.sees(",")) {
            cur.next();
            low |= constant(cur, ty)?;
        }
        if parens {
            cur.expect(")")?;
        }
        if cur.sees("-") {
            cur.next();
            let high = constant(cur, ty)?;
            return range(token.place, cur.last_place(), low, high);
        }
        return Ok(Span::one(low));
    }
    if cur.eat("-") {
        let high = constant(cur, ty)?;
        return range(token.place, cur.last_place(), low, high);
    }
    if cur.eat("/") {
        let len = cur.number(u64::from(u16::MAX))? as u16;
        let place = span_of(token.place, cur.last_place());
        return prefix(ty, low, len).ok_or_else(|| {
            let bits = ty.bits();
            Fault::at(place, format!("Prefix length {len} is invalid for type of {bits} bits width"))
        });
    }
    Ok(Span::one(low))
}

fn range(start: Place, until: Place, low: u128, high: u128) -> Result<Span, Fault> {
    if low > high {
        return Err(Fault::at(span_of(start, until), "Range has zero or negative size"));
    }
    Ok(Span { low, high })
}

/// The names that begin with `stem`.
pub(super) fn wildcard(stem: &str) -> Span {
    let low = crate::netfilter::nft::types::name_value(stem);
    let rest = 128 - 8 * stem.len() as u32;
    Span { low, high: low | u128::MAX.checked_shr(128 - rest).unwrap_or(0) }
}

/// The values that share the first `len` bits with `value`.
pub(in crate::text::nft) fn prefix(ty: Type, value: u128, len: u16) -> Option<Span> {
    let bits = ty.bits();
    let free = bits.checked_sub(len)?;
    let host = 1_u128.checked_shl(free.into()).map_or(u128::MAX, |v| v - 1);
    Some(Span { low: value & !host, high: value | (host & ty.max()) })
}

fn span_ms(cur: &mut Cursor<'_, '_>) -> Result<u64, Fault> {
    let token = cur.string()?;
    symbols::parse_span(token.text).ok_or_else(|| Fault::at(token.place, "Could not parse time"))
}

pub(in crate::text::nft) fn comment(cur: &mut Cursor<'_, '_>) -> Result<Box<str>, Fault> {
    let token = cur.string()?;
    if token.text.len() > COMMENT_MAX {
        return Err(Fault::at(token.place, "comment too long, 128 characters maximum allowed"));
    }
    Ok(token.text.into())
}

/// A stateful statement of an element, if one stands here.
pub(in crate::text::nft) fn stateful(cur: &mut Cursor<'_, '_>) -> Result<Option<ElementState>, Fault> {
    if cur.peek().kind != Kind::Word || cur.done() {
        return Ok(None);
    }
    let state = match cur.peek().text {
        "counter" => {
            cur.next();
            let counters = limits::counter(cur)?;
            ElementState { kind: ElementStmt::Counter, state: StmtState::Counter(counters) }
        }
        "limit" => {
            cur.next();
            let limit = limits::limit(cur)?;
            ElementState { kind: ElementStmt::Limit(limit), state: StmtState::Limit(None) }
        }
        "quota" => {
            cur.next();
            let (quota, used_bytes) = limits::quota(cur)?;
            ElementState { kind: ElementStmt::Quota(quota), state: StmtState::Quota { used_bytes } }
        }
        "ct" if cur.peek_at(1).text == "count" => {
            cur.next();
            cur.next();
            let over = cur.eat("over");
            let count = cur.number(u32::MAX.into())? as u32;
            let kind = ElementStmt::CtCount { over, count };
            ElementState { kind, state: kind.fresh() }
        }
        "last" => {
            cur.next();
            if cur.eat("used") {
                cur.string()?;
            }
            ElementState { kind: ElementStmt::Last, state: StmtState::Last(None) }
        }
        _ => return Ok(None),
    };
    Ok(Some(state))
}

fn data(cur: &mut Cursor<'_, '_>, kind: &SetData) -> Result<Data, Fault> {
    Ok(match kind {
        SetData::Verdict => Data::Verdict(verdict(cur)?.ok_or_else(|| cur.unexpected())?),
        SetData::Values(types) => Data::Values(key(cur, types)?),
        SetData::Objects(_) => Data::Object(cur.string()?.text.into()),
        SetData::None => return Err(cur.unexpected()),
    })
}

/// A verdict, if one stands here. Chains written in place are the rule reader's.
pub(super) fn verdict(cur: &mut Cursor<'_, '_>) -> Result<Option<Verdict>, Fault> {
    if cur.done() || cur.peek().kind != Kind::Word {
        return Ok(None);
    }
    let verdict = match cur.peek().text {
        "accept" => Verdict::Accept,
        "drop" => Verdict::Drop,
        "continue" => Verdict::Continue,
        "return" => Verdict::Return,
        word @ ("jump" | "goto") => {
            cur.next();
            let token = cur.peek();
            let fits = !cur.done() && matches!(token.kind, Kind::Word | Kind::Quoted);
            if !fits {
                let fault = cur.unexpected();
                return Err(Fault { message: format!("{}, expecting '{{'", fault.message), ..fault });
            }
            cur.next();
            let chain: Arc<str> = token.text.into();
            return Ok(Some(if word == "jump" { Verdict::Jump(chain) } else { Verdict::Goto(chain) }));
        }
        _ => return Ok(None),
    };
    cur.next();
    Ok(Some(verdict))
}

/// What happens where an interval meets another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::text::nft) enum Overlap {
    /// There are only single values.
    Never,
    Refuse,
    /// They become one, also where they touch.
    Merge,
}

/// Elements of a set in place: intervals of a set merge, a key of a map may stand once. Whether there are intervals.
pub(super) fn in_place(items: Vec<Item>, is_map: bool) -> Result<(Elements, bool), Fault> {
    let interval =
        items.iter().any(|item| item.key.as_ref().is_none_or(|key| key.iter().any(|s| !s.is_one())));
    let overlap = match (interval, is_map) {
        (false, _) => Overlap::Never,
        (true, true) => Overlap::Refuse,
        (true, false) => Overlap::Merge,
    };
    let mut elements = Elements::default();
    for item in items {
        add(&mut elements, item, Instant::ZERO, overlap, None)?;
    }
    Ok((elements, interval))
}

/// Adds an element: an equal one may stand already, a map's only with equal data. `lifetime` is what elements live by
/// default, in milliseconds. Whether it is new.
pub(in crate::text::nft) fn add(
    elements: &mut Elements,
    item: Item,
    now: Instant,
    overlap: Overlap,
    lifetime: Option<u64>,
) -> Result<bool, Fault> {
    let Item { key, mut element, expires, place } = item;
    let lives = element.timeout.filter(|ms| *ms > 0).or(lifetime.filter(|ms| *ms > 0));
    if element.timeout == lifetime || element.timeout == Some(0) {
        element.timeout = None;
    }
    element.expires = lives.map(|ms| after(now, expires.unwrap_or(ms).min(ms)));
    element.sequence = elements.next_sequence;
    let Some(key) = key else {
        return match &elements.catch_all {
            Some(known) if known.data != element.data => Err(Fault::kernel(place, Errno::Exists)),
            Some(_) => Ok(false),
            None => {
                elements.catch_all = Some(element);
                elements.next_sequence += 1;
                Ok(true)
            }
        };
    };
    if let Some(known) = elements.by_key.get_mut(&key) {
        let alive = known.expires.is_none_or(|at| at > now);
        if alive && known.data != element.data {
            return Err(Fault::kernel(place, Errno::Exists));
        }
        if !alive {
            *known = element;
        }
        return Ok(!alive);
    }
    let key = match (&*key, overlap) {
        (_, Overlap::Never) => key,
        ([span], _) => {
            let mut span = *span;
            while let Some(near) = neighbour(elements, span, overlap) {
                if overlap == Overlap::Refuse {
                    return Err(Fault::at(place, "conflicting intervals specified"));
                }
                span = Span { low: span.low.min(near.low), high: span.high.max(near.high) };
                elements.by_key.remove(&[near] as &[Span]);
            }
            [span].into()
        }
        _ => {
            let overlaps =
                |known: &Key| known.iter().zip(&key).all(|(a, b)| a.low <= b.high && b.low <= a.high);
            if elements.by_key.keys().any(overlaps) {
                return Err(Fault::kernel(place, Errno::Exists));
            }
            key
        }
    };
    elements.by_key.insert(key, element);
    elements.next_sequence += 1;
    Ok(true)
}

/// An interval that overlaps this one; where they merge, also one that touches it.
fn neighbour(elements: &Elements, span: Span, overlap: Overlap) -> Option<Span> {
    let reach = u128::from(overlap == Overlap::Merge);
    let bound: Key = [Span { low: span.high.saturating_add(reach), high: u128::MAX }].into();
    let (key, _) = elements.by_key.range(..=bound).next_back()?;
    let near = *key.first()?;
    (near.high.saturating_add(reach) >= span.low).then_some(near)
}

/// `ms` milliseconds later.
fn after(now: Instant, ms: u64) -> Instant {
    now + Duration::from_millis(ms)
}
