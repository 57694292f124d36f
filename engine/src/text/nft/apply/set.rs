//! Sets, maps and their elements.

use std::sync::Arc;

use super::rules::refers_to;
use super::{Apply, missing};
use crate::netfilter::nft::{Data, Expr, Set, SetData, Span, Type, Verdict};
use crate::text::diag::Place;
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::read::cursor::{Cursor, Stretch};
use crate::text::nft::read::elements::{self, Item, Overlap, Shape};
use crate::text::nft::read::op::{By, DataDecl, Mode, Named, SetDecl, TableId, Types};
use crate::text::nft::read::rule;

impl Apply<'_, '_> {
    pub(super) fn add_set(&mut self, id: &TableId, decl: &SetDecl, mode: Mode) -> Result<(), Fault> {
        let at = self.find(id)?;
        let place = decl.name.place;
        let (key, key_typeof) = self.types(at, &decl.key, place)?;
        let (data, data_typeof, data_interval) = match &decl.data {
            DataDecl::None if decl.is_map => {
                return Err(Fault::at(place, "map definition does not specify mapping data type"));
            }
            DataDecl::None => (SetData::None, None, false),
            DataDecl::Verdict => (SetData::Verdict, None, false),
            DataDecl::Objects(kind) => (SetData::Objects(*kind), None, false),
            DataDecl::Values { types, interval } => {
                let (types, expr) = self.types(at, types, place)?;
                (SetData::Values(types), expr, *interval)
            }
        };
        if !decl.is_map && !matches!(data, SetData::None) {
            return Err(Fault::syntax(place, "unexpected colon, expecting newline or semicolon or ."));
        }
        if decl.flags.interval && decl.flags.dynamic {
            return Err(Fault::kernel(place, Errno::NotSupported));
        }
        let mut flags = decl.flags;
        flags.timeout |= decl.timeout.is_some();
        let table = self.table(id)?;
        if let Some(known) = table.sets.get(&decl.name.text) {
            let same = known.key == key && known.data == data && known.flags.interval == flags.interval;
            if mode == Mode::Create || !same {
                return Err(Fault::kernel(place, Errno::Exists));
            }
            return Ok(());
        }
        let handle = table.take_handle();
        let elements = self.ruleset.state.allocate_set();
        let set = Set {
            name: Arc::clone(&decl.name.text),
            handle,
            key,
            key_typeof,
            data,
            data_typeof,
            data_interval,
            flags,
            timeout: decl.timeout,
            gc_interval: decl.gc_interval,
            size: decl.size,
            memory: decl.memory,
            auto_merge: decl.auto_merge,
            comment: decl.comment.clone(),
            with: decl.with.clone(),
            id: elements,
            line: place.line,
        };
        self.table(id)?.sets.insert(Arc::clone(&decl.name.text), set);
        self.new_sets.insert(elements);
        Ok(())
    }

    fn types(&mut self, at: usize, types: &Types, place: Place) -> Result<(Vec<Type>, Option<Expr>), Fault> {
        match types {
            Types::None => Err(Fault::at(place, "set definition does not specify key")),
            Types::Named(types) => Ok((types.clone(), None)),
            Types::Typeof(stretch) => {
                let table = Arc::clone(&self.ruleset.tables[at]);
                let cur = Cursor::new(self.tokens, *stretch);
                let (expr, read) = rule::typeof_expr(cur, &table, &mut self.ruleset.state)?;
                if read < stretch.to {
                    return Err(Cursor::new(self.tokens, Stretch { from: read, to: stretch.to }).unexpected());
                }
                let types = expr.types();
                if types.is_empty() {
                    return Err(Fault::at(place, "the type of the expression is not known"));
                }
                Ok((types, Some(expr)))
            }
        }
    }

    pub(super) fn delete_set(&mut self, id: &TableId, by: &By, mode: Mode) -> Result<(), Fault> {
        let at = self.find(id)?;
        let table = &self.ruleset.tables[at];
        let (name, place) = match by {
            By::Name(name) => (Some(Arc::clone(&name.text)), name.place),
            By::Handle(handle, place) => {
                (table.sets.values().find(|s| s.handle == *handle).map(|s| Arc::clone(&s.name)), *place)
            }
        };
        let Some(name) = name.filter(|name| table.sets.contains_key(name)) else {
            return missing(place, mode);
        };
        let mut statements = table.chains.values().flat_map(|c| &c.rules).flat_map(|r| &r.statements);
        if statements.any(|statement| refers_to(statement, &name)) {
            return Err(Fault::kernel(place, Errno::Busy));
        }
        if let Some(set) = self.table(id)?.sets.shift_remove(&name) {
            self.ruleset.state.release_set(set.id);
        }
        Ok(())
    }

