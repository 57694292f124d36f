//! nftables mode (`pkg/proxy/nftables/proxier.go`, layouts of 1.34 to 1.36): the transaction one sync sends.
//!
//! Owns the sync: fixed objects, differences of set and map elements, stale chains. What one Service port needs
//! is in [`service_rules`], the objects every node has in [`fixed`].

mod fixed;
mod service_rules;

use std::collections::{BTreeMap, BTreeSet};

use super::{Changes, Config, EndpointsMap, KubernetesVersion, Origin, ServiceMap};
use crate::packet::Family;

/// How the table is laid out; it changed in 1.36.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// A chain for every endpoint, which the chain of its Service draws among.
    EndpointChains,
    /// The chain of a Service translates by itself, with a map of endpoints. Endpoints have chains only where
    /// affinity must be remembered.
    EndpointMaps,
}

/// One command of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// As `nft -f` reads it.
    pub text: String,
    pub origin: Origin,
}

/// Sets and maps that all Service ports share.
pub const SHARED: [&str; 7] = [
    "hairpin-connections",
    "cluster-ips",
    "no-endpoint-services",
    "no-endpoint-nodeports",
    "firewall-ips",
    "service-ips",
    "service-nodeports",
];

/// An element of a shared set or map: which set, and its key.
pub type ElementKey = (&'static str, String);

/// What the proxier's table holds, as far as a later sync depends on it.
#[derive(Clone, Debug, Default)]
struct Known {
    /// By key, what stands behind it: ` comment "..."`, ` : verdict`, both, or nothing.
    elements: BTreeMap<ElementKey, String>,
    /// Chains of Service ports and endpoints.
    chains: BTreeSet<String>,
    /// Affinity sets of endpoints.
    sets: BTreeSet<String>,
    /// Chains that a sync emptied and a later one deletes.
    emptied: BTreeSet<String>,
    /// Chains of endpoints, and affinity sets, that a restarted proxy found; the first sync need not write them
    /// again, for their names say all that is in them.
    found: BTreeSet<String>,
}

/// What one sync sends.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Deletes chains that an earlier sync emptied; a transaction of its own, sent first. Kernels before 6.2
    /// may refuse to delete a chain that an element deleted in the same transaction referred to.
    pub cleanup: Vec<Op>,
    pub ops: Vec<Op>,
    pub full: bool,
    after: Known,
}

impl Sync {
    /// The transaction, as `nft -f -` reads it.
    pub fn text(&self) -> String {
        self.ops.iter().map(|op| format!("{}\n", op.text)).collect()
    }
}

/// The nftables proxier of one address family, between syncs.
#[derive(Clone, Debug)]
pub struct Proxier {
    pub config: Config,
    known: Known,
}

impl Proxier {
    pub fn new(config: Config) -> Self {
        Self { config, known: Known::default() }
    }

    /// Writes the transaction for these objects. Changes nothing until [`Proxier::applied`].
    pub fn sync(&self, services: &ServiceMap, endpoints: &EndpointsMap, changes: &Changes) -> Sync {
        let full = *changes == Changes::Everything;
        let mut out = Writer::new(&self.config, &self.known);
        if full {
            fixed::write(&mut out);
        }
        let empty = Vec::new();
        for (name, port) in services {
            let endpoints = endpoints.get(name).unwrap_or(&empty);
            service_rules::write(&mut out, name, port, endpoints, changes.concern(name));
        }
        out.finish(full)
    }

    /// Takes over elements that the table already holds, as a restarted proxy does: set, key, and what stands
    /// behind the key (` comment "..."`, ` : verdict`, both, or nothing).
    pub fn adopt(&mut self, elements: impl IntoIterator<Item = (&'static str, String, String)>) {
        self.known.elements.extend(elements.into_iter().map(|(set, key, rest)| ((set, key), rest)));
    }

    /// Takes over chains and affinity sets that the table already holds, by name. The first sync then leaves
    /// endpoints' chains as they are.
    pub fn adopt_names(&mut self, names: impl IntoIterator<Item = String>) {
        self.known.found.extend(names);
    }

    /// The kernel took the transaction of `sync`.
    pub fn applied(&mut self, sync: &Sync) {
        self.known = sync.after.clone();
    }
}

/// Collects the commands of one sync.
struct Writer<'a> {
    config: &'a Config,
    known: &'a Known,
    ops: Vec<Op>,
    elements: BTreeMap<ElementKey, String>,
    chains: BTreeSet<String>,
    sets: BTreeSet<String>,
}

