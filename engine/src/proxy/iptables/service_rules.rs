//! The rules of one Service port.

use std::sync::Arc;

use super::super::topology::{Categories, categorize};
use super::super::{Endpoint, Origin, ServicePort, ServicePortName};
use super::{PortState, Writer};
use crate::netfilter::TableName;

/// Writes the rules of one Service port and returns what is to be remembered of it.
pub(super) fn write(
    out: &mut Writer<'_>,
    name: &Arc<ServicePortName>,
    port: &ServicePort,
    endpoints: &[Endpoint],
) -> PortState {
    let categories = categorize(endpoints, port, &out.config.locality());
    let chains = categories.reachable.iter().map(|e| name.endpoint_chain(&e.address())).collect();
    let plan = Plan::new(out, name, port, &categories);
    let rules = PortRules { name, port, plan, categories, endpoint_chains: chains };
    let start = out.rules.len();
    rules.shared(out);
    let shared = out.rules.get(start..).unwrap_or_default().to_vec();
    let chains = rules.chains();
    out.declared.extend(chains.iter().cloned());
    rules.masquerade_cluster_ip(out);
    rules.external(out);
    rules.firewall(out);
    let Categories { cluster, local, .. } = &rules.categories;
    if rules.plan.cluster_chain_used {
        rules.balance(out, &rules.plan.cluster_chain, cluster);
    }
    if rules.plan.local_chain_used {
        rules.balance(out, &rules.plan.local_chain, local);
    }
    rules.endpoints(out);
    let own_rules = out.rules.len() - start - shared.len();
    out.own_rules += own_rules;
    PortState { shared, own_rules, chains, endpoints: endpoints.len() }
}

/// Names of the chains, and which of them are needed.
struct Plan {
    cluster_chain: String,
    cluster_chain_used: bool,
    local_chain: String,
    local_chain_used: bool,
    external_chain: String,
    external_chain_used: bool,
    firewall_chain: String,
    firewall_chain_used: bool,
    /// Whether a node's own traffic to the load balancer must be let through the source ranges.
    node_in_source_ranges: bool,
}

impl Plan {
    fn new(out: &Writer<'_>, name: &ServicePortName, port: &ServicePort, found: &Categories<'_>) -> Self {
        Self {
            cluster_chain: name.cluster_policy_chain(),
            cluster_chain_used: !found.cluster.is_empty() && port.uses_cluster_endpoints(),
            local_chain: name.local_policy_chain(),
            local_chain_used: !found.local.is_empty() && port.uses_local_endpoints(),
            external_chain: name.external_chain(),
            external_chain_used: found.has_any && port.externally_accessible(),
            firewall_chain: name.firewall_chain(),
            firewall_chain_used: found.has_any
                && !port.load_balancer_vips.is_empty()
                && !port.source_ranges.is_empty(),
            node_in_source_ranges: port.source_ranges.iter().any(|c| c.contains(out.config.node_ip)),
        }
    }
}

/// Why packets of a policy cannot be served, and what is done with them.
struct Refusal {
    reason: &'static str,
    target: &'static str,
    purpose: &'static str,
}

const NO_ENDPOINTS: Refusal = Refusal {
    reason: "has no endpoints",
    target: "REJECT",
    purpose: "no endpoint anywhere: refuse at once instead of letting the client wait",
};
const NO_LOCAL_ENDPOINTS: Refusal = Refusal {
    reason: "has no local endpoints",
    target: "DROP",
    purpose: "policy Local and no endpoint on this node: stay silent, another node may answer",
};

struct PortRules<'a> {
    name: &'a Arc<ServicePortName>,
    port: &'a ServicePort,
    plan: Plan,
    categories: Categories<'a>,
    /// In the order of `categories.reachable`.
    endpoint_chains: Vec<String>,
}

