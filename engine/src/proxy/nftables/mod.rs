//! nftables mode (`pkg/proxy/nftables/proxier.go`, layouts of 1.34 to 1.36): the transaction one sync sends.
//!
//! Owns the sync: fixed objects, differences of set and map elements, stale chains. What one Service port needs
//! is in [`service_rules`], the objects every node has in [`fixed`].

mod fixed;
mod service_rules;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::claims::{Claims, Delta};
use super::{Changes, Config, EndpointsMap, KubernetesVersion, Origin, ServiceMap, ServicePortName};
use crate::base::{Duration, Instant};
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

/// What stands behind an element's key, and why.
#[derive(Clone, Debug)]
struct Element {
    /// ` comment "..."`, ` : verdict`, both, or nothing.
    rest: String,
    origin: Origin,
}

/// Elements are the same if the kernel cannot tell them apart.
impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.rest == other.rest
    }
}

/// Objects of its own that a Service port has in the table.
#[derive(Clone, Debug, Default)]
struct Owned {
    chains: BTreeSet<String>,
    /// Affinity sets of endpoints.
    sets: BTreeSet<String>,
}

/// What the proxier's table holds, as far as a later sync depends on it.
#[derive(Clone, Debug, Default)]
struct Known {
    elements: Claims<ElementKey, Element>,
    ports: BTreeMap<Arc<ServicePortName>, Owned>,
    /// Chains that a sync emptied and a later one deletes, with the time of the first.
    emptied: BTreeMap<String, Instant>,
    /// Elements that a restarted proxy found, until its first sync.
    found_elements: BTreeMap<ElementKey, String>,
    /// Chains of endpoints, and affinity sets, that a restarted proxy found; the first sync need not write them
    /// again, for their names say all that is in them.
    found_names: BTreeSet<String>,
}

/// What one sync sends.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Deletes chains that an earlier sync emptied; a transaction of its own, sent first. Kernels before 6.2
    /// may refuse to delete a chain that an element deleted in the same transaction referred to.
    pub cleanup: Vec<Op>,
    pub ops: Vec<Op>,
    pub full: bool,
    elements: Delta<ElementKey, Element>,
    ports: BTreeMap<Arc<ServicePortName>, Option<Owned>>,
    emptied: BTreeMap<String, Instant>,
}

impl Sync {
    /// The transaction, as `nft -f -` reads it.
    pub fn text(&self) -> String {
        let mut out = String::with_capacity(self.ops.iter().map(|op| op.text.len() + 1).sum());
        for op in &self.ops {
            out.push_str(&op.text);
            out.push('\n');
        }
        out
    }
}

/// The nftables proxier of one address family, between syncs.
#[derive(Clone, Debug)]
pub struct Proxier {
    pub config: Config,
    known: Known,
}

/// How long an emptied chain stays before it is deleted.
const EMPTIED_FOR: Duration = Duration::from_secs(1);

impl Proxier {
    pub fn new(config: Config) -> Self {
        Self { config, known: Known::default() }
    }

    /// Writes the transaction for these objects. Changes nothing until [`Proxier::applied`].
    pub fn sync(
        &self,
        services: &ServiceMap,
        endpoints: &EndpointsMap,
        changes: &Changes,
        now: Instant,
    ) -> Sync {
        let full = changes.is_everything();
        let mut out = Writer::new(&self.config, &self.known, full);
        if full {
            fixed::write(&mut out);
        }
        let none = Vec::new();
        let mut ports = BTreeMap::new();
        for (name, port) in changes.of(services) {
            let endpoints = endpoints.get(&**name).unwrap_or(&none);
            out.elements.own(name);
            service_rules::write(&mut out, name, port, endpoints);
            ports.insert(Arc::clone(name), Some(std::mem::take(&mut out.owned)));
        }
        for name in changes.gone(&self.known.ports, services) {
            out.elements.own(&name);
            ports.insert(name, None);
        }
        out.finish(full, ports, now)
    }

    /// Takes over elements that the table already holds, as a restarted proxy does: set, key, and what stands
    /// behind the key (` comment "..."`, ` : verdict`, both, or nothing).
    pub fn adopt(&mut self, elements: impl IntoIterator<Item = (&'static str, String, String)>) {
        self.known.found_elements.extend(elements.into_iter().map(|(set, key, rest)| ((set, key), rest)));
    }

    /// Takes over chains and affinity sets that the table already holds, by name. The first sync then leaves
    /// endpoints' chains as they are.
    pub fn adopt_names(&mut self, names: impl IntoIterator<Item = String>) {
        self.known.found_names.extend(names);
    }

    /// The kernel took the transaction of `sync`.
    pub fn applied(&mut self, sync: &Sync) {
        let known = &mut self.known;
        known.elements.apply(&sync.elements);
        for (name, owned) in &sync.ports {
            match owned {
                Some(owned) => known.ports.insert(Arc::clone(name), owned.clone()),
                None => known.ports.remove(name),
            };
        }
        known.emptied.clone_from(&sync.emptied);
        known.found_elements.clear();
        known.found_names.clear();
    }
}

/// Collects the commands of one sync.
struct Writer<'a> {
    config: &'a Config,
    known: &'a Known,
    /// `ip kube-proxy`, which every command names.
    table: &'static str,
    ops: Vec<Op>,
    elements: Delta<ElementKey, Element>,
    /// Of the Service port being written.
    owned: Owned,
}

