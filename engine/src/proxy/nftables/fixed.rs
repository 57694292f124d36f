//! The objects every node's table has: base chains, dispatch chains, shared sets and maps.

use super::{Layout, Writer};
use crate::packet::Family;
use crate::proxy::{NodePortAddresses, Origin};

/// Base chains: name, type, hook, priority.
const BASE_CHAINS: [(&str, &str, &str, i32); 8] = [
    ("filter-prerouting-pre-dnat", "filter", "prerouting", -110),
    ("filter-output-pre-dnat", "filter", "output", -110),
    ("filter-input", "filter", "input", 0),
    ("filter-forward", "filter", "forward", 0),
    ("filter-output", "filter", "output", 0),
    ("nat-prerouting", "nat", "prerouting", -100),
    ("nat-output", "nat", "output", -100),
    ("nat-postrouting", "nat", "postrouting", 100),
];

/// A chain that base chains jump to, the jump's condition, and from where.
const DISPATCH: [(&str, &str, &[&str]); 6] = [
    ("nodeport-endpoints-check", "ct state new ", &["filter-input"]),
    ("service-endpoints-check", "ct state new ", &["filter-input", "filter-forward", "filter-output"]),
    ("firewall-check", "ct state new ", &["filter-prerouting-pre-dnat", "filter-output-pre-dnat"]),
    ("services", "", &["nat-output", "nat-prerouting"]),
    ("masquerading", "", &["nat-postrouting"]),
    ("cluster-ips-check", "ct state new ", &["filter-forward", "filter-output"]),
];

pub(super) fn write(out: &mut Writer<'_>) {
    let because = |purpose| Origin { service: None, endpoint: None, field: "", purpose };
    out.op("add table", "{ comment \"rules for kube-proxy\" ; }", because("everything lives in one table"));
    for (name, ..) in BASE_CHAINS {
        let purpose = because("an older layout may have had this chain at another priority");
        out.op("add chain", name, purpose.clone());
        out.op("delete chain", name, purpose);
    }
    for (name, kind, hook, priority) in BASE_CHAINS {
        let purpose = because("where packets enter");
        let declaration = format!("{name} {{ type {kind} hook {hook} priority {priority} ; }}");
        out.op("add chain", declaration, purpose.clone());
        out.op("flush chain", name, purpose);
    }
    for (chain, condition, from) in DISPATCH {
        out.chain(chain, because("a check that several hooks share"));
        for base in from {
            out.rule(
                base,
                format_args!("{condition}jump {chain}"),
                because("only first packets matter here"),
            );
        }
    }
    masquerading(out);
    cluster_ips(out);
    let node_port_test = node_port_test(out);
    maps(out, &node_port_test);
}

fn because(purpose: &'static str) -> Origin {
    Origin { service: None, endpoint: None, field: "", purpose }
}

fn masquerading(out: &mut Writer<'_>) {
    match out.layout() {
        Layout::EndpointChains => masquerade_by_mark_chain(out),
        Layout::EndpointMaps => masquerade_by_mark_and_hairpin(out),
    }
}

fn masquerade_by_mark_chain(out: &mut Writer<'_>) {
    let mark = out.config.masquerade_mark;
    out.chain("mark-for-masquerade", because("a chain, so that the mark is written in one place"));
    out.rule(
        "mark-for-masquerade",
        format_args!("mark set mark or {mark:#x}"),
        because("remember until postrouting that the source must change"),
    );
    out.rule(
        "masquerading",
        format_args!("mark and {mark:#x} == 0 return"),
        because("unmarked packets keep their source"),
    );
    out.rule(
        "masquerading",
        format_args!("mark set mark xor {mark:#x}"),
        because("clear the mark, so that an encapsulated copy is not masqueraded again"),
    );
    out.rule(
        "masquerading",
        "masquerade fully-random",
        because("marked packets leave with this node's address, so that replies come back through it"),
    );
}

fn masquerade_by_mark_and_hairpin(out: &mut Writer<'_>) {
    let (ip, addr, mark) = (out.ip(), out.addr_type(), out.config.masquerade_mark);
    let set = format!(
        "hairpin-connections {{ type {addr} . {addr} . inet_proto . inet_service ; comment \"service hairpin \
         connections\" ; }}"
    );
    out.op("add set", set, because("local endpoints, each paired with itself"));
    out.rule(
        "masquerading",
        format_args!("mark and {mark:#x} != 0 mark set mark xor {mark:#x} masquerade fully-random"),
        because("marked packets leave with this node's address, so that replies come back through it"),
    );
    out.rule(
        "masquerading",
        format_args!(
            "ct status dnat {ip} saddr . {ip} daddr . meta l4proto . th dport @hairpin-connections masquerade \
             fully-random"
        ),
        because("a pod that reaches itself through a Service must see another source"),
    );
}

