//! Elements of sets: looking them up, making and deleting them (`nft_lookup.c`, `nft_dynset.c`).

use std::sync::Arc;

use super::value::Fields;
use super::{Flow, Stop, Walk, compare};
use crate::base::{Duration, Instant};
use crate::netfilter::nft::expr::{Expr, SetRef};
use crate::netfilter::nft::object::ObjectKind;
use crate::netfilter::nft::set::{Data, Element, ElementState, ElementStmt, Key, Set, Span};
use crate::netfilter::nft::stmt::{ObjectRef, SetOp, Statement};
use crate::packet::Skb;

/// Data of an element that holds a key; none inside for a set.
type Held = Option<Data>;

impl<'a> Walk<'a, '_, '_> {
    /// The element that holds the key, its counters and limits run. An element may break the rule off.
    pub(super) fn find(&mut self, set: &SetRef, key: &Fields, skb: &Skb) -> Result<Option<Held>, Stop> {
        let now = self.cx.now;
        match set {
            SetRef::Anonymous(set) => {
                let found = set.elements.find_in(key.as_slice(), now, set.interval);
                Ok(found.map(|element| element.data.clone()))
            }
            SetRef::Named(name) => {
                let Some(set) = self.table.sets.get(name) else { return Ok(None) };
                let Some(elements) = self.state.elements(set.id) else { return Ok(None) };
                let Some(element) = elements.find_in(key.as_slice(), now, set.flags.interval) else {
                    return Ok(None);
                };
                let data = element.data.clone();
                if !element.state.is_empty() {
                    self.run_element(set, key, skb)?;
                }
                Ok(Some(data))
            }
        }
    }

    /// Whether the set holds the key. Where the rule wants it not to, an element that does runs nothing.
    pub(super) fn find_for(
        &mut self,
        set: &SetRef,
        key: &Fields,
        inverted: bool,
        skb: &Skb,
    ) -> Result<bool, Stop> {
        if !inverted {
            return self.find(set, key, skb).map(|found| found.is_some());
        }
        let now = self.cx.now;
        Ok(match set {
            SetRef::Anonymous(set) => set.elements.find_in(key.as_slice(), now, set.interval).is_some(),
            SetRef::Named(name) => self.table.sets.get(name).is_some_and(|set| {
                let elements = self.state.elements(set.id);
                elements.is_some_and(|e| e.find_in(key.as_slice(), now, set.flags.interval).is_some())
            }),
        })
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
        self.check(found.is_some(), || {
            let (field, have) = compare::key_words(key, &fields);
            (field, have, super::show::set_text(map))
        });
        match found {
            Some(Some(Data::Verdict(verdict))) => Ok(Flow::from(&verdict)),
            Some(Some(Data::Values(_) | Data::Object(_)) | None) | None => Err(Stop::Break),
        }
    }

    /// The named object that a statement means.
    pub(super) fn object_name(&mut self, name: &'a ObjectRef, skb: &Skb) -> Result<Arc<str>, Stop> {
        match name {
            ObjectRef::Named(name) => Ok(Arc::clone(name)),
            ObjectRef::Map { key, map } => {
                let fields = self.fields(key, skb)?;
                match self.find(map, &fields, skb)? {
                    Some(Some(Data::Object(name))) => Ok(name),
                    Some(Some(Data::Values(_) | Data::Verdict(_)) | None) | None => Err(Stop::Break),
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
