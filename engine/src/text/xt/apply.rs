//! Applies one command to a table: what `do_command4` does once the words are read.

use super::build::{Workbench, jumps_to};
use super::spec::{Command, Op};
use crate::netfilter::rule::Verdict;
use crate::netfilter::table::{ChainId, Flavour};
use crate::netfilter::{Counters, Rule, Target};
use crate::trace::DropReason;

/// Why the library refuses a command, in the words of `iptc_strerror` and `nft_strerror`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NoChain,
    BadRule,
    ChainExists,
    /// The new name of `-E`.
    NameTaken,
    NotEmpty,
    Referenced,
    BuiltIn,
    InsertTooFar,
    ReplaceTooFar,
    DeleteTooFar,
    CounterTooFar,
    BadBuiltInName,
    BadPolicy,
    JumpToBuiltIn,
    /// Refused by the tool itself, in these words.
    Parameter(String),
}

impl Refusal {
    /// Without the full stop that the tool adds.
    pub(super) fn message(&self, flavour: Flavour) -> &str {
        match (self, flavour) {
            (Self::NoChain, _) => "No chain/target/match by that name",
            (Self::BadRule, _) => "Bad rule (does a matching rule exist in that chain?)",
            (Self::ChainExists, _) => "Chain already exists",
            (Self::NameTaken, _) => "File exists",
            (Self::NotEmpty, _) => "Directory not empty",
            (Self::Referenced, _) => "Too many links",
            (Self::BuiltIn, Flavour::Legacy) => "Invalid argument",
            // It has made none yet where no rule needed it.
            (Self::BuiltIn, Flavour::Nft) => "No chain/target/match by that name",
            (Self::InsertTooFar, _) => "Index of insertion too big",
            (Self::ReplaceTooFar, Flavour::Legacy) => "Index of replacement too big",
            (Self::DeleteTooFar, Flavour::Legacy) => "Index of deletion too big",
            (Self::ReplaceTooFar | Self::DeleteTooFar, Flavour::Nft) => "No chain/target/match by that name",
            (Self::CounterTooFar, _) => "Index of counter too big",
            (Self::BadBuiltInName, _) => "Bad built-in chain name",
            (Self::BadPolicy, _) => "Bad policy name",
            (Self::JumpToBuiltIn, _) => "Invalid argument",
            (Self::Parameter(message), _) => message,
        }
    }
}

/// Whether the rule goes to a built-in chain, which the library refuses at once.
fn to_built_in(bench: &Workbench, command: &Command) -> bool {
    match command.rule.target {
        Target::Jump(to) | Target::Goto(to) => bench.is_builtin(to),
        Target::None | Target::Accept | Target::Drop | Target::Return | Target::Queue | Target::Ext(_) => {
            false
        }
    }
}

