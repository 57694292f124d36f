//! iptables mode (`pkg/proxy/iptables/proxier.go`): what one sync feeds to `iptables-restore --noflush`.
//!
//! Owns the sync: which chains are written, which are stale, full or partial. The rules of one Service port are
//! in [`service_rules`].

mod jumps;
mod service_rules;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::config::LARGE_CLUSTER_ENDPOINTS;
use super::{Changes, Config, EndpointsMap, Origin, ServiceMap};
use crate::netfilter::{Flavour, TableName};
use crate::packet::Family;
use crate::text::xt::{RestoreOptions, Ruleset, restore};

/// One rule of the restore input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyRule {
    pub table: TableName,
    pub chain: String,
    /// The line, from `-A`.
    pub text: String,
    pub origin: Origin,
}

/// What one sync wrote.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Standard input of `iptables-restore -w 5 --noflush --counters`.
    pub input: String,
    pub rules: Vec<ProxyRule>,
    /// False when per-Service chains of unchanged Services were left alone.
    pub full: bool,
    pub large_cluster: bool,
    /// Chains deleted because no Service uses them any more.
    pub stale: Vec<String>,
    /// Per-Service chains in the kernel once the input is applied.
    chains: BTreeSet<String>,
}

/// Chains of the filter table that the proxy owns, in the order it declares them.
const FILTER_CHAINS: [&str; 5] =
    ["KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-FORWARD", "KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL"];
const NAT_CHAINS: [&str; 4] = ["KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-MARK-MASQ"];

/// Prefixes of the chains that belong to a Service port or an endpoint.
const SERVICE_CHAIN_PREFIXES: [&str; 5] = ["KUBE-SVC-", "KUBE-SVL-", "KUBE-SEP-", "KUBE-FW-", "KUBE-EXT-"];

/// The iptables proxier of one address family, between syncs.
#[derive(Clone, Debug)]
pub struct Proxier {
    pub config: Config,
    /// Per-Service chains in the kernel's nat table.
    chains: BTreeSet<String>,
}

impl Proxier {
    pub const fn new(config: Config) -> Self {
        Self { config, chains: BTreeSet::new() }
    }

    /// Writes the rules for these objects. Changes nothing: when the kernel took the input, say so with
    /// [`Proxier::applied`]; when it refused, the next sync starts from what is really there.
    pub fn sync(&self, services: &ServiceMap, endpoints: &EndpointsMap, changes: &Changes) -> Sync {
        let total: usize = services.keys().filter_map(|name| endpoints.get(name)).map(Vec::len).sum();
        let large_cluster = total > LARGE_CLUSTER_ENDPOINTS;
        let mut out = Writer::new(&self.config, large_cluster);
        out.fixed_filter_rules();
        out.fixed_nat_rules();
        let mut active = BTreeSet::new();
        let empty = Vec::new();
        for (name, port) in services {
            let endpoints = endpoints.get(name).unwrap_or(&empty);
            active.extend(service_rules::write(&mut out, name, port, endpoints, changes.concern(name)));
        }
        out.forward_rules();
        // In large-cluster mode the scan for stale chains waits for syncPeriod; they do no harm meanwhile.
        let stale: Vec<String> =
            if large_cluster { Vec::new() } else { self.chains.difference(&active).cloned().collect() };
        let input = out.input(&stale);
        let mut chains = if large_cluster { self.chains.clone() } else { BTreeSet::new() };
        chains.append(&mut active);
        let full = *changes == Changes::Everything;
        Sync { input, rules: out.rules, full, large_cluster, stale, chains }
    }

    /// The kernel took the input of `sync`.
    pub fn applied(&mut self, sync: &Sync) {
        self.chains.clone_from(&sync.chains);
    }

    /// The node's tables after `sync` on a machine without other rules: what `iptables-save` prints there.
    ///
    /// # Errors
    /// What iptables-restore says when it refuses the input, which happens only for objects that the API server
    /// would not have admitted.
    pub fn tables(&self, sync: &Sync, flavour: Flavour) -> Result<Ruleset, String> {
        let options = RestoreOptions { family: self.config.family, flavour, counters: true, noflush: true };
        let empty = Ruleset::new(self.config.family, flavour);
        [jumps::text(), sync.input.clone()].iter().try_fold(empty, |base, text| {
            restore(text, &base, options).map_err(|failure| failure.error.message)
        })
    }

    /// Takes over the per-Service chains that a nat table already holds, as a restarted proxy does.
    pub fn adopt<'a>(&mut self, chains: impl IntoIterator<Item = &'a str>) {
        let ours = |name: &&str| SERVICE_CHAIN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        self.chains.extend(chains.into_iter().filter(ours).map(str::to_owned));
    }
}

/// Collects rules and chain declarations of one sync.
struct Writer<'a> {
    config: &'a Config,
    /// Leaves out per-endpoint comments.
    large_cluster: bool,
    rules: Vec<ProxyRule>,
    /// Per-Service nat chains written in this sync, in order of declaration.
    declared: Vec<String>,
}

impl<'a> Writer<'a> {
    const fn new(config: &'a Config, large_cluster: bool) -> Self {
        Self { config, large_cluster, rules: Vec::new(), declared: Vec::new() }
    }

    fn rule(&mut self, table: TableName, chain: &str, rest: impl AsRef<str>, origin: Origin) {
        let text = format!("-A {chain} {}", rest.as_ref());
        self.rules.push(ProxyRule { table, chain: chain.to_owned(), text, origin });
    }