fn cluster_ips(out: &mut Writer<'_>) {
    let ip = out.ip();
    let set = format!("cluster-ips {{ type {} ; comment \"Active ClusterIPs\" ; }}", out.addr_type());
    out.op("add set", set, because("addresses whose unknown ports are refused"));
    out.rule(
        "cluster-ips-check",
        format_args!(
            "{ip} daddr @cluster-ips reject comment \"Reject traffic to invalid ports of ClusterIPs\""
        ),
        because("still addressed to a cluster IP after DNAT: no such port"),
    );
    if !out.config.service_cidrs.is_empty() {
        let cidrs = out.config.service_cidrs.join(",");
        out.rule(
            "cluster-ips-check",
            format_args!("{ip} daddr {{ {cidrs} }} drop comment \"Drop traffic to unallocated ClusterIPs\""),
            because("an address of the service range that no Service has"),
        );
    }
}

/// The test for "addressed to a node port of this node", and the set it may need.
fn node_port_test(out: &mut Writer<'_>) -> String {
    let ip = out.ip();
    let config = out.config;
    if config.node_port_addresses == NodePortAddresses::All {
        let loopback = match config.family {
            Family::V4 => "127.0.0.0/8",
            Family::V6 => "::1",
        };
        return format!("fib daddr type local {ip} daddr != {loopback}");
    }
    let purpose = "addresses of this node that accept node ports";
    let set = format!(
        "nodeport-ips {{ type {} ; comment \"IPs that accept NodePort traffic\" ; }}",
        out.addr_type()
    );
    out.op("add set", set, because(purpose));
    out.op("flush set", "nodeport-ips", because(purpose));
    for addr in config.node_port_addresses.matching(&config.node_addresses, config.family) {
        if !addr.is_loopback() {
            out.op("add element", format_args!("nodeport-ips {{ {addr} }}"), because(purpose));
        }
    }
    format!("{ip} daddr @nodeport-ips")
}

fn maps(out: &mut Writer<'_>, node_port_test: &str) {
    let (ip, addr) = (out.ip(), out.addr_type());
    let by_address = format!("{addr} . inet_proto . inet_service");
    let by_port = "inet_proto . inet_service";
    let mut map = |name: &str, key: &str, comment: &str, purpose| {
        let text = format!("{name} {{ type {key} : verdict ; comment \"{comment}\" ; }}");
        out.op("add map", text, because(purpose));
    };
    map(
        "no-endpoint-services",
        &by_address,
        "vmap to drop or reject packets to services with no endpoints",
        "refusals by address",
    );
    map(
        "no-endpoint-nodeports",
        by_port,
        "vmap to drop or reject packets to service nodeports with no endpoints",
        "refusals by node port",
    );
    map(
        "firewall-ips",
        &by_address,
        "destinations that are subject to LoadBalancerSourceRanges",
        "load balancers with source ranges",
    );
    map(
        "service-ips",
        &by_address,
        "ClusterIP, ExternalIP and LoadBalancer IP traffic",
        "one lookup, any size",
    );
    map("service-nodeports", by_port, "NodePort traffic", "one lookup, any size");
    let reject = "reject-chain { comment \"helper for @no-endpoint-services / @no-endpoint-nodeports\" ; }";
    let purpose = because("a map element can name a chain but not REJECT");
    out.op("add chain", reject, purpose.clone());
    out.op("flush chain", "reject-chain", purpose.clone());
    out.rule("reject-chain", "reject", purpose);
    let key = format!("{ip} daddr . meta l4proto . th dport");
    let port_key = "meta l4proto . th dport";
    out.rule(
        "service-endpoints-check",
        format_args!("{key} vmap @no-endpoint-services"),
        because("refuse at once what no endpoint serves"),
    );
    out.rule(
        "nodeport-endpoints-check",
        format_args!("{node_port_test} {port_key} vmap @no-endpoint-nodeports"),
        because("the same for node ports"),
    );
    out.rule(
        "firewall-check",
        format_args!("{key} vmap @firewall-ips"),
        because("source ranges, before DNAT"),
    );
    if out.layout() == Layout::EndpointMaps {
        masquerade_cluster_ips(out);
    }
    out.rule("services", format_args!("{key} vmap @service-ips"), because("the Service by its address"));
    out.rule(
        "services",
        format_args!("{node_port_test} {port_key} vmap @service-nodeports"),
        because("the Service by its node port"),
    );
}

/// One rule for every cluster IP; before 1.36 each Service's chain had its own.
fn masquerade_cluster_ips(out: &mut Writer<'_>) {
    let (ip, mark) = (out.ip(), out.config.masquerade_mark);
    if out.config.masquerade_all {
        out.rule(
            "services",
            format_args!(
                "{ip} daddr @cluster-ips mark set mark or {mark:#x} comment \"masquerade all clusterIP traffic\""
            ),
            because("masqueradeAll"),
        );
    } else if let Some(test) = out.config.local_detector.nft_if_not_local(ip) {
        out.rule(
            "services",
            format_args!(
                "{ip} daddr @cluster-ips {test} mark set mark or {mark:#x} comment \"masquerade clusterIP traffic \
                 from outside cluster\""
            ),
            because("clients outside the pod network get this node's address, so that replies return through it"),
        );
    }
}
