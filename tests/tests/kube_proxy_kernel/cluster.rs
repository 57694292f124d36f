//! Random sets of Services, and the packets that ask about them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use chainwalk_engine::base::Rng;
use chainwalk_engine::cluster::objects::{
    EndpointConditions, EndpointPort, EndpointSlice, EndpointSpec, IpMode, LoadBalancerIngress,
    LoadBalancerStatus, Metadata, Protocol, SERVICE_NAME_LABEL, Service, ServicePortSpec, ServiceSpec,
    ServiceStatus, ServiceType, SessionAffinity, TrafficPolicy,
};
use chainwalk_engine::packet::Family;

/// A set of Services on the node `node-a`.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) family: Family,
    pub(crate) services: Vec<Service>,
    pub(crate) slices: Vec<EndpointSlice>,
}

/// Where a packet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Pod,
    /// Inside the source ranges that some Services have.
    World,
    Stranger,
    Node,
}

/// A destination to try from everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) addr: IpAddr,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    /// Clients stick to an endpoint, so the same client cannot show all of them.
    pub(crate) sticky: bool,
    /// Endpoints to choose among, usable or not.
    pub(crate) endpoints: usize,
}

/// Addresses of the lab, by family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) node_ip: &'static str,
    pub(crate) node_net: &'static str,
    pub(crate) pod_net: &'static str,
    pub(crate) pod_gateway: &'static str,
    pub(crate) services: &'static str,
    prefix: Prefixes,
}

/// What is put before a number to make an address.
#[derive(Debug, Clone, Copy)]
struct Prefixes {
    local_pod: &'static str,
    remote_pod: &'static str,
    client_pod: &'static str,
    world: &'static str,
    stranger: &'static str,
    cluster_ip: &'static str,
    external_ip: &'static str,
    vip: &'static str,
    range: &'static str,
}

pub(crate) const fn plan(family: Family) -> Plan {
    match family {
        Family::V4 => Plan {
            node_ip: "172.18.0.2",
            node_net: "172.18.0.2/24",
            pod_net: "10.244.0.0/16",
            pod_gateway: "10.244.1.1/32",
            services: "10.96.0.0/16",
            prefix: Prefixes {
                local_pod: "10.244.1.",
                remote_pod: "10.244.2.",
                client_pod: "10.244.1.1",
                world: "203.0.113.",
                stranger: "192.0.2.",
                cluster_ip: "10.96.0.",
                external_ip: "198.51.100.",
                vip: "198.51.101.",
                range: "203.0.113.0/24",
            },
        },
        Family::V6 => Plan {
            node_ip: "fd18::2",
            node_net: "fd18::2/64",
            pod_net: "fd44::/32",
            pod_gateway: "fd44:0:1::1/128",
            services: "fd96::/64",
            prefix: Prefixes {
                local_pod: "fd44:0:1::",
                remote_pod: "fd44:0:2::",
                client_pod: "fd44:0:1::c",
                world: "2001:db8:113::",
                stranger: "2001:db8:2::",
                cluster_ip: "fd96::",
                external_ip: "2001:db8:100::",
                vip: "2001:db8:101::",
                range: "2001:db8:113::/64",
            },
        },
    }
}

impl Plan {
    /// The source of the `number`th packet of a flow; a node has one address.
    pub(crate) fn source(&self, from: From, number: u16) -> String {
        let p = &self.prefix;
        match from {
            From::Pod => format!("{}{:02}", p.client_pod, number % 50),
            From::World => format!("{}{}", p.world, 10 + number),
            From::Stranger => format!("{}{}", p.stranger, 10 + number),
            From::Node => self.node_ip.to_owned(),
        }
    }
}

struct Dice(Rng);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

impl Cluster {
    pub(crate) fn random(seed: u64, family: Family) -> Self {
        let mut dice = Dice(Rng::named(seed, "kube-proxy"));
        let count = 1 + dice.below(5);
        let (mut services, mut slices) = (Vec::new(), Vec::new());
        for number in 1..=count {
            let service = random_service(&mut dice, number, family);
            slices.push(random_slice(&mut dice, &service, family));
            services.push(service);
        }
        Self { family, services, slices }
    }

    /// Something happens to some of the objects: a partial sync follows.
    pub(crate) fn mutate(&mut self, seed: u64) {
        let mut dice = Dice(Rng::named(seed, "mutation"));
        let at = dice.below(self.services.len() as u64) as usize;
        match dice.below(4) {
            0 => {
                self.services.remove(at);
                self.slices.remove(at);
            }
            1 => self.slices[at].endpoints.clear(),
            2 => {
                let fresh = random_service(&mut dice, at as u64 + 1, self.family);
                self.slices[at] = random_slice(&mut dice, &fresh, self.family);
                self.services[at] = fresh;
            }
            _ => {
                let service = random_service(&mut dice, self.services.len() as u64 + 11, self.family);
                self.slices.push(random_slice(&mut dice, &service, self.family));
                self.services.push(service);
            }
        }
    }

