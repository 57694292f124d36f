//! Doing what a text says: all of it or nothing, as one netlink batch.

mod chain;
mod object;
mod rules;
mod set;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::check;
use super::fault::{Errno, Fault};
use super::lex::Token;
use super::print::ListOptions;
use super::read::op::{By, Mode, Named, Op, TableId};
use crate::base::Instant;
use crate::netfilter::nft::{Expr, Rule, Ruleset, SetId, Slot, Statement, Table, TableFamily};
use crate::text::diag::Place;

/// A transaction on a copy of the ruleset.
pub(super) struct Apply<'t, 'a> {
    tokens: &'t [Token<'a>],
    pub(super) ruleset: Ruleset,
    now: Instant,
    inline_names: u32,
    /// What the commands print.
    pub(super) printed: String,
    options: ListOptions,
    /// Sets that this transaction made.
    new_sets: BTreeSet<SetId>,
    /// Tables whose jumps may have changed.
    touched: Vec<(TableFamily, Arc<str>)>,
}

/// From here on a failed check is blamed on the last command: finding the one at fault means checking after each.
const BLAMED_MAX: usize = 2000;

/// Applies all commands to a copy.
pub(super) fn run<'t, 'a>(
    tokens: &'t [Token<'a>],
    ops: &[Op],
    ruleset: &Ruleset,
    now: Instant,
    options: ListOptions,
) -> Result<Apply<'t, 'a>, Fault> {
    let mut apply = Apply::new(tokens, ruleset.clone(), now, options);
    for op in ops {
        apply.op(op)?;
    }
    if let Err(errno) = apply.check() {
        return Err(blame(tokens, ops, ruleset, now, errno));
    }
    Ok(apply)
}

