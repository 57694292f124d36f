//! What a kube-proxy is told about itself and its node (`KubeProxyConfiguration`, flags, the Node object).

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::addresses::Cidr;
use super::topology::Locality;
use crate::base::Duration;
use crate::packet::Family;

/// Endpoints above which kube-proxy goes into large-cluster mode (`largeClusterEndpointsThreshold`).
pub const LARGE_CLUSTER_ENDPOINTS: usize = 1000;

/// Release of Kubernetes, as far as kube-proxy's output depends on it. Older ones, and 1.37, are not emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KubernetesVersion {
    V1_34,
    V1_35,
    #[default]
    V1_36,
}

/// `1.36`, `v1.36`, `1.36.2`.
impl std::str::FromStr for KubernetesVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        match (parts.next(), parts.next()) {
            (Some("1"), Some("34")) => Ok(Self::V1_34),
            (Some("1"), Some("35")) => Ok(Self::V1_35),
            (Some("1"), Some("36")) => Ok(Self::V1_36),
            _ => Err(format!(
                "not emulated: kube-proxy of Kubernetes {text}; emulated are 1.34, 1.35 and 1.36"
            )),
        }
    }
}

/// Settings of one proxier: kube-proxy runs one per address family.
#[derive(Clone, Debug)]
pub struct Config {
    pub kubernetes: KubernetesVersion,
    pub family: Family,
    pub node_name: String,
    pub node_ip: IpAddr,
    /// Every address of the node, in interface order, for `nodePortAddresses`.
    pub node_addresses: Vec<IpAddr>,
    pub node_labels: BTreeMap<String, String>,
    /// Gate PreferSameTrafficDistribution.
    pub uses_node_hints: bool,
    pub local_detector: LocalDetector,
    pub masquerade_all: bool,
    /// `1 << masqueradeBit`; bit 14 by default.
    pub masquerade_mark: u32,
    /// Whether iptables knows `MASQUERADE --random-fully` (1.6.2 and later).
    pub random_fully: bool,
    /// `iptables.localhostNodePorts`, effective only for IPv4.
    pub localhost_node_ports: bool,
    pub node_port_addresses: NodePortAddresses,
    /// ServiceCIDRs of this family; nftables mode drops traffic to their unallocated addresses.
    pub service_cidrs: Vec<String>,
    /// `net.netfilter.nf_conntrack_tcp_be_liberal` was set when kube-proxy started.
    pub conntrack_tcp_liberal: bool,
    /// Counters that could be created.
    pub nfacct_invalid: bool,
    pub nfacct_localhost: bool,
    pub ipvs: IpvsConfig,
    /// `iptables.syncPeriod` and its like: how long a large cluster leaves unused chains, among others.
    pub sync_period: Duration,
}

/// `ipvs` of KubeProxyConfiguration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpvsConfig {
    /// `ipvs.scheduler`; empty means `rr`.
    pub scheduler: String,
    pub strict_arp: bool,
    /// Virtual servers in these networks are not kube-proxy's to delete.
    pub exclude_cidrs: Vec<Cidr>,
    /// `tcpTimeout`, `tcpFinTimeout`, `udpTimeout`, in seconds; 0 leaves the kernel's.
    pub timeouts_seconds: [u32; 3],
}

impl Default for IpvsConfig {
    fn default() -> Self {
        Self {
            scheduler: "rr".to_owned(),
            strict_arp: false,
            exclude_cidrs: Vec::new(),
            timeouts_seconds: [0; 3],
        }
    }
}

/// How kube-proxy tells traffic of pods on this node (`detectLocalMode`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalDetector {
    /// Not configured: no masquerading for traffic from elsewhere to cluster IPs.
    None,
    /// `ClusterCIDR`, `NodeCIDR`.
    Cidr(String),
    BridgeInterface(String),
    InterfaceNamePrefix(String),
}

