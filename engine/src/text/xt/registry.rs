//! Finds extensions by name: the lists of `netfilter::xt`, prepared once.

use std::sync::LazyLock;

use crate::netfilter::xt::{MATCHES, MatchEntry, OptSpec, TARGETS, TargetEntry};
use crate::packet::Family;

static MATCH_NAMES: LazyLock<Names> = LazyLock::new(|| Names::of(MATCHES.iter().map(|m| m.spec.name)));
static TARGET_NAMES: LazyLock<Names> = LazyLock::new(|| Names::of(TARGETS.iter().map(|t| t.spec.name)));

/// Names by a number made of them, so that a lookup compares numbers and one string at most. A large ruleset
/// asks a million times.
struct Names {
    /// Sorted.
    keys: Vec<(u64, usize)>,
}

impl Names {
    fn of(names: impl Iterator<Item = &'static str>) -> Self {
        let mut keys: Vec<_> = names.enumerate().map(|(at, name)| (Self::key(name), at)).collect();
        keys.sort_unstable();
        Self { keys }
    }

    /// The first seven bytes and the length.
    fn key(name: &str) -> u64 {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(name.bytes().take(7)) {
            *to = from;
        }
        bytes[7] = name.len().min(255) as u8;
        u64::from_be_bytes(bytes)
    }

    /// Indices of the names that may be this one.
    fn candidates(&self, name: &str) -> impl Iterator<Item = usize> {
        let key = Self::key(name);
        let from = self.keys.partition_point(|&(k, _)| k < key);
        self.keys[from..].iter().take_while(move |&&(k, _)| k == key).map(|&(_, at)| at)
    }
}

/// The match of this name for this family. A name may be registered once a family.
pub(super) fn find_match(name: &str, family: Family) -> Option<&'static MatchEntry> {
    MATCH_NAMES
        .candidates(name)
        .map(|at| &MATCHES[at])
        .find(|m| m.spec.name == name && m.spec.families.contains(&family))
}

/// The target of this name for this family.
pub(super) fn find_target(name: &str, family: Family) -> Option<&'static TargetEntry> {
    TARGET_NAMES
        .candidates(name)
        .map(|at| &TARGETS[at])
        .find(|t| t.spec.name == name && t.spec.families.contains(&family))
}

/// Whether any family has a target of this name.
pub(super) fn is_target(name: &str) -> bool {
    TARGET_NAMES.candidates(name).any(|at| TARGETS[at].spec.name == name)
}

/// The option written `--name` exactly.
pub(super) fn exact(options: &'static [OptSpec], name: &str) -> Option<&'static OptSpec> {
    options.iter().find(|o| o.name == name || o.aliases.contains(&name))
}
