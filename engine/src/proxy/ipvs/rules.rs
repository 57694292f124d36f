//! The iptables rules of IPVS mode. Their number does not depend on the number of Services: the ipsets hold what
//! does.

use std::fmt::Write as _;

use super::sets::IpSet;
use crate::netfilter::TableName;
use crate::packet::Family;
use crate::proxy::iptables::ProxyRule;
use crate::proxy::{Config, Origin};

/// Jumps from the built-in chains, as they stand in the end: table, chain, rule.
pub(super) const JUMPS: [(&str, &str, &str); 9] = [
    ("nat", "PREROUTING", "-m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES"),
    ("nat", "OUTPUT", "-m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES"),
    ("nat", "POSTROUTING", "-m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING"),
    ("filter", "INPUT", "-m comment --comment \"kubernetes ipvs access filter\" -j KUBE-IPVS-FILTER"),
    ("filter", "INPUT", "-m comment --comment \"kube-proxy firewall rules\" -j KUBE-PROXY-FIREWALL"),
    ("filter", "INPUT", "-m comment --comment \"kubernetes health check rules\" -j KUBE-NODE-PORT"),
    ("filter", "FORWARD", "-m comment --comment \"kube-proxy firewall rules\" -j KUBE-PROXY-FIREWALL"),
    ("filter", "FORWARD", "-m comment --comment \"kubernetes forwarding rules\" -j KUBE-FORWARD"),
    ("filter", "OUTPUT", "-m comment --comment \"kubernetes ipvs access filter\" -j KUBE-IPVS-OUT-FILTER"),
];

const NAT_CHAINS: [&str; 5] =
    ["KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-NODE-PORT", "KUBE-LOAD-BALANCER", "KUBE-MARK-MASQ"];
const FILTER_CHAINS: [&str; 6] = [
    "KUBE-FORWARD",
    "KUBE-NODE-PORT",
    "KUBE-PROXY-FIREWALL",
    "KUBE-SOURCE-RANGES-FIREWALL",
    "KUBE-IPVS-FILTER",
    "KUBE-IPVS-OUT-FILTER",
];

/// A rule that stands only while its set has members.
struct SetRule {
    set: IpSet,
    table: TableName,
    chain: &'static str,
    /// `-p tcp ` and the like.
    protocol: &'static str,
    comment: &'static str,
    directions: &'static str,
    target: &'static str,
    purpose: &'static str,
}

