//! Named objects; flushing, showing and resetting.

use std::sync::Arc;

use super::{Apply, missing};
use crate::netfilter::Counters;
use crate::netfilter::nft::object::ObjectBody;
use crate::netfilter::nft::stmt::ObjectRef;
use crate::netfilter::nft::{
    Data, Object, ObjectKind, Quota, SetData, SetRef, Statement, StmtState, Table, TableFamily,
};
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::read::op::{By, Mode, Named, ObjectDecl, Subject, TableId};

impl Apply<'_, '_> {
    pub(super) fn add_object(
        &mut self,
        id: &TableId,
        name: &Named,
        decl: &ObjectDecl,
        comment: Option<Box<str>>,
        mode: Mode,
    ) -> Result<(), Fault> {
        let family = id.family;
        let (body, state) = match decl {
            ObjectDecl::Counter(counters) => (ObjectBody::Counter, StmtState::Counter(*counters)),
            ObjectDecl::Quota(Quota { bytes: 0, .. }, _) => {
                return Err(Fault::kernel(name.place, Errno::Invalid));
            }
            ObjectDecl::Quota(quota, used) => {
                // nft_quota.c: what is used already must leave something.
                if *used > quota.bytes {
                    return Err(Fault::kernel(name.place, Errno::Invalid));
                }
                (ObjectBody::Quota(*quota), StmtState::Quota { used_bytes: *used })
            }
            ObjectDecl::Limit(limit) => (ObjectBody::Limit(*limit), StmtState::Limit(None)),
            ObjectDecl::CtHelper { helper, protocol, family: stated } => {
                let family = stated.unwrap_or(family).name();
                let body = ObjectBody::CtHelper { helper: helper.clone(), protocol: *protocol, family };
                (body, StmtState::Free)
            }
            ObjectDecl::Foreign(kind, lines) => {
                (ObjectBody::Foreign { kind: *kind, lines: lines.clone() }, StmtState::Free)
            }
        };
        let kind = kind_of(decl);
        let table = self.table(id)?;
        let key = (kind, Arc::clone(&name.text));
        if table.objects.contains_key(&key) {
            return if mode == Mode::Create { Err(Fault::kernel(name.place, Errno::Exists)) } else { Ok(()) };
        }
        let handle = table.take_handle();
        let slot = self.ruleset.state.allocate(state);
        let object = Object { name: Arc::clone(&name.text), handle, body, comment, slot };
        self.table(id)?.objects.insert(key, object);
        Ok(())
    }

    pub(super) fn delete_object(
        &mut self,
        id: &TableId,
        kind: ObjectKind,
        by: &By,
        mode: Mode,
    ) -> Result<(), Fault> {
        let at = self.find(id)?;
        let table = &self.ruleset.tables[at];
        let (name, place) = match by {
            By::Name(name) => (Some(Arc::clone(&name.text)), name.place),
            By::Handle(handle, place) => {
                let known = table.objects.values().find(|o| o.handle == *handle && o.kind() == kind);
                (known.map(|o| Arc::clone(&o.name)), *place)
            }
        };
        let key = name.map(|name| (kind, name)).filter(|key| table.objects.contains_key(key));
        let Some(key) = key else { return missing(place, mode) };
        if self.object_is_used(table, kind, &key.1) {
            return Err(Fault::kernel(place, Errno::Busy));
        }
        if let Some(object) = self.table(id)?.objects.shift_remove(&key) {
            self.ruleset.state.release(object.slot);
        }
        Ok(())
    }

    fn object_is_used(&self, table: &Table, kind: ObjectKind, name: &str) -> bool {
        let in_data = |data: &Option<Data>| matches!(data, Some(Data::Object(n)) if &**n == name);
        let in_rules =
            table.chains.values().flat_map(|c| &c.rules).flat_map(|r| &r.statements).any(|s| match s {
                Statement::Object { kind: k, name: ObjectRef::Named(n) } => *k == kind && &**n == name,
                Statement::Object { kind: k, name: ObjectRef::Map { map: SetRef::Anonymous(set), .. } } => {
                    *k == kind && set.elements.by_key.values().any(|e| in_data(&e.data))
                }
                _ => false,
            });
        in_rules
            || table.sets.values().any(|set| {
                set.data == SetData::Objects(kind)
                    && self
                        .ruleset
                        .state
                        .elements(set.id)
                        .is_some_and(|e| e.by_key.values().chain(&e.catch_all).any(|e| in_data(&e.data)))
            })
    }

