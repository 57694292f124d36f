//! Sets, maps and verdict maps, named and in place, and their elements.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::expr::Expr;
use super::object::ObjectKind;
use super::state::{SetId, StmtState};
use super::stmt::{Limit, Quota, Statement, Verdict};
use super::types::Type;
use crate::base::Instant;

/// Values `low..=high` of one field of a key. A single value has equal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub low: u128,
    pub high: u128,
}

impl Span {
    pub const fn one(value: u128) -> Self {
        Self { low: value, high: value }
    }

    pub const fn contains(&self, value: u128) -> bool {
        self.low <= value && value <= self.high
    }

    pub const fn is_one(&self) -> bool {
        self.low == self.high
    }
}

/// A key: one span a field of the concatenation, in its order.
pub type Key = Box<[Span]>;

/// What an element of a map holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Values, one a field; ranges in maps for NAT.
    Values(Key),
    Verdict(Verdict),
    /// Name of an object of the map's kind.
    Object(Arc<str>),
}

/// What a map's elements hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetData {
    /// A set: nothing.
    None,
    Values(Vec<Type>),
    Verdict,
    Objects(ObjectKind),
}

/// One element.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// None in a set.
    pub data: Option<Data>,
    /// Its own time to live in milliseconds, where it has one (`timeout 1m`).
    pub timeout: Option<u64>,
    /// When it goes, for elements that do.
    pub expires: Option<Instant>,
    pub comment: Option<Box<str>>,
    /// State of its counter, limit, quota..., as the set's [`Set::with`] or the element itself asks.
    pub state: Vec<ElementState>,
    /// Order of arrival.
    pub sequence: u64,
}

/// A stateful statement of an element, and what it remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementState {
    pub kind: ElementStmt,
    pub state: StmtState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementStmt {
    Counter,
    Limit(Limit),
    Quota(Quota),
    CtCount { over: bool, count: u32 },
    Last,
}

/// The elements of a set, found by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elements {
    /// By key: in the order of the first field, then the next.
    pub by_key: BTreeMap<Key, Element>,
    /// `*`: for keys no other element holds.
    pub catch_all: Option<Element>,
    /// Sequence number of the next element.
    pub next_sequence: u64,
}

impl Elements {
    pub fn len(&self) -> usize {
        self.by_key.len() + usize::from(self.catch_all.is_some())
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty() && self.catch_all.is_none()
    }

    /// The element that holds `values` at `now`: an equal key, an interval around them, the catch-all. Of intervals that
    /// overlap in a concatenation the first that was added.
    pub fn find(&self, values: &[u128], now: Instant) -> Option<&Element> {
        self.find_in(values, now, true)
    }

    /// As [`Self::find`]; without `intervals` every key is a single value, and none needs to be searched for.
    pub fn find_in(&self, values: &[u128], now: Instant, intervals: bool) -> Option<&Element> {
        self.entry_in(values, now, intervals).map(|(_, element)| element)
    }

    /// As [`Self::find_in`], with the element's key; the catch-all has none.
    pub fn entry_in(
        &self,
        values: &[u128],
        now: Instant,
        intervals: bool,
    ) -> Option<(Option<&Key>, &Element)> {
        match self.place(values, now, intervals) {
            Some(key) => self.by_key.get_key_value(&key).map(|(key, element)| (Some(key), element)),
            None => self.catch_all.as_ref().filter(|e| is_alive(e, now)).map(|element| (None, element)),
        }
    }

    /// The element that [`Self::find_in`] finds, to change what it remembers.
    pub fn find_in_mut(&mut self, values: &[u128], now: Instant, intervals: bool) -> Option<&mut Element> {
        match self.place(values, now, intervals) {
            Some(key) => self.by_key.get_mut(&key),
            None => self.catch_all.as_mut().filter(|e| is_alive(e, now)),
        }
    }

    /// Key of the element, other than the catch-all, that holds `values`.
    fn place(&self, values: &[u128], now: Instant, intervals: bool) -> Option<Key> {
        let exact: Key = values.iter().copied().map(Span::one).collect();
        if self.by_key.get(&exact).is_some_and(|e| is_alive(e, now)) {
            return Some(exact);
        }
        if !intervals {
            return None;
        }
        match values {
            // Intervals of one field do not overlap: only the last that begins at or before can hold the value.
            [value] => {
                let up_to: Key = [Span { low: *value, high: u128::MAX }].into();
                let (key, element) = self.by_key.range(..=up_to).next_back()?;
                (key[0].contains(*value) && is_alive(element, now)).then(|| key.clone())
            }
            _ => self
                .by_key
                .iter()
                .filter(|(key, element)| {
                    key.len() == values.len()
                        && key.iter().zip(values).all(|(s, v)| s.contains(*v))
                        && is_alive(element, now)
                })
                .min_by_key(|(_, e)| e.sequence)
                .map(|(key, _)| key.clone()),
        }
    }
}