impl LocalDetector {
    /// The test that traffic of local pods passes.
    pub fn if_local(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Cidr(cidr) => Some(format!("-s {cidr}")),
            Self::BridgeInterface(name) => Some(format!("-i {name}")),
            Self::InterfaceNamePrefix(prefix) => Some(format!("-i {prefix}+")),
        }
    }

    /// The same for nftables; `ip` is `ip` or `ip6`.
    pub fn nft_if_local(&self, ip: &str) -> Option<String> {
        self.nft(ip, "")
    }

    pub fn nft_if_not_local(&self, ip: &str) -> Option<String> {
        self.nft(ip, "!= ")
    }

    fn nft(&self, ip: &str, not: &str) -> Option<String> {
        match self {
            Self::None => None,
            Self::Cidr(cidr) => Some(format!("{ip} saddr {not}{cidr}")),
            Self::BridgeInterface(name) => Some(format!("iifname {not}\"{name}\"")),
            Self::InterfaceNamePrefix(prefix) => Some(format!("iifname {not}\"{prefix}*\"")),
        }
    }

    /// The test that all other traffic passes.
    pub fn if_not_local(&self) -> Option<String> {
        self.if_local().map(|test| format!("! {test}"))
    }
}

/// `nodePortAddresses`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodePortAddresses {
    All,
    Cidrs(Vec<Cidr>),
}

impl NodePortAddresses {
    /// Whether IPv4 loopback accepts node ports.
    pub fn has_ipv4_loopback(&self) -> bool {
        match self {
            Self::All => true,
            Self::Cidrs(cidrs) => cidrs.iter().any(|c| match c.addr {
                IpAddr::V4(addr) => addr.is_loopback() || c.contains(IpAddr::V4([127, 0, 0, 1].into())),
                IpAddr::V6(_) => false,
            }),
        }
    }

    /// The node's addresses of `family` inside the ranges, without duplicates.
    pub fn matching(&self, addresses: &[IpAddr], family: Family) -> Vec<IpAddr> {
        let wanted = |addr: &IpAddr| match self {
            Self::All => true,
            Self::Cidrs(cidrs) => cidrs.iter().any(|c| c.contains(*addr)),
        };
        let mut found: Vec<IpAddr> = Vec::new();
        for addr in addresses.iter().filter(|a| Family::of(a) == family && wanted(a)) {
            if !found.contains(addr) {
                found.push(*addr);
            }
        }
        found
    }
}

impl Config {
    pub(super) fn locality(&self) -> Locality<'_> {
        Locality { name: &self.node_name, labels: &self.node_labels, uses_node_hints: self.uses_node_hints }
    }

    /// A default installation: pods in 10.244.0.0/16, Services in 10.96.0.0/12, the rest as kube-proxy ships.
    pub fn new(family: Family, node_name: &str, node_ip: IpAddr) -> Self {
        let (cluster_cidr, service_cidr) = match family {
            Family::V4 => ("10.244.0.0/16", "10.96.0.0/12"),
            Family::V6 => ("fd00:10:244::/56", "fd00:10:96::/112"),
        };
        Self {
            kubernetes: KubernetesVersion::default(),
            family,
            node_name: node_name.to_owned(),
            node_ip,
            node_addresses: vec![node_ip],
            node_labels: BTreeMap::new(),
            uses_node_hints: true,
            local_detector: LocalDetector::Cidr(cluster_cidr.to_owned()),
            masquerade_all: false,
            masquerade_mark: 1 << 14,
            random_fully: true,
            localhost_node_ports: true,
            node_port_addresses: NodePortAddresses::All,
            service_cidrs: vec![service_cidr.to_owned()],
            conntrack_tcp_liberal: false,
            nfacct_invalid: true,
            nfacct_localhost: true,
            ipvs: IpvsConfig::default(),
            sync_period: Duration::from_secs(30),
        }
    }

    /// Localhost node ports, where they can work: IPv4, and loopback among the node-port addresses.
    pub fn serves_localhost_node_ports(&self) -> bool {
        self.localhost_node_ports && self.family == Family::V4 && self.node_port_addresses.has_ipv4_loopback()
    }
}
