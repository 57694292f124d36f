//! What is odd about objects that were read: nothing here stops a sync, and each remark says what comes of it.

use std::collections::BTreeSet;

use crate::cluster::manifest::Objects;
use crate::cluster::objects::{AddressType, SERVICE_NAME_LABEL, ServiceType};
use crate::proxy::addresses::parse_ip;

/// Most remarks made; the first ones are what a reader mends.
const REMARKS_MAX: usize = 20;

/// Remarks as `path: sentence`.
pub fn remarks(objects: &Objects) -> Vec<String> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    let mut backed = BTreeSet::new();
    for slice in &objects.slices {
        let path = format!("EndpointSlice {}/{}", slice.metadata.namespace, slice.metadata.name);
        match slice.metadata.labels.get(SERVICE_NAME_LABEL) {
            None => out.push(format!(
                "{path}, metadata.labels: without {SERVICE_NAME_LABEL} no Service finds this slice."
            )),
            Some(service) => {
                backed.insert((&slice.metadata.namespace, service));
            }
        }
        if slice.ports.iter().any(|port| port.name.is_none()) {
            out.push(format!(
                "{path}, ports[].name: a port without a name is not programmed; write \"\" for a single port."
            ));
        }
        for (at, endpoint) in slice.endpoints.iter().enumerate() {
            let Some(first) = endpoint.addresses.first() else { continue };
            let fits = match slice.address_type {
                AddressType::IPv4 => parse_ip(first).map(|ip| ip.is_ipv4()),
                AddressType::IPv6 => parse_ip(first).map(|ip| ip.is_ipv6()),
                AddressType::Fqdn => Some(true),
            };
            let what = match fits {
                Some(true) => continue,
                Some(false) => "is not of the slice's addressType",
                None => "is not an address, so the endpoint is left out",
            };
            out.push(format!("{path}, endpoints[{at}].addresses[0]: {first:?} {what}."));
        }
    }
    for service in &objects.made_for {
        out.push(format!(
            "Service {service}: its EndpointSlices were made from the Pods it selects, as the cluster's controller would."
        ));
    }
    for service in &objects.services {
        let (namespace, name) = (&service.metadata.namespace, &service.metadata.name);
        let path = format!("Service {namespace}/{name}");
        if !seen.insert((namespace, name)) {
            out.push(format!("{path}, metadata.name: written twice; the ports of both are programmed."));
        }
        let ip = &service.spec.cluster_ip;
        if service.spec.kind == ServiceType::ExternalName {
            out.push(format!("{path}, spec.type: ExternalName is a DNS alias; nothing is programmed."));
        } else if ip == "None" {
            out.push(format!("{path}, spec.clusterIP: None (headless); nothing is programmed."));
        } else if ip.is_empty() && service.spec.cluster_ips.is_empty() {
            out.push(format!("{path}, spec.clusterIP: missing; without one nothing is programmed."));
        } else if !ip.is_empty() && parse_ip(ip).is_none() {
            out.push(format!("{path}, spec.clusterIP: {ip:?} is not an address, so nothing is programmed."));
        } else if !backed.contains(&(namespace, name)) {
            out.push(format!("{path}: no EndpointSlice carries its name, so packets to it are refused."));
        }
        if let Some(at) = service.spec.ports.iter().position(|port| port.port == 0) {
            out.push(format!("{path}, spec.ports[{at}].port: missing."));
        }
    }
    out.truncate(REMARKS_MAX);
    out
}