fn is_alive(element: &Element, now: Instant) -> bool {
    element.expires.is_none_or(|at| at > now)
}

/// `{ ... }` inside a rule: its elements never change.
#[derive(Clone, Debug, PartialEq)]
pub struct AnonymousSet {
    pub key: Vec<Type>,
    pub data: SetData,
    pub elements: Elements,
    pub interval: bool,
}

impl AnonymousSet {
    pub fn data_types(&self) -> Option<&[Type]> {
        match &self.data {
            SetData::Values(types) => Some(types),
            SetData::None | SetData::Verdict | SetData::Objects(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetFlags {
    pub constant: bool,
    pub interval: bool,
    pub timeout: bool,
    pub dynamic: bool,
}

/// A named set or map: what it was declared as. Its elements are in the state ([`super::NftState::elements`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    pub name: Arc<str>,
    pub handle: u64,
    /// Types of the key's fields.
    pub key: Vec<Type>,
    /// `typeof`: the expression it was declared by.
    pub key_typeof: Option<Expr>,
    pub data: SetData,
    /// `typeof ... : EXPR`.
    pub data_typeof: Option<Expr>,
    /// The data of a map is an interval (`interval` before the data's type).
    pub data_interval: bool,
    pub flags: SetFlags,
    /// Default time to live of elements, in milliseconds.
    pub timeout: Option<u64>,
    /// Milliseconds.
    pub gc_interval: Option<u64>,
    pub size: Option<u32>,
    /// `policy memory`.
    pub memory: bool,
    pub auto_merge: bool,
    pub comment: Option<Box<str>>,
    /// Stateful statements that every element gets (`counter`, `limit ...`), and a dynamic one by default.
    pub with: Vec<ElementStmt>,
    pub id: SetId,
    /// Line of the text it was read from, from 1; zero when made otherwise.
    pub line: u32,
}

impl Set {
    /// `set` or `map`.
    pub const fn noun(&self) -> &'static str {
        match self.data {
            SetData::None => "set",
            SetData::Values(_) | SetData::Verdict | SetData::Objects(_) => "map",
        }
    }
}

impl ElementStmt {
    /// The element's side of a stateful statement; none for statements an element cannot have.
    pub const fn of(statement: &Statement) -> Option<Self> {
        match statement {
            Statement::Counter { .. } => Some(Self::Counter),
            Statement::Limit { limit, .. } => Some(Self::Limit(*limit)),
            Statement::Quota { quota, .. } => Some(Self::Quota(*quota)),
            Statement::CtCount { over, count, .. } => Some(Self::CtCount { over: *over, count: *count }),
            Statement::Last { .. } => Some(Self::Last),
            _ => None,
        }
    }

    /// What it remembers before the first packet.
    pub const fn fresh(&self) -> StmtState {
        match self {
            Self::Counter => StmtState::Counter(crate::netfilter::Counters { packets: 0, bytes: 0 }),
            Self::Limit(_) => StmtState::Limit(None),
            Self::Quota(_) => StmtState::Quota { used_bytes: 0 },
            Self::CtCount { .. } => StmtState::CtCount(Vec::new()),
            Self::Last => StmtState::Last(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(sequence: u64) -> Element {
        Element { data: None, timeout: None, expires: None, comment: None, state: Vec::new(), sequence }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_value_is_found_by_itself_by_an_interval_and_by_the_catch_all() {
        let mut set = Elements::default();
        set.by_key.insert([Span::one(5)].into(), element(0));
        set.by_key.insert([Span { low: 10, high: 20 }].into(), element(1));
        let found = |set: &Elements, value| set.find(&[value], at(0)).map(|e| e.sequence);
        assert_eq!([5, 9, 10, 20, 21].map(|v| found(&set, v)), [Some(0), None, Some(1), Some(1), None]);
        set.catch_all = Some(element(2));
        assert_eq!(found(&set, 9), Some(2));
    }

    #[test]
    fn of_overlapping_concatenations_the_first_added_is_found() {
        let mut set = Elements::default();
        let wide = Span { low: 0, high: 100 };
        set.by_key.insert([wide, wide].into(), element(1));
        set.by_key.insert([Span { low: 0, high: 50 }, wide].into(), element(0));
        assert_eq!(set.find(&[10, 10], at(0)).map(|e| e.sequence), Some(0));
        assert_eq!(set.find(&[60, 10], at(0)).map(|e| e.sequence), Some(1));
    }

    #[test]
    fn an_element_is_gone_once_its_time_is_over() {
        let mut set = Elements::default();
        set.by_key.insert([Span::one(5)].into(), Element { expires: Some(at(10)), ..element(0) });
        assert!(set.find(&[5], at(9)).is_some());
        assert!(set.find(&[5], at(10)).is_none());
    }
}
