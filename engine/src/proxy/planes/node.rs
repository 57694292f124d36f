//! [`NodeSite`]: the node around the rules, from the objects: its addresses, its pods, who could send what.
//!
//! Owns what is concluded where no object says it, and says so. Does not own the packet's way.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::cluster::manifest::Objects;
use crate::cluster::objects::ServiceType;
use crate::packet::Family;
use crate::proxy::Config;
use crate::proxy::addresses::parse_ip;
use crate::proxy::service_port::service_ports;
use crate::replay::Facts;

/// The node that kube-proxy runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSite {
    pub name: String,
    /// Every node that an object names, in order.
    pub nodes: Vec<String>,
    /// Families that some Service has an address of; IPv4 when there is none.
    pub families: Vec<Family>,
    labels: BTreeMap<String, String>,
    /// Addresses of this node, then of every node.
    addresses: Vec<IpAddr>,
    node_addresses: BTreeMap<String, Vec<IpAddr>>,
    /// Endpoints on this node, and on others with the node they are on.
    local_pods: BTreeSet<IpAddr>,
    remote_pods: BTreeMap<IpAddr, String>,
    /// What no object said, as sentences.
    pub assumed: Vec<String>,
}

/// Who could send a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub label: &'static str,
    /// Source and device: the beginning and the end of a packet line.
    pub from: String,
    pub input: &'static str,
    pub family: Family,
}

/// What could be addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `shop/web:http · cluster IP`
    pub label: String,
    pub proto: &'static str,
    /// `10.96.0.1:80`
    pub to: String,
    pub family: Family,
}

/// The device that leads to other nodes and the world.
pub(super) const UPLINK: &str = "eth0";

/// Address of a node that no Node object describes: the n-th host of a private network.
const fn invented(family: Family, number: u32) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(u32::from_be_bytes([192, 168, 10, 11]) + number)),
        Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(0xfd00_0010_u128 << 96 | (0x11 + number as u128))),
    }
}

/// Most targets offered; a list of thousands helps nobody.
const TARGETS_MAX: usize = 60;

impl NodeSite {
    /// Reads what the objects say about node `name`; the first node when `name` is not among them.
    pub fn of(objects: &Objects, name: &str) -> Self {
        let endpoints = || objects.slices.iter().flat_map(|slice| &slice.endpoints);
        let mut nodes: Vec<String> = Vec::new();
        let named = objects.nodes.iter().map(|node| &node.metadata.name);
        for node in named.chain(endpoints().filter_map(|endpoint| endpoint.node_name.as_ref())) {
            if !node.is_empty() && !nodes.contains(node) {
                nodes.push(node.clone());
            }
        }
        let mut assumed = Vec::new();
        if nodes.is_empty() {
            nodes.push("node-a".to_owned());
            assumed.push("The node is called node-a: no object names one.".to_owned());
        }
        let name = if nodes.iter().any(|node| node == name) { name } else { &nodes[0] }.to_owned();
        let families = families(objects);
        let mut node_addresses: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
        for (number, node) in (0..).zip(&nodes) {
            let object = objects.nodes.iter().find(|object| object.metadata.name == *node);
            let stated = object.into_iter().flat_map(|object| &object.status.addresses);
            let mut addresses: Vec<IpAddr> =
                stated.filter_map(|address| parse_ip(&address.address)).collect();
            for &family in &families {
                if !addresses.iter().any(|ip| Family::of(ip) == family) {
                    let address = invented(family, number);
                    addresses.push(address);
                    if *node == name {
                        assumed.push(format!("{node} has the address {address}: no Node object gives one."));
                    }
                }
            }
            node_addresses.insert(node.clone(), addresses);
        }
        let (mut local_pods, mut remote_pods) = (BTreeSet::new(), BTreeMap::new());
        for endpoint in endpoints() {
            let Some(ip) = endpoint.addresses.first().and_then(|address| parse_ip(address)) else { continue };
            match &endpoint.node_name {
                Some(node) if *node == name => {
                    local_pods.insert(ip);
                }
                node => {
                    remote_pods.insert(ip, node.clone().unwrap_or_default());
                }
            }
        }
        let object = objects.nodes.iter().find(|object| object.metadata.name == name);
        Self {
            labels: object.map(|object| object.metadata.labels.clone()).unwrap_or_default(),
            addresses: node_addresses.get(&name).cloned().unwrap_or_default(),
            name,
            nodes,
            families,
            node_addresses,
            local_pods,
            remote_pods,
            assumed,
        }
    }

    /// Whether a kube-proxy that runs for `self` goes on for `other`: what it was started with is the same.
    pub(super) fn is_same_node(&self, other: &Self) -> bool {
        self.name == other.name
            && self.families == other.families
            && self.labels == other.labels
            && self.addresses == other.addresses
    }

    pub fn config(&self, family: Family) -> Config {
        let own = self.address(family);
        let mut config = Config::new(family, &self.name, own);
        config.node_addresses.extend(self.addresses.iter().copied().filter(|ip| *ip != own));
        config.node_labels.clone_from(&self.labels);
        config
    }

    fn address(&self, family: Family) -> IpAddr {
        let found = self.addresses.iter().copied().find(|ip| Family::of(ip) == family);
        found.unwrap_or_else(|| invented(family, 0))
    }

