//! eBPF mode: what an agent writes into the service maps in place of kube-proxy (Cilium's `pkg/loadbalancer`).
//!
//! Owns which frontends a Service port has, in which scope, with which backends. Endpoints are chosen as kube-proxy
//! chooses them ([`super::topology`]).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::topology::categorize;
use super::{Changes, Config, Endpoint, EndpointsMap, Origin, ServiceMap, ServicePort, ServicePortName};
use crate::base::Duration;
use crate::cluster::objects::Protocol;
use crate::ebpf::{Backend, BackendState, Ebpf, Frontend, Kind, Range, Scope, Spec};
use crate::packet::{Family, proto};

/// One frontend as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub frontend: Frontend,
    pub spec: Spec,
    pub backends: Vec<Backend>,
    pub origin: Origin,
}

/// What one sync does to the maps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sync {
    pub set: Vec<Entry>,
    pub removed: Vec<Frontend>,
    owners: BTreeMap<Arc<ServicePortName>, Vec<Frontend>>,
    gone: Vec<Arc<ServicePortName>>,
}

impl Sync {
    /// Writes the sync into the maps.
    pub fn write(&self, ebpf: &mut Ebpf) {
        for frontend in &self.removed {
            ebpf.maps.remove(frontend);
        }
        for entry in &self.set {
            ebpf.set(entry.frontend, entry.spec.clone(), &entry.backends);
        }
    }
}

/// The agent of one address family, between syncs.
#[derive(Clone, Debug)]
pub struct Agent {
    pub config: Config,
    owners: BTreeMap<Arc<ServicePortName>, Vec<Frontend>>,
}

impl Agent {
    pub const fn new(config: Config) -> Self {
        Self { config, owners: BTreeMap::new() }
    }

    /// Computes the entries for these objects. Changes nothing until [`Agent::applied`].
    pub fn sync(&self, services: &ServiceMap, endpoints: &EndpointsMap, changes: &Changes) -> Sync {
        let none = Vec::new();
        let mut sync = Sync::default();
        for (name, port) in changes.of(services) {
            let entries = self.entries(name, port, endpoints.get(&**name).unwrap_or(&none));
            let now: Vec<Frontend> = entries.iter().map(|entry| entry.frontend).collect();
            let before = self.owners.get(name).map_or(&[][..], Vec::as_slice);
            sync.removed.extend(before.iter().filter(|frontend| !now.contains(frontend)));
            sync.set.extend(entries);
            sync.owners.insert(Arc::clone(name), now);
        }
        sync.gone = changes.gone(&self.owners, services);
        let gone = sync.gone.iter().filter_map(|name| self.owners.get(name)).flatten();
        sync.removed.extend(gone);
        sync
    }

    /// The maps took everything that `sync` says.
    pub fn applied(&mut self, sync: &Sync) {
        self.owners.extend(sync.owners.iter().map(|(name, list)| (Arc::clone(name), list.clone())));
        for name in &sync.gone {
            self.owners.remove(name);
        }
    }

    /// Every frontend of a Service port.
    fn entries(&self, name: &Arc<ServicePortName>, port: &ServicePort, endpoints: &[Endpoint]) -> Vec<Entry> {
        let found = categorize(endpoints, port, &self.config.locality());
        let backends = |list: &[&Endpoint]| -> Vec<Backend> {
            list.iter().map(|endpoint| backend(endpoint, port.protocol)).collect()
        };
        let (cluster, local) = (backends(&found.cluster), backends(&found.local));
        let mut entries = Vec::new();
        let mut add = |addr, number, kind, scope, local_only: bool, field, purpose| {
            entries.push(Entry {
                frontend: Frontend { addr, port: number, proto: number_of(port.protocol), scope },
                spec: Spec {
                    kind,
                    affinity: port.affinity_seconds.map(|s| Duration::from_secs(u64::from(s))),
                    external_local: port.external_policy_local && kind != Kind::ClusterIp,
                    internal_local: port.internal_policy_local,
                    source_ranges: if kind == Kind::LoadBalancer { ranges(port) } else { Vec::new() },
                },
                backends: if local_only { local.clone() } else { cluster.clone() },
                origin: Origin { service: Some(Arc::clone(name)), endpoint: None, field, purpose },
            });
        };
        let internal = port.internal_policy_local;
        add(
            port.cluster_ip,
            port.port,
            Kind::ClusterIp,
            Scope::External,
            internal,
            "spec.clusterIP",
            "pods and processes of the node reach the Service",
        );
        let mut outer = |addr, number, kind, field, purpose| {
            if port.external_policy_local {
                add(addr, number, kind, Scope::External, true, "spec.externalTrafficPolicy", LOCAL_ONLY);
                add(addr, number, kind, Scope::Internal, false, field, purpose);
            } else {
                add(addr, number, kind, Scope::External, false, field, purpose);
            }
        };
        if port.node_port != 0 {
            for addr in self.node_port_addresses() {
                let purpose = "the node port on one of the node's addresses";
                outer(addr, port.node_port, Kind::NodePort, "spec.ports[].nodePort", purpose);
            }
        }
        for addr in &port.external_ips {
            let purpose = "an address that the cluster's network brings to this node";
            outer(*addr, port.port, Kind::ExternalIps, "spec.externalIPs", purpose);
        }
        for addr in &port.load_balancer_vips {
            let purpose = "the address of the load balancer";
            outer(*addr, port.port, Kind::LoadBalancer, "status.loadBalancer.ingress", purpose);
        }
        entries
    }

    /// The node's addresses of the family, and the wildcard that stands for all of them.
    fn node_port_addresses(&self) -> Vec<IpAddr> {
        let config = &self.config;
        let mut found = vec![config.node_ip];
        let more = config.node_addresses.iter().filter(|addr| Family::of(addr) == config.family);
        found.extend(more.filter(|addr| **addr != config.node_ip));
        found.push(match config.family {
            Family::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        });
        found
    }
}

const LOCAL_ONLY: &str = "traffic from outside stays on this node (policy Local)";

fn backend(endpoint: &Endpoint, protocol: Protocol) -> Backend {
    let state = if endpoint.terminating { BackendState::Terminating } else { BackendState::Active };
    Backend { addr: endpoint.ip, port: endpoint.port, proto: number_of(protocol), state, weight: 1 }
}

const fn number_of(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Tcp => proto::TCP,
        Protocol::Udp => proto::UDP,
        Protocol::Sctp => proto::SCTP,
    }
}

fn ranges(port: &ServicePort) -> Vec<Range> {
    port.source_ranges.iter().map(|cidr| Range { addr: cidr.addr, len: cidr.len }).collect()
}