impl PortRules<'_> {
    fn origin(&self, field: &'static str, purpose: &'static str) -> Origin {
        Origin { service: Some(Arc::clone(self.name)), endpoint: None, field, purpose }
    }

    /// `-m tcp -p tcp -d ADDR --dport PORT`.
    fn to(&self, addr: impl std::fmt::Display) -> String {
        let (proto, port) = (self.port.protocol.name(), self.port.port);
        format!("-m {proto} -p {proto} -d {addr} --dport {port}")
    }

    /// The policy chain of traffic inside the cluster, or why there is none.
    fn internal_refusal(&self) -> Option<Refusal> {
        if !self.categories.has_any {
            return Some(NO_ENDPOINTS);
        }
        (self.port.internal_policy_local && self.categories.local.is_empty()).then_some(NO_LOCAL_ENDPOINTS)
    }

    fn external_refusal(&self) -> Option<Refusal> {
        if !self.categories.has_any {
            return Some(NO_ENDPOINTS);
        }
        (self.port.external_policy_local && self.categories.local.is_empty()).then_some(NO_LOCAL_ENDPOINTS)
    }

    fn internal_chain(&self) -> &str {
        if self.port.internal_policy_local { &self.plan.local_chain } else { &self.plan.cluster_chain }
    }

    /// Chains of its own, in the order they are declared.
    fn chains(&self) -> Vec<String> {
        let plan = &self.plan;
        let own = [
            (&plan.external_chain, plan.external_chain_used),
            (&plan.firewall_chain, plan.firewall_chain_used),
            (&plan.cluster_chain, plan.cluster_chain_used),
            (&plan.local_chain, plan.local_chain_used),
        ];
        let used = own.into_iter().filter(|(_, used)| *used).map(|(chain, _)| chain.clone());
        used.chain(self.endpoint_chains.iter().cloned()).collect()
    }

    /// Rules in the chains that all Services share.
    fn shared(&self, out: &mut Writer<'_>) {
        self.cluster_ip(out);
        self.external_ips(out);
        self.load_balancer(out);
        self.node_port(out);
        if self.port.health_check_node_port != 0 {
            let rest = format!(
                "-m comment --comment \"{} health check node port\" -m tcp -p tcp --dport {} -j ACCEPT",
                self.name, self.port.health_check_node_port
            );
            let purpose = "load balancers ask this port whether the node has a local endpoint";
            let origin = self.origin("spec.healthCheckNodePort", purpose);
            out.rule(TableName::Filter, "KUBE-NODEPORTS", rest, origin);
        }
    }

    fn cluster_ip(&self, out: &mut Writer<'_>) {
        let to = self.to(self.port.cluster_ip);
        match self.internal_refusal() {
            None => {
                let rest = format!(
                    "-m comment --comment \"{} cluster IP\" {to} -j {}",
                    self.name,
                    self.internal_chain()
                );
                let origin = self.origin("spec.clusterIP", "send packets to the cluster IP to the endpoints");
                out.rule(TableName::Nat, "KUBE-SERVICES", rest, origin);
            }
            Some(refusal) => self.refuse(out, "KUBE-SERVICES", &to, "spec.clusterIP", &refusal),
        }
    }

    fn refuse(&self, out: &mut Writer<'_>, chain: &str, to: &str, field: &'static str, refusal: &Refusal) {
        let rest =
            format!("-m comment --comment \"{} {}\" {to} -j {}", self.name, refusal.reason, refusal.target);
        out.rule(TableName::Filter, chain, rest, self.origin(field, refusal.purpose));
    }

    fn external_ips(&self, out: &mut Writer<'_>) {
        for addr in &self.port.external_ips {
            let to = self.to(addr);
            if self.plan.external_chain_used {
                let rest = format!(
                    "-m comment --comment \"{} external IP\" {to} -j {}",
                    self.name, self.plan.external_chain
                );
                let origin =
                    self.origin("spec.externalIPs", "send packets to the external IP to the endpoints");
                out.rule(TableName::Nat, "KUBE-SERVICES", rest, origin);
            }
            if let Some(refusal) = self.external_refusal() {
                self.refuse(out, "KUBE-EXTERNAL-SERVICES", &to, "spec.externalIPs", &refusal);
            }
        }
    }

    fn load_balancer(&self, out: &mut Writer<'_>) {
        const FIELD: &str = "status.loadBalancer.ingress";
        let plan = &self.plan;
        let chain = if plan.firewall_chain_used { &plan.firewall_chain } else { &plan.external_chain };
        for addr in &self.port.load_balancer_vips {
            let to = self.to(addr);
            if plan.external_chain_used {
                let rest = format!("-m comment --comment \"{} loadbalancer IP\" {to} -j {chain}", self.name);
                let origin =
                    self.origin(FIELD, "handle packets to the load balancer's address here, without leaving");
                out.rule(TableName::Nat, "KUBE-SERVICES", rest, origin);
            }
            if plan.firewall_chain_used {
                let rest = format!(
                    "-m comment --comment \"{} traffic not accepted by {}\" {to} -j DROP",
                    self.name, plan.firewall_chain
                );
                let purpose =
                    "refused packets were not translated and still carry the load balancer's address";
                let origin = self.origin("spec.loadBalancerSourceRanges", purpose);
                out.rule(TableName::Filter, "KUBE-PROXY-FIREWALL", rest, origin);
            }
        }
        if let Some(refusal) = self.external_refusal() {
            for addr in &self.port.load_balancer_vips {
                self.refuse(out, "KUBE-EXTERNAL-SERVICES", &self.to(addr), FIELD, &refusal);
            }
        }
    }

    fn node_port(&self, out: &mut Writer<'_>) {
        const FIELD: &str = "spec.ports[].nodePort";
        if self.port.node_port == 0 {
            return;
        }
        let (proto, number) = (self.port.protocol.name(), self.port.node_port);
        let chain = &self.plan.external_chain;
        if self.plan.external_chain_used {
            let head =
                format!("-m comment --comment {} -m {proto} -p {proto}", quoted(&self.name.to_string()));
            if out.config.serves_localhost_node_ports() && out.config.nfacct_localhost {
                let rest = format!(
                    "{head} -d 127.0.0.0/8 --dport {number} -m nfacct --nfacct-name localhost_nps_accepted_pkts \
                     -j {chain}"
                );
                let origin = self.origin(FIELD, "count uses of the node port through localhost");
                out.rule(TableName::Nat, "KUBE-NODEPORTS", rest, origin);
            }
            let rest = format!("{head} --dport {number} -j {chain}");
            let origin = self.origin(FIELD, "send packets to the node port to the endpoints");
            out.rule(TableName::Nat, "KUBE-NODEPORTS", rest, origin);
        }
        if let Some(refusal) = self.external_refusal() {
            let to = format!("-m addrtype --dst-type LOCAL -m {proto} -p {proto} --dport {number}");
            self.refuse(out, "KUBE-EXTERNAL-SERVICES", &to, FIELD, &refusal);
        }
    }

    /// Traffic to the cluster IP from outside the pod network must come back through this node.
    fn masquerade_cluster_ip(&self, out: &mut Writer<'_>) {
        if self.internal_refusal().is_some() {
            return;
        }
        let not_local = if out.config.masquerade_all {
            String::new()
        } else {
            match out.config.local_detector.if_not_local() {
                Some(test) => format!(" {test}"),
                None => return,
            }
        };
        let rest = format!(
            "-m comment --comment \"{} cluster IP\" {}{not_local} -j KUBE-MARK-MASQ",
            self.name,
            self.to(self.port.cluster_ip)
        );
        let purpose =
            "clients outside the pod network get this node's address, so that replies return through it";
        out.rule(TableName::Nat, self.internal_chain(), rest, self.origin("spec.clusterIP", purpose));
    }

    fn external(&self, out: &mut Writer<'_>) {
        const FIELD: &str = "spec.externalTrafficPolicy";
        if !self.plan.external_chain_used {
            return;
        }
        let (name, plan) = (self.name, &self.plan);
        let chain = &plan.external_chain;
        if self.port.external_policy_local {
            if let Some(local) = out.config.local_detector.if_local() {
                let rest = format!(
                    "-m comment --comment \"pod traffic for {name} external destinations\" {local} -j {}",
                    plan.cluster_chain
                );
                let origin = self.origin(FIELD, "pods here may use every endpoint, whatever the policy");
                out.rule(TableName::Nat, chain, rest, origin);
            }
            let local = "-m addrtype --src-type LOCAL";
            let rest = format!(
                "-m comment --comment \"masquerade LOCAL traffic for {name} external destinations\" {local} -j \
                 KUBE-MARK-MASQ"
            );
            let origin =
                self.origin(FIELD, "the node's own packets may carry an address that pods cannot answer");
            out.rule(TableName::Nat, chain, rest, origin);
            let rest = format!(
                "-m comment --comment \"route LOCAL traffic for {name} external destinations\" {local} -j {}",
                plan.cluster_chain
            );
            let origin = self.origin(FIELD, "the node itself may use every endpoint, whatever the policy");
            out.rule(TableName::Nat, chain, rest, origin);
        } else {
            let rest = format!(
                "-m comment --comment \"masquerade traffic for {name} external destinations\" -j KUBE-MARK-MASQ"
            );
            let purpose = "the endpoint may be on another node: replies must come back through this one";
            out.rule(TableName::Nat, chain, rest, self.origin(FIELD, purpose));
        }
        if self.external_refusal().is_none() {
            let policy =
                if self.port.external_policy_local { &plan.local_chain } else { &plan.cluster_chain };
            let origin = self.origin(FIELD, "choose an endpoint");
            out.rule(TableName::Nat, chain, format!("-j {policy}"), origin);
        }
    }

    fn firewall(&self, out: &mut Writer<'_>) {
        const FIELD: &str = "spec.loadBalancerSourceRanges";
        let plan = &self.plan;
        if !plan.firewall_chain_used {
            return;
        }
        let comment = format!("-m comment --comment \"{} loadbalancer IP\"", self.name);
        for range in &self.port.source_ranges {
            let rest = format!("{comment} -s {range} -j {}", plan.external_chain);
            let origin = self.origin(FIELD, "sources in this range may use the load balancer");
            out.rule(TableName::Nat, &plan.firewall_chain, rest, origin);
        }
        // A node that may use the load balancer sends with the load balancer's address as source when the VIP is
        // bound to it.
        if plan.node_in_source_ranges {
            for addr in &self.port.load_balancer_vips {
                let rest = format!("{comment} -s {addr} -j {}", plan.external_chain);
                let origin =
                    self.origin(FIELD, "this node is in range, also when it uses the VIP as its source");
                out.rule(TableName::Nat, &plan.firewall_chain, rest, origin);
            }
        }
        let rest = format!(
            "-m comment --comment \"other traffic to {} will be dropped by KUBE-PROXY-FIREWALL\"",
            self.name
        );
        let origin = self.origin(FIELD, "a remark: the drop is in the filter table");
        out.rule(TableName::Nat, &plan.firewall_chain, rest, origin);
    }

    /// Sends each new connection to one of `endpoints`: affinity first, then equal shares.
    fn balance(&self, out: &mut Writer<'_>, chain: &str, endpoints: &[&Endpoint]) {
        // Both lists are in the order of the reachable ones, of which they are parts.
        let mut reachable = self.categories.reachable.iter().zip(&self.endpoint_chains);
        let targets: Vec<(&Endpoint, &String)> = endpoints
            .iter()
            .filter_map(|wanted| {
                let (_, chain) = reachable.find(|(e, _)| std::ptr::eq::<Endpoint>(**e, *wanted))?;
                Some((*wanted, chain))
            })
            .collect();
        let comment = |out: &Writer<'_>, address: &str| {
            if out.large_cluster {
                String::new()
            } else {
                format!("-m comment --comment \"{} -> {address}\" ", self.name)
            }
        };
        let origin = |address: &str, field, purpose| Origin {
            endpoint: Some(address.to_owned()),
            ..self.origin(field, purpose)
        };
        if let Some(seconds) = self.port.affinity_seconds {
            for (endpoint, target) in &targets {
                let address = endpoint.address();
                let rest = format!(
                    "{}-m recent --name {target} --rcheck --seconds {seconds} --reap -j {target}",
                    comment(out, &address)
                );
                let purpose = "a client seen within the affinity time goes to the same endpoint again";
                out.rule(TableName::Nat, chain, rest, origin(&address, "spec.sessionAffinity", purpose));
            }
        }
        for (tried, (endpoint, target)) in targets.iter().enumerate() {
            let address = endpoint.address();
            let left = targets.len() - tried;
            let share = if left > 1 {
                format!("-m statistic --mode random --probability {:.10} ", 1.0 / left as f64)
            } else {
                String::new()
            };
            let rest = format!("{}{share}-j {target}", comment(out, &address));
            let purpose = "one of the endpoints still to be tried takes the connection";
            out.rule(TableName::Nat, chain, rest, origin(&address, "endpoints[]", purpose));
        }
    }

    fn endpoints(&self, out: &mut Writer<'_>) {
        let proto = self.port.protocol.name();
        for (endpoint, chain) in self.categories.reachable.iter().zip(&self.endpoint_chains) {
            let address = endpoint.address();
            let comment = if out.large_cluster {
                String::new()
            } else {
                format!("-m comment --comment {} ", quoted(&self.name.to_string()))
            };
            let origin =
                |field, purpose| Origin { endpoint: Some(address.clone()), ..self.origin(field, purpose) };
            let rest = format!("{comment}-s {} -j KUBE-MARK-MASQ", endpoint.ip);
            let purpose = "hairpin: a pod that reaches itself through the Service must see another source";
            out.rule(TableName::Nat, chain, rest, origin("endpoints[].addresses", purpose));
            let remember = match self.port.affinity_seconds {
                Some(_) => format!("-m recent --name {chain} --set "),
                None => String::new(),
            };
            let rest = format!("{comment}{remember}-m {proto} -p {proto} -j DNAT --to-destination {address}");
            let purpose = "rewrite the destination to the endpoint";
            out.rule(TableName::Nat, chain, rest, origin("endpoints[].addresses", purpose));
        }
    }
}

/// One word bare, as kube-proxy passes it; more words in quotes.
fn quoted(text: &str) -> String {
    if text.contains(' ') { format!("\"{text}\"") } else { text.to_owned() }
}
