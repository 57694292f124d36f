//! iptables mode (`pkg/proxy/iptables/proxier.go`): what one sync feeds to `iptables-restore --noflush`.
//!
//! Owns the sync: which chains are written, which are stale, full or partial. The rules of one Service port are
//! in [`service_rules`].

mod jumps;
mod service_rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

pub(super) use jumps::text_of;
pub use jumps::{jumps, text as jumps_text};

use super::config::LARGE_CLUSTER_ENDPOINTS;
use super::{Changes, Config, EndpointsMap, Origin, ServiceMap, ServicePortName};
use crate::base::Instant;
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

/// Rules by table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCounts {
    pub filter: usize,
    pub nat: usize,
}

impl RuleCounts {
    fn of(rules: &[Arc<ProxyRule>]) -> Self {
        let filter = rules.iter().filter(|rule| rule.table == TableName::Filter).count();
        Self { filter, nat: rules.len() - filter }
    }
}

/// What one sync wrote.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Standard input of `iptables-restore -w 5 --noflush --counters`.
    pub input: String,
    pub rules: Vec<Arc<ProxyRule>>,
    /// False when per-Service chains of unchanged Services were left alone.
    pub full: bool,
    pub large_cluster: bool,
    /// Chains deleted because no Service uses them any more.
    pub stale: Vec<String>,
    /// Rules that should exist, those left alone included.
    pub rules_total: RuleCounts,
    /// What the input wrote.
    pub rules_written: RuleCounts,
    delta: BTreeMap<Arc<ServicePortName>, Option<Arc<PortState>>>,
    /// Chains in the kernel that no Service uses, once the input is applied.
    unused: BTreeSet<String>,
    scanned: Option<Instant>,
}

/// What a sync left in the kernel for one Service port.
#[derive(Debug)]
struct PortState {
    /// In chains that all Services share: every sync writes them.
    shared: Vec<Arc<ProxyRule>>,
    /// Rules in chains of its own, all of them in the nat table.
    own_rules: usize,
    chains: Vec<String>,
    /// Endpoints, usable or not: what large-cluster mode counts.
    endpoints: usize,
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
    ports: BTreeMap<Arc<ServicePortName>, Arc<PortState>>,
    /// Chains in the kernel's nat table that no Service uses.
    unused: BTreeSet<String>,
    /// When unused chains were last looked for.
    scanned: Option<Instant>,
}

impl Proxier {
    pub const fn new(config: Config) -> Self {
        Self { config, ports: BTreeMap::new(), unused: BTreeSet::new(), scanned: None }
    }

    /// Writes the rules for these objects. Changes nothing: when the kernel took the input, say so with
    /// [`Proxier::applied`]; when it refused, the next sync starts from what is really there.
    pub fn sync(
        &self,
        services: &ServiceMap,
        endpoints: &EndpointsMap,
        changes: &Changes,
        now: Instant,
    ) -> Sync {
        let mut states = self.states(services, endpoints, changes);
        let total: usize = states.iter().map(|(_, state, _)| state.endpoints).sum();
        let large_cluster = total > LARGE_CLUSTER_ENDPOINTS;
        let mut out = Writer::new(&self.config, large_cluster);
        out.fixed_filter_rules();
        out.fixed_nat_rules();
        let mut delta = BTreeMap::new();
        let mut own_rules = 0;
        let none = Vec::new();
        for (name, state, port) in &mut states {
            if let Some(port) = port {
                let endpoints = endpoints.get(&***name).unwrap_or(&none);
                *state = Arc::new(service_rules::write(&mut out, name, port, endpoints));
                delta.insert(Arc::clone(name), Some(Arc::clone(state)));
            } else {
                out.rules.extend(state.shared.iter().cloned());
            }
            own_rules += state.own_rules;
        }
        for name in changes.gone(&self.ports, services) {
            delta.insert(name, None);
        }
        out.forward_rules();
        let mut unused = self.unused_after(&delta);
        // In large-cluster mode the scan for unused chains waits for syncPeriod; they do no harm meanwhile.
        let waits = large_cluster && self.scanned.is_some_and(|at| now.since(at) < self.config.sync_period);
        let stale: Vec<String> =
            if waits { Vec::new() } else { std::mem::take(&mut unused).into_iter().collect() };
        let input = out.input(&stale);
        let rules_written = RuleCounts::of(&out.rules);
        let shared = RuleCounts { nat: rules_written.nat - out.own_rules, ..rules_written };
        Sync {
            input,
            rules: out.rules,
            full: changes.is_everything(),
            large_cluster,
            stale,
            rules_total: RuleCounts { nat: shared.nat + own_rules, ..shared },
            rules_written,
            delta,
            unused,
            scanned: if waits { self.scanned } else { Some(now) },
        }
    }

    /// Whether the last sync found more endpoints than [`LARGE_CLUSTER_ENDPOINTS`].
    pub fn is_large_cluster(&self) -> bool {
        self.ports.values().map(|state| state.endpoints).sum::<usize>() > LARGE_CLUSTER_ENDPOINTS
    }

