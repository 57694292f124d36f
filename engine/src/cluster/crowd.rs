//! Many Services to try a data plane with: the same number always gives the same objects.

use std::net::Ipv4Addr;

use super::manifest::Objects;
use super::objects::{
    AddressType, EndpointPort, EndpointSlice, EndpointSpec, Metadata, Protocol, SERVICE_NAME_LABEL, Service,
    ServicePortSpec, ServiceSpec,
};

/// Most Services made at once. A cluster of 5,000 Services is where operators stop using iptables mode.
pub const SERVICES_MAX: u32 = 5_000;
/// Endpoints of each.
pub const ENDPOINTS: u32 = 3;
/// Namespace of all of them.
pub const NAMESPACE: &str = "crowd";
/// First cluster IP: inside 10.96.0.0/12, away from what people write by hand.
const FIRST_CLUSTER_IP: u32 = u32::from_be_bytes([10, 100, 0, 1]);
/// First pod: inside 10.244.0.0/16, away from what people write by hand.
const FIRST_POD: u32 = u32::from_be_bytes([10, 244, 128, 1]);

/// Adds `count` ClusterIP Services with [`ENDPOINTS`] endpoints each, spread over `nodes`.
pub fn add(objects: &mut Objects, count: u32, nodes: &[String]) {
    for number in 0..count.min(SERVICES_MAX) {
        let metadata = Metadata {
            name: format!("svc-{:04}", number + 1),
            namespace: NAMESPACE.to_owned(),
            ..Metadata::default()
        };
        let endpoint = |at: u32| EndpointSpec {
            addresses: vec![Ipv4Addr::from_bits(FIRST_POD + number * ENDPOINTS + at).to_string()],
            node_name: nodes.get((number + at) as usize % nodes.len().max(1)).cloned(),
            ..EndpointSpec::default()
        };
        objects.slices.push(EndpointSlice {
            metadata: Metadata {
                name: format!("{}-1", metadata.name),
                labels: [(SERVICE_NAME_LABEL.to_owned(), metadata.name.clone())].into(),
                ..metadata.clone()
            },
            address_type: AddressType::IPv4,
            ports: vec![EndpointPort {
                name: Some(String::new()),
                protocol: Protocol::Tcp,
                port: Some(8080),
            }],
            endpoints: (0..ENDPOINTS).map(endpoint).collect(),
        });
        objects.services.push(Service {
            metadata,
            spec: ServiceSpec {
                cluster_ip: Ipv4Addr::from_bits(FIRST_CLUSTER_IP + number).to_string(),
                ports: vec![ServicePortSpec { port: 80, ..ServicePortSpec::default() }],
                ..ServiceSpec::default()
            },
            ..Service::default()
        });
    }
}
