//! The peer file: recorded inputs and outputs of kube-proxy's unit tests, and how they become our objects.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use chainwalk_engine::base::Instant;
use chainwalk_engine::cluster::objects as k8s;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::addresses::parse_cidr;
use chainwalk_engine::proxy::{
    Config, Endpoint, LocalDetector, NodePortAddresses, ServicePort, ipvs, nftables,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Peer {
    pub(crate) cases: Vec<Case>,
    pub(crate) categorize_endpoints: Categorize,
    pub(crate) conntrack_cleanup: ConntrackCleanup,
}

/// Reads the file beside the project, or says that it is absent.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub(crate) fn load() -> Option<Peer> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer/kube-proxy-upstream.json.xz");
    let Ok(file) = std::fs::File::open(&path) else {
        println!("skipped: the peer data of kube-proxy is not here");
        return None;
    };
    let mut json = Vec::new();
    lzma_rs::xz_decompress(&mut std::io::BufReader::new(file), &mut json).expect("the peer file is xz");
    Some(serde_json::from_slice(&json).expect("the peer file has the documented shape"))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) mode: String,
    kubernetes_version: String,
    pub(crate) step: u32,
    pub(crate) config: Option<CaseConfig>,
    pub(crate) services: Option<Vec<Service>>,
    pub(crate) endpoint_slices: Option<Vec<Slice>>,
    #[serde(default)]
    pub(crate) changes_since_previous_step: Vec<String>,
    #[serde(default)]
    pub(crate) full_sync: bool,
    #[serde(rename = "nodeIPs", default)]
    pub(crate) node_ips: Vec<String>,
    pub(crate) ruleset: Ruleset,
    /// The sync was made to fail.
    pub(crate) sync_error: Option<String>,
    #[serde(default)]
    pub(crate) flows: Vec<Flow>,
    virtual_servers: Option<Vec<VirtualServer>>,
    #[serde(default)]
    ipsets: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    kube_ipvs0_addresses: Vec<String>,
}

/// A packet, and what kube-proxy's tracer made of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Flow {
    pub(crate) name: String,
    #[serde(rename = "sourceIP")]
    pub(crate) source_ip: String,
    #[serde(rename = "destIP")]
    pub(crate) dest_ip: String,
    pub(crate) dest_port: u16,
    pub(crate) protocol: String,
    /// Endpoints, `REJECT`, `DROP`, `ACCEPT`, or empty where no rule decided.
    pub(crate) output: String,
    pub(crate) masq: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VirtualServer {
    virtual_server: String,
    scheduler: String,
    flags: u32,
    timeout: u32,
    real_servers: Option<Vec<RealServer>>,
}

#[derive(Debug, Deserialize)]
struct RealServer {
    addr: String,
    weight: u32,
}

/// What an IPVS proxier has programmed, a line each, in the form of [`Case::ipvs_state`].
pub(crate) fn ipvs_state(proxier: &ipvs::Proxier) -> String {
    let mut lines = Vec::new();
    for (key, server, real_servers) in proxier.virtual_servers() {
        let timeout = server.persistent_seconds.unwrap_or(0);
        lines.push(format!("{key} {} flags {} timeout {timeout}", server.scheduler, server.flags()));
        lines.extend(real_servers.iter().map(|(real, weight)| format!("{key} -> {real} weight {weight}")));
    }
    lines.extend(proxier.members().map(|(set, entry)| format!("{} {entry}", set.name(Family::V4))));
    lines.extend(proxier.addresses().map(|addr| format!("kube-ipvs0 {addr}")));
    lines.sort_unstable();
    lines.join("\n")
}

impl Case {
    /// When the sync of this step runs: late enough for what was emptied before to be deleted.
    pub(crate) fn time(&self) -> Instant {
        Instant::from_millis(u64::from(self.step) * 2_000)
    }

    /// Virtual servers, set members and addresses, a line each.
    pub(crate) fn ipvs_state(&self) -> String {
        let mut lines = Vec::new();
        for server in self.virtual_servers.iter().flatten() {
            let VirtualServer { virtual_server: key, scheduler, flags, timeout, real_servers } = server;
            lines.push(format!("{key} {scheduler} flags {flags} timeout {timeout}"));
            let real = real_servers.iter().flatten();
            lines.extend(real.map(|r| format!("{key} -> {} weight {}", r.addr, r.weight)));
        }
        let members =
            self.ipsets.iter().flat_map(|(set, list)| list.iter().map(move |e| format!("{set} {e}")));
        lines.extend(members);
        lines.extend(self.kube_ipvs0_addresses.iter().map(|addr| format!("kube-ipvs0 {addr}")));
        lines.sort_unstable();
        lines.join("\n")
    }