    pub(super) fn flush(&mut self, subject: &Subject) -> Result<(), Fault> {
        match subject {
            Subject::Ruleset(family) => {
                for at in (0..self.ruleset.tables.len()).rev() {
                    if family.is_none_or(|f| self.ruleset.tables[at].family == f) {
                        self.remove_table(at);
                    }
                }
                Ok(())
            }
            Subject::Table(id) => {
                let Some(_) = self.ruleset.find(id.family, &id.name.text) else {
                    return missing(id.name.place, Mode::Usual);
                };
                let table = self.table(id)?;
                let mut rules = Vec::new();
                for chain in table.chains.values_mut().filter(|c| !c.anonymous) {
                    rules.append(&mut chain.rules);
                }
                self.forget(id, rules)
            }
            Subject::Chain(id, name) => {
                let table = self.table(id)?;
                let Some(chain) = table.chains.get_mut(&name.text) else {
                    return missing(name.place, Mode::Usual);
                };
                let rules = std::mem::take(&mut chain.rules);
                self.forget(id, rules)
            }
            Subject::Set(id, name) => {
                let set = self.table(id)?.sets.get(&name.text).map(|set| set.id);
                let Some(set) = set else { return Err(Fault::at(name.place, Errno::NoEntry.text())) };
                if let Some(elements) = self.ruleset.state.elements_mut(set) {
                    elements.by_key.clear();
                    elements.catch_all = None;
                }
                Ok(())
            }
            Subject::Object(..)
            | Subject::Tables(_)
            | Subject::Chains(_)
            | Subject::Sets(..)
            | Subject::Maps(..)
            | Subject::Objects(..) => Ok(()),
        }
    }

    /// Notes what is to be printed, as it stands now.
    pub(super) fn show(&mut self, subject: &Subject) -> Result<(), Fault> {
        let missing_place = match subject {
            Subject::Table(id) => self.find(id).err().map(|_| id.name.place),
            Subject::Chain(id, name) => {
                let at = self.find(id)?;
                (!self.ruleset.tables[at].chains.contains_key(&name.text)).then_some(name.place)
            }
            Subject::Set(id, name) => {
                let at = self.find(id)?;
                (!self.ruleset.tables[at].sets.contains_key(&name.text)).then_some(name.place)
            }
            Subject::Object(kind, id, name) => {
                let at = self.find(id)?;
                let key = (*kind, Arc::clone(&name.text));
                (!self.ruleset.tables[at].objects.contains_key(&key)).then_some(name.place)
            }
            Subject::Sets(_, Some(id)) | Subject::Maps(_, Some(id)) | Subject::Objects(_, _, Some(id)) => {
                self.find(id).err().map(|_| id.name.place)
            }
            Subject::Ruleset(_)
            | Subject::Tables(_)
            | Subject::Chains(_)
            | Subject::Sets(_, None)
            | Subject::Maps(_, None)
            | Subject::Objects(_, _, None) => None,
        };
        if let Some(place) = missing_place {
            return Err(Fault::at(place, Errno::NoEntry.text()));
        }
        let listing = crate::text::nft::print::subject(&self.ruleset, subject, self.now, self.options);
        self.printed.push_str(&listing);
        Ok(())
    }

    /// Sets counters and quotas back.
    pub(super) fn reset(&mut self, subject: &Subject) -> Result<(), Fault> {
        let families = |family: &Option<TableFamily>, table: &Table| family.is_none_or(|f| f == table.family);
        let mut slots = Vec::new();
        match subject {
            Subject::Object(kind, id, name) => {
                let at = self.find(id)?;
                let key = (*kind, Arc::clone(&name.text));
                slots.extend(self.ruleset.tables[at].objects.get(&key).map(|o| o.slot));
            }
            Subject::Objects(kind, family, id) => {
                let only = id.as_ref().map(|id| self.find(id)).transpose()?;
                for (at, table) in self.ruleset.tables.iter().enumerate() {
                    if only.is_none_or(|only| only == at) && families(family, table) {
                        slots.extend(table.objects.values().filter(|o| o.kind() == *kind).map(|o| o.slot));
                    }
                }
            }
            Subject::Ruleset(_)
            | Subject::Table(_)
            | Subject::Chain(..)
            | Subject::Set(..)
            | Subject::Tables(_)
            | Subject::Chains(_)
            | Subject::Sets(..)
            | Subject::Maps(..) => {}
        }
        for slot in slots {
            match self.ruleset.state.get_mut(slot) {
                Some(StmtState::Counter(counters)) => *counters = Counters::default(),
                Some(StmtState::Quota { used_bytes }) => *used_bytes = 0,
                _ => {}
            }
        }
        Ok(())
    }
}

const fn kind_of(decl: &ObjectDecl) -> ObjectKind {
    match decl {
        ObjectDecl::Counter(_) => ObjectKind::Counter,
        ObjectDecl::Quota(..) => ObjectKind::Quota,
        ObjectDecl::Limit(_) => ObjectKind::Limit,
        ObjectDecl::CtHelper { .. } => ObjectKind::CtHelper,
        ObjectDecl::Foreign(kind, _) => *kind,
    }
}