    /// Every Service port in order: what is known of it, and the port itself if it is to be written anew.
    fn states<'a>(
        &self,
        services: &'a ServiceMap,
        endpoints: &EndpointsMap,
        changes: &Changes,
    ) -> Vec<(&'a Arc<ServicePortName>, Arc<PortState>, Option<&'a super::ServicePort>)> {
        let mut changed = changes.of(services).into_iter().peekable();
        let mut known = self.ports.iter().peekable();
        let row = |(name, port): (&'a Arc<ServicePortName>, &'a super::ServicePort)| {
            let is_changed = changed.next_if(|(changed, _)| *changed == name).is_some();
            while known.next_if(|(known, _)| *known < name).is_some() {}
            let state = known.next_if(|(known, _)| *known == name).filter(|_| !is_changed);
            match state {
                Some((_, state)) => (name, Arc::clone(state), None),
                None => {
                    let endpoints = endpoints.get(&**name).map_or(0, Vec::len);
                    let state = PortState { shared: Vec::new(), own_rules: 0, chains: Vec::new(), endpoints };
                    (name, Arc::new(state), Some(port))
                }
            }
        };
        services.iter().map(row).collect()
    }

    /// Chains that no Service uses once `delta` holds.
    fn unused_after(
        &self,
        delta: &BTreeMap<Arc<ServicePortName>, Option<Arc<PortState>>>,
    ) -> BTreeSet<String> {
        let old = delta.keys().filter_map(|name| self.ports.get(name)).flat_map(|state| &state.chains);
        let mut unused: BTreeSet<String> = self.unused.iter().chain(old).cloned().collect();
        for chain in delta.values().flatten().flat_map(|state| &state.chains) {
            unused.remove(chain);
        }
        unused
    }

    /// The kernel took the input of `sync`.
    pub fn applied(&mut self, sync: &Sync) {
        for (name, state) in &sync.delta {
            match state {
                Some(state) => self.ports.insert(Arc::clone(name), Arc::clone(state)),
                None => self.ports.remove(name),
            };
        }
        self.unused.clone_from(&sync.unused);
        self.scanned = sync.scanned;
    }

    /// The node's tables after `sync` on a machine without other rules: what `iptables-save` prints there.
    ///
    /// # Errors
    /// What iptables-restore says when it refuses the input, which happens only for objects that the API server
    /// would not have admitted.
    pub fn tables(&self, sync: &Sync, flavour: Flavour) -> Result<Ruleset, String> {
        apply(self.config.family, flavour, &jumps::JUMPS, &sync.input)
    }

    /// Takes over the per-Service chains that a nat table already holds, as a restarted proxy does.
    pub fn adopt<'a>(&mut self, chains: impl IntoIterator<Item = &'a str>) {
        let ours = |name: &&str| SERVICE_CHAIN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        self.unused.extend(chains.into_iter().filter(ours).map(str::to_owned));
    }
}

/// Restores `jumps`, then `input`, into empty tables.
pub(super) fn apply(
    family: Family,
    flavour: Flavour,
    jumps: &[(&str, &str, &str)],
    input: &str,
) -> Result<Ruleset, String> {
    let options = RestoreOptions { family, flavour, counters: true, noflush: true };
    [&*jumps::text_of(jumps), input].iter().try_fold(Ruleset::new(family, flavour), |base, text| {
        restore(text, &base, options).map_err(|failure| failure.error.message)
    })
}

/// Collects rules and chain declarations of one sync.
struct Writer<'a> {
    config: &'a Config,
    /// Leaves out per-endpoint comments.
    large_cluster: bool,
    rules: Vec<Arc<ProxyRule>>,
    /// Those among them that stand in chains of a Service.
    own_rules: usize,
    /// Per-Service nat chains written in this sync, in order of declaration.
    declared: Vec<String>,
}

impl<'a> Writer<'a> {
    const fn new(config: &'a Config, large_cluster: bool) -> Self {
        Self { config, large_cluster, rules: Vec::new(), own_rules: 0, declared: Vec::new() }
    }

    fn rule(&mut self, table: TableName, chain: &str, rest: impl AsRef<str>, origin: Origin) {
        let text = format!("-A {chain} {}", rest.as_ref());
        self.rules.push(Arc::new(ProxyRule { table, chain: chain.to_owned(), text, origin }));
    }

    fn fixed(&mut self, table: TableName, chain: &str, rest: &str, purpose: &'static str) {
        self.rule(table, chain, rest, Origin::of_node(purpose));
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
        let (rules, tail) = self.rules.split_at(before_tail);
        let len: usize = self.rules.iter().map(|rule| rule.text.len() + 1).sum();
        let mut out = String::with_capacity(len + 48 * (self.declared.len() + 2 * stale.len() + 16));
        let write = |out: &mut String, rules: &[Arc<ProxyRule>], table| {
            for rule in rules.iter().filter(|rule| rule.table == table) {
                out.push_str(&rule.text);
                out.push('\n');
            }
        };
        out.push_str("*filter\n");
        let firewall = self.config.serves_localhost_node_ports().then_some("KUBE-FIREWALL");
        for chain in FILTER_CHAINS.into_iter().chain(firewall) {
            let _ = writeln!(out, ":{chain} - [0:0]");
        }
        write(&mut out, rules, TableName::Filter);
        out.push_str("COMMIT\n*nat\n");
        let declared = NAT_CHAINS.into_iter().chain(self.declared.iter().map(String::as_str));
        for chain in declared.chain(stale.iter().map(String::as_str)) {
            let _ = writeln!(out, ":{chain} - [0:0]");
        }
        write(&mut out, rules, TableName::Nat);
        for chain in stale {
            let _ = writeln!(out, "-X {chain}");
        }
        write(&mut out, tail, TableName::Nat);
        out.push_str("COMMIT\n");
        out
    }
}