    /// Devices, addresses and routes for a packet: `eth0` to the other nodes and the world, a device for each
    /// pod that serves here, and one for a pod that only asks.
    pub fn facts(&self, family: Family) -> Facts {
        let own = self.address(family);
        let (length, host, pod_gateway) = match family {
            Family::V4 => (24, 32, "10.244.0.1"),
            Family::V6 => (64, 128, "fd00:10:244::1"),
        };
        let mut addresses = vec![format!("{UPLINK}={own}/{length}"), format!("pod0={pod_gateway}/{host}")];
        for other in self.addresses.iter().filter(|ip| Family::of(ip) == family && **ip != own) {
            addresses.push(format!("{UPLINK}={other}/{host}"));
        }
        let mut routes = vec![
            format!("{}={}@{UPLINK}", if family == Family::V4 { "0.0.0.0/0" } else { "::/0" }, uplink(own)),
            format!("{}/{host}=@pod0", client_pod(family)),
        ];
        let mut locals = 0;
        for pod in self.local_pods.iter().filter(|pod| Family::of(pod) == family) {
            // Beyond these, pods share a device: nothing in a packet's way depends on which.
            locals = (locals + 1).min(64);
            routes.push(format!("{pod}/{host}=@veth{locals}"));
        }
        for (pod, node) in self.remote_pods.iter().filter(|(pod, _)| Family::of(pod) == family) {
            let via = self.node_addresses.get(node).into_iter().flatten().find(|ip| Family::of(ip) == family);
            if let Some(via) = via {
                routes.push(format!("{pod}/{host}={via}@{UPLINK}"));
            }
        }
        let forward = match family {
            Family::V4 => "net.ipv4.ip_forward=1",
            Family::V6 => "net.ipv6.conf.all.forwarding=1",
        };
        Facts { addresses, routes, sysctls: vec![forward.to_owned()], ..Facts::default() }
    }

    /// Who could send a packet to a Service, the usual one first.
    pub fn clients(&self) -> Vec<Client> {
        let mut clients = Vec::new();
        for &family in &self.families {
            let own = self.address(family).to_string();
            let (pod, outside) = match family {
                Family::V4 => (client_pod(family).to_string(), "198.51.100.24".to_owned()),
                Family::V6 => (client_pod(family).to_string(), "2001:db8:ffff::24".to_owned()),
            };
            let client = |label, from: String, input| Client { label, from, input, family };
            clients.push(client("a pod on this node", pod, "pod0"));
            clients.push(client("a client outside the cluster", outside, UPLINK));
            clients.push(client("this node itself", own, "local"));
            if let Some(pod) = self.local_pods.iter().find(|pod| Family::of(pod) == family) {
                clients.push(client("the first endpoint here", pod.to_string(), "veth1"));
            }
        }
        clients
    }

    /// What could be addressed on this node, in the order of the Services.
    pub fn targets(&self, objects: &Objects) -> Vec<Target> {
        let mut targets = Vec::new();
        for service in
            objects.services.iter().filter(|service| service.spec.kind != ServiceType::ExternalName)
        {
            for &family in &self.families {
                for (name, port) in service_ports(service, family) {
                    let mut push = |what: &str, ip: IpAddr, number: u16| {
                        targets.push(Target {
                            label: format!("{name} · {what}"),
                            proto: port.protocol.name(),
                            to: end_point(ip, number),
                            family,
                        });
                    };
                    push("cluster IP", port.cluster_ip, port.port);
                    if port.node_port != 0 {
                        push("node port", self.address(family), port.node_port);
                    }
                    port.external_ips.iter().for_each(|ip| push("external IP", *ip, port.port));
                    port.load_balancer_vips.iter().for_each(|ip| push("load balancer", *ip, port.port));
                }
            }
            if targets.len() >= TARGETS_MAX {
                break;
            }
        }
        targets.truncate(TARGETS_MAX);
        targets
    }
}

/// A pod that only asks.
const fn client_pod(family: Family) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::new(10, 244, 0, 200)),
        Family::V6 => IpAddr::V6(Ipv6Addr::new(0xfd00, 0x10, 0x244, 0, 0, 0, 0, 0x200)),
    }
}

/// The router of the node's network: its last host but one.
fn uplink(own: IpAddr) -> IpAddr {
    let last = |low: u8| if low == 254 { 253 } else { 254 };
    match own {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            Ipv4Addr::new(a, b, c, last(d)).into()
        }
        IpAddr::V6(ip) => {
            let mut octets = ip.octets();
            octets[15] = last(octets[15]);
            Ipv6Addr::from(octets).into()
        }
    }
}

fn end_point(ip: IpAddr, port: u16) -> String {
    std::net::SocketAddr::new(ip, port).to_string()
}

fn families(objects: &Objects) -> Vec<Family> {
    let has = |family: Family| {
        objects.services.iter().any(|service| {
            let ips = std::iter::once(&service.spec.cluster_ip).chain(&service.spec.cluster_ips);
            ips.filter_map(|ip| parse_ip(ip)).any(|ip| Family::of(&ip) == family)
        })
    };
    match (has(Family::V4), has(Family::V6)) {
        (true, true) => vec![Family::V4, Family::V6],
        (false, true) => vec![Family::V6],
        (_, false) => vec![Family::V4],
    }
}
