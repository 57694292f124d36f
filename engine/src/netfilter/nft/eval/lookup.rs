//! Elements of sets: looking them up, making and deleting them (`nft_lookup.c`, `nft_dynset.c`).

use std::sync::Arc;

use super::show::element_text;
use super::value::Fields;
use super::{Flow, Stop, Walk, compare};
use crate::base::{Duration, Instant};
use crate::netfilter::nft::expr::{Expr, SetRef};
use crate::netfilter::nft::object::ObjectKind;
use crate::netfilter::nft::set::{Data, Element, ElementState, ElementStmt, Key, Set, SetData, Span};
use crate::netfilter::nft::stmt::{ObjectRef, SetOp, Statement};
use crate::netfilter::nft::types::Type;
use crate::packet::Skb;

/// An element that holds a key.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What it maps to; none in a set.
    pub(super) data: Option<Data>,
    /// As a listing has it, when a trace wants to know.
    words: Option<String>,
}

impl<'a> Walk<'a, '_, '_> {
    /// The element that holds the key, its counters and limits run. An element may break the rule off.
    pub(super) fn find(&mut self, set: &SetRef, key: &Fields, skb: &Skb) -> Result<Option<Found>, Stop> {
        self.find_for(set, key, false, skb)
    }

    /// The same where the rule may want no element to hold the key: one that does runs nothing then.
    pub(super) fn find_for(
        &mut self,
        set: &SetRef,
        key: &Fields,
        inverted: bool,
        skb: &Skb,
    ) -> Result<Option<Found>, Stop> {
        let (now, why) = (self.cx.now, self.why);
        let found = |at: Option<&Key>, element: &Element, types: &[Type], data: &SetData| Found {
            words: why.then(|| element_text(at, types, element.data.as_ref(), data)),
            data: element.data.clone(),
        };
        match set {
            SetRef::Anonymous(set) => {
                let entry = set.elements.entry_in(key.as_slice(), now, set.interval);
                Ok(entry.map(|(at, element)| found(at, element, &set.key, &set.data)))
            }
            SetRef::Named(name) => {
                let Some(set) = self.table.sets.get(name) else { return Ok(None) };
                let Some(elements) = self.state.elements(set.id) else { return Ok(None) };
                let Some((at, element)) = elements.entry_in(key.as_slice(), now, set.flags.interval) else {
                    return Ok(None);
                };
                let found = found(at, element, &set.key, &set.data);
                if !inverted && !element.state.is_empty() {
                    self.run_element(set, key, skb)?;
                }
                Ok(Some(found))
            }
        }
    }

    /// Notes a look-up for the trace: the key, the set or map, and the element that holds it.
    pub(super) fn looked_up(&mut self, key: &Expr, fields: &Fields, set: &SetRef, found: Option<&Found>) {
        self.check(found.is_some(), || {
            let (field, have) = compare::key_words(key, fields);
            (field, have, super::show::set_text(set))
        });
        self.note_element(found);
    }

    /// Says of the last test which element it came upon.
    pub(super) fn note_element(&mut self, found: Option<&Found>) {
        if let Some(check) = self.checks.last_mut().filter(|_| self.why) {
            check.found = found.and_then(|found| found.words.clone());
        }
    }

    /// The stateful statements of the element that holds the key (`nft_set_elem_update_expr`).
    fn run_element(&mut self, set: &'a Set, key: &Fields, skb: &Skb) -> Result<(), Stop> {
        let now = self.cx.now;
        let Some(elements) = self.state.elements_mut(set.id) else { return Ok(()) };
        let Some(element) = elements.find_in_mut(key.as_slice(), now, set.flags.interval) else {
            return Ok(());
        };
        for ElementState { kind, state } in &mut element.state {
            super::rate::run(kind, state, self.cx, skb)?;
        }
        Ok(())
    }

