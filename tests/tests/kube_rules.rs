//! The worked example of kube-proxy's rules: Service `shop/web`, port `http`, in every shape, from manifest to
//! `iptables-save`. The lines are what iptables-nft 1.8.9 read back from Linux 6.18 after kube-proxy 1.36.2 wrote
//! them.

use chainwalk_engine::base::Instant;
use chainwalk_engine::cluster::manifest::parse;
use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::endpoints::endpoints;
use chainwalk_engine::proxy::service_port::service_ports;
use chainwalk_engine::proxy::{Changes, Config, ServiceMap, iptables};
use chainwalk_engine::text::xt::SaveOptions;

/// What `node-a` holds for the Service with these fields and these endpoints (`address node`).
fn save(spec: &str, status: &str, pods: &[&str]) -> String {
    let endpoint = |pod: &&str| {
        let (ip, node) = pod.split_once(' ').expect("address and node");
        format!("{{addresses: [{ip}], nodeName: {node}}}")
    };
    let list: Vec<String> = pods.iter().map(endpoint).collect();
    let text = format!(
        "kind: Service\nmetadata: {{name: web, namespace: shop}}\nspec: {{clusterIP: 10.96.10.20, {spec}}}\nstatus: \
         {{{status}}}\n---\nkind: EndpointSlice\nmetadata: {{name: web-1, namespace: shop, labels: \
         {{kubernetes.io/service-name: web}}}}\naddressType: IPv4\nports: [{{name: http, port: 8080}}]\nendpoints: \
         [{}]\n",
        list.join(", ")
    );
    let objects = parse(&text).expect("the manifest is fine");
    let config = Config::new(Family::V4, "node-a", [172, 18, 0, 2].into());
    let services: ServiceMap = objects.services.iter().flat_map(|s| service_ports(s, Family::V4)).collect();
    let endpoints = endpoints(&objects.slices, Family::V4, "node-a");
    let proxier = iptables::Proxier::new(config);
    let sync = proxier.sync(&services, &endpoints, &Changes::Everything, Instant::ZERO);
    let tables = proxier.tables(&sync, Flavour::Nft).expect("iptables-restore takes it");
    tables.save(&SaveOptions::default())
}

#[track_caller]
fn holds(save: &str, lines: &str) {
    for line in lines.lines() {
        assert!(save.lines().any(|found| found == line), "missing: {line}\n{save}");
    }
}

const PORT: &str = "ports: [{name: http, port: 80}]";
const NODE_PORT: &str = "type: NodePort, ports: [{name: http, port: 80, nodePort: 30080}]";
const THREE: [&str; 3] = ["10.244.1.10 node-a", "10.244.1.12 node-a", "10.244.2.11 node-b"];

#[test]
fn a_cluster_ip_with_three_endpoints() {
    holds(
        &save(PORT, "", &THREE),
        "\
-A KUBE-SERVICES -d 10.96.10.20/32 -p tcp -m comment --comment \"shop/web:http cluster IP\" -m tcp --dport 80 -j KUBE-SVC-67NZLRHBNDSAWJRO
-A KUBE-SVC-67NZLRHBNDSAWJRO ! -s 10.244.0.0/16 -d 10.96.10.20/32 -p tcp -m comment --comment \"shop/web:http cluster IP\" -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment \"shop/web:http -> 10.244.1.10:8080\" -m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-FZQ6KZLGXRSKN2AD
-A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment \"shop/web:http -> 10.244.1.12:8080\" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-A4XDIGXZ2YDXHROU
-A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment \"shop/web:http -> 10.244.2.11:8080\" -j KUBE-SEP-BTZNBNILETY57XCS
-A KUBE-SEP-FZQ6KZLGXRSKN2AD -s 10.244.1.10/32 -m comment --comment \"shop/web:http\" -j KUBE-MARK-MASQ
-A KUBE-SEP-FZQ6KZLGXRSKN2AD -p tcp -m comment --comment \"shop/web:http\" -m tcp -j DNAT --to-destination 10.244.1.10:8080
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE --random-fully
-A KUBE-FORWARD -m conntrack --ctstate INVALID -m nfacct --nfacct-name  ct_state_invalid_dropped_pkts -j DROP
-A KUBE-FORWARD -m comment --comment \"kubernetes forwarding rules\" -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment \"block incoming localnet connections\" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
    );
}

#[test]
fn no_endpoint_at_all_is_refused_everywhere() {
    let vip = "loadBalancer: {ingress: [{ip: 198.51.100.7}]}";
    holds(
        &save(NODE_PORT, vip, &[]),
        "\
-A KUBE-SERVICES -d 10.96.10.20/32 -p tcp -m comment --comment \"shop/web:http has no endpoints\" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable
-A KUBE-EXTERNAL-SERVICES -d 198.51.100.7/32 -p tcp -m comment --comment \"shop/web:http has no endpoints\" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable
-A KUBE-EXTERNAL-SERVICES -p tcp -m comment --comment \"shop/web:http has no endpoints\" -m addrtype --dst-type LOCAL -m tcp --dport 30080 -j REJECT --reject-with icmp-port-unreachable",
    );
}

