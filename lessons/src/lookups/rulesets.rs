//! Nodes that hold many Services, each in one form. What is not needed to find a Service and a pod is left out.

use std::fmt::Write as _;

use chainwalk_engine::netns::Netns;
use chainwalk_engine::replay;
use serde_json::{Value, json};

use super::{Form, address, nft};

/// A node that holds `services` in `form`, with `endpoints` pods behind each, and a SYN from one of its pods to each
/// Service of `ask`.
pub(super) fn node(
    form: Form,
    services: u32,
    endpoints: u32,
    ask: &[u32],
) -> Result<(Netns, Vec<replay::PacketSpec>), String> {
    let setup = match form {
        Form::Iptables | Form::Ipvs => {
            json!([{ "run": "iptables-restore", "stdin": iptables(services, endpoints) }])
        }
        Form::NftList | Form::NftMap => json!([]),
    };
    let case = replay::parse(&case(&setup, ask)).map_err(|error| error.to_string())?;
    let mut node = replay::node(&case.node, case.seed).map_err(|error| error.to_string())?;
    if matches!(form, Form::NftList | Form::NftMap) {
        node.set_nft(nft::ruleset(form, services, endpoints)?);
    }
    Ok((node, case.packets))
}

fn case(setup: &Value, ask: &[u32]) -> String {
    let syn = |number: &u32| {
        json!({
            "in": "cni0", "src": "10.244.1.5", "dst": address(*number).to_string(), "proto": "tcp",
            "sport": 40_000, "dport": 80, "flags": "S",
        })
    };
    json!({
        "format": "chainwalk.replay/1",
        "node": {
            "interfaces": [
                { "name": "cni0", "addresses": ["10.244.1.1/24"] },
                { "name": "eth0", "addresses": ["172.18.0.2/16"] },
            ],
            "routes": [{ "to": "0.0.0.0/0", "via": "172.18.0.1", "dev": "eth0" }],
            "sysctls": { "net.ipv4.ip_forward": "1" },
            "setup": setup,
        },
        "packets": ask.iter().map(syn).collect::<Vec<_>>(),
    })
    .to_string()
}

/// A chain of one rule a Service, and a chain a Service with one rule a pod, in the shape that kube-proxy writes.
fn iptables(services: u32, endpoints: u32) -> String {
    let mut text = "*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n".to_owned();
    let mut rules = "-A PREROUTING -j KUBE-SERVICES\n".to_owned();
    for number in 1..=services {
        _ = writeln!(text, ":KUBE-SVC-{number:05} - [0:0]");
        let to = address(number);
        _ = writeln!(rules, "-A KUBE-SERVICES -d {to}/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-{number:05}");
    }
    for number in 1..=services {
        for pod in 1..=endpoints {
            let draw = match endpoints - pod + 1 {
                1 => String::new(),
                left => format!("-m statistic --mode random --probability {:.10} ", 1.0 / f64::from(left)),
            };
            let endpoint = format!("KUBE-SEP-{number:05}-{pod}");
            _ = writeln!(text, ":{endpoint} - [0:0]");
            _ = writeln!(rules, "-A KUBE-SVC-{number:05} {draw}-j {endpoint}");
            _ = writeln!(
                rules,
                "-A {endpoint} -p tcp -m tcp -j DNAT --to-destination 10.244.2.{}:8080",
                pod + 9
            );
        }
    }
    text + &rules + "COMMIT\n"
}
