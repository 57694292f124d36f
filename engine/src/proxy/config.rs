//! What a kube-proxy is told about itself and its node (`KubeProxyConfiguration`, flags, the Node object).

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::addresses::{Cidr, parse_cidr};
use super::topology::Locality;
use crate::base::Duration;
use crate::cluster::configuration::{GoDuration, KubeProxyConfiguration};
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

/// What is programmed on a node: a `mode` of kube-proxy, or the maps of an eBPF agent in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    #[default]
    Iptables,
    Ipvs,
    Nftables,
    Ebpf,
}

impl Mode {
    /// In the order in which kube-proxy got them, then what replaces it.
    pub const ALL: [Self; 4] = [Self::Iptables, Self::Ipvs, Self::Nftables, Self::Ebpf];

    /// As `--proxy-mode` spells it, which has no `ebpf`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iptables => "iptables",
            Self::Ipvs => "ipvs",
            Self::Nftables => "nftables",
            Self::Ebpf => "ebpf",
        }
    }
}

/// `iptables`, `ipvs`, `nftables`; empty for the default.
impl std::str::FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" | "iptables" => Ok(Self::Iptables),
            "ipvs" => Ok(Self::Ipvs),
            "nftables" => Ok(Self::Nftables),
            _ => Err(format!("not emulated: proxy mode {text:?}")),
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
    /// `spec.podCIDRs` of the Node, for `detectLocalMode: NodeCIDR`.
    pub pod_cidrs: Vec<String>,
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
    /// Only the node's main address.
    pub fn primary(node_ip: IpAddr) -> Self {
        let len = match Family::of(&node_ip) {
            Family::V4 => 32,
            Family::V6 => 128,
        };
        Self::Cidrs(vec![Cidr { addr: node_ip, len }])
    }

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
    /// Takes over a KubeProxyConfiguration for a proxier of `mode`.
    ///
    /// # Errors
    /// What kube-proxy itself would refuse, with the field's path.
    pub fn configure(&mut self, mode: Mode, given: &KubeProxyConfiguration) -> Result<(), String> {
        let cidrs = |field: &str, texts: &[String]| {
            let parse = |text: &String| {
                parse_cidr(text)
                    .ok_or_else(|| format!("{field}: {text:?} is not a network such as 10.0.0.0/8"))
            };
            texts.iter().map(parse).collect::<Result<Vec<_>, _>>()
        };
        self.local_detector = self.detector(given)?;
        self.node_port_addresses = match &given.node_port_addresses[..] {
            [] => self.default_node_port_addresses(mode),
            [only] if only == "primary" => NodePortAddresses::primary(self.node_ip),
            list => NodePortAddresses::Cidrs(cidrs("nodePortAddresses", list)?),
        };
        let (bit, all, period) = match mode {
            Mode::Nftables => {
                let nft = &given.nftables;
                (nft.masquerade_bit, nft.masquerade_all, nft.sync_period)
            }
            // IPVS mode reads the bit and masqueradeAll from here, too.
            Mode::Iptables | Mode::Ipvs | Mode::Ebpf => {
                let xt = &given.iptables;
                (xt.masquerade_bit, xt.masquerade_all, xt.sync_period)
            }
        };
        if let Some(bit) = bit {
            let mark = 1_u32.checked_shl(u32::from(bit));
            self.masquerade_mark = mark.ok_or_else(|| format!("masqueradeBit: {bit} is not in 0..=31"))?;
        }
        self.masquerade_all = all;
        if period.0 > 0 {
            self.sync_period = Duration::from_millis(period.0);
        }
        self.localhost_node_ports = given.iptables.localhost_node_ports.unwrap_or(true);
        self.conntrack_tcp_liberal = given.conntrack.tcp_be_liberal;
        let seconds = |duration: GoDuration| u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
        let ipvs = &given.ipvs;
        self.ipvs = IpvsConfig {
            scheduler: if ipvs.scheduler.is_empty() { "rr".to_owned() } else { ipvs.scheduler.clone() },
            strict_arp: ipvs.strict_arp,
            exclude_cidrs: cidrs("ipvs.excludeCIDRs", &ipvs.exclude_cidrs)?,
            timeouts_seconds: [ipvs.tcp_timeout, ipvs.tcp_fin_timeout, ipvs.udp_timeout].map(seconds),
        };
        Ok(())
    }

    /// What an empty `nodePortAddresses` means.
    pub fn default_node_port_addresses(&self, mode: Mode) -> NodePortAddresses {
        match mode {
            Mode::Iptables | Mode::Ipvs | Mode::Ebpf => NodePortAddresses::All,
            Mode::Nftables => NodePortAddresses::primary(self.node_ip),
        }
    }

    fn detector(&self, given: &KubeProxyConfiguration) -> Result<LocalDetector, String> {
        match given.detect_local_mode.as_str() {
            "" | "ClusterCIDR" => {
                let of_family = |text: &&str| parse_cidr(text).is_some_and(|c| c.family() == self.family);
                let mut parts = given.cluster_cidr.split(',').map(str::trim).filter(|part| !part.is_empty());
                if let Some(wrong) = parts.clone().find(|part| parse_cidr(part).is_none()) {
                    return Err(format!("clusterCIDR: {wrong:?} is not a network such as 10.244.0.0/16"));
                }
                Ok(parts.find(of_family).map_or(LocalDetector::None, |c| LocalDetector::Cidr(c.to_owned())))
            }
            "BridgeInterface" => {
                Ok(LocalDetector::BridgeInterface(given.detect_local.bridge_interface.clone()))
            }
            "InterfaceNamePrefix" => {
                Ok(LocalDetector::InterfaceNamePrefix(given.detect_local.interface_name_prefix.clone()))
            }
            // The pod network of this node, which is in its Node object.
            "NodeCIDR" => {
                let of_family = |text: &&String| parse_cidr(text).is_some_and(|c| c.family() == self.family);
                let own = self.pod_cidrs.iter().find(of_family);
                own.map(|cidr| LocalDetector::Cidr(cidr.clone()))
                    .ok_or_else(|| "detectLocalMode: NodeCIDR, but the Node has no spec.podCIDRs".to_owned())
            }
            other => Err(format!(
                "detectLocalMode: {other:?} is not one of ClusterCIDR, NodeCIDR, BridgeInterface, \
                 InterfaceNamePrefix"
            )),
        }
    }

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
            pod_cidrs: Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            pod_cidrs: vec!["fd00:1::/64".into(), "10.244.1.0/24".into()],
            ..Config::new(Family::V4, "a", [172, 18, 0, 2].into())
        }
    }

    #[test]
    fn an_empty_configuration_gives_kube_proxys_defaults() {
        for (mode, addresses) in [
            (Mode::Iptables, NodePortAddresses::All),
            (Mode::Ipvs, NodePortAddresses::All),
            (Mode::Nftables, NodePortAddresses::primary([172, 18, 0, 2].into())),
        ] {
            let mut config = config();
            config.configure(mode, &KubeProxyConfiguration::default()).expect("empty is fine");
            assert_eq!(config.node_port_addresses, addresses);
            assert_eq!(config.local_detector, LocalDetector::None);
            assert_eq!((config.masquerade_mark, config.masquerade_all), (0x4000, false));
            assert_eq!(config.ipvs, IpvsConfig::default());
            assert!(config.localhost_node_ports);
        }
    }

    #[test]
    fn each_way_to_know_pods() {
        let detector = |mode: &str, cidr: &str| {
            let mut given = KubeProxyConfiguration {
                detect_local_mode: mode.into(),
                cluster_cidr: cidr.into(),
                ..Default::default()
            };
            given.detect_local.bridge_interface = "cni0".into();
            given.detect_local.interface_name_prefix = "veth".into();
            let mut config = config();
            config.configure(Mode::Iptables, &given).map(|()| config.local_detector)
        };
        let cidr = |text: &str| Ok(LocalDetector::Cidr(text.into()));
        assert_eq!(detector("", "fd00::/48,10.244.0.0/16"), cidr("10.244.0.0/16"));
        assert_eq!(detector("NodeCIDR", ""), cidr("10.244.1.0/24"));
        assert_eq!(detector("BridgeInterface", ""), Ok(LocalDetector::BridgeInterface("cni0".into())));
        assert_eq!(
            detector("InterfaceNamePrefix", ""),
            Ok(LocalDetector::InterfaceNamePrefix("veth".into()))
        );
        assert!(detector("Magic", "").is_err_and(|error| error.contains("Magic")));
        assert!(detector("", "10.244.0.0").is_err_and(|error| error.starts_with("clusterCIDR: ")));
    }

    #[test]
    fn wrong_values_are_named_by_their_field() {
        let configure = |change: fn(&mut KubeProxyConfiguration)| {
            let mut given = KubeProxyConfiguration::default();
            change(&mut given);
            config().configure(Mode::Ipvs, &given).expect_err("it is wrong")
        };
        assert!(configure(|c| c.iptables.masquerade_bit = Some(32)).starts_with("masqueradeBit: 32"));
        assert!(
            configure(|c| c.node_port_addresses = vec!["eth0".into()]).starts_with("nodePortAddresses: ")
        );
        assert!(configure(|c| c.ipvs.exclude_cidrs = vec!["x".into()]).starts_with("ipvs.excludeCIDRs: "));
        assert!("userspace".parse::<Mode>().is_err());
        assert!("1.37".parse::<KubernetesVersion>().is_err_and(|error| error.starts_with("not emulated: ")));
        assert_eq!("v1.35.1".parse(), Ok(KubernetesVersion::V1_35));
    }
}