impl<'a> Writer<'a> {
    const fn new(config: &'a Config, known: &'a Known) -> Self {
        Self {
            config,
            known,
            ops: Vec::new(),
            elements: BTreeMap::new(),
            chains: BTreeSet::new(),
            sets: BTreeSet::new(),
        }
    }

    fn layout(&self) -> Layout {
        if self.config.kubernetes >= KubernetesVersion::V1_36 {
            Layout::EndpointMaps
        } else {
            Layout::EndpointChains
        }
    }

    /// Whether a restarted proxy found the chain of an endpoint, with or without affinity as it is wanted now.
    fn found_endpoint(&self, name: &str, affine: bool) -> bool {
        let found = |prefix: &str| self.known.found.contains(&format!("{prefix}{name}"));
        found("endpoint-") && found("affinity-") == affine
    }

    /// `ip kube-proxy`, which every command names.
    const fn table(&self) -> &'static str {
        match self.config.family {
            Family::V4 => "ip kube-proxy",
            Family::V6 => "ip6 kube-proxy",
        }
    }

    /// `ip` or `ip6`, as in `ip daddr`.
    const fn ip(&self) -> &'static str {
        match self.config.family {
            Family::V4 => "ip",
            Family::V6 => "ip6",
        }
    }

    const fn addr_type(&self) -> &'static str {
        match self.config.family {
            Family::V4 => "ipv4_addr",
            Family::V6 => "ipv6_addr",
        }
    }

    fn op(&mut self, verb: &str, rest: impl std::fmt::Display, origin: Origin) {
        // `verb` is "add chain": the table stands between it and the name.
        self.ops.push(Op { text: format!("{verb} {} {rest}", self.table()), origin });
    }

    fn rule(&mut self, chain: &str, rule: impl std::fmt::Display, origin: Origin) {
        self.op("add rule", format_args!("{chain} {rule}"), origin);
    }

    /// Wants an element; it is sent unless the table holds it.
    fn element(&mut self, set: &'static str, key: String, rest: String, origin: Origin) {
        let place = (set, key);
        if self.elements.contains_key(&place) {
            // Several ports of a Service want its cluster IP, several Services the same endpoint.
            return;
        }
        let (known, key) = (self.known.elements.get(&place), &place.1);
        if known != Some(&rest) {
            if known.is_some() {
                self.op("delete element", format_args!("{set} {{ {key} }}"), origin.clone());
            }
            self.op("add element", format_args!("{set} {{ {key}{rest} }}"), origin);
        }
        self.elements.insert(place, rest);
    }

    /// Declares a chain empty.
    fn chain(&mut self, name: &str, origin: Origin) {
        self.op("add chain", name, origin.clone());
        self.op("flush chain", name, origin);
    }

    /// Empties what nobody wants any more and closes the transaction.
    fn finish(mut self, full: bool) -> Sync {
        let gone = |purpose| Origin { service: None, endpoint: None, field: "", purpose };
        let known = self.known;
        let (chains, sets) = (std::mem::take(&mut self.chains), std::mem::take(&mut self.sets));
        let elements = std::mem::take(&mut self.elements);
        let emptied: BTreeSet<String> = known.chains.difference(&chains).cloned().collect();
        for chain in &emptied {
            self.op(
                "flush chain",
                chain,
                gone("no Service port uses the chain any more; it is deleted later"),
            );
        }
        for set in known.sets.difference(&sets) {
            self.op("delete set", set, gone("the endpoint no longer serves with affinity"));
        }
        for (set, key) in known.elements.keys().filter(|key| !elements.contains_key(*key)) {
            let purpose = gone("no Service port wants the element any more");
            self.op("delete element", format_args!("{set} {{ {key} }}"), purpose);
        }
        let cleanup = known
            .emptied
            .difference(&chains)
            .map(|chain| Op {
                text: format!("delete chain {} {chain}", self.table()),
                origin: gone("emptied by an earlier sync"),
            })
            .collect();
        let after = Known { elements, chains, sets, emptied, found: BTreeSet::new() };
        Sync { cleanup, ops: self.ops, full, after }
    }
}
