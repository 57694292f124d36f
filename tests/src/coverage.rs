//! Counts what cases exercised: matches, targets and kinds of NAT by the rules whose kernel counters moved and by
//! the connections the kernel lists, TCP transitions by the engine's account of the same packets. Does not own
//! what must not stay at zero (`required`).

mod nft;
mod rules;
mod transitions;

pub mod required;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::case::{CaseFile, Run};
use crate::generate::Flavour;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    Match,
    Target,
    Set,
    Nat,
    Nftables,
    Tcp,
    Traffic,
}

impl Area {
    const fn name(self) -> &'static str {
        match self {
            Area::Match => "match",
            Area::Target => "target",
            Area::Set => "set",
            Area::Nat => "nat",
            Area::Nftables => "nftables",
            Area::Tcp => "tcp",
            Area::Traffic => "traffic",
        }
    }
}

/// One thing that can be exercised.
pub type Item = (Area, String);

/// Cases that exercised a thing.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    pub cases: u64,
    counts: BTreeMap<Item, u64>,
}

impl Coverage {
    /// Adds one case, by what the kernel answered.
    pub fn add(&mut self, file: &CaseFile, run: &Run) {
        self.cases += 1;
        let mut found = BTreeSet::new();
        rules::collect(file, run, &mut found);
        transitions::collect(file, &mut found);
        for item in found {
            *self.counts.entry(item).or_default() += 1;
        }
    }

    /// Adds what other cases exercised.
    pub fn merge(&mut self, other: &Coverage) {
        self.cases += other.cases;
        for (item, count) in &other.counts {
            *self.counts.entry(item.clone()).or_default() += count;
        }
    }

    /// What of an area was exercised, and by how many cases.
    pub fn of(&self, area: Area) -> Vec<String> {
        let items = self.counts.iter().filter(|((of, _), _)| *of == area);
        items.map(|((_, name), count)| format!("{name} {count}")).collect()
    }

    /// How many cases exercised it.
    pub fn count(&self, item: &Item) -> u64 {
        self.counts.get(item).copied().unwrap_or_default()
    }
}

/// Random cases beside the recorded ones of the folder.
#[derive(Debug)]
pub struct Table<'a> {
    /// What the random cases were written for: the words of nftables, or everything else.
    pub flavour: Flavour,
    pub random: &'a Coverage,
    pub folder: &'a Coverage,
}

impl Table<'_> {
    fn required(&self) -> Vec<Item> {
        let mut all = required::all();
        let language = self.flavour == Flavour::Language;
        all.retain(|(area, _)| (*area == Area::Nftables) == language);
        all
    }

    /// What has to be exercised and was not, by neither kind of case.
    pub fn missing(&self) -> Vec<Item> {
        self.required()
            .into_iter()
            .filter(|item| self.random.count(item) + self.folder.count(item) == 0)
            .collect()
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let required = self.required();
        let mut items: Vec<&Item> = self.random.counts.keys().chain(self.folder.counts.keys()).collect();
        items.extend(&required);
        items.sort();
        items.dedup();
        writeln!(f, "  random  folder  exercised (* must not be zero)")?;
        for item in items {
            let star = if required.binary_search(item).is_ok() { '*' } else { ' ' };
            let (random, folder) = (self.random.count(item), self.folder.count(item));
            let note = if star == '*' && random == 0 && folder > 0 { "  (only by hand)" } else { "" };
            writeln!(f, "{random:8}{folder:8} {star}{} {}{note}", item.0.name(), item.1)?;
        }
        let missing = self.missing();
        writeln!(
            f,
            "{} of {} required things exercised: {} by random cases, {} more only by cases of the folder",
            required.len() - missing.len(),
            required.len(),
            required.iter().filter(|item| self.random.count(item) > 0).count(),
            required
                .iter()
                .filter(|item| self.random.count(item) == 0 && self.folder.count(item) > 0)
                .count(),
        )?;
        for (area, name) in missing {
            writeln!(f, "NOT EXERCISED: {} {name}", area.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