/// In the order kube-proxy writes them (`ipsetWithIptablesChain`).
const SET_RULES: [SetRule; 12] = [
    SetRule {
        set: IpSet::LoopBack,
        table: TableName::Nat,
        chain: "KUBE-POSTROUTING",
        protocol: "",
        comment: "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose",
        directions: "dst,dst,src",
        target: "MASQUERADE",
        purpose: "hairpin: a pod that reaches itself through the Service must see another source",
    },
    SetRule {
        set: IpSet::LoadBalancer,
        table: TableName::Nat,
        chain: "KUBE-SERVICES",
        protocol: "",
        comment: "Kubernetes service lb portal",
        directions: "dst,dst",
        target: "KUBE-LOAD-BALANCER",
        purpose: "packets to a load balancer's address",
    },
    SetRule {
        set: IpSet::LoadBalancerLocal,
        table: TableName::Nat,
        chain: "KUBE-LOAD-BALANCER",
        protocol: "",
        comment: "Kubernetes service load balancer ip + port with externalTrafficPolicy=local",
        directions: "dst,dst",
        target: "RETURN",
        purpose: "policy Local: the endpoint is here, so the client's address can stay",
    },
    SetRule {
        set: IpSet::LoadBalancerFirewall,
        table: TableName::Filter,
        chain: "KUBE-PROXY-FIREWALL",
        protocol: "",
        comment: "Kubernetes service load balancer ip + port for load balancer with sourceRange",
        directions: "dst,dst",
        target: "KUBE-SOURCE-RANGES-FIREWALL",
        purpose: "load balancers with source ranges",
    },
    SetRule {
        set: IpSet::LoadBalancerSourceCidr,
        table: TableName::Filter,
        chain: "KUBE-SOURCE-RANGES-FIREWALL",
        protocol: "",
        comment: "Kubernetes service load balancer ip + port + source cidr for packet filter purpose",
        directions: "dst,dst,src",
        target: "RETURN",
        purpose: "sources in range may use the load balancer",
    },
    SetRule {
        set: IpSet::LoadBalancerSourceIp,
        table: TableName::Filter,
        chain: "KUBE-SOURCE-RANGES-FIREWALL",
        protocol: "",
        comment: "Kubernetes service load balancer ip + port + source IP for packet filter purpose",
        directions: "dst,dst,src",
        target: "RETURN",
        purpose: "this node is in range, also when it uses the VIP as its source",
    },
    SetRule {
        set: IpSet::NodePortLocalTcp,
        table: TableName::Nat,
        chain: "KUBE-NODE-PORT",
        protocol: "-p tcp ",
        comment: "Kubernetes nodeport TCP port with externalTrafficPolicy=local",
        directions: "dst",
        target: "RETURN",
        purpose: NODE_PORT_LOCAL,
    },
    SetRule {
        set: IpSet::NodePortTcp,
        table: TableName::Nat,
        chain: "KUBE-NODE-PORT",
        protocol: "-p tcp ",
        comment: "Kubernetes nodeport TCP port for masquerade purpose",
        directions: "dst",
        target: "KUBE-MARK-MASQ",
        purpose: NODE_PORT,
    },
    SetRule {
        set: IpSet::NodePortLocalUdp,
        table: TableName::Nat,
        chain: "KUBE-NODE-PORT",
        protocol: "-p udp ",
        comment: "Kubernetes nodeport UDP port with externalTrafficPolicy=local",
        directions: "dst",
        target: "RETURN",
        purpose: NODE_PORT_LOCAL,
    },
    SetRule {
        set: IpSet::NodePortUdp,
        table: TableName::Nat,
        chain: "KUBE-NODE-PORT",
        protocol: "-p udp ",
        comment: "Kubernetes nodeport UDP port for masquerade purpose",
        directions: "dst",
        target: "KUBE-MARK-MASQ",
        purpose: NODE_PORT,
    },
    SetRule {
        set: IpSet::NodePortLocalSctp,
        table: TableName::Nat,
        chain: "KUBE-NODE-PORT",
        protocol: "-p sctp ",
        comment: "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'",
        directions: "dst,dst",
        target: "RETURN",
        purpose: NODE_PORT_LOCAL,
    },
    SetRule {
        set: IpSet::NodePortSctp,
        table: TableName::Nat,
        chain: "KUBE-NODE-PORT",
        protocol: "-p sctp ",
        comment: "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'",
        directions: "dst,dst",
        target: "KUBE-MARK-MASQ",
        purpose: NODE_PORT,
    },
];

const NODE_PORT: &str = "the endpoint may be on another node: replies must come back through this one";
const NODE_PORT_LOCAL: &str = "policy Local: the endpoint is here, so the client's address can stay";

