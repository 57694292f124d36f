//! Random rulesets: tables, chains, and rules that the kernel accepts.

use chainwalk_engine::netfilter::rule as engine;
use chainwalk_engine::netfilter::xt::{Match, TargetExt};
use chainwalk_engine::packet;
use chainwalk_engine::text::diag::Severity;
use chainwalk_engine::text::xt::{ParseOptions, parse};

use super::{Family, Rng, matches, targets};

/// Where a rule stands; decides which matches and targets the kernel accepts there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Raw(Hook),
    Mangle(Hook),
    /// nat PREROUTING and OUTPUT, and what they call.
    NatDestination(Hook),
    /// nat POSTROUTING and INPUT, and what they call.
    NatSource(Hook),
    Filter(Hook),
    Security(Hook),
}

/// The built-in chain, or a user chain that several may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Prerouting,
    Input,
    Forward,
    Output,
    Postrouting,
    User,
}

impl Place {
    pub(super) fn hook(self) -> Hook {
        match self {
            Place::Raw(hook)
            | Place::Mangle(hook)
            | Place::NatDestination(hook)
            | Place::NatSource(hook)
            | Place::Filter(hook)
            | Place::Security(hook) => hook,
        }
    }
}

/// One ruleset in the making.
#[derive(Debug)]
pub(super) struct Ruleset {
    pub(super) family: Family,
    /// Makes names of lists unique: the kernel shares them between tables that replace each other.
    pub(super) index: u64,
    /// The table that is being written.
    table: &'static str,
    /// `ipset restore` text of the sets that rules name.
    pub(super) sets: String,
    /// Accounting objects that rules name.
    pub(super) accounting: Vec<String>,
}

impl Ruleset {
    pub(super) fn new(family: Family, index: u64) -> Ruleset {
        Ruleset { family, index, table: "", sets: String::new(), accounting: Vec::new() }
    }

    /// The whole ruleset in the words of `iptables-restore`: all tables, so that the one before is gone.
    pub(super) fn write(&mut self, rng: &mut Rng) -> String {
        use Hook::{Forward, Input, Output, Postrouting, Prerouting};
        let mut text = String::new();
        self.table(
            rng,
            &mut text,
            "raw",
            &[("PREROUTING", Place::Raw(Prerouting)), ("OUTPUT", Place::Raw(Output))],
            2,
        );
        let mangle = [
            ("PREROUTING", Place::Mangle(Prerouting)),
            ("INPUT", Place::Mangle(Input)),
            ("FORWARD", Place::Mangle(Forward)),
            ("OUTPUT", Place::Mangle(Output)),
            ("POSTROUTING", Place::Mangle(Postrouting)),
        ];
        self.table(rng, &mut text, "mangle", &mangle, 3);
        let nat = [
            ("PREROUTING", Place::NatDestination(Prerouting)),
            ("INPUT", Place::NatSource(Input)),
            ("OUTPUT", Place::NatDestination(Output)),
            ("POSTROUTING", Place::NatSource(Postrouting)),
        ];
        self.table(rng, &mut text, "nat", &nat, 4);
        let filter = [
            ("INPUT", Place::Filter(Input)),
            ("FORWARD", Place::Filter(Forward)),
            ("OUTPUT", Place::Filter(Output)),
        ];
        self.table(rng, &mut text, "filter", &filter, 5);
        let security = [
            ("INPUT", Place::Security(Input)),
            ("FORWARD", Place::Security(Forward)),
            ("OUTPUT", Place::Security(Output)),
        ];
        self.table(rng, &mut text, "security", &security, 1);
        text
    }

