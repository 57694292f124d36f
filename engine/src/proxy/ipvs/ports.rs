//! What one Service port wants in IPVS mode: virtual servers, set members, addresses, refusals.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::{IpSet, VirtualKey, VirtualServer};
use crate::cluster::objects::Protocol;
use crate::proxy::claims::Delta;
use crate::proxy::topology::{Categories, categorize};
use crate::proxy::{Config, Endpoint, Origin, ServicePort, ServicePortName};

/// New claims of the Service ports that changed.
#[derive(Clone, Debug)]
pub(super) struct PortDelta {
    pub servers: Delta<VirtualKey, VirtualServer>,
    pub members: Delta<(IpSet, String), Origin>,
    pub addresses: Delta<IpAddr, Origin>,
    pub refusals: Delta<String, Origin>,
    /// Who is known after this; false for those gone.
    pub owners: BTreeMap<Arc<ServicePortName>, bool>,
    pub replaces_all: bool,
}

impl PortDelta {
    pub(super) fn new(replaces_all: bool) -> Self {
        Self {
            servers: Delta::new(replaces_all),
            members: Delta::new(replaces_all),
            addresses: Delta::new(replaces_all),
            refusals: Delta::new(replaces_all),
            owners: BTreeMap::new(),
            replaces_all,
        }
    }

    pub(super) fn own(&mut self, owner: &Arc<ServicePortName>, stays: bool) {
        self.servers.own(owner);
        self.members.own(owner);
        self.addresses.own(owner);
        self.refusals.own(owner);
        self.owners.insert(Arc::clone(owner), stays);
    }
}

/// Writes what one Service port wants.
pub(super) struct PortWriter<'a> {
    pub config: &'a Config,
    pub node_ips: &'a [IpAddr],
    pub name: &'a Arc<ServicePortName>,
    pub port: &'a ServicePort,
    pub delta: &'a mut PortDelta,
}

