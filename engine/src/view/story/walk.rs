//! Which visit of a chain an event belongs to: jumps open one, goto replaces one, returns close them.

use crate::trace::{Entry, TraceKind};

/// Follows which visit an event belongs to.
#[derive(Default)]
pub(super) struct Walk {
    /// Open visits with their table and chain, the chain on the hook first.
    open: Vec<(usize, u16, u32)>,
    visits: usize,
}

/// What an event means for visits.
pub(super) enum Heard {
    Entered { table: u16, chain: u32 },
    Rule { visit: usize },
    Other,
}

impl Walk {
    pub(super) fn hear(&mut self, kind: &TraceKind) -> Heard {
        match kind {
            TraceKind::Chain { table, chain, entry } => {
                match entry {
                    Entry::Hook => self.open.clear(),
                    Entry::Jump => {}
                    // A goto takes the place of the chain that it leaves.
                    Entry::Goto => {
                        self.open.pop();
                    }
                }
                self.open.push((self.visits, *table, *chain));
                self.visits += 1;
                Heard::Entered { table: *table, chain: *chain }
            }
            TraceKind::Rule { rule, .. } => {
                // A RETURN is no event of its own: the next rule stands in the caller.
                while self
                    .open
                    .last()
                    .is_some_and(|(_, table, chain)| (*table, *chain) != (rule.table, rule.chain))
                {
                    self.open.pop();
                }
                self.open.last().map_or(Heard::Other, |(visit, ..)| Heard::Rule { visit: *visit })
            }
            TraceKind::ChainEnd { chain, .. } => {
                while self.open.last().is_some_and(|(.., open)| open != chain) {
                    self.open.pop();
                }
                Heard::Other
            }
            TraceKind::Policy { .. } => {
                self.open.truncate(1);
                Heard::Other
            }
            _ => Heard::Other,
        }
    }

    /// The innermost open visit.
    pub(super) fn current(&self) -> Option<usize> {
        self.open.last().map(|(visit, ..)| *visit)
    }

    pub(super) fn depth(&self) -> u16 {
        self.open.len().saturating_sub(1) as u16
    }
}