/// Collects the rules of one sync.
pub(super) struct Writer<'a> {
    config: &'a Config,
    /// Whether a set has members.
    has_members: &'a dyn Fn(IpSet) -> bool,
    rules: Vec<ProxyRule>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(config: &'a Config, has_members: &'a dyn Fn(IpSet) -> bool) -> Self {
        Self { config, has_members, rules: Vec::new() }
    }

    /// All rules; `refusals` are those of load balancers that this node may not use itself.
    pub(super) fn write<'b>(
        mut self,
        refusals: impl IntoIterator<Item = (&'b String, &'b Origin)>,
    ) -> Vec<ProxyRule> {
        let loopback = match self.config.family {
            Family::V4 => "127.0.0.0/8",
            Family::V6 => "::1/128",
        };
        self.nat("KUBE-SERVICES", format!("-s {loopback} -j RETURN"), "loopback stays loopback");
        for rule in &SET_RULES {
            if (self.has_members)(rule.set) {
                let rest = format!(
                    "{}{} -j {}",
                    rule.protocol,
                    self.matches(rule.set, rule.comment, rule.directions),
                    rule.target
                );
                self.rule(rule.table, rule.chain, rest, rule.purpose);
            }
        }
        self.cluster_ips();
        self.external_ips();
        let node_ports = "-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT";
        self.nat("KUBE-SERVICES", node_ports, "packets to the node's own addresses are tried as node ports");
        self.nat(
            "KUBE-LOAD-BALANCER",
            "-j KUBE-MARK-MASQ",
            "the endpoint may be elsewhere: replies must come back",
        );
        self.rule(
            TableName::Filter,
            "KUBE-SOURCE-RANGES-FIREWALL",
            "-j DROP",
            "sources out of range are dropped",
        );
        for set in [IpSet::ClusterIp, IpSet::LoadBalancer] {
            if (self.has_members)(set) {
                let rest = format!("-m set --match-set {} dst,dst -j ACCEPT", set.name(self.config.family));
                self.nat("KUBE-SERVICES", rest, "IPVS translates it; nat rules below must not");
            }
        }
        self.masquerading();
        for (rest, origin) in refusals {
            self.push(TableName::Filter, "KUBE-IPVS-OUT-FILTER", rest, origin.clone());
        }
        self.filter();
        self.rules
    }

    fn push(&mut self, table: TableName, chain: &str, rest: impl AsRef<str>, origin: Origin) {
        let text = format!("-A {chain} {}", rest.as_ref());
        self.rules.push(ProxyRule { table, chain: chain.to_owned(), text, origin });
    }

    fn rule(&mut self, table: TableName, chain: &str, rest: impl AsRef<str>, purpose: &'static str) {
        self.push(table, chain, rest, Origin::of_node(purpose));
    }

    fn nat(&mut self, chain: &str, rest: impl AsRef<str>, purpose: &'static str) {
        self.rule(TableName::Nat, chain, rest, purpose);
    }

    /// `-m comment --comment "..." -m set --match-set NAME DIRECTIONS`.
    fn matches(&self, set: IpSet, comment: &str, directions: &str) -> String {
        let name = set.name(self.config.family);
        format!("-m comment --comment \"{comment}\" -m set --match-set {name} {directions}")
    }

    fn cluster_ips(&mut self) {
        if !(self.has_members)(IpSet::ClusterIp) {
            return;
        }
        const COMMENT: &str = "Kubernetes service cluster ip + port for masquerade purpose";
        let not_local = self.config.local_detector.if_not_local();
        let (directions, test, purpose) = match not_local {
            _ if self.config.masquerade_all => ("dst,dst", String::new(), "masqueradeAll"),
            Some(test) => (
                "dst,dst",
                format!(" {test}"),
                "clients outside the pod network get this node's address, so that replies return through it",
            ),
            None => (
                "src,dst",
                String::new(),
                "the node itself may choose a cluster IP as its source, for kube-ipvs0 holds them all",
            ),
        };
        let rest = format!("{}{test} -j KUBE-MARK-MASQ", self.matches(IpSet::ClusterIp, COMMENT, directions));
        self.nat("KUBE-SERVICES", rest, purpose);
    }

    fn external_ips(&mut self) {
        const COMMENT: &str = "Kubernetes service external ip + port for masquerade and filter purpose";
        const LOCAL: &str = "Kubernetes service external ip + port with externalTrafficPolicy=local";
        for (set, comment) in [(IpSet::ExternalIp, COMMENT), (IpSet::ExternalIpLocal, LOCAL)] {
            if !(self.has_members)(set) {
                continue;
            }
            let matches = self.matches(set, comment, "dst,dst");
            if set == IpSet::ExternalIp {
                self.nat("KUBE-SERVICES", format!("{matches} -j KUBE-MARK-MASQ"), NODE_PORT);
            }
            let rest =
                format!("{matches} -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT");
            self.nat(
                "KUBE-SERVICES",
                rest,
                "from outside, not from a bridge or the node: IPVS translates it",
            );
            let rest = format!("{matches} -m addrtype --dst-type LOCAL -j ACCEPT");
            self.nat("KUBE-SERVICES", rest, "the address is held by this node: IPVS translates it");
        }
    }

    fn masquerading(&mut self) {
        let mark = format!("{:#010x}", self.config.masquerade_mark);
        let fully = if self.config.random_fully { " --random-fully" } else { "" };
        self.nat(
            "KUBE-POSTROUTING",
            format!("-m mark ! --mark {mark}/{mark} -j RETURN"),
            "unmarked packets keep their source",
        );
        self.nat(
            "KUBE-POSTROUTING",
            format!("-j MARK --xor-mark {mark}"),
            "clear the mark, so that an encapsulated copy is not masqueraded again",
        );
        self.nat(
            "KUBE-POSTROUTING",
            format!(
                "-m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE{fully}"
            ),
            "marked packets leave with this node's address, so that replies come back through it",
        );
        self.nat(
            "KUBE-MARK-MASQ",
            format!("-j MARK --or-mark {mark}"),
            "remember until POSTROUTING that the source must change",
        );
    }

    fn filter(&mut self) {
        let mark = format!("{:#010x}", self.config.masquerade_mark);
        let mut rule = |chain, rest: String, purpose| self.rule(TableName::Filter, chain, rest, purpose);
        rule(
            "KUBE-FORWARD",
            format!(
                "-m comment --comment \"kubernetes forwarding rules\" -m mark --mark {mark}/{mark} -j ACCEPT"
            ),
            "marked Service traffic passes whatever the FORWARD policy",
        );
        rule(
            "KUBE-FORWARD",
            "-m comment --comment \"kubernetes forwarding conntrack rule\" -m conntrack --ctstate \
             RELATED,ESTABLISHED -j ACCEPT"
                .to_owned(),
            "replies of accepted connections pass",
        );
        let name = |set: IpSet| set.name(self.config.family);
        let health = name(IpSet::HealthCheckNodePort);
        let served =
            [IpSet::LoadBalancer, IpSet::ClusterIp, IpSet::ExternalIp, IpSet::ExternalIpLocal].map(name);
        let ips = name(IpSet::IpvsIps);
        self.rule(
            TableName::Filter,
            "KUBE-NODE-PORT",
            format!(
                "-m comment --comment \"Kubernetes health check node port\" -m set --match-set {health} dst -j ACCEPT"
            ),
            "load balancers ask this port whether the node has a local endpoint",
        );
        for set in served {
            self.rule(
                TableName::Filter,
                "KUBE-IPVS-FILTER",
                format!("-m set --match-set {set} dst,dst -j RETURN"),
                "a Service port: IPVS takes it",
            );
        }
        self.rule(
            TableName::Filter,
            "KUBE-IPVS-FILTER",
            format!("-m set --match-set {health} dst -j RETURN"),
            "health checks reach the node",
        );
        self.rule(
            TableName::Filter,
            "KUBE-IPVS-FILTER",
            format!("-m conntrack --ctstate NEW -m set --match-set {ips} dst -j REJECT"),
            "Service addresses are held by the node: without this, its own ports would answer there",
        );
    }
}

/// Standard input of `iptables-restore --noflush`.
pub(super) fn input(rules: &[ProxyRule]) -> String {
    let mut out = String::new();
    let tables =
        [("nat", TableName::Nat, &NAT_CHAINS[..]), ("filter", TableName::Filter, &FILTER_CHAINS[..])];
    for (name, table, chains) in tables {
        let _ = writeln!(out, "*{name}");
        for chain in chains {
            let _ = writeln!(out, ":{chain} - [0:0]");
        }
        for rule in rules.iter().filter(|rule| rule.table == table) {
            let _ = writeln!(out, "{}", rule.text);
        }
        out.push_str("COMMIT\n");
    }
    out
}
