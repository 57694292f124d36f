//! [`ServicePort`]: one Service port as one proxier sees it (`pkg/proxy/serviceport.go`).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::ServicePortName;
use super::addresses::{Cidr, parse_cidr, parse_ip};
use crate::cluster::objects::{IpMode, Protocol, Service, ServiceType, SessionAffinity, TrafficPolicy};
use crate::packet::Family;

/// Every Service port of one family, by name.
pub type ServiceMap = BTreeMap<Arc<ServicePortName>, ServicePort>;

/// The API server's default for `sessionAffinityConfig.clientIP.timeoutSeconds`.
const AFFINITY_SECONDS: u32 = 10_800;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    pub cluster_ip: IpAddr,
    pub port: u16,
    pub protocol: Protocol,
    /// Zero when there is none.
    pub node_port: u16,
    pub external_ips: Vec<IpAddr>,
    pub load_balancer_vips: Vec<IpAddr>,
    /// Empty when unrestricted.
    pub source_ranges: Vec<Cidr>,
    /// `sessionAffinity: ClientIP`, in seconds.
    pub affinity_seconds: Option<u32>,
    /// Zero when there is none.
    pub health_check_node_port: u16,
    pub external_policy_local: bool,
    pub internal_policy_local: bool,
}

impl ServicePort {
    /// Whether anything outside the cluster can address it.
    pub fn externally_accessible(&self) -> bool {
        self.node_port != 0 || !self.load_balancer_vips.is_empty() || !self.external_ips.is_empty()
    }

    /// Whether some traffic may use every endpoint of the cluster.
    pub fn uses_cluster_endpoints(&self) -> bool {
        // Traffic from pods to an external address short-circuits to the cluster policy.
        !self.internal_policy_local || self.externally_accessible()
    }

    /// Whether some traffic may use only endpoints of this node.
    pub fn uses_local_endpoints(&self) -> bool {
        self.internal_policy_local || (self.external_policy_local && self.externally_accessible())
    }
}

/// The ports of `service` that a proxier of `family` programs; none for headless and ExternalName Services.
pub fn service_ports(service: &Service, family: Family) -> ServiceMap {
    let spec = &service.spec;
    let of_family = |text: &String| parse_ip(text).filter(|ip| Family::of(ip) == family);
    let cluster_ips = std::iter::once(&spec.cluster_ip).chain(&spec.cluster_ips);
    let Some(cluster_ip) = cluster_ips.filter(|ip| *ip != "None").find_map(of_family) else {
        return ServiceMap::new();
    };
    if spec.kind == ServiceType::ExternalName {
        return ServiceMap::new();
    }
    let external_policy_local = spec.external_traffic_policy == TrafficPolicy::Local;
    let load_balancer_vips = service
        .status
        .load_balancer
        .ingress
        .iter()
        .filter(|ingress| ingress.ip_mode == IpMode::Vip)
        .filter_map(|ingress| of_family(&ingress.ip))
        .collect::<Vec<_>>();
    let port = |spec_port: &crate::cluster::objects::ServicePortSpec| ServicePort {
        cluster_ip,
        port: spec_port.port,
        protocol: spec_port.protocol,
        node_port: spec_port.node_port,
        external_ips: spec.external_ips.iter().filter_map(of_family).collect(),
        load_balancer_vips: load_balancer_vips.clone(),
        source_ranges: source_ranges(&spec.load_balancer_source_ranges, family),
        affinity_seconds: (spec.session_affinity == SessionAffinity::ClientIP).then(|| {
            let config = spec.session_affinity_config.as_ref().and_then(|c| c.client_ip.as_ref());
            config.and_then(|c| c.timeout_seconds).unwrap_or(AFFINITY_SECONDS)
        }),
        health_check_node_port: if spec.kind == ServiceType::LoadBalancer && external_policy_local {
            spec.health_check_node_port
        } else {
            0
        },
        external_policy_local,
        internal_policy_local: spec.internal_traffic_policy == TrafficPolicy::Local,
    };
    let name = |spec_port: &crate::cluster::objects::ServicePortSpec| ServicePortName {
        namespace: service.metadata.namespace.clone(),
        name: service.metadata.name.clone(),
        port: spec_port.name.clone(),
        protocol: spec_port.protocol,
    };
    spec.ports.iter().map(|spec_port| (Arc::new(name(spec_port)), port(spec_port))).collect()
}

/// The ranges of `family`; a zero-length prefix among them lifts the restriction.
fn source_ranges(texts: &[String], family: Family) -> Vec<Cidr> {
    let ranges: Vec<Cidr> =
        texts.iter().filter_map(|t| parse_cidr(t)).filter(|c| c.family() == family).collect();
    if ranges.iter().any(|c| c.len == 0) { Vec::new() } else { ranges }
}