impl PortWriter<'_> {
    pub(super) fn write(&mut self, endpoints: &[Endpoint]) {
        let categories = categorize(endpoints, self.port, &self.config.locality());
        let (name, port) = (self.name, self.port);
        let proto = port.protocol.name();
        for endpoint in endpoints.iter().filter(|e| e.is_local) {
            let entry = format!("{},{proto}:{},{}", endpoint.ip, endpoint.port, endpoint.ip);
            let purpose = "a pod that reaches itself through the Service must see another source";
            let origin = Origin {
                endpoint: Some(endpoint.address()),
                ..self.origin("endpoints[].addresses", purpose)
            };
            self.delta.members.want(name, (IpSet::LoopBack, entry), origin);
        }
        let entry = |ip: &IpAddr| format!("{ip},{proto}:{}", port.port);
        let ip = port.cluster_ip;
        let origin = self.origin("spec.clusterIP", "send packets to the cluster IP to the endpoints");
        self.member(IpSet::ClusterIp, entry(&ip), &origin);
        self.serve(ip, port.port, port.internal_policy_local, &categories, &origin);
        self.hold(ip, &origin);
        for ip in &port.external_ips {
            let origin = self.origin("spec.externalIPs", "send packets to the external IP to the endpoints");
            let set = if port.external_policy_local { IpSet::ExternalIpLocal } else { IpSet::ExternalIp };
            self.member(set, entry(ip), &origin);
            self.serve(*ip, port.port, port.external_policy_local, &categories, &origin);
            self.hold(*ip, &origin);
        }
        for ip in &port.load_balancer_vips {
            let purpose = "handle packets to the load balancer's address here, without leaving";
            let origin = self.origin("status.loadBalancer.ingress", purpose);
            self.member(IpSet::LoadBalancer, entry(ip), &origin);
            if port.external_policy_local {
                self.member(IpSet::LoadBalancerLocal, entry(ip), &origin);
            }
            self.source_ranges(*ip, &entry(ip));
            self.serve(*ip, port.port, port.external_policy_local, &categories, &origin);
            self.hold(*ip, &origin);
        }
        self.node_port(&categories);
        if port.health_check_node_port != 0 {
            let purpose = "load balancers ask this port whether the node has a local endpoint";
            let origin = self.origin("spec.healthCheckNodePort", purpose);
            self.member(IpSet::HealthCheckNodePort, port.health_check_node_port.to_string(), &origin);
        }
    }

    fn origin(&self, field: &'static str, purpose: &'static str) -> Origin {
        Origin { service: Some(Arc::clone(self.name)), endpoint: None, field, purpose }
    }

    fn member(&mut self, set: IpSet, entry: String, origin: &Origin) {
        self.delta.members.want(self.name, (set, entry), origin.clone());
    }

    /// Wants `addr` on the dummy device, unless another device has it.
    fn hold(&mut self, addr: IpAddr, origin: &Origin) {
        self.member(IpSet::IpvsIps, addr.to_string(), origin);
        if !addr.is_loopback() && !self.config.node_addresses.contains(&addr) {
            self.delta.addresses.want(self.name, addr, origin.clone());
        }
    }

    /// Wants a virtual server.
    fn serve(
        &mut self,
        addr: IpAddr,
        port: u16,
        policy_local: bool,
        categories: &Categories<'_>,
        origin: &Origin,
    ) {
        // Unlike the other modes, IPVS sends to other nodes when policy Local finds nothing here.
        let endpoints = if policy_local && !categories.local.is_empty() {
            &categories.local
        } else {
            &categories.cluster
        };
        let scheduler = self.config.ipvs.scheduler.clone();
        let server = VirtualServer {
            hashes_port: scheduler == "mh",
            scheduler,
            persistent_seconds: self.port.affinity_seconds,
            real_servers: endpoints.iter().map(|e| SocketAddr::new(e.ip, e.port)).collect(),
            origin: origin.clone(),
        };
        let key = VirtualKey { addr, port, protocol: self.port.protocol };
        self.delta.servers.want(self.name, key, server);
    }

    fn source_ranges(&mut self, vip: IpAddr, entry: &str) {
        const FIELD: &str = "spec.loadBalancerSourceRanges";
        let ranges = &self.port.source_ranges;
        if ranges.is_empty() {
            return;
        }
        let origin = self.origin(FIELD, "only the given source ranges may use the load balancer");
        self.member(IpSet::LoadBalancerFirewall, entry.to_owned(), &origin);
        for range in ranges {
            let origin = self.origin(FIELD, "sources in this range may use the load balancer");
            self.member(IpSet::LoadBalancerSourceCidr, format!("{entry},{range}"), &origin);
        }
        if ranges.iter().any(|range| range.contains(self.config.node_ip)) {
            let origin = self.origin(FIELD, "this node is in range, also when it uses the VIP as its source");
            self.member(IpSet::LoadBalancerSourceIp, format!("{entry},{vip}"), &origin);
        } else {
            let (proto, port) = (self.port.protocol.name(), self.port.port);
            let rule = format!("-s {vip} -m ipvs --vaddr {vip} --vproto {proto} --vport {port} -j DROP");
            let origin = self.origin(FIELD, "this node is out of range: its own packets leave with the VIP");
            self.delta.refusals.want(self.name, rule, origin);
        }
    }

    fn node_port(&mut self, categories: &Categories<'_>) {
        const FIELD: &str = "spec.ports[].nodePort";
        let port = self.port;
        if port.node_port == 0 || self.node_ips.is_empty() {
            return;
        }
        let origin = self.origin(FIELD, "send packets to the node port to the endpoints");
        let (all, local) = IpSet::node_ports(port.protocol);
        let entries: Vec<String> = match port.protocol {
            Protocol::Tcp | Protocol::Udp => vec![port.node_port.to_string()],
            Protocol::Sctp => {
                self.node_ips.iter().map(|ip| format!("{ip},sctp:{}", port.node_port)).collect()
            }
        };
        for entry in entries {
            if port.external_policy_local {
                self.member(local, entry.clone(), &origin);
            }
            self.member(all, entry, &origin);
        }
        for ip in self.node_ips {
            self.serve(*ip, port.node_port, port.external_policy_local, categories, &origin);
        }
    }
}