    fn fixed(&mut self, table: TableName, chain: &str, rest: &str, purpose: &'static str) {
        self.rule(table, chain, rest, Origin { service: None, endpoint: None, field: "", purpose });
    }

    fn fixed_filter_rules(&mut self) {
        if self.config.serves_localhost_node_ports() {
            self.fixed(
                TableName::Filter,
                "KUBE-FIREWALL",
                "-m comment --comment \"block incoming localnet connections\" -d 127.0.0.0/8 ! -s 127.0.0.0/8 \
                 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
                "localhost node ports need route_localnet, which would let neighbours reach loopback",
            );
        }
    }

    fn fixed_nat_rules(&mut self) {
        let mark = format!("{:#010x}", self.config.masquerade_mark);
        self.fixed(
            TableName::Nat,
            "KUBE-POSTROUTING",
            &format!("-m mark ! --mark {mark}/{mark} -j RETURN"),
            "unmarked packets keep their source",
        );
        self.fixed(
            TableName::Nat,
            "KUBE-POSTROUTING",
            &format!("-j MARK --xor-mark {mark}"),
            "clear the mark, so that an encapsulated copy is not masqueraded again",
        );
        let fully = if self.config.random_fully { " --random-fully" } else { "" };
        self.fixed(
            TableName::Nat,
            "KUBE-POSTROUTING",
            &format!(
                "-m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE{fully}"
            ),
            "marked packets leave with this node's address, so that replies come back through it",
        );
        self.fixed(
            TableName::Nat,
            "KUBE-MARK-MASQ",
            &format!("-j MARK --or-mark {mark}"),
            "remember until POSTROUTING that the source must change",
        );
    }

    fn forward_rules(&mut self) {
        if !self.config.conntrack_tcp_liberal {
            let counter = if self.config.nfacct_invalid {
                "-m nfacct --nfacct-name ct_state_invalid_dropped_pkts "
            } else {
                ""
            };
            self.fixed(
                TableName::Filter,
                "KUBE-FORWARD",
                &format!("-m conntrack --ctstate INVALID {counter}-j DROP"),
                "INVALID packets are not translated back; forwarded, they would reset the connection",
            );
        }
        let mark = format!("{:#010x}", self.config.masquerade_mark);
        self.fixed(
            TableName::Filter,
            "KUBE-FORWARD",
            &format!(
                "-m comment --comment \"kubernetes forwarding rules\" -m mark --mark {mark}/{mark} -j ACCEPT"
            ),
            "marked Service traffic passes whatever the FORWARD policy",
        );
        self.fixed(
            TableName::Filter,
            "KUBE-FORWARD",
            "-m comment --comment \"kubernetes forwarding conntrack rule\" -m conntrack --ctstate \
             RELATED,ESTABLISHED -j ACCEPT",
            "replies of accepted connections pass",
        );
    }

    /// The last rules of KUBE-SERVICES: node ports are tried after every exact address.
    fn node_port_tail(&mut self) {
        const COMMENT: &str = "-m comment --comment \"kubernetes service nodeports; NOTE: this must be the last \
                               rule in this chain\"";
        const PURPOSE: &str = "packets to the node's own addresses are tried as node ports, last";
        let localhost = self.config.serves_localhost_node_ports();
        if self.config.node_port_addresses == super::NodePortAddresses::All {
            let except = match (self.config.family, localhost) {
                (Family::V4, true) => "",
                (Family::V4, false) => " ! -d 127.0.0.0/8",
                (Family::V6, _) => " ! -d ::1/128",
            };
            let rest = format!("{COMMENT} -m addrtype --dst-type LOCAL{except} -j KUBE-NODEPORTS");
            self.fixed(TableName::Nat, "KUBE-SERVICES", &rest, PURPOSE);
            return;
        }
        let config = self.config;
        for addr in config.node_port_addresses.matching(&config.node_addresses, config.family) {
            if addr.is_loopback() && !localhost {
                continue;
            }
            let rest = format!("{COMMENT} -d {addr} -j KUBE-NODEPORTS");
            self.fixed(TableName::Nat, "KUBE-SERVICES", &rest, PURPOSE);
        }
    }

    /// The whole input: filter first, each table one commit.
    fn input(&mut self, stale: &[String]) -> String {
        let before_tail = self.rules.len();
        self.node_port_tail();
        let of = |rules: &[ProxyRule], table| {
            let lines = rules.iter().filter(|rule| rule.table == table).map(|rule| rule.text.as_str());
            lines.collect::<Vec<_>>().join("\n") + "\n"
        };
        let (rules, tail) = self.rules.split_at(before_tail);
        let mut out = String::new();
        out.push_str("*filter\n");
        let firewall = self.config.serves_localhost_node_ports().then_some("KUBE-FIREWALL");
        for chain in FILTER_CHAINS.into_iter().chain(firewall) {
            let _ = writeln!(out, ":{chain} - [0:0]");
        }
        out.push_str(&of(rules, TableName::Filter));
        out.push_str("COMMIT\n*nat\n");
        let declared = NAT_CHAINS.into_iter().chain(self.declared.iter().map(String::as_str));
        for chain in declared.chain(stale.iter().map(String::as_str)) {
            let _ = writeln!(out, ":{chain} - [0:0]");
        }
        out.push_str(&of(rules, TableName::Nat));
        for chain in stale {
            let _ = writeln!(out, "-X {chain}");
        }
        out.push_str(&of(tail, TableName::Nat));
        out.push_str("COMMIT\n");
        out
    }
}
