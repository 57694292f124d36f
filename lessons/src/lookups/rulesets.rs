//! Rulesets of many Services, each with one endpoint, and the case that asks for some of them.

use std::fmt::Write as _;

use serde_json::json;

use super::{Form, address};

/// A node that holds `services` in `form`, and a SYN to each of `ask`.
pub(super) fn case(form: Form, services: u32, ask: &[u32]) -> String {
    let (run, rules) = match form {
        Form::NftList => ("nft -f -", nft_list(services)),
        Form::NftMap => ("nft -f -", nft_map(services)),
        Form::Iptables | Form::Ipvs => ("iptables-restore", iptables(services)),
    };
    let packets: Vec<_> = ask
        .iter()
        .map(|number| {
            json!({
                "in": "cni0", "src": "10.244.1.5", "dst": address(*number).to_string(), "proto": "tcp",
                "sport": 40_000, "dport": 80, "flags": "S",
            })
        })
        .collect();
    json!({
        "format": "chainwalk.replay/1",
        "node": {
            "interfaces": [
                { "name": "cni0", "addresses": ["10.244.1.1/24"] },
                { "name": "eth0", "addresses": ["172.18.0.2/16"] },
            ],
            "routes": [{ "to": "0.0.0.0/0", "via": "172.18.0.1", "dev": "eth0" }],
            "sysctls": { "net.ipv4.ip_forward": "1" },
            "setup": [{ "run": run, "stdin": rules }],
        },
        "packets": packets,
    })
    .to_string()
}

/// A chain of one rule a Service, in the shape that kube-proxy writes.
fn iptables(services: u32) -> String {
    let mut text = "*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n".to_owned();
    let mut rules = "-A PREROUTING -j KUBE-SERVICES\n".to_owned();
    for number in 1..=services {
        _ = writeln!(text, ":KUBE-SVC-{number:05} - [0:0]");
        let to = address(number);
        _ = writeln!(rules, "-A KUBE-SERVICES -d {to}/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-{number:05}");
    }
    for number in 1..=services {
        _ = writeln!(
            rules,
            "-A KUBE-SVC-{number:05} -p tcp -m tcp -j DNAT --to-destination 10.244.2.11:8080"
        );
    }
    text + &rules + "COMMIT\n"
}

const NFT_HEAD: &str = "\tchain nat-prerouting {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n\
    \t\tjump services\n\t}\n";

/// The same list in nftables.
fn nft_list(services: u32) -> String {
    let mut text = "table ip kube-proxy {\n".to_owned() + &nft_services(services);
    text.push_str("\tchain services {\n");
    for number in 1..=services {
        let to = address(number);
        _ = writeln!(text, "\t\tip daddr {to} tcp dport 80 goto service-{number:05}");
    }
    text + "\t}\n" + NFT_HEAD + "}\n"
}

/// One rule and a verdict map, in the shape that kube-proxy writes.
fn nft_map(services: u32) -> String {
    let mut text = "table ip kube-proxy {\n".to_owned();
    text.push_str(
        "\tmap service-ips {\n\t\ttype ipv4_addr . inet_proto . inet_service : verdict\n\t\telements = {",
    );
    for number in 1..=services {
        let comma = if number == 1 { "" } else { "," };
        _ = write!(text, "{comma}\n\t\t\t{} . tcp . 80 : goto service-{number:05}", address(number));
    }
    text.push_str("\n\t\t}\n\t}\n");
    text.push_str(&nft_services(services));
    text + "\tchain services {\n\t\tip daddr . meta l4proto . th dport vmap @service-ips\n\t}\n"
        + NFT_HEAD
        + "}\n"
}

/// A chain a Service.
fn nft_services(services: u32) -> String {
    let mut text = String::new();
    for number in 1..=services {
        _ = writeln!(
            text,
            "\tchain service-{number:05} {{\n\t\tmeta l4proto tcp dnat to 10.244.2.11:8080\n\t}}"
        );
    }
    text
}