    /// `key vmap { ... }`.
    pub(super) fn verdict_map(&mut self, key: &'a Expr, map: &SetRef, skb: &Skb) -> Result<Flow, Stop> {
        let fields = self.fields(key, skb)?;
        let found = self.find(map, &fields, skb)?;
        self.looked_up(key, &fields, map, found.as_ref());
        match found.and_then(|found| found.data) {
            Some(Data::Verdict(verdict)) => Ok(Flow::from(&verdict)),
            Some(Data::Values(_) | Data::Object(_)) | None => Err(Stop::Break),
        }
    }

    /// The named object that a statement means.
    pub(super) fn object_name(&mut self, name: &'a ObjectRef, skb: &Skb) -> Result<Arc<str>, Stop> {
        match name {
            ObjectRef::Named(name) => Ok(Arc::clone(name)),
            ObjectRef::Map { key, map } => {
                let fields = self.fields(key, skb)?;
                match self.find(map, &fields, skb)?.and_then(|found| found.data) {
                    Some(Data::Object(name)) => Ok(name),
                    Some(Data::Values(_) | Data::Verdict(_)) | None => Err(Stop::Break),
                }
            }
        }
    }

    /// A named object of this table.
    pub(super) fn object(&self, kind: ObjectKind, name: &Arc<str>) -> Option<&'a super::super::Object> {
        self.table.objects.get(&(kind, Arc::clone(name)))
    }

    /// `add`, `update`, `delete @set { key ... }` (`nft_dynset_eval`).
    pub(super) fn set_element(&mut self, statement: &'a Statement, skb: &Skb) -> Result<Flow, Stop> {
        let Statement::SetElement { op, set: name, key, timeout, with, data } = statement else {
            return Ok(Flow::Next);
        };
        let fields = self.fields(key, skb)?;
        let data = match data {
            None => None,
            Some(expr) => {
                let values = self.fields(expr, skb)?;
                Some(Data::Values(spans(values.as_slice())))
            }
        };
        let Some(set) = self.table.sets.get(name) else { return Err(Stop::Break) };
        let now = self.cx.now;
        let key: Key = spans(fields.as_slice());
        let Some(elements) = self.state.elements_mut(set.id) else { return Err(Stop::Break) };
        if *op == SetOp::Delete {
            elements.by_key.remove(&key);
            return Ok(Flow::Next);
        }
        let alive = |e: &Element| e.expires.is_none_or(|at| at > now);
        match elements.by_key.get_mut(&key).filter(|e| alive(e)) {
            Some(element) => {
                if *op == SetOp::Update
                    && element.expires.is_some()
                    && let Some(ms) = timeout.or(element.timeout).or(set.timeout)
                {
                    element.expires = Some(expiry(now, ms));
                    element.timeout = (Some(ms) != set.timeout).then_some(ms);
                }
            }
            None => {
                elements.by_key.remove(&key);
                let full = |len: usize| set.size.is_some_and(|size| len >= size as usize);
                if full(elements.by_key.len()) {
                    // What is over is collected every second; here, when its place is needed.
                    elements.by_key.retain(|_, e| alive(e));
                }
                if full(elements.by_key.len()) {
                    self.check(false, || {
                        (format!("@{name}"), "full".to_owned(), "room for an element".to_owned())
                    });
                    return Err(Stop::Break);
                }
                let ms = timeout.or(set.timeout);
                let kinds: Vec<ElementStmt> = if with.is_empty() {
                    set.with.clone()
                } else {
                    with.iter().filter_map(ElementStmt::of).collect()
                };
                let element = Element {
                    data,
                    timeout: ms.filter(|ms| Some(*ms) != set.timeout),
                    expires: ms.map(|ms| expiry(now, ms)),
                    comment: None,
                    state: kinds.into_iter().map(|kind| ElementState { state: kind.fresh(), kind }).collect(),
                    sequence: elements.next_sequence,
                };
                elements.next_sequence += 1;
                elements.by_key.insert(key, element);
            }
        }
        self.run_element(set, &fields, skb)?;
        Ok(Flow::Next)
    }
}

fn spans(values: &[u128]) -> Key {
    values.iter().copied().map(Span::one).collect()
}

fn expiry(now: Instant, ms: u64) -> Instant {
    now + Duration::from_millis(ms)
}
