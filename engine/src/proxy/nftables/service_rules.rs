//! Elements, chains and rules of one Service port.

use std::sync::Arc;

use super::{Layout, Writer};
use crate::proxy::topology::{Categories, categorize};
use crate::proxy::{Endpoint, Origin, ServicePort, ServicePortName};

/// Writes what one Service port needs.
pub(super) fn write(
    out: &mut Writer<'_>,
    name: &Arc<ServicePortName>,
    port: &ServicePort,
    endpoints: &[Endpoint],
) {
    let categories = categorize(endpoints, port, &out.config.locality());
    let layout = out.layout();
    let rules = PortRules { name, port, base: name.nft(), categories, layout };
    for (chain, _) in rules.endpoint_chains().into_iter().chain(rules.chains()) {
        out.owned.chains.insert(chain);
    }
    if layout == Layout::EndpointMaps {
        rules.hairpin(out);
    }
    rules.affinity(out);
    rules.declare_chains(out);
    rules.elements(out);
    if layout == Layout::EndpointChains {
        rules.masquerade_cluster_ip(out);
    }
    rules.external(out);
    rules.firewall(out);
    rules.balance(out);
    rules.endpoints(out);
}

struct PortRules<'a> {
    name: &'a Arc<ServicePortName>,
    port: &'a ServicePort,
    /// `HASH8-namespace/name/protocol/portname`.
    base: String,
    categories: Categories<'a>,
    layout: Layout,
}

/// Where an address leads.
enum Way {
    Goto(String),
    /// No endpoint anywhere.
    Reject,
    /// Policy Local, none here.
    Drop,
}

