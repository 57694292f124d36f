//! [`Claims`]: what Service ports want of things that several of them may want, such as a set element.
//!
//! kube-proxy walks every Service in every sync and compares; keeping who wants what gives the same differences
//! for the price of the Services that changed. Where two ports want the same thing differently, the first by name
//! wins (kube-proxy: whichever its map iteration visits first).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ServicePortName;

/// Who wants what.
#[derive(Clone, Debug)]
pub(super) struct Claims<K, V> {
    by_owner: BTreeMap<Arc<ServicePortName>, BTreeMap<K, V>>,
    owners: BTreeMap<K, BTreeSet<Arc<ServicePortName>>>,
}

/// New claims of some owners, in place of those they had.
#[derive(Clone, Debug)]
pub(super) struct Delta<K, V> {
    by_owner: BTreeMap<Arc<ServicePortName>, BTreeMap<K, V>>,
    /// Owners not named lose theirs; otherwise they keep them.
    replaces_all: bool,
}

/// A key whose value differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference<'a, K, V> {
    pub key: &'a K,
    pub before: Option<&'a V>,
    pub after: Option<&'a V>,
}

impl<K, V> Default for Claims<K, V> {
    fn default() -> Self {
        Self { by_owner: BTreeMap::new(), owners: BTreeMap::new() }
    }
}

impl<K, V> Delta<K, V> {
    pub(super) const fn new(replaces_all: bool) -> Self {
        Self { by_owner: BTreeMap::new(), replaces_all }
    }

    /// Names an owner: from now on it has only what it [wants](Self::want).
    pub(super) fn own(&mut self, owner: &Arc<ServicePortName>) {
        self.by_owner.entry(Arc::clone(owner)).or_default();
    }
}

impl<K: Ord, V> Delta<K, V> {
    /// The first claim of an owner to a key counts.
    pub(super) fn want(&mut self, owner: &Arc<ServicePortName>, key: K, value: V) {
        self.by_owner.entry(Arc::clone(owner)).or_default().entry(key).or_insert(value);
    }
}

impl<K: Ord + Clone, V: Clone> Claims<K, V> {
    fn winner(&self, key: &K) -> Option<&V> {
        let owner = self.owners.get(key)?.first()?;
        self.by_owner.get(owner)?.get(key)
    }

    fn winner_after<'a>(&'a self, delta: &'a Delta<K, V>, key: &K) -> Option<&'a V> {
        let kept = || {
            let mut owners = self.owners.get(key).into_iter().flatten();
            owners.find(|owner| !delta.replaces_all && !delta.by_owner.contains_key(*owner))
        };
        let new = delta.by_owner.iter().find(|(_, claims)| claims.contains_key(key));
        match (kept(), new) {
            (Some(old), Some((owner, claims))) if owner < old => claims.get(key),
            (Some(old), _) => self.by_owner.get(old)?.get(key),
            (None, Some((_, claims))) => claims.get(key),
            (None, None) => None,
        }
    }

    /// What changes by `delta`, by key. Keys whose value stays are not named.
    pub(super) fn differences<'a>(&'a self, delta: &'a Delta<K, V>) -> Vec<Difference<'a, K, V>>
    where
        V: PartialEq,
    {
        let mut after: BTreeMap<&'a K, Option<&'a V>> = BTreeMap::new();
        if delta.replaces_all {
            for key in self.owners.keys() {
                after.insert(key, None);
            }
            // In reverse, so that the first owner has the last word.
            for (key, value) in delta.by_owner.values().rev().flatten() {
                after.insert(key, Some(value));
            }
        } else {
            let old = delta.by_owner.keys().filter_map(|owner| self.by_owner.get(owner));
            for key in old.chain(delta.by_owner.values()).flat_map(BTreeMap::keys) {
                after.entry(key).or_insert_with(|| self.winner_after(delta, key));
            }
        }
        let difference = |(key, after): (&'a K, Option<&'a V>)| {
            let before = self.winner(key);
            (before != after).then_some(Difference { key, before, after })
        };
        after.into_iter().filter_map(difference).collect()
    }

    pub(super) fn apply(&mut self, delta: &Delta<K, V>) {
        if delta.replaces_all {
            *self = Self::default();
        }
        for (owner, claims) in &delta.by_owner {
            for key in self.by_owner.remove(owner).into_iter().flatten().map(|(key, _)| key) {
                if let Some(owners) = self.owners.get_mut(&key) {
                    owners.remove(owner);
                    if owners.is_empty() {
                        self.owners.remove(&key);
                    }
                }
            }
            for key in claims.keys() {
                self.owners.entry(key.clone()).or_default().insert(Arc::clone(owner));
            }
            if !claims.is_empty() {
                self.by_owner.insert(Arc::clone(owner), claims.clone());
            }
        }
    }

    /// Every key wanted, with the value that holds.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.owners.keys().filter_map(|key| Some((key, self.winner(key)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::Protocol;

    fn owner(name: &str) -> Arc<ServicePortName> {
        Arc::new(ServicePortName {
            namespace: "ns".into(),
            name: name.into(),
            port: String::new(),
            protocol: Protocol::Tcp,
        })
    }

    fn delta(all: bool, claims: &[(&str, &'static str, i32)]) -> Delta<&'static str, i32> {
        let mut delta = Delta::new(all);
        for (name, key, value) in claims {
            delta.want(&owner(name), *key, *value);
        }
        delta
    }

    fn step(
        claims: &mut Claims<&'static str, i32>,
        delta: &Delta<&'static str, i32>,
    ) -> Vec<(&'static str, Option<i32>, Option<i32>)> {
        let found = claims
            .differences(delta)
            .into_iter()
            .map(|d| (*d.key, d.before.copied(), d.after.copied()))
            .collect();
        claims.apply(delta);
        found
    }

    #[test]
    fn a_shared_thing_stays_until_its_last_owner_goes() {
        let mut claims = Claims::default();
        assert_eq!(
            step(&mut claims, &delta(true, &[("a", "ip", 1), ("b", "ip", 1)])),
            [("ip", None, Some(1))]
        );
        let mut gone = Delta::new(false);
        gone.own(&owner("a"));
        assert_eq!(step(&mut claims, &gone), []);
        let mut gone = Delta::new(false);
        gone.own(&owner("b"));
        assert_eq!(step(&mut claims, &gone), [("ip", Some(1), None)]);
    }

    #[test]
    fn the_first_owner_by_name_decides() {
        let mut claims = Claims::default();
        step(&mut claims, &delta(false, &[("b", "ip", 2)]));
        assert_eq!(step(&mut claims, &delta(false, &[("c", "ip", 3)])), []);
        assert_eq!(step(&mut claims, &delta(false, &[("a", "ip", 1)])), [("ip", Some(2), Some(1))]);
        assert_eq!(step(&mut claims, &delta(true, &[("c", "ip", 3)])), [("ip", Some(1), Some(3))]);
        assert_eq!(claims.iter().collect::<Vec<_>>(), [(&"ip", &3)]);
    }

    #[test]
    fn replacing_all_names_only_what_differs() {
        let mut claims = Claims::default();
        step(&mut claims, &delta(true, &[("a", "x", 1), ("a", "y", 1)]));
        let next = delta(true, &[("a", "x", 1), ("b", "z", 1)]);
        assert_eq!(step(&mut claims, &next), [("y", Some(1), None), ("z", None, Some(1))]);
    }
}
