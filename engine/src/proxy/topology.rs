//! Which endpoints each kind of traffic may use (`pkg/proxy/topology.go`).

use std::collections::BTreeMap;

use super::{Endpoint, ServicePort};

const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// Where this kube-proxy runs, as far as hints go.
#[derive(Clone, Copy, Debug)]
pub struct Locality<'a> {
    pub name: &'a str,
    pub labels: &'a BTreeMap<String, String>,
    /// Gate PreferSameTrafficDistribution: beta in 1.34, locked on in 1.35.
    pub uses_node_hints: bool,
}

/// Endpoints of a Service port, sorted into the lists that rules are written from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Categories<'a> {
    /// For the Cluster policy.
    pub cluster: Vec<&'a Endpoint>,
    /// For the Local policy.
    pub local: Vec<&'a Endpoint>,
    /// The union: every endpoint that gets a chain.
    pub reachable: Vec<&'a Endpoint>,
    /// False: REJECT. True with an empty list for the wanted policy: DROP.
    pub has_any: bool,
}

/// Sorts the endpoints of one Service port; the order of `endpoints` is kept.
pub fn categorize<'a>(endpoints: &'a [Endpoint], port: &ServicePort, node: &Locality<'_>) -> Categories<'a> {
    let mut found = Categories::default();
    if port.uses_cluster_endpoints() {
        let topology = Topology::choose(endpoints, node);
        found.cluster = endpoints.iter().filter(|e| e.ready && topology.admits(e)).collect();
        // KEP-1669: with nothing ready, terminating endpoints that still serve are better than none.
        if found.cluster.is_empty() {
            found.cluster = endpoints.iter().filter(|e| e.serving && e.terminating).collect();
        }
        found.has_any = !found.cluster.is_empty();
    }
    if !port.uses_local_endpoints() {
        found.reachable = found.cluster.clone();
        return found;
    }
    found.local = endpoints.iter().filter(|e| e.is_local && e.ready).collect();
    if found.local.is_empty() {
        found.local = endpoints.iter().filter(|e| e.is_local && e.serving && e.terminating).collect();
    }
    found.has_any |= endpoints.iter().any(|e| e.ready || (e.serving && e.terminating));
    found.reachable = endpoints
        .iter()
        .filter(|e| {
            found.cluster.iter().chain(&found.local).any(|listed| std::ptr::eq::<Endpoint>(*listed, *e))
        })
        .collect();
    found
}

/// Which hints decide. They count only if every ready endpoint carries them and one names this place.
enum Topology<'a> {
    Off,
    Node(&'a str),
    Zone(&'a str),
}

impl<'a> Topology<'a> {
    fn choose(endpoints: &[Endpoint], node: &Locality<'a>) -> Self {
        let ready = || endpoints.iter().filter(|e| e.ready);
        if node.uses_node_hints
            && ready().all(|e| !e.node_hints.is_empty())
            && ready().any(|e| e.node_hints.contains(node.name))
        {
            return Self::Node(node.name);
        }
        match node.labels.get(ZONE_LABEL) {
            Some(zone)
                if !zone.is_empty()
                    && ready().all(|e| !e.zone_hints.is_empty())
                    && ready().any(|e| e.zone_hints.contains(zone)) =>
            {
                Self::Zone(zone)
            }
            _ => Self::Off,
        }
    }

    fn admits(&self, endpoint: &Endpoint) -> bool {
        match self {
            Self::Off => true,
            Self::Node(name) => endpoint.node_hints.contains(*name),
            Self::Zone(zone) => endpoint.zone_hints.contains(*zone),
        }
    }
}