#[test]
fn a_node_port() {
    holds(
        &save(NODE_PORT, "", &THREE),
        "\
-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m comment --comment \"shop/web:http\" -m tcp --dport 30080 -m nfacct --nfacct-name  localhost_nps_accepted_pkts -j KUBE-EXT-67NZLRHBNDSAWJRO
-A KUBE-NODEPORTS -p tcp -m comment --comment \"shop/web:http\" -m tcp --dport 30080 -j KUBE-EXT-67NZLRHBNDSAWJRO
-A KUBE-EXT-67NZLRHBNDSAWJRO -m comment --comment \"masquerade traffic for shop/web:http external destinations\" -j KUBE-MARK-MASQ
-A KUBE-EXT-67NZLRHBNDSAWJRO -j KUBE-SVC-67NZLRHBNDSAWJRO
-A KUBE-SERVICES -m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in this chain\" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS",
    );
}

#[test]
fn a_load_balancer_with_source_ranges() {
    let spec = format!("{NODE_PORT}, loadBalancerSourceRanges: [203.0.113.0/25, 172.18.0.0/16]")
        .replace("NodePort", "LoadBalancer");
    holds(
        &save(&spec, "loadBalancer: {ingress: [{ip: 198.51.100.7}]}", &THREE),
        "\
-A KUBE-SERVICES -d 198.51.100.7/32 -p tcp -m comment --comment \"shop/web:http loadbalancer IP\" -m tcp --dport 80 -j KUBE-FW-67NZLRHBNDSAWJRO
-A KUBE-FW-67NZLRHBNDSAWJRO -s 203.0.113.0/25 -m comment --comment \"shop/web:http loadbalancer IP\" -j KUBE-EXT-67NZLRHBNDSAWJRO
-A KUBE-FW-67NZLRHBNDSAWJRO -s 172.18.0.0/16 -m comment --comment \"shop/web:http loadbalancer IP\" -j KUBE-EXT-67NZLRHBNDSAWJRO
-A KUBE-FW-67NZLRHBNDSAWJRO -s 198.51.100.7/32 -m comment --comment \"shop/web:http loadbalancer IP\" -j KUBE-EXT-67NZLRHBNDSAWJRO
-A KUBE-FW-67NZLRHBNDSAWJRO -m comment --comment \"other traffic to shop/web:http will be dropped by KUBE-PROXY-FIREWALL\"
-A KUBE-PROXY-FIREWALL -d 198.51.100.7/32 -p tcp -m comment --comment \"shop/web:http traffic not accepted by KUBE-FW-67NZLRHBNDSAWJRO\" -m tcp --dport 80 -j DROP",
    );
}

#[test]
fn external_policy_local() {
    let spec = format!("{NODE_PORT}, externalTrafficPolicy: Local, healthCheckNodePort: 31999")
        .replace("NodePort,", "LoadBalancer,");
    let vip = "loadBalancer: {ingress: [{ip: 198.51.100.7}]}";
    holds(
        &save(&spec, vip, &["10.244.1.10 node-a", "10.244.2.11 node-b"]),
        "\
-A KUBE-EXT-67NZLRHBNDSAWJRO -s 10.244.0.0/16 -m comment --comment \"pod traffic for shop/web:http external destinations\" -j KUBE-SVC-67NZLRHBNDSAWJRO
-A KUBE-EXT-67NZLRHBNDSAWJRO -m comment --comment \"masquerade LOCAL traffic for shop/web:http external destinations\" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
-A KUBE-EXT-67NZLRHBNDSAWJRO -m comment --comment \"route LOCAL traffic for shop/web:http external destinations\" -m addrtype --src-type LOCAL -j KUBE-SVC-67NZLRHBNDSAWJRO
-A KUBE-EXT-67NZLRHBNDSAWJRO -j KUBE-SVL-67NZLRHBNDSAWJRO
-A KUBE-SVL-67NZLRHBNDSAWJRO -m comment --comment \"shop/web:http -> 10.244.1.10:8080\" -j KUBE-SEP-FZQ6KZLGXRSKN2AD
-A KUBE-NODEPORTS -p tcp -m comment --comment \"shop/web:http health check node port\" -m tcp --dport 31999 -j ACCEPT",
    );
    let none_local = save(&spec, vip, &["10.244.2.11 node-b"]);
    holds(
        &none_local,
        "\
-A KUBE-EXTERNAL-SERVICES -d 198.51.100.7/32 -p tcp -m comment --comment \"shop/web:http has no local endpoints\" -m tcp --dport 80 -j DROP
-A KUBE-EXTERNAL-SERVICES -p tcp -m comment --comment \"shop/web:http has no local endpoints\" -m addrtype --dst-type LOCAL -m tcp --dport 30080 -j DROP",
    );
    assert!(!none_local.contains("KUBE-SVL-"));
}

#[test]
fn internal_policy_local_without_a_local_endpoint() {
    holds(
        &save(&format!("{PORT}, internalTrafficPolicy: Local"), "", &["10.244.2.11 node-b"]),
        "-A KUBE-SERVICES -d 10.96.10.20/32 -p tcp -m comment --comment \"shop/web:http has no local endpoints\" -m tcp --dport 80 -j DROP",
    );
}

#[test]
fn client_affinity() {
    holds(
        &save(&format!("{PORT}, sessionAffinity: ClientIP"), "", &THREE),
        "\
-A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment \"shop/web:http -> 10.244.1.10:8080\" -m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-FZQ6KZLGXRSKN2AD --mask 255.255.255.255 --rsource -j KUBE-SEP-FZQ6KZLGXRSKN2AD
-A KUBE-SEP-BTZNBNILETY57XCS -p tcp -m comment --comment \"shop/web:http\" -m recent --set --name KUBE-SEP-BTZNBNILETY57XCS --mask 255.255.255.255 --rsource -m tcp -j DNAT --to-destination 10.244.2.11:8080",
    );
}
