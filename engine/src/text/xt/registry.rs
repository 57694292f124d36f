//! Finds extensions by name: the lists of `netfilter::xt`, sorted once.

use std::sync::LazyLock;

use crate::netfilter::xt::{MATCHES, MatchEntry, OptSpec, TARGETS, TargetEntry};
use crate::packet::Family;

static SORTED: LazyLock<Sorted> = LazyLock::new(|| {
    let mut matches: Vec<&'static MatchEntry> = MATCHES.iter().collect();
    matches.sort_by_key(|m| m.spec.name);
    let mut targets: Vec<&'static TargetEntry> = TARGETS.iter().collect();
    targets.sort_by_key(|t| t.spec.name);
    Sorted { matches, targets }
});

struct Sorted {
    matches: Vec<&'static MatchEntry>,
    targets: Vec<&'static TargetEntry>,
}

/// The match of this name for this family. A name may be registered once a family.
pub(super) fn find_match(name: &str, family: Family) -> Option<&'static MatchEntry> {
    let list = &SORTED.matches;
    let from = list.partition_point(|m| m.spec.name < name);
    list[from..]
        .iter()
        .take_while(|m| m.spec.name == name)
        .find(|m| m.spec.families.contains(&family))
        .copied()
}

/// The target of this name for this family.
pub(super) fn find_target(name: &str, family: Family) -> Option<&'static TargetEntry> {
    let list = &SORTED.targets;
    let from = list.partition_point(|t| t.spec.name < name);
    list[from..]
        .iter()
        .take_while(|t| t.spec.name == name)
        .find(|t| t.spec.families.contains(&family))
        .copied()
}

/// The option written `--name` exactly.
pub(super) fn exact(options: &'static [OptSpec], name: &str) -> Option<&'static OptSpec> {
    options.iter().find(|o| o.name == name || o.aliases.contains(&name))
}
