//! Sets a rule names or writes in place.

use std::sync::Arc;

use super::elements::{self, Shape, span_of};
use super::rule::RuleReader;
use crate::netfilter::nft::{AnonymousSet, Data, Expr, Set, SetData, SetRef, Type, Verdict};
use crate::text::diag::Place;
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::symbols;

impl RuleReader<'_, '_, '_> {
    /// The set named here, behind `@`.
    pub(super) fn set_name(&mut self) -> Result<Set, Fault> {
        let token = self.cur.string()?;
        let place = Place { column: token.place.column - 1, len: token.place.len + 1, ..token.place };
        match self.table.sets.get(token.text) {
            Some(set) => Ok(set.clone()),
            None => Err(Fault::at(place, Errno::NoEntry.text())),
        }
    }

    /// Whether a key fits a set.
    pub(super) fn same_types(&self, set: &Set, key: &Expr, place: Place) -> Result<(), Fault> {
        let types = key.types();
        let fits = |a: &Type, b: &Type| {
            a == b
                || matches!((a, b), (Type::Integer(_), _) | (_, Type::Integer(_)))
                || (a.bits() == b.bits() && set.key_typeof.is_some())
        };
        if types.len() == set.key.len() && types.iter().zip(&set.key).all(|(a, b)| fits(a, b)) {
            return Ok(());
        }
        // A map's or a foreign expression's type is not known here.
        if types.is_empty() {
            return Ok(());
        }
        let (set, key) = (titles(&set.key), titles(&types));
        Err(Fault::at(place, format!("datatype mismatch, expected {key}, expression has type {set}")))
    }

    /// Behind `map` or `vmap`: a name or a list.
    pub(super) fn map_ref(&mut self, key: &Expr, data: &[Type]) -> Result<SetRef, Fault> {
        self.reference(key, &SetData::Values(data.to_vec()))
    }

    pub(super) fn reference(&mut self, key: &Expr, data: &SetData) -> Result<SetRef, Fault> {
        if self.cur.sees("@") {
            let at = self.cur.next().place;
            let set = self.set_name()?;
            let place = span_of(at, self.cur.last_place());
            self.same_types(&set, key, place)?;
            let is_map = !matches!(set.data, SetData::None);
            if is_map == matches!(data, SetData::None) && !is_map {
                return Err(Fault::at(place, "Expression is not a map"));
            }
            return Ok(SetRef::Named(Arc::clone(&set.name)));
        }
        let types = key.types();
        if types.is_empty() {
            return Err(Fault::at(self.cur.peek().place, "the type of the key is not known"));
        }
        let items = elements::list(&mut self.cur, Shape { key: &types, data, with: &[] }, true)?;
        self.listed = items.len();
        if let Some(item) = items.iter().find(|item| item.element.timeout.is_some()) {
            return Err(Fault::kernel(item.place, Errno::Invalid));
        }
        if let Some(item) = items.iter().find(|item| !item.element.state.is_empty()) {
            let message = "stateful statements in elements of a set written in place are not emulated";
            return Err(Fault::at(item.place, message));
        }
        for item in &items {
            match &item.element.data {
                Some(Data::Verdict(Verdict::Jump(chain) | Verdict::Goto(chain))) => {
                    self.targets.push((Arc::clone(chain), item.place));
                }
                Some(Data::Object(name)) => {
                    if let SetData::Objects(kind) = data {
                        self.object_exists(*kind, name, item.place)?;
                    }
                }
                _ => {}
            }
        }
        let (elements, interval) = elements::in_place(items, !matches!(data, SetData::None))?;
        self.sets_in_place += 1;
        Ok(SetRef::Anonymous(Arc::new(AnonymousSet { key: types, data: data.clone(), elements, interval })))
    }
}

fn titles(types: &[Type]) -> String {
    match types {
        [one] => symbols::title(*one).to_owned(),
        several => {
            let titles: Vec<&str> = several.iter().map(|ty| symbols::title(*ty)).collect();
            format!("concatenation of ({})", titles.join(", "))
        }
    }
}