    /// Elements that a restarted proxy found: those that are there afterwards and were not added.
    pub(crate) fn elements_before(&self) -> Vec<(&'static str, String, String)> {
        let added: BTreeSet<&str> = self.ruleset.nft_transaction.as_deref().unwrap_or("").lines().collect();
        let after = self.ruleset.fake_kernel_state_after.as_deref().unwrap_or("").lines();
        after.filter(|line| !added.contains(line)).filter_map(parse_element).collect()
    }

    /// Chains and sets that a restarted proxy found.
    pub(crate) fn names_before(&self) -> Vec<String> {
        let added: BTreeSet<&str> = self.ruleset.nft_transaction.as_deref().unwrap_or("").lines().collect();
        let after = self.ruleset.fake_kernel_state_after.as_deref().unwrap_or("").lines();
        let declared = after.filter(|line| line.starts_with("add chain ") || line.starts_with("add set "));
        let name = |line: &str| line.split(' ').nth(4).map(str::to_owned);
        declared.filter(|line| !added.contains(line)).filter_map(name).collect()
    }

    /// The Services (namespace, name) that changed since the last step.
    pub(crate) fn changed(&self) -> BTreeSet<(String, String)> {
        let slices = self.endpoint_slices.iter().flatten();
        let owner: BTreeMap<&str, &str> = slices.map(|s| (s.name.as_str(), s.service.as_str())).collect();
        self.changes_since_previous_step
            .iter()
            .filter_map(|change| {
                let (verb, object) = change.split_once(' ')?;
                let (namespace, name) = object.split_once('/')?;
                let service = if verb.ends_with("endpointslice") {
                    owner.get(object).copied().or_else(|| name.rsplit_once('-').map(|(s, _)| s))?
                } else {
                    name
                };
                Some((namespace.to_owned(), service.to_owned()))
            })
            .collect()
    }
}