    /// `most`: how many rules a chain has at most.
    fn table(
        &mut self,
        rng: &mut Rng,
        text: &mut String,
        name: &'static str,
        chains: &[(&str, Place)],
        most: u64,
    ) {
        self.table = name;
        *text += &format!("*{name}\n");
        for (chain, place) in chains {
            let may_drop = matches!(place, Place::Filter(_) | Place::Mangle(_));
            let policy = if may_drop && rng.one_in(30) { "DROP" } else { "ACCEPT" };
            *text += &format!(":{chain} {policy} [0:0]\n");
        }
        // User chains: nat keeps one set a side, because targets are bound to hooks.
        let mut user = Vec::new();
        for (prefix, place) in user_places(chains) {
            for number in 0..rng.below(3) {
                user.push((format!("{prefix}{number}"), place));
            }
        }
        for (chain, _) in &user {
            *text += &format!(":{chain} - [0:0]\n");
        }
        if !rng.one_in(4) {
            for (chain, place) in chains {
                let callable: Vec<&str> = reachable(&user, *place);
                for _ in 0..rng.below(most + 1) {
                    *text += &self.rule(rng, chain, *place, &callable);
                }
            }
            for (position, (chain, place)) in user.iter().enumerate() {
                // Only later chains may be called: no loops.
                let callable = reachable(&user[position + 1..], *place);
                for _ in 0..rng.below(4) {
                    *text += &self.rule(rng, chain, *place, &callable);
                }
            }
        }
        *text += "COMMIT\n";
    }

    fn rule(&mut self, rng: &mut Rng, chain: &str, place: Place, callable: &[&str]) -> String {
        loop {
            let sets = self.sets.clone();
            let words = matches::words(self, rng, place);
            let target = targets::words(self, rng, place, callable, &words);
            // A target may need a protocol; the matches then follow it.
            let needs = target.needs.filter(|needs| !words.contains(needs)).map(|needs| format!(" {needs}"));
            let rule = format!("{words}{}{}", needs.unwrap_or_default(), target.words);
            if emulated(self.family, self.table, chain, &rule, callable) {
                return format!("-A {chain}{rule}\n");
            }
            self.sets = sets;
        }
    }
}

/// Whether the engine emulates every part of a rule. What it does not, it says; there is nothing to compare.
fn emulated(family: Family, table: &str, chain: &str, rule: &str, callable: &[&str]) -> bool {
    let mut text = format!("*{table}\n");
    for name in callable.iter().chain([&chain]).filter(|name| name.len() < 4) {
        text += &format!(":{name} - [0:0]\n");
    }
    text += &format!("-A {chain}{rule}\nCOMMIT\n");
    let family = if family == Family::V4 { packet::Family::V4 } else { packet::Family::V6 };
    let options = ParseOptions { family: Some(family), ..ParseOptions::default() };
    let (ruleset, diags) = parse(&text, &options);
    let rules = || ruleset.tables.iter().flat_map(|table| &table.chains).flat_map(|chain| &chain.rules);
    diags.iter().all(|diag| diag.severity != Severity::Error)
        && rules().all(|rule| {
            rule.matches.iter().all(|bound| !matches!(bound.m, Match::NotEmulated(_)))
                && !matches!(rule.target, engine::Target::Ext(TargetExt::NotEmulated(_)))
        })
}

/// Name prefixes of user chains with the place their rules stand in.
fn user_places(chains: &[(&str, Place)]) -> Vec<(&'static str, Place)> {
    match chains[0].1 {
        Place::Raw(_) => vec![("R", Place::Raw(Hook::User))],
        Place::Mangle(_) => vec![("M", Place::Mangle(Hook::User))],
        Place::NatDestination(_) | Place::NatSource(_) => {
            vec![("D", Place::NatDestination(Hook::User)), ("S", Place::NatSource(Hook::User))]
        }
        Place::Filter(_) => vec![("F", Place::Filter(Hook::User))],
        Place::Security(_) => Vec::new(),
    }
}

fn reachable(user: &[(String, Place)], from: Place) -> Vec<&str> {
    let same_side = |place: &Place| std::mem::discriminant(place) == std::mem::discriminant(&from);
    user.iter().filter(|(_, place)| same_side(place)).map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_emulated_is_not_generated() {
        assert!(emulated(Family::V4, "mangle", "OUTPUT", " -p tcp -j MARK --set-mark 1", &[]));
        assert!(!emulated(Family::V4, "mangle", "OUTPUT", " -m bpf --bytecode x -j ACCEPT", &[]));
    }
}
