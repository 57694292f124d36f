//! Rules: added, replaced, deleted; the chains written inside them.

use std::sync::Arc;

use super::{Apply, missing, slots, unknown};
use crate::netfilter::nft::{Chain, Rule, SetRef, Statement, Verdict};
use crate::text::diag::Place;
use crate::text::nft::check;
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::read::cursor::Stretch;
use crate::text::nft::read::op::{Mode, Named, RulePlace, TableId};
use crate::text::nft::read::rule::{self, ReadRule};

/// Size of a set that packets add to and that states none.
const DYNAMIC_SIZE: u32 = 65535;

impl Apply<'_, '_> {
    pub(super) fn add_rule(
        &mut self,
        id: &TableId,
        chain: &Named,
        place: RulePlace,
        stretch: Stretch,
        at: Place,
    ) -> Result<(), Fault> {
        let rule = self.read_rule(id, chain, stretch)?;
        let rules = &self.table(id)?.chains[&chain.text].rules;
        let by_handle = |handle: u64| rules.iter().position(|r| r.handle == handle);
        let by_index = |index: u64| usize::try_from(index).ok().filter(|i| *i < rules.len());
        let index = match place {
            RulePlace::End => Some(rules.len()),
            RulePlace::Start => Some(0),
            RulePlace::After(handle) => by_handle(handle).map(|i| i + 1),
            RulePlace::Before(handle) => by_handle(handle),
            RulePlace::AfterIndex(index) => by_index(index).map(|i| i + 1),
            RulePlace::BeforeIndex(index) => by_index(index),
        };
        let Some(index) = index else { return Err(Fault::kernel(at, Errno::NoEntry)) };
        let rule = self.build(id, rule)?;
        let table = self.table(id)?;
        if let Some(chain) = table.chains.get_mut(&chain.text) {
            chain.rules.insert(index, rule);
        }
        Ok(())
    }

    pub(super) fn replace_rule(
        &mut self,
        id: &TableId,
        chain: &Named,
        handle: u64,
        stretch: Stretch,
        at: Place,
    ) -> Result<(), Fault> {
        let rule = self.read_rule(id, chain, stretch)?;
        let rules = &self.table(id)?.chains[&chain.text].rules;
        let Some(index) = rules.iter().position(|r| r.handle == handle) else {
            return Err(Fault::kernel(at, Errno::NoEntry));
        };
        let rule = self.build(id, rule)?;
        let table = self.table(id)?;
        let old = table.chains.get_mut(&chain.text).map(|c| std::mem::replace(&mut c.rules[index], rule));
        self.forget(id, old.into_iter().collect())
    }

    pub(super) fn delete_rule(
        &mut self,
        id: &TableId,
        chain: &Named,
        handle: u64,
        at: Place,
        mode: Mode,
    ) -> Result<(), Fault> {
        let table = self.table(id)?;
        let Some(known) = table.chains.get_mut(&chain.text) else { return Err(unknown(chain)) };
        match known.rules.iter().position(|r| r.handle == handle) {
            Some(index) => {
                let rule = known.rules.remove(index);
                self.forget(id, vec![rule])
            }
            None => missing(at, mode),
        }
    }

    fn read_rule(&mut self, id: &TableId, chain: &Named, stretch: Stretch) -> Result<ReadRule, Fault> {
        let at = self.find(id)?;
        if !self.ruleset.tables[at].chains.contains_key(&chain.text) {
            return Err(unknown(chain));
        }
        self.touch(id);
        let table = Arc::clone(&self.ruleset.tables[at]);
        let state = &mut self.ruleset.state;
        let read = rule::rule_in(self.tokens, stretch, &table, state, &mut self.inline_names)?;
        for (target, place) in &read.targets {
            let inline = read.inline.iter().any(|(name, _)| name == target);
            match table.chains.get(target) {
                Some(chain) if chain.base.is_some() => {
                    return Err(Fault::kernel(*place, Errno::NotSupported));
                }
                Some(_) => {}
                None if inline => {}
                None => return Err(Fault::kernel(*place, Errno::NoEntry)),
            }
        }
        Ok(read)
    }

    /// Gives a rule its handle, after those of the sets and chains written in it.
    fn build(&mut self, id: &TableId, read: ReadRule) -> Result<Rule, Fault> {
        let ReadRule { statements, comment, line, inline, sets_in_place, .. } = read;
        for _ in 0..sets_in_place {
            self.table(id)?.take_handle();
        }
        for (name, rules) in inline {
            let handle = self.table(id)?.take_handle();
            let mut chain = Chain {
                name: Arc::clone(&name),
                handle,
                base: None,
                rules: Vec::new(),
                comment: None,
                anonymous: true,
                line,
            };
            for rule in rules {
                let rule = self.build(id, rule)?;
                chain.rules.push(rule);
            }
            self.table(id)?.chains.insert(name, chain);
        }
        let at = self.find(id)?;
        let table = Arc::make_mut(&mut self.ruleset.tables[at]);
        for statement in &statements {
            if let Statement::SetElement { set, .. } = statement
                && let Some(set) = table.sets.get_mut(set)
            {
                // The tool knows of the rule before it sends a set of the same batch.
                set.flags.dynamic |= self.new_sets.contains(&set.id);
                set.size.get_or_insert(DYNAMIC_SIZE);
            }
        }
        check::needs(&statements, table).map_err(|errno| Fault::kernel(self.place_of(line), errno))?;
        let handle = self.table(id)?.take_handle();
        Ok(Rule { handle, statements, comment, line })
    }

    fn place_of(&self, line: u32) -> Place {
        Place { line, column: 1, len: 0 }
    }

    /// Frees what rules that are gone remembered, and the chains written in them.
    pub(super) fn forget(&mut self, id: &TableId, rules: Vec<Rule>) -> Result<(), Fault> {
        let mut rules = rules;
        while let Some(rule) = rules.pop() {
            for slot in slots(&rule.statements) {
                self.ruleset.state.release(slot);
            }
            for statement in &rule.statements {
                let Statement::Verdict(Verdict::Jump(name) | Verdict::Goto(name)) = statement else {
                    continue;
                };
                let table = self.table(id)?;
                if table.chains.get(name).is_some_and(|c| c.anonymous)
                    && let Some(chain) = table.chains.shift_remove(name)
                {
                    rules.extend(chain.rules);
                }
            }
        }
        Ok(())
    }
}

/// Whether a statement refers to a named set.
pub(super) fn refers_to(statement: &Statement, name: &str) -> bool {
    statement.set_refs().iter().any(|set| matches!(set, SetRef::Named(known) if &**known == name))
}