impl<'a> Writer<'a> {
    const fn new(config: &'a Config, known: &'a Known, full: bool) -> Self {
        let table = match config.family {
            Family::V4 => "ip kube-proxy",
            Family::V6 => "ip6 kube-proxy",
        };
        let owned = Owned { chains: BTreeSet::new(), sets: BTreeSet::new() };
        Self { config, known, table, ops: Vec::new(), elements: Delta::new(full), owned }
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
        let found = |prefix: &str| self.known.found_names.contains(&format!("{prefix}{name}"));
        found("endpoint-") && found("affinity-") == affine
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
        self.ops.push(Op { text: format!("{verb} {} {rest}", self.table), origin });
    }

    fn rule(&mut self, chain: &str, rule: impl std::fmt::Display, origin: Origin) {
        self.op("add rule", format_args!("{chain} {rule}"), origin);
    }

    /// Wants an element for the Service port `owner`; it is sent unless the table holds it.
    fn element(
        &mut self,
        owner: &Arc<ServicePortName>,
        set: &'static str,
        key: String,
        rest: String,
        origin: Origin,
    ) {
        self.elements.want(owner, (set, key), Element { rest, origin });
    }

    /// Declares a chain empty.
    fn chain(&mut self, name: &str, origin: Origin) {
        self.op("add chain", name, origin.clone());
        self.op("flush chain", name, origin);
    }

    /// Sends what differs among elements, empties what nobody wants any more, and closes the transaction.
    fn finish(
        mut self,
        full: bool,
        ports: BTreeMap<Arc<ServicePortName>, Option<Owned>>,
        now: Instant,
    ) -> Sync {
        let known = self.known;
        let elements = std::mem::replace(&mut self.elements, Delta::new(false));
        let mut wanted = BTreeSet::new();
        let mut removed = Vec::new();
        for found in known.elements.differences(&elements) {
            let (set, key) = found.key;
            let before = found.before.map(|e| &e.rest).or_else(|| known.found_elements.get(found.key));
            match found.after {
                Some(after) => {
                    wanted.insert(found.key);
                    if before == Some(&after.rest) {
                        continue;
                    }
                    if before.is_some() {
                        self.op("delete element", format_args!("{set} {{ {key} }}"), after.origin.clone());
                    }
                    let text = format!("{set} {{ {key}{} }}", after.rest);
                    self.op("add element", text, after.origin.clone());
                }
                None => removed.push((*set, key.clone())),
            }
        }
        if full {
            let strange = known.found_elements.keys().filter(|key| !wanted.contains(key));
            removed.extend(strange.cloned());
        }
        let emptied = self.retire(full, &ports, now);
        for (set, key) in removed {
            let origin = Origin::of_node("no Service port wants the element any more");
            self.op("delete element", format_args!("{set} {{ {key} }}"), origin);
        }
        let due = |at: Instant| now.since(at) > EMPTIED_FOR;
        let delete = |chain: &String| Op {
            text: format!("delete chain {} {chain}", self.table),
            origin: Origin::of_node("emptied by an earlier sync"),
        };
        let cleanup =
            known.emptied.iter().filter(|(_, at)| due(**at)).map(|(chain, _)| delete(chain)).collect();
        Sync { cleanup, ops: self.ops, full, elements, ports, emptied }
    }

    /// Empties chains and deletes affinity sets that no port wants; returns the chains to delete later.
    fn retire(
        &mut self,
        full: bool,
        ports: &BTreeMap<Arc<ServicePortName>, Option<Owned>>,
        now: Instant,
    ) -> BTreeMap<String, Instant> {
        let known = self.known;
        let before = || ports.keys().filter_map(|name| known.ports.get(name));
        let after = || ports.values().flatten();
        let chains: BTreeSet<&String> = after().flat_map(|owned| &owned.chains).collect();
        let sets: BTreeSet<&String> = after().flat_map(|owned| &owned.sets).collect();
        let (found_sets, found_chains): (Vec<&String>, Vec<&String>) = known
            .found_names
            .iter()
            .filter(|name| full && is_owned(name))
            .partition(|n| n.starts_with("affinity-"));
        let mut emptied: BTreeMap<String, Instant> = known
            .emptied
            .iter()
            .filter(|(chain, at)| now.since(**at) <= EMPTIED_FOR && !chains.contains(chain))
            .map(|(chain, at)| (chain.clone(), *at))
            .collect();
        let old: BTreeSet<&String> = before().flat_map(|owned| &owned.chains).chain(found_chains).collect();
        for chain in old.difference(&chains) {
            let origin = Origin::of_node("no Service port uses the chain any more; it is deleted later");
            self.op("flush chain", chain, origin);
            emptied.insert((**chain).clone(), now);
        }
        let old: BTreeSet<&String> = before().flat_map(|owned| &owned.sets).chain(found_sets).collect();
        for set in old.difference(&sets) {
            self.op("delete set", set, Origin::of_node("the endpoint no longer serves with affinity"));
        }
        emptied
    }
}

/// Whether a name is that of an object of one Service port: those go on with the port.
fn is_owned(name: &str) -> bool {
    name.contains('/')
}
