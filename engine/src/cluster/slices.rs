//! The EndpointSlices that the cluster's controller writes for a Service with a selector, from the Pods it selects.
//!
//! What a text holds itself is believed: slices are made only for Services that it shows none of. Each endpoint is as
//! `podToEndpoint` writes it, each port as `FindPort` finds it (`k8s.io/endpointslice` of Kubernetes 1.35:
//! utils.go, reconciler.go). Not made: topology hints of `trafficDistribution`, and the split after 100 endpoints,
//! which kube-proxy undoes.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::Objects;
use super::objects::{
    AddressType, EndpointConditions, EndpointPort, EndpointSlice, EndpointSpec, Metadata, Pod, Protocol,
    SERVICE_NAME_LABEL, Service, ServicePortSpec, ServiceType, TargetPort,
};

/// Label of a Node that names its zone.
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// Ports as an ordered key: name, protocol, number.
type Ports = Vec<(String, Protocol, u16)>;

/// Adds the slices of every Service that has a selector and no slice.
pub(super) fn make(objects: &mut Objects) {
    if objects.pods.is_empty() {
        return;
    }
    let named = |slice: &EndpointSlice| {
        let service = slice.metadata.labels.get(SERVICE_NAME_LABEL)?;
        Some((slice.metadata.namespace.clone(), service.clone()))
    };
    let written: BTreeSet<(String, String)> = objects.slices.iter().filter_map(named).collect();
    let zones: BTreeMap<&str, &str> = objects
        .nodes
        .iter()
        .filter_map(|node| Some((&*node.metadata.name, &**node.metadata.labels.get(ZONE_LABEL)?)))
        .collect();
    let (mut made, mut made_for) = (Vec::new(), Vec::new());
    for service in &objects.services {
        let Metadata { namespace, name, .. } = &service.metadata;
        let selects = !service.spec.selector.is_empty() && service.spec.kind != ServiceType::ExternalName;
        if !selects || written.contains(&(namespace.clone(), name.clone())) {
            continue;
        }
        let before = made.len();
        for family in families(service) {
            made.extend(slices(service, family, &objects.pods, &zones));
        }
        if made.len() > before {
            made_for.push(format!("{namespace}/{name}"));
        }
    }
    objects.slices.extend(made);
    objects.made_for = made_for;
}

/// The families of a Service's addresses.
fn families(service: &Service) -> BTreeSet<AddressType> {
    let all = service.spec.cluster_ips.iter().chain([&service.spec.cluster_ip]);
    all.filter(|ip| !ip.is_empty() && *ip != "None").map(|ip| family_of(ip)).collect()
}

fn family_of(ip: &str) -> AddressType {
    if ip.contains(':') { AddressType::IPv6 } else { AddressType::IPv4 }
}

/// A slice for each set of ports: Pods may give a port's name different numbers.
fn slices(
    service: &Service,
    family: AddressType,
    pods: &[Pod],
    zones: &BTreeMap<&str, &str>,
) -> Vec<EndpointSlice> {
    let Metadata { namespace, name, .. } = &service.metadata;
    let mut by_ports: BTreeMap<Ports, Vec<EndpointSpec>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.metadata.namespace == *namespace && selected(service, pod)) {
        let Some(address) = address(pod, family) else { continue };
        let ports = service
            .spec
            .ports
            .iter()
            .filter_map(|port| Some((port.name.clone(), port.protocol, number(port, pod)?)));
        by_ports.entry(ports.collect()).or_default().push(EndpointSpec {
            addresses: vec![address.to_owned()],
            conditions: conditions(service, pod),
            zone: pod.spec.node_name.as_deref().and_then(|node| zones.get(node)).map(|&zone| zone.to_owned()),
            node_name: pod.spec.node_name.clone(),
            hints: None,
        });
    }
    let slice = |(at, (ports, endpoints)): (usize, (Ports, Vec<EndpointSpec>))| EndpointSlice {
        metadata: Metadata {
            name: format!("{name}-{family:?}-{}", at + 1).to_lowercase(),
            namespace: namespace.clone(),
            labels: [(SERVICE_NAME_LABEL.to_owned(), name.clone())].into(),
            ..Metadata::default()
        },
        address_type: family,
        ports: ports
            .into_iter()
            .map(|(name, protocol, port)| EndpointPort { name: Some(name), protocol, port: Some(port) })
            .collect(),
        endpoints,
    };
    by_ports.into_iter().enumerate().map(slice).collect()
}

fn selected(service: &Service, pod: &Pod) -> bool {
    service.spec.selector.iter().all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
}

/// The address of `family` that makes a Pod an endpoint; none when it has ended (`ShouldPodBeInEndpoints`).
fn address(pod: &Pod, family: AddressType) -> Option<&str> {
    let status = &pod.status;
    if matches!(&*status.phase, "Succeeded" | "Failed") {
        return None;
    }
    let all = status.pod_ips.iter().map(|ip| &*ip.ip).chain([&*status.pod_ip]);
    all.filter(|ip| !ip.is_empty()).find(|ip| family_of(ip) == family)
}

/// `FindPort`; none when no container's port has the name, which leaves the port out of the slice.
fn number(port: &ServicePortSpec, pod: &Pod) -> Option<u16> {
    match &port.target_port {
        None | Some(TargetPort::Number(0)) => Some(port.port),
        Some(TargetPort::Number(number)) => Some(*number),
        Some(TargetPort::Name(name)) => {
            let mut ports = pod.spec.containers.iter().flat_map(|container| &container.ports);
            ports.find(|p| p.name == *name && p.protocol == port.protocol).map(|p| p.container_port)
        }
    }
}