    /// The elements in braces, as the set's types read them.
    fn items(&self, set: &Set, stretch: Stretch, need_data: bool) -> Result<Vec<Item>, Fault> {
        let mut cur = Cursor::new(self.tokens, stretch);
        let shape = Shape { key: &set.key, data: &set.data, with: &set.with };
        let items = elements::list(&mut cur, shape, need_data)?;
        if !cur.done() {
            return Err(cur.unexpected());
        }
        Ok(items)
    }

    fn set(&self, id: &TableId, set: &Named) -> Result<Set, Fault> {
        let at = self.find(id)?;
        let known = self.ruleset.tables[at].sets.get(&set.text).filter(|_| true);
        known.cloned().ok_or_else(|| Fault::at(set.place, Errno::NoEntry.text()))
    }

    pub(super) fn add_elements(
        &mut self,
        id: &TableId,
        name: &Named,
        stretch: Stretch,
        mode: Mode,
    ) -> Result<(), Fault> {
        let set = self.set(id, name)?;
        self.touch(id);
        let items = self.items(&set, stretch, false)?;
        let table = Arc::clone(&self.ruleset.tables[self.find(id)?]);
        for item in &items {
            let place = item.place;
            if !matches!(set.data, SetData::None) && item.element.data.is_none() {
                return Err(Fault::kernel(place, Errno::Invalid));
            }
            if !set.flags.timeout && item.element.timeout.is_some() {
                return Err(Fault::kernel(place, Errno::Invalid));
            }
            let interval = item.key.as_ref().is_some_and(|key| key.iter().any(|span| !span.is_one()));
            if interval && !set.flags.interval {
                let what = if self.has_slash(stretch, place) { "prefix" } else { "range" };
                let message = format!(
                    "You must add 'flags interval' to your set declaration if you want to add {what} elements"
                );
                return Err(Fault::at(place, message));
            }
            match &item.element.data {
                Some(Data::Verdict(Verdict::Jump(chain) | Verdict::Goto(chain))) => {
                    match table.chains.get(chain) {
                        Some(chain) if chain.base.is_some() => {
                            return Err(Fault::kernel(place, Errno::NotSupported));
                        }
                        Some(_) => {}
                        None => return Err(Fault::kernel(place, Errno::NoEntry)),
                    }
                }
                Some(Data::Object(object)) => {
                    let SetData::Objects(kind) = set.data else {
                        return Err(Fault::kernel(place, Errno::Invalid));
                    };
                    if !table.objects.contains_key(&(kind, Arc::clone(object))) {
                        return Err(Fault::kernel(place, Errno::NoEntry));
                    }
                }
                _ => {}
            }
        }
        let now = self.now;
        let overlap = match (set.flags.interval, set.auto_merge) {
            (false, _) => Overlap::Never,
            (true, true) => Overlap::Merge,
            (true, false) => Overlap::Refuse,
        };
        let known = self.ruleset.state.elements(set.id);
        // What overlaps is in this list, or was in the set before.
        let before: Vec<Span> = match (known, overlap) {
            (Some(known), Overlap::Refuse) => {
                known.by_key.keys().filter_map(|key| key.first().copied()).collect()
            }
            _ => Vec::new(),
        };
        let Some(elements) = self.ruleset.state.elements_mut(set.id) else { return Ok(()) };
        for item in items {
            let place = item.place;
            let at = item.key.as_ref().and_then(|key| key.first().copied());
            let added = elements::add(elements, item, now, overlap, set.timeout).map_err(|mut fault| {
                let clash =
                    |span: &Span| at.is_some_and(|at: Span| span.low <= at.high && at.low <= span.high);
                if fault.message.starts_with("conflicting") && before.iter().any(clash) {
                    "interval overlaps with an existing one".clone_into(&mut fault.message);
                }
                fault
            })?;
            if !added && mode == Mode::Create {
                return Err(Fault::kernel(place, Errno::Exists));
            }
            if set.size.is_some_and(|size| elements.len() > size as usize) {
                return Err(Fault::kernel(place, Errno::FileTableOverflow));
            }
        }
        Ok(())
    }

    /// Whether the element at `place` was written as a prefix.
    fn has_slash(&self, stretch: Stretch, place: Place) -> bool {
        self.tokens[stretch.from..stretch.to].iter().any(|t| {
            t.text == "/"
                && t.place.line == place.line
                && t.place.column >= place.column
                && t.place.column < place.column + place.len
        })
    }

    pub(super) fn delete_elements(
        &mut self,
        id: &TableId,
        name: &Named,
        stretch: Stretch,
        mode: Mode,
    ) -> Result<(), Fault> {
        let set = self.set(id, name)?;
        let items = self.items(&set, stretch, false)?;
        let Some(elements) = self.ruleset.state.elements_mut(set.id) else { return Ok(()) };
        for item in items {
            let gone = match &item.key {
                Some(key) => elements.by_key.remove(key).is_some(),
                None => elements.catch_all.take().is_some(),
            };
            if !gone {
                missing(item.place, mode)?;
            }
        }
        Ok(())
    }
}
