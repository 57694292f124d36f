//! [`Endpoint`]: what serves a Service port, merged from EndpointSlices (`pkg/proxy/endpointslicecache.go`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::ServicePortName;
use super::addresses::parse_ip;
use crate::cluster::objects::{AddressType, EndpointSlice, SERVICE_NAME_LABEL};
use crate::packet::Family;

/// Endpoints of every Service port, each list sorted by `ip:port` as a string.
pub type EndpointsMap = BTreeMap<ServicePortName, Vec<Endpoint>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub ip: IpAddr,
    pub port: u16,
    /// On the node of this kube-proxy.
    pub is_local: bool,
    pub ready: bool,
    pub serving: bool,
    pub terminating: bool,
    pub zone_hints: BTreeSet<String>,
    pub node_hints: BTreeSet<String>,
}

impl Endpoint {
    /// `ip:port`, IPv6 in brackets.
    pub fn address(&self) -> String {
        match self.ip {
            IpAddr::V4(ip) => format!("{ip}:{}", self.port),
            IpAddr::V6(ip) => format!("[{ip}]:{}", self.port),
        }
    }
}

/// Merges the slices of one family.
pub fn endpoints<'a>(
    slices: impl IntoIterator<Item = &'a EndpointSlice>,
    family: Family,
    node_name: &str,
) -> EndpointsMap {
    let mut merged: BTreeMap<ServicePortName, BTreeMap<String, Endpoint>> = BTreeMap::new();
    let wanted = match family {
        Family::V4 => AddressType::IPv4,
        Family::V6 => AddressType::IPv6,
    };
    for slice in slices.into_iter().filter(|slice| slice.address_type == wanted) {
        let Some(service) = slice.metadata.labels.get(SERVICE_NAME_LABEL) else { continue };
        for port in &slice.ports {
            // A port without name or number cannot be programmed.
            let (Some(port_name), Some(number)) = (&port.name, port.port) else { continue };
            let name = ServicePortName {
                namespace: slice.metadata.namespace.clone(),
                name: service.clone(),
                port: port_name.clone(),
                protocol: port.protocol,
            };
            let known = merged.entry(name).or_default();
            for spec in &slice.endpoints {
                // Only the first address counts; the API reserves the others.
                let Some(ip) = spec.addresses.first().and_then(|a| parse_ip(a)) else { continue };
                let hints = spec.hints.clone().unwrap_or_default();
                let names = |list: Vec<crate::cluster::objects::HintName>| {
                    list.into_iter().map(|hint| hint.name).collect()
                };
                let endpoint = Endpoint {
                    ip,
                    port: number,
                    is_local: spec.node_name.as_deref().is_some_and(|n| n == node_name),
                    ready: spec.conditions.ready.unwrap_or(true),
                    serving: spec.conditions.serving.unwrap_or(true),
                    terminating: spec.conditions.terminating.unwrap_or(false),
                    zone_hints: names(hints.for_zones),
                    node_hints: names(hints.for_nodes),
                };
                let address = endpoint.address();
                // Two slices may list a pod while it moves between them: the one that lives on wins.
                let keeps = known.get(&address).is_some_and(|old| !old.terminating && endpoint.terminating);
                if !keeps {
                    known.insert(address, endpoint);
                }
            }
        }
    }
    merged.into_iter().map(|(name, list)| (name, list.into_values().collect())).collect()
}