fn conditions(service: &Service, pod: &Pod) -> EndpointConditions {
    let serving = pod.status.conditions.iter().any(|c| c.kind == "Ready" && c.status == "True");
    let terminating = pod.deletion_timestamp.is_some();
    let ready = service.spec.publish_not_ready_addresses || (serving && !terminating);
    EndpointConditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) }
}

#[cfg(test)]
mod tests {
    use crate::cluster::manifest::{Objects, Reader, parse, parse_all};

    const SHOP: &str = "\
kind: Service
metadata: {name: web, namespace: shop}
spec:
  clusterIPs: [10.96.0.7, \"fd00:96::7\"]
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: http}
  - {name: admin, port: 9000}
---
kind: Node
metadata: {name: node-a, labels: {topology.kubernetes.io/zone: eu-1}}
---
kind: PodList
items:
- metadata: {name: one, namespace: shop, labels: {app: web, tier: front}}
  spec: {nodeName: node-a, containers: [{ports: [{name: http, containerPort: 8080}]}]}
  status: {phase: Running, podIP: 10.244.1.10, podIPs: [{ip: 10.244.1.10}, {ip: \"fd00:244::10\"}], conditions: [{type: Ready, status: \"True\"}]}
- metadata: {name: two, namespace: shop, labels: {app: web}, deletionTimestamp: \"2026-01-01T00:00:00Z\"}
  spec: {nodeName: node-b, containers: [{ports: [{name: http, containerPort: 8081}]}]}
  status: {phase: Running, podIP: 10.244.2.10, conditions: [{type: Ready, status: \"True\"}]}
- metadata: {name: done, namespace: shop, labels: {app: web}}
  status: {phase: Succeeded, podIP: 10.244.1.11}
- metadata: {name: elsewhere, namespace: other, labels: {app: web}}
  status: {phase: Running, podIP: 10.244.1.12}
- metadata: {name: another, namespace: shop, labels: {app: api}}
  status: {phase: Running, podIP: 10.244.1.13}
";

    /// `ADDRESS ports CONDITIONS node zone` of every endpoint.
    fn told(objects: &Objects) -> Vec<String> {
        let mut out = Vec::new();
        for slice in &objects.slices {
            let ports: Vec<String> = slice
                .ports
                .iter()
                .map(|p| format!("{}={}", p.name.as_deref().unwrap_or("?"), p.port.unwrap_or(0)))
                .collect();
            for end in &slice.endpoints {
                let c = &end.conditions;
                let state = [(c.ready, "ready"), (c.serving, "serving"), (c.terminating, "terminating")];
                let state: Vec<&str> =
                    state.iter().filter(|(set, _)| *set == Some(true)).map(|(_, name)| *name).collect();
                out.push(format!(
                    "{} {} {} {} {}",
                    end.addresses[0],
                    ports.join(","),
                    state.join("+"),
                    end.node_name.as_deref().unwrap_or("-"),
                    end.zone.as_deref().unwrap_or("-")
                ));
            }
        }
        out
    }

    #[test]
    fn selected_pods_become_endpoints() {
        let objects = parse(SHOP).expect("the text is fine");
        assert_eq!(
            told(&objects),
            [
                "10.244.1.10 http=8080,admin=9000 ready+serving node-a eu-1",
                "10.244.2.10 http=8081,admin=9000 serving+terminating node-b -",
                "fd00:244::10 http=8080,admin=9000 ready+serving node-a eu-1",
            ]
        );
        assert_eq!(objects.made_for, ["shop/web"]);
        assert_eq!(Reader::default().read(SHOP), Ok(objects.clone()));
        let (service, pods) = SHOP.split_once("---\n").expect("several documents");
        assert_eq!(parse_all([pods, service]), Ok(objects));
        assert_eq!(parse_all([pods, "kind: [\n"]).expect_err("the second is wrong").0, 1);
    }

    #[test]
    fn a_pod_that_is_not_ready_is_published_on_demand() {
        let unready = SHOP.replace("\"True\"", "\"False\"");
        assert!(
            told(&parse(&unready).expect("fine"))[0].starts_with("10.244.1.10 http=8080,admin=9000  node-a")
        );
        let all = unready.replace("selector:", "publishNotReadyAddresses: true\n  selector:");
        let told = told(&parse(&all).expect("fine"));
        assert_eq!(told[0], "10.244.1.10 http=8080,admin=9000 ready node-a eu-1");
        assert_eq!(told[1], "10.244.2.10 http=8081,admin=9000 ready+terminating node-b -");
    }

    #[test]
    fn a_name_that_no_container_has_leaves_its_port_out() {
        let text = SHOP.replace("targetPort: http", "targetPort: web");
        assert!(told(&parse(&text).expect("fine"))[0].starts_with("10.244.1.10 admin=9000 "));
    }

    #[test]
    fn written_slices_are_believed() {
        let slice = "---\nkind: EndpointSlice\nmetadata: {name: s, namespace: shop, labels: {kubernetes.io/service-name: web}}\n\
                     endpoints: [{addresses: [10.244.9.9]}]\n";
        let objects = parse(&format!("{SHOP}{slice}")).expect("fine");
        assert_eq!((objects.slices.len(), objects.made_for.len()), (1, 0));
        let without = SHOP.replace("selector: {app: web}", "selector: {}");
        assert_eq!(parse(&without).expect("fine").slices, []);
    }
}