impl PortRules<'_> {
    fn origin(&self, field: &'static str, purpose: &'static str) -> Origin {
        Origin { service: Some(Arc::clone(self.name)), endpoint: None, field, purpose }
    }

    fn service_chain(&self) -> String {
        format!("service-{}", self.base)
    }

    fn local_chain(&self) -> String {
        format!("local-{}", self.base)
    }

    fn external_chain(&self) -> String {
        format!("external-{}", self.base)
    }

    fn firewall_chain(&self) -> String {
        format!("firewall-{}", self.base)
    }

    fn uses_service_chain(&self) -> bool {
        !self.categories.cluster.is_empty() && self.port.uses_cluster_endpoints()
    }

    fn uses_local_chain(&self) -> bool {
        !self.categories.local.is_empty() && self.port.uses_local_endpoints()
    }

    fn uses_external_chain(&self) -> bool {
        self.categories.has_any && self.port.externally_accessible()
    }

    fn uses_firewall_chain(&self) -> bool {
        self.categories.has_any
            && !self.port.load_balancer_vips.is_empty()
            && !self.port.source_ranges.is_empty()
    }

    /// Whether endpoints have chains of their own.
    fn has_endpoint_chains(&self) -> bool {
        self.layout == Layout::EndpointChains || self.port.affinity_seconds.is_some()
    }

    fn endpoint_chains(&self) -> Vec<(String, &'static str)> {
        if !self.has_endpoint_chains() {
            return Vec::new();
        }
        let purpose = match self.port.affinity_seconds {
            Some(_) => "remembers the client, then DNAT",
            None => "DNAT to the endpoint",
        };
        let chain = |e: &&Endpoint| format!("endpoint-{}", self.name.nft_endpoint(e.ip, e.port));
        self.categories.reachable.iter().map(|e| (chain(e), purpose)).collect()
    }

    /// Chains of its own, without those of endpoints.
    fn chains(&self) -> impl Iterator<Item = (String, &'static str)> {
        let own = [
            (self.uses_service_chain(), self.service_chain(), "chooses among the cluster's endpoints"),
            (self.uses_local_chain(), self.local_chain(), "chooses among this node's endpoints"),
            (self.uses_external_chain(), self.external_chain(), "traffic from outside the cluster"),
            (self.uses_firewall_chain(), self.firewall_chain(), "source ranges of the load balancer"),
        ];
        own.into_iter().filter(|own| own.0).map(|own| (own.1, own.2))
    }

    /// Declares its chains empty; a Service's chain may lead to those of its endpoints, so these come first.
    fn declare_chains(&self, out: &mut Writer<'_>) {
        for (endpoint, (chain, purpose)) in self.categories.reachable.iter().zip(self.endpoint_chains()) {
            if !self.found(out, endpoint) {
                out.chain(&chain, self.origin("", purpose));
            }
        }
        for (chain, purpose) in self.chains() {
            out.chain(&chain, self.origin("", purpose));
        }
    }

    /// Whether a restarted proxy found the endpoint's chain as it should be.
    fn found(&self, out: &Writer<'_>, endpoint: &Endpoint) -> bool {
        let affine = self.port.affinity_seconds.is_some();
        out.found_endpoint(&self.name.nft_endpoint(endpoint.ip, endpoint.port), affine)
    }

    /// Local endpoints, for the masquerade of a pod that reaches itself.
    fn hairpin(&self, out: &mut Writer<'_>) {
        for endpoint in self.categories.reachable.iter().filter(|e| e.is_local) {
            let (ip, port) = (endpoint.ip, endpoint.port);
            let key = format!("{ip} . {ip} . {} . {port}", self.port.protocol.name());
            let purpose = "a pod that reaches itself through the Service must see another source";
            let origin = Origin {
                endpoint: Some(endpoint.address()),
                ..self.origin("endpoints[].addresses", purpose)
            };
            out.element(self.name, "hairpin-connections", key, String::new(), origin);
        }
    }

    fn affinity(&self, out: &mut Writer<'_>) {
        let Some(seconds) = self.port.affinity_seconds else { return };
        for endpoint in &self.categories.reachable {
            let set = format!("affinity-{}", self.name.nft_endpoint(endpoint.ip, endpoint.port));
            let text = format!(
                "{set} {{ type {} ; flags dynamic,timeout ; timeout {seconds}s ; }}",
                out.addr_type()
            );
            let origin = Origin {
                endpoint: Some(endpoint.address()),
                ..self.origin("spec.sessionAffinity", "clients that used this endpoint lately")
            };
            out.op("add set", text, origin);
            out.owned.sets.insert(set);
        }
    }

    fn internal_way(&self) -> Way {
        match (self.categories.has_any, self.port.internal_policy_local) {
            (false, _) => Way::Reject,
            (true, true) if self.categories.local.is_empty() => Way::Drop,
            (true, true) => Way::Goto(self.local_chain()),
            (true, false) => Way::Goto(self.service_chain()),
        }
    }

    /// Why outside traffic finds no endpoint, if so.
    fn external_refusal(&self) -> Option<Way> {
        if !self.categories.has_any {
            return Some(Way::Reject);
        }
        (self.port.external_policy_local && self.categories.local.is_empty()).then_some(Way::Drop)
    }

    /// Elements of the shared sets and maps.
    fn elements(&self, out: &mut Writer<'_>) {
        let cluster_ip = self.port.cluster_ip;
        let origin = self.origin("spec.clusterIP", "a known cluster IP: its other ports are refused");
        out.element(self.name, "cluster-ips", cluster_ip.to_string(), String::new(), origin);
        let key = |ip| format!("{ip} . {} . {}", self.port.protocol.name(), self.port.port);
        self.lead(
            out,
            "service-ips",
            "no-endpoint-services",
            key(cluster_ip),
            "spec.clusterIP",
            &self.internal_way(),
        );
        let externals = self.port.external_ips.iter().map(|ip| (*ip, "spec.externalIPs", false));
        let vips = self.port.load_balancer_vips.iter().map(|ip| (*ip, "status.loadBalancer.ingress", true));
        for (ip, field, is_vip) in externals.chain(vips) {
            self.external_address(out, "service-ips", "no-endpoint-services", &key(ip), field);
            if is_vip && self.uses_firewall_chain() {
                let purpose = "only the given source ranges may use the load balancer";
                let origin = self.origin("spec.loadBalancerSourceRanges", purpose);
                out.element(
                    self.name,
                    "firewall-ips",
                    key(ip),
                    format!(" : goto {}", self.firewall_chain()),
                    origin,
                );
            }
        }
        if self.port.node_port != 0 {
            let key = format!("{} . {}", self.port.protocol.name(), self.port.node_port);
            self.external_address(
                out,
                "service-nodeports",
                "no-endpoint-nodeports",
                &key,
                "spec.ports[].nodePort",
            );
        }
    }

    fn external_address(
        &self,
        out: &mut Writer<'_>,
        map: &'static str,
        refusals: &'static str,
        key: &str,
        field: &'static str,
    ) {
        if self.uses_external_chain() {
            self.lead(out, map, refusals, key.to_owned(), field, &Way::Goto(self.external_chain()));
        }
        if let Some(refusal) = self.external_refusal() {
            self.lead(out, map, refusals, key.to_owned(), field, &refusal);
        }
    }

    /// Puts a key into the map of Services, or into that of refusals.
    fn lead(
        &self,
        out: &mut Writer<'_>,
        map: &'static str,
        refusals: &'static str,
        key: String,
        field: &'static str,
        way: &Way,
    ) {
        let (set, rest, purpose) = match way {
            Way::Goto(chain) => {
                (map, format!(" : goto {chain}"), "send packets to this address to the endpoints")
            }
            Way::Reject => (
                refusals,
                format!(" comment \"{}\" : goto reject-chain", self.name),
                "no endpoint anywhere: refuse at once instead of letting the client wait",
            ),
            Way::Drop => (
                refusals,
                format!(" comment \"{}\" : drop", self.name),
                "policy Local and no endpoint on this node: stay silent, another node may answer",
            ),
        };
        out.element(self.name, set, key, rest, self.origin(field, purpose));
    }

    /// Traffic to the cluster IP from outside the pod network must come back through this node.
    fn masquerade_cluster_ip(&self, out: &mut Writer<'_>) {
        let Way::Goto(chain) = self.internal_way() else { return };
        let ip = out.ip();
        let not_local = if out.config.masquerade_all {
            String::new()
        } else {
            match out.config.local_detector.nft_if_not_local(ip) {
                Some(test) => format!("{test} "),
                None => return,
            }
        };
        let purpose =
            "clients outside the pod network get this node's address, so that replies return through it";
        let rule = format!("{ip} daddr {} {not_local}jump mark-for-masquerade", self.port.cluster_ip);
        out.rule(&chain, rule, self.origin("spec.clusterIP", purpose));
    }

    /// What marks a packet for masquerading.
    fn set_mark(&self, out: &Writer<'_>) -> String {
        match self.layout {
            Layout::EndpointChains => "jump mark-for-masquerade".to_owned(),
            Layout::EndpointMaps => format!("mark set mark or {:#x}", out.config.masquerade_mark),
        }
    }

    fn external(&self, out: &mut Writer<'_>) {
        const FIELD: &str = "spec.externalTrafficPolicy";
        if !self.uses_external_chain() {
            return;
        }
        let chain = self.external_chain();
        let mark = self.set_mark(out);
        if self.port.external_policy_local {
            if let Some(test) = out.config.local_detector.nft_if_local(out.ip()) {
                let rule =
                    format!("{test} goto {} comment \"short-circuit pod traffic\"", self.service_chain());
                let origin = self.origin(FIELD, "pods here may use every endpoint, whatever the policy");
                out.rule(&chain, rule, origin);
            }
            let rule = format!("fib saddr type local {mark} comment \"masquerade local traffic\"");
            let origin =
                self.origin(FIELD, "the node's own packets may carry an address that pods cannot answer");
            out.rule(&chain, rule, origin);
            let rule = format!(
                "fib saddr type local goto {} comment \"short-circuit local traffic\"",
                self.service_chain()
            );
            let origin = self.origin(FIELD, "the node itself may use every endpoint, whatever the policy");
            out.rule(&chain, rule, origin);
        } else {
            let purpose = "the endpoint may be on another node: replies must come back through this one";
            let comment = match self.layout {
                Layout::EndpointChains => "",
                Layout::EndpointMaps => " comment \"masquerade\"",
            };
            out.rule(&chain, format_args!("{mark}{comment}"), self.origin(FIELD, purpose));
        }
        if self.external_refusal().is_none() {
            let policy =
                if self.port.external_policy_local { self.local_chain() } else { self.service_chain() };
            out.rule(&chain, format_args!("goto {policy}"), self.origin(FIELD, "choose an endpoint"));
        }
    }

    fn firewall(&self, out: &mut Writer<'_>) {
        if !self.uses_firewall_chain() {
            return;
        }
        let mut sources: Vec<String> = self.port.source_ranges.iter().map(ToString::to_string).collect();
        // A node that may use the load balancer sends with the VIP as source when the VIP is bound to it.
        if self.port.source_ranges.iter().any(|c| c.contains(out.config.node_ip)) {
            sources.extend(self.port.load_balancer_vips.iter().map(ToString::to_string));
        }
        let rule = format!("{} saddr != {{ {} }} drop", out.ip(), sources.join(" , "));
        let origin = self.origin("spec.loadBalancerSourceRanges", "other sources are refused, before DNAT");
        out.rule(&self.firewall_chain(), rule, origin);
    }

    /// Sends each new connection to one of the endpoints of each policy chain.
    fn balance(&self, out: &mut Writer<'_>) {
        let policies = [
            (self.uses_service_chain(), self.service_chain(), &self.categories.cluster),
            (self.uses_local_chain(), self.local_chain(), &self.categories.local),
        ];
        for (_, chain, endpoints) in policies.into_iter().filter(|(used, ..)| *used) {
            let count = endpoints.len();
            let numbered = |value: &dyn Fn(&Endpoint) -> String| {
                let items = endpoints.iter().enumerate().map(|(i, e)| format!("{i} : {}", value(e)));
                items.collect::<Vec<_>>().join(" , ")
            };
            let ip = out.ip();
            let rule = if self.has_endpoint_chains() {
                let affine = self.port.affinity_seconds.is_some();
                for endpoint in endpoints.iter().filter(|_| affine) {
                    let name = self.name.nft_endpoint(endpoint.ip, endpoint.port);
                    let origin = Origin {
                        endpoint: Some(endpoint.address()),
                        ..self.origin(
                            "spec.sessionAffinity",
                            "a client seen lately goes to the same endpoint again",
                        )
                    };
                    out.rule(
                        &chain,
                        format_args!("{ip} saddr @affinity-{name} goto endpoint-{name}"),
                        origin,
                    );
                }
                let chains = numbered(&|e| format!("goto endpoint-{}", self.name.nft_endpoint(e.ip, e.port)));
                format!("numgen random mod {count} vmap {{ {chains} }}")
            } else {
                let addresses = numbered(&|e| format!("{} . {}", e.ip, e.port));
                let protocol = self.port.protocol.name();
                format!(
                    "meta l4proto {protocol} dnat {ip} addr . port to numgen random mod {count} map {{ {addresses} }}"
                )
            };
            out.rule(&chain, rule, self.origin("endpoints[]", "one draw, equal shares"));
        }
    }

    /// Rules of the endpoints' chains.
    fn endpoints(&self, out: &mut Writer<'_>) {
        if !self.has_endpoint_chains() {
            return;
        }
        for endpoint in &self.categories.reachable {
            if self.found(out, endpoint) {
                continue;
            }
            let name = self.name.nft_endpoint(endpoint.ip, endpoint.port);
            let chain = format!("endpoint-{name}");
            let origin =
                |field, purpose| Origin { endpoint: Some(endpoint.address()), ..self.origin(field, purpose) };
            if self.layout == Layout::EndpointChains {
                let purpose =
                    "hairpin: a pod that reaches itself through the Service must see another source";
                let rule = format!("{} saddr {} jump mark-for-masquerade", out.ip(), endpoint.ip);
                out.rule(&chain, rule, origin("endpoints[].addresses", purpose));
            }
            if self.port.affinity_seconds.is_some() {
                let remember = format!("update @affinity-{name} {{ {} saddr }}", out.ip());
                out.rule(&chain, remember, origin("spec.sessionAffinity", "remember the client"));
            }
            let dnat = format!("meta l4proto {} dnat to {}", self.port.protocol.name(), endpoint.address());
            let purpose = "rewrite the destination to the endpoint";
            out.rule(&chain, dnat, origin("endpoints[].addresses", purpose));
        }
    }
}