    /// Every address and port of every Service, and some that none has.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let mut out = Vec::new();
        for (service, slice) in self.services.iter().zip(&self.slices) {
            let name = &service.metadata.name;
            let endpoints = slice.endpoints.len();
            let sticky = service.spec.session_affinity == SessionAffinity::ClientIP;
            for port in &service.spec.ports {
                let mut push = |what: &str, addr: &str, number| {
                    out.push(Target {
                        what: format!("{name}:{} {what}", port.name),
                        addr: addr.parse().expect("an address of the plan"),
                        port: number,
                        protocol: port.protocol,
                        sticky,
                        endpoints,
                    });
                };
                push("cluster IP", &service.spec.cluster_ip, port.port);
                push("cluster IP, no such port", &service.spec.cluster_ip, 9);
                for ip in &service.spec.external_ips {
                    push("external IP", ip, port.port);
                }
                for ingress in &service.status.load_balancer.ingress {
                    push("load balancer", &ingress.ip, port.port);
                }
                if port.node_port != 0 {
                    push("node port", plan(self.family).node_ip, port.node_port);
                }
            }
        }
        out
    }
}

fn random_service(dice: &mut Dice, number: u64, family: Family) -> Service {
    let p = plan(family).prefix;
    let kind =
        [ServiceType::ClusterIP, ServiceType::NodePort, ServiceType::LoadBalancer][dice.below(3) as usize];
    let policy = |local| if local { TrafficPolicy::Local } else { TrafficPolicy::Cluster };
    let is_external = kind != ServiceType::ClusterIP;
    let external_local = is_external && dice.chance(40);
    let ports = 1 + dice.below(2);
    let port = |dice: &mut Dice, i: u64| ServicePortSpec {
        name: format!("p{i}"),
        protocol: if dice.chance(25) { Protocol::Udp } else { Protocol::Tcp },
        port: (80 + i) as u16,
        node_port: if is_external { (30_000 + 10 * number + i) as u16 } else { 0 },
        target_port: None,
    };
    let ports = (0..ports).map(|i| port(dice, i)).collect();
    let is_balanced = kind == ServiceType::LoadBalancer;
    let ingress = is_balanced.then(|| LoadBalancerIngress {
        ip: format!("{}{number}", p.vip),
        ip_mode: if dice.chance(15) { IpMode::Proxy } else { IpMode::Vip },
        ..Default::default()
    });
    let spec = ServiceSpec {
        kind,
        cluster_ip: format!("{}{number}", p.cluster_ip),
        ports,
        external_ips: if dice.chance(30) { vec![format!("{}{number}", p.external_ip)] } else { Vec::new() },
        load_balancer_source_ranges: if is_balanced && dice.chance(40) {
            vec![p.range.to_owned()]
        } else {
            Vec::new()
        },
        external_traffic_policy: policy(external_local),
        internal_traffic_policy: policy(dice.chance(20)),
        session_affinity: if dice.chance(25) { SessionAffinity::ClientIP } else { SessionAffinity::None },
        health_check_node_port: if is_balanced && external_local { (31_000 + number) as u16 } else { 0 },
        ..Default::default()
    };
    Service {
        metadata: Metadata { name: format!("svc{number}"), namespace: "ns".into(), ..Default::default() },
        spec,
        status: ServiceStatus {
            load_balancer: LoadBalancerStatus { ingress: ingress.into_iter().collect() },
        },
    }
}

fn random_slice(dice: &mut Dice, service: &Service, family: Family) -> EndpointSlice {
    let p = plan(family).prefix;
    let name = &service.metadata.name;
    let number: u64 = name.trim_start_matches("svc").parse().expect("named by number");
    let endpoint = |dice: &mut Dice, i: u64| {
        let is_local = dice.chance(50);
        let prefix = if is_local { p.local_pod } else { p.remote_pod };
        let fate = dice.below(10);
        EndpointSpec {
            addresses: vec![format!("{prefix}{}", 10 + 3 * number + i)],
            node_name: Some(if is_local { "node-a" } else { "node-b" }.to_owned()),
            conditions: EndpointConditions {
                ready: Some(fate < 7),
                serving: Some(fate < 9),
                terminating: Some(fate >= 7),
            },
            ..Default::default()
        }
    };
    let endpoints = (0..dice.below(4)).map(|i| endpoint(dice, i)).collect();
    let labels = BTreeMap::from([(SERVICE_NAME_LABEL.to_owned(), name.clone())]);
    let port = |port: &ServicePortSpec| EndpointPort {
        name: Some(port.name.clone()),
        protocol: port.protocol,
        port: Some(8000 + port.port),
    };
    EndpointSlice {
        metadata: Metadata {
            name: format!("{name}-1"),
            namespace: "ns".into(),
            labels,
            ..Default::default()
        },
        address_type: match family {
            Family::V4 => chainwalk_engine::cluster::objects::AddressType::IPv4,
            Family::V6 => chainwalk_engine::cluster::objects::AddressType::IPv6,
        },
        ports: service.spec.ports.iter().map(port).collect(),
        endpoints,
    }
}