/// `add element ip kube-proxy SET { KEY[ comment "..."][ : VERDICT] }`, of a shared set.
fn parse_element(line: &str) -> Option<(&'static str, String, String)> {
    let rest = line.strip_prefix("add element ")?;
    let (head, body) = rest.split_once(" { ")?;
    let name = head.split(' ').next_back()?;
    let set = nftables::SHARED.into_iter().find(|set| *set == name)?;
    let body = body.strip_suffix(" }")?;
    let end = [" comment ", " : "].iter().filter_map(|mark| body.find(mark)).min().unwrap_or(body.len());
    Some((set, body[..end].to_owned(), body[end..].to_owned()))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ruleset {
    pub(crate) iptables_restore_input: Option<String>,
    pub(crate) nft_transaction: Option<String>,
    fake_kernel_state_after: Option<String>,
    pub(crate) real_kernel_readback: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaseConfig {
    ip_family: Option<String>,
    #[serde(rename = "conntrackTCPLiberal", default)]
    conntrack_tcp_liberal: bool,
    local_detector: Option<Detector>,
    #[serde(default)]
    pub(crate) localhost_node_ports: bool,
    #[serde(default)]
    masquerade_all: bool,
    #[serde(rename = "nfAcctCounters", default)]
    nfacct: BTreeMap<String, bool>,
    #[serde(rename = "nodeIP")]
    node_ip: Option<String>,
    #[serde(default)]
    node_name: String,
    #[serde(default)]
    node_port_addresses: String,
    #[serde(default)]
    node_port_addresses_match_all: bool,
    /// Of the IPVS tests, whose node has no other.
    node_addresses: Option<Vec<String>>,
    #[serde(default)]
    random_fully: bool,
    #[serde(rename = "serviceCIDRs")]
    service_cidrs: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detector {
    implemented: bool,
    if_local: Option<String>,
}

impl CaseConfig {
    pub(crate) fn is_ipv6(&self) -> bool {
        self.ip_family.as_deref() == Some("IPv6")
    }

    pub(crate) fn to_config(&self, case: &Case) -> Config {
        let family = if self.is_ipv6() { Family::V6 } else { Family::V4 };
        let node_ip =
            self.node_ip.as_deref().and_then(|ip| ip.parse().ok()).unwrap_or([192, 168, 0, 2].into());
        let detector =
            self.local_detector.as_ref().filter(|d| d.implemented).and_then(|d| d.if_local.as_deref());
        // `-s CIDR` in iptables mode, `ip saddr CIDR` in nftables mode.
        let cidr = detector.and_then(|test| test.split(' ').next_back());
        // Two IPVS tests give the node an address that their record leaves out.
        let unrecorded = case.mode == "ipvs" && self.node_port_addresses == "[100.101.102.0/24]";
        let addresses: Vec<IpAddr> = match (&self.node_addresses, case.mode.as_str()) {
            _ if unrecorded => vec![[100, 101, 102, 103].into()],
            (Some(list), _) => list.iter().filter_map(|ip| ip.parse().ok()).collect(),
            (None, "ipvs") => Vec::new(),
            (None, _) if case.node_ips.is_empty() => vec![node_ip],
            (None, _) => case.node_ips.iter().filter_map(|ip| ip.parse().ok()).collect(),
        };
        let cidrs = self.node_port_addresses.trim_matches(['[', ']']).split_whitespace();
        Config {
            kubernetes: case.kubernetes_version.parse().expect("a version that is emulated"),
            // The tests' node also has loopback, which is not listed; some list no addresses at all.
            node_addresses: addresses
                .into_iter()
                .chain([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
                .collect(),
            local_detector: match cidr {
                Some(cidr) => LocalDetector::Cidr(cidr.to_owned()),
                None => LocalDetector::None,
            },
            service_cidrs: self.service_cidrs.iter().filter(|c| !c.is_empty()).cloned().collect(),
            masquerade_all: self.masquerade_all,
            // One IPVS test turns it on without recording that.
            random_fully: self.random_fully || case.id.ends_with("TestMasqueradeRule#0~2"),
            localhost_node_ports: self.localhost_node_ports,
            node_port_addresses: if self.node_port_addresses_match_all {
                NodePortAddresses::All
            } else {
                NodePortAddresses::Cidrs(cidrs.filter_map(parse_cidr).collect())
            },
            conntrack_tcp_liberal: self.conntrack_tcp_liberal,
            nfacct_invalid: self.nfacct.get("ct_state_invalid_dropped_pkts").copied().unwrap_or(false),
            nfacct_localhost: self.nfacct.get("localhost_nps_accepted_pkts").copied().unwrap_or(false),
            ..Config::new(family, &self.node_name, node_ip)
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Service {
    name: String,
    #[serde(rename = "type", default)]
    kind: k8s::ServiceType,
    #[serde(rename = "clusterIP", default)]
    cluster_ip: String,
    #[serde(default)]
    ports: Vec<k8s::ServicePortSpec>,
    #[serde(rename = "externalIPs", default)]
    external_ips: Vec<String>,
    #[serde(default)]
    load_balancer_source_ranges: Vec<String>,
    #[serde(default)]
    load_balancer_ingress: Vec<k8s::LoadBalancerIngress>,
    #[serde(default)]
    external_traffic_policy: k8s::TrafficPolicy,
    #[serde(default)]
    internal_traffic_policy: k8s::TrafficPolicy,
    #[serde(default)]
    health_check_node_port: u16,
    session_affinity_timeout: Option<u32>,
}

fn metadata(name: &str) -> k8s::Metadata {
    let (namespace, name) = name.split_once('/').expect("namespace/name");
    k8s::Metadata { namespace: namespace.into(), name: name.into(), ..Default::default() }
}

impl Service {
    pub(crate) fn to_object(&self) -> k8s::Service {
        k8s::Service {
            metadata: metadata(&self.name),
            spec: k8s::ServiceSpec {
                kind: self.kind,
                cluster_ip: self.cluster_ip.clone(),
                ports: self.ports.clone(),
                external_ips: self.external_ips.clone(),
                load_balancer_source_ranges: self.load_balancer_source_ranges.clone(),
                external_traffic_policy: self.external_traffic_policy,
                internal_traffic_policy: self.internal_traffic_policy,
                session_affinity: match self.session_affinity_timeout {
                    Some(_) => k8s::SessionAffinity::ClientIP,
                    None => k8s::SessionAffinity::None,
                },
                session_affinity_config: self.session_affinity_timeout.map(|seconds| {
                    k8s::SessionAffinityConfig {
                        client_ip: Some(k8s::ClientIpConfig { timeout_seconds: Some(seconds) }),
                    }
                }),
                health_check_node_port: self.health_check_node_port,
                ..Default::default()
            },
            status: k8s::ServiceStatus {
                load_balancer: k8s::LoadBalancerStatus { ingress: self.load_balancer_ingress.clone() },
            },
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Slice {
    pub(crate) name: String,
    pub(crate) service: String,
    /// Empty in some tests, where kube-proxy takes it for IPv4.
    #[serde(default)]
    address_type: String,
    ports: Vec<k8s::EndpointPort>,
    #[serde(default)]
    pub(crate) endpoints: Vec<SliceEndpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SliceEndpoint {
    #[serde(default)]
    ip: String,
    node: Option<String>,
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
    /// In place of so many endpoints of the same shape.
    pub(crate) generated: Option<u32>,
}

impl Slice {
    pub(crate) fn to_object(&self) -> k8s::EndpointSlice {
        let mut metadata = metadata(&self.name);
        metadata.labels.insert(k8s::SERVICE_NAME_LABEL.to_owned(), self.service.clone());
        let ports = self.ports.iter().cloned().map(|mut port| {
            port.name.get_or_insert_default();
            port
        });
        k8s::EndpointSlice {
            metadata,
            address_type: if self.address_type == "IPv6" {
                k8s::AddressType::IPv6
            } else {
                k8s::AddressType::IPv4
            },
            ports: ports.collect(),
            endpoints: self
                .endpoints
                .iter()
                .map(|e| k8s::EndpointSpec {
                    addresses: vec![e.ip.clone()],
                    conditions: k8s::EndpointConditions {
                        ready: e.ready,
                        serving: e.serving,
                        terminating: e.terminating,
                    },
                    node_name: e.node.clone(),
                    ..Default::default()
                })
                .collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Categorize {
    pub(crate) cases: Vec<CategorizeCase>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CategorizeCase {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) node_name: String,
    #[serde(default)]
    pub(crate) node_labels: Option<BTreeMap<String, String>>,
    pub(crate) prefer_same_traffic_distribution_gate: bool,
    internal_policy_local: bool,
    external_policy_local: bool,
    externally_accessible: bool,
    endpoints: Option<Vec<CategorizeEndpoint>>,
    #[serde(default)]
    pub(crate) cluster_endpoints: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) local_endpoints: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) all_reachable_endpoints: Option<Vec<String>>,
    pub(crate) has_any_endpoints: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CategorizeEndpoint {
    endpoint: String,
    is_local: bool,
    ready: bool,
    serving: bool,
    terminating: bool,
    #[serde(default)]
    zone_hints: Option<BTreeSet<String>>,
    #[serde(default)]
    node_hints: Option<BTreeSet<String>>,
}

impl CategorizeCase {
    pub(crate) fn service_port(&self) -> ServicePort {
        ServicePort {
            cluster_ip: [10, 0, 0, 1].into(),
            port: 80,
            protocol: k8s::Protocol::Tcp,
            node_port: if self.externally_accessible { 30_000 } else { 0 },
            external_ips: Vec::new(),
            load_balancer_vips: Vec::new(),
            source_ranges: Vec::new(),
            affinity_seconds: None,
            health_check_node_port: 0,
            external_policy_local: self.external_policy_local,
            internal_policy_local: self.internal_policy_local,
        }
    }

    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        let endpoint = |e: &CategorizeEndpoint| {
            let (ip, port) = e.endpoint.rsplit_once(':').expect("ip:port");
            Endpoint {
                ip: ip.parse().expect("an address"),
                port: port.parse().expect("a port"),
                is_local: e.is_local,
                ready: e.ready,
                serving: e.serving,
                terminating: e.terminating,
                zone_hints: e.zone_hints.clone().unwrap_or_default(),
                node_hints: e.node_hints.clone().unwrap_or_default(),
            }
        };
        self.endpoints.iter().flatten().map(endpoint).collect()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConntrackCleanup {
    pub(crate) service: Service,
    pub(crate) endpoint_slice: Slice,
    pub(crate) entries: Vec<CleanupEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CleanupEntry {
    pub(crate) protocol_number: u8,
    pub(crate) orig_dst: String,
    pub(crate) orig_dst_port: u16,
    pub(crate) reply_src: String,
    pub(crate) reply_src_port: u16,
    pub(crate) deleted: bool,
}

/// The lines of one table, sorted where order means nothing.
#[derive(Default)]
struct TableLines<'a> {
    declared: BTreeSet<&'a str>,
    rules: BTreeMap<&'a str, Vec<&'a str>>,
    deleted: BTreeSet<&'a str>,
}

/// Restore input with the order that kube-proxy does not promise taken out: chains sorted within a table, rules
/// grouped by chain, rules of shared chains sorted.
pub(crate) fn canonical(input: &str) -> String {
    const SHARED: [&str; 4] =
        ["KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL"];
    let mut tables: BTreeMap<&str, TableLines<'_>> = BTreeMap::new();
    let mut table = "";
    for line in input.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name;
            tables.entry(table).or_default();
        } else if line.starts_with(':') {
            tables.entry(table).or_default().declared.insert(line);
        } else if let Some(rest) = line.strip_prefix("-A ") {
            let chain = rest.split(' ').next().unwrap_or("");
            tables.entry(table).or_default().rules.entry(chain).or_default().push(line);
        } else if line.starts_with("-X") {
            tables.entry(table).or_default().deleted.insert(line);
        }
    }
    let mut out = String::new();
    for (table, mut lines) in tables {
        out.push_str(&format!("*{table}\n"));
        for (chain, rules) in &mut lines.rules {
            if SHARED.contains(chain) {
                rules.sort_by_key(|rule| (rule.contains("must be the last rule"), *rule));
            }
        }
        let lines =
            lines.declared.into_iter().chain(lines.rules.into_values().flatten()).chain(lines.deleted);
        for line in lines {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