/// The command after which the ruleset no longer passes (the kernel replays the batch to find it, too).
fn blame(tokens: &[Token<'_>], ops: &[Op], ruleset: &Ruleset, now: Instant, errno: Errno) -> Fault {
    let whole = |op: &Op| Fault::kernel(op_place(op), errno);
    if ops.len() <= BLAMED_MAX {
        let mut apply = Apply::new(tokens, ruleset.clone(), now, ListOptions::default());
        for op in ops {
            if apply.op(op).is_err() {
                break;
            }
            if let Err(errno) = apply.check() {
                return Fault::kernel(apply.blamed(op), errno);
            }
        }
    }
    ops.last().map_or_else(|| Fault::kernel(Place { line: 1, column: 1, len: 0 }, errno), whole)
}

fn op_place(op: &Op) -> Place {
    match op {
        Op::AddRule { at, .. } | Op::ReplaceRule { at, .. } => *at,
        Op::AddChain { chain, .. } => chain.name.place,
        Op::AddElements { set, .. } => set.place,
        Op::AddTable { table, .. } => table.name.place,
        _ => Place { line: 1, column: 1, len: 0 },
    }
}

impl<'t, 'a> Apply<'t, 'a> {
    fn new(tokens: &'t [Token<'a>], ruleset: Ruleset, now: Instant, options: ListOptions) -> Self {
        Self {
            tokens,
            ruleset,
            now,
            inline_names: 0,
            printed: String::new(),
            new_sets: BTreeSet::new(),
            options,
            touched: Vec::new(),
        }
    }

    fn blamed(&self, op: &Op) -> Place {
        match op {
            Op::AddElements { elements, .. } => {
                self.tokens[(elements.from + 1).min(self.tokens.len() - 1)].place
            }
            other => op_place(other),
        }
    }

    fn check(&self) -> Result<(), Errno> {
        for (family, name) in &self.touched {
            if let Some(table) = self.ruleset.table(*family, name) {
                check::table(table, &self.ruleset.state)?;
            }
        }
        Ok(())
    }

    fn touch(&mut self, table: &TableId) {
        let key = (table.family, Arc::clone(&table.name.text));
        if !self.touched.contains(&key) {
            self.touched.push(key);
        }
    }

    fn find(&self, table: &TableId) -> Result<usize, Fault> {
        self.ruleset
            .find(table.family, &table.name.text)
            .ok_or_else(|| Fault::at(table.name.place, Errno::NoEntry.text()))
    }

    /// A table, to change.
    fn table(&mut self, table: &TableId) -> Result<&mut Table, Fault> {
        let at = self.find(table)?;
        Ok(Arc::make_mut(&mut self.ruleset.tables[at]))
    }

    fn op(&mut self, op: &Op) -> Result<(), Fault> {
        match op {
            Op::AddTable { table, mode, dormant, comment } => self.add_table(table, *mode, *dormant, comment),
            Op::DeleteTable { family, by, mode } => self.delete_table(*family, by, *mode),
            Op::AddChain { table, chain, mode } => self.add_chain(table, chain, *mode),
            Op::DeleteChain { table, by, mode } => self.delete_chain(table, by, *mode),
            Op::RenameChain { table, chain, to } => self.rename_chain(table, chain, to),
            Op::AddRule { table, chain, place, rule, at } => self.add_rule(table, chain, *place, *rule, *at),
            Op::ReplaceRule { table, chain, handle, rule, at } => {
                self.replace_rule(table, chain, *handle, *rule, *at)
            }
            Op::DeleteRule { table, chain, handle, at, mode } => {
                self.delete_rule(table, chain, *handle, *at, *mode)
            }
            Op::AddSet { table, set, mode } => self.add_set(table, set, *mode),
            Op::DeleteSet { table, by, mode } => self.delete_set(table, by, *mode),
            Op::AddElements { table, set, elements, mode } => self.add_elements(table, set, *elements, *mode),
            Op::DeleteElements { table, set, elements, mode } => {
                self.delete_elements(table, set, *elements, *mode)
            }
            Op::GetElement { set } => Err(Fault::at(set.place, "get element is not emulated")),
            Op::AddObject { table, name, object, comment, mode } => {
                self.add_object(table, name, object, comment.clone(), *mode)
            }
            Op::DeleteObject { table, kind, by, mode } => self.delete_object(table, *kind, by, *mode),
            Op::AddFlowtable { table, name, lines } => {
                let lines = lines.clone();
                self.table(table)?.flowtables.insert(Arc::clone(&name.text), lines);
                Ok(())
            }
            Op::DeleteFlowtable { table, name, mode } => {
                let gone = self.table(table)?.flowtables.shift_remove(&name.text);
                if gone.is_some() { Ok(()) } else { missing(name.place, *mode) }
            }
            Op::Flush(subject) => self.flush(subject),
            Op::List(subject) => self.show(subject),
            Op::Reset(subject) => {
                self.show(subject)?;
                self.reset(subject)
            }
        }
    }

    fn add_table(
        &mut self,
        table: &TableId,
        mode: Mode,
        dormant: Option<bool>,
        comment: &Option<Box<str>>,
    ) -> Result<(), Fault> {
        self.touch(table);
        if let Some(at) = self.ruleset.find(table.family, &table.name.text) {
            if mode == Mode::Create {
                return Err(Fault::kernel(table.name.place, Errno::Exists));
            }
            if let Some(dormant) = dormant
                && self.ruleset.tables[at].dormant != dormant
            {
                Arc::make_mut(&mut self.ruleset.tables[at]).dormant = dormant;
            }
            return Ok(());
        }
        self.ruleset.last_table_handle += 1;
        let mut new = Table::new(table.family, Arc::clone(&table.name.text), self.ruleset.last_table_handle);
        new.dormant = dormant.unwrap_or(false);
        new.comment.clone_from(comment);
        self.ruleset.tables.push(Arc::new(new));
        Ok(())
    }

    fn delete_table(&mut self, family: TableFamily, by: &By, mode: Mode) -> Result<(), Fault> {
        let (at, place) = match by {
            By::Name(name) => (self.ruleset.find(family, &name.text), name.place),
            By::Handle(handle, place) => {
                let same = |t: &Arc<Table>| t.family == family && t.handle == *handle;
                (self.ruleset.tables.iter().position(same), *place)
            }
        };
        match at {
            Some(at) => {
                self.remove_table(at);
                Ok(())
            }
            None => missing(place, mode),
        }
    }

    fn remove_table(&mut self, at: usize) {
        let table = self.ruleset.tables.remove(at);
        for chain in table.chains.values() {
            chain.rules.iter().for_each(|rule| self.release(rule));
        }
        for set in table.sets.values() {
            self.ruleset.state.release_set(set.id);
        }
        for object in table.objects.values() {
            self.ruleset.state.release(object.slot);
        }
    }

    /// Frees what a rule remembered.
    fn release(&mut self, rule: &Rule) {
        for slot in slots(&rule.statements) {
            self.ruleset.state.release(slot);
        }
    }
}

/// Something to be deleted is not there.
fn missing(place: Place, mode: Mode) -> Result<(), Fault> {
    if mode == Mode::Destroy { Ok(()) } else { Err(Fault::kernel(place, Errno::NoEntry)) }
}

/// A name that the tool looks up itself.
fn unknown(name: &Named) -> Fault {
    Fault::at(name.place, Errno::NoEntry.text())
}

/// Slots that statements remember in.
fn slots(statements: &[Statement]) -> Vec<Slot> {
    let mut slots = Vec::new();
    for statement in statements {
        statement.visit(&mut |expr| {
            if let Expr::Numgen(numgen) = expr {
                slots.push(numgen.slot);
            }
        });
        match statement {
            Statement::Counter { slot }
            | Statement::Limit { slot, .. }
            | Statement::Quota { slot, .. }
            | Statement::CtCount { slot, .. }
            | Statement::Last { slot } => slots.push(*slot),
            _ => {}
        }
    }
    slots
}