/// Carries out every command that changes a table. Listing ones change nothing, except for `-Z` beside them.
pub(super) fn apply(bench: &mut Workbench, command: Box<Command>, line: u32) -> Result<(), Refusal> {
    let Some(op) = command.op else { return Ok(()) };
    let name = command.chain.as_deref();
    if bench.table.flavour == Flavour::Legacy && to_built_in(bench, &command) {
        return Err(Refusal::JumpToBuiltIn);
    }
    match op {
        Op::Append => {
            let id = find(bench, name)?;
            let counters = command.counters.unwrap_or_default();
            for rule in command.rule.rules(line) {
                bench.append(id, rule, counters);
            }
        }
        Op::Insert => {
            let id = find(bench, name)?;
            let at = command.number.unwrap_or(1) as usize - 1;
            if at > bench.table.chain(id).rules.len() {
                return Err(Refusal::InsertTooFar);
            }
            // Each rule goes to the same place, so several addresses end up in reverse.
            for rule in command.rule.rules(line) {
                bench.insert(id, at, rule, command.counters.unwrap_or_default());
            }
        }
        Op::Replace => {
            let id = find(bench, name)?;
            let at = command.number.unwrap_or(1) as usize - 1;
            let mut rules = command.rule.rules(line);
            let (Some(rule), None) = (rules.next(), rules.next()) else {
                return Err(Refusal::Parameter(
                    "Replacement rule does not specify a unique address".to_owned(),
                ));
            };
            if at >= bench.table.chain(id).rules.len() {
                return Err(Refusal::ReplaceTooFar);
            }
            bench.remove(id, at);
            bench.insert(id, at, rule, command.counters.unwrap_or_default());
        }
        Op::Delete => match command.number {
            Some(number) => {
                let id = find(bench, name)?;
                let at = number as usize - 1;
                if at >= bench.table.chain(id).rules.len() {
                    return Err(Refusal::DeleteTooFar);
                }
                bench.remove(id, at);
            }
            None => {
                let id = find(bench, name)?;
                for rule in command.rule.rules(line) {
                    let at = position(bench, id, &rule).ok_or_else(|| no_such_rule(bench, &rule))?;
                    bench.remove(id, at);
                }
            }
        },
        Op::Check => {
            let id = find(bench, name)?;
            for rule in command.rule.rules(line) {
                position(bench, id, &rule).ok_or_else(|| no_such_rule(bench, &rule))?;
            }
        }
        Op::Flush => match name {
            Some(_) => {
                let id = find(bench, name)?;
                bench.flush(id);
            }
            None => bench.ids().for_each(|id| bench.flush(id)),
        },
        Op::Zero => zero(bench, name, command.number)?,
        Op::List | Op::ListRules => {
            find_or_all(bench, name)?;
            if command.zero {
                zero(bench, name, command.number)?;
            }
        }
        Op::NewChain => {
            let name = name.unwrap_or_default();
            if bench.find(name).is_some() {
                return Err(Refusal::ChainExists);
            }
            bench.add_chain(name);
        }
        Op::DeleteChain => match name {
            Some(_) => {
                let id = find(bench, name)?;
                delete(bench, id)?;
            }
            None => {
                for id in bench.ids().filter(|&id| !bench.is_builtin(id)).collect::<Vec<_>>() {
                    delete(bench, id)?;
                }
            }
        },
        Op::RenameChain => {
            let new = command.argument.as_deref().unwrap_or_default();
            if bench.find(new).is_some() {
                return Err(Refusal::NameTaken);
            }
            let id = find(bench, name)?;
            if bench.is_builtin(id) {
                return Err(Refusal::NoChain);
            }
            bench.rename(id, new);
        }
        Op::Policy => {
            let id = bench.find(name.unwrap_or_default()).filter(|&id| bench.is_builtin(id));
            let id = id.ok_or(Refusal::BadBuiltInName)?;
            let policy = match command.argument.as_deref() {
                Some("ACCEPT") => Verdict::Accept,
                Some("DROP") => Verdict::Drop(DropReason::Policy),
                _ => return Err(Refusal::BadPolicy),
            };
            // nft reads the counters of -P and forgets them.
            let counters = match bench.table.flavour {
                Flavour::Legacy => command.counters.unwrap_or_default(),
                Flavour::Nft => Counters::default(),
            };
            bench.set_policy(id, policy, counters);
        }
        Op::Version | Op::Help => {}
    }
    Ok(())
}

fn find(bench: &Workbench, name: Option<&str>) -> Result<ChainId, Refusal> {
    bench.find_again(name.unwrap_or_default()).ok_or(Refusal::NoChain)
}

/// The named chain, or all.
pub(super) fn find_or_all(bench: &Workbench, name: Option<&str>) -> Result<Vec<ChainId>, Refusal> {
    match name {
        Some(_) => find(bench, name).map(|id| vec![id]),
        None => Ok(bench.ids().collect()),
    }
}

fn zero(bench: &mut Workbench, name: Option<&str>, number: Option<u32>) -> Result<(), Refusal> {
    for id in find_or_all(bench, name)? {
        let rules = &mut bench.counters.rules[id.0 as usize];
        match number {
            Some(number) => {
                *rules.get_mut(number as usize - 1).ok_or(Refusal::CounterTooFar)? = Counters::default();
            }
            None => {
                rules.fill(Counters::default());
                bench.counters.policies[id.0 as usize] = Counters::default();
            }
        }
    }
    Ok(())
}

fn delete(bench: &mut Workbench, id: ChainId) -> Result<(), Refusal> {
    if bench.is_builtin(id) {
        return Err(Refusal::BuiltIn);
    }
    if bench.references(id) > 0 {
        return Err(Refusal::Referenced);
    }
    if !bench.table.chain(id).rules.is_empty() {
        return Err(Refusal::NotEmpty);
    }
    bench.delete_chain(id);
    Ok(())
}

/// The legacy library has lost the reason by then where the rule goes to a chain.
fn no_such_rule(bench: &Workbench, rule: &Rule) -> Refusal {
    let legacy = bench.table.flavour == Flavour::Legacy;
    if legacy && jumps_to(rule).is_some() { Refusal::NoChain } else { Refusal::BadRule }
}

/// Where a rule like this one stands: same tests, same target.
fn position(bench: &Workbench, id: ChainId, wanted: &Rule) -> Option<usize> {
    let same = |rule: &Rule| {
        rule.head == wanted.head
            && rule.target == wanted.target
            && rule.matches.len() == wanted.matches.len()
            && rule.matches.iter().zip(&wanted.matches).all(|(a, b)| a.m == b.m)
    };
    bench.table.chain(id).rules.iter().position(same)
}
