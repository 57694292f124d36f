//! The recorded flows: which endpoints a packet may reach, whether it is refused, whether its source changes.
//! Here they go through the engine, on a node that holds what our proxy wrote.
//!
//! kube-proxy's own tracer reads rules; it knows no routes, devices or connections. The node below adds them so
//! that they decide nothing: pods behind one device, the rest of the world behind another.

use std::collections::BTreeSet;
use std::net::IpAddr;

use chainwalk_engine::replay::{self, EmittedReport, Options, PacketReport};
use serde_json::{Value, json};

use crate::peer::{Case, Flow};

/// Packets sent for one flow, each a connection of its own; the chance to miss one of three equal endpoints is
/// three in ten million.
const PACKETS: u16 = 40;

/// The command and its standard input that load a part of a ruleset.
pub(crate) type Setup = (String, String);

/// Runs the flows of a case; an entry for each that went otherwise than recorded.
///
/// # Errors
/// What the engine says when it cannot load the rules.
pub(crate) fn run(case: &Case, setup: &[Setup]) -> Result<Vec<String>, String> {
    let sent: Vec<Value> =
        case.flows.iter().enumerate().flat_map(|(i, flow)| packets(case, i, flow)).collect();
    let text = json!({
        "format": replay::FORMAT,
        "node": node(case, setup),
        "packets": sent,
    });
    let parsed = replay::parse(&text.to_string()).expect("the case is well formed");
    let report = replay::run(&parsed, &Options::default()).map_err(|error| error.to_string())?;
    let of = |index: usize| {
        let first = index * usize::from(PACKETS);
        &report.packets[first..first + usize::from(PACKETS)]
    };
    let complaint = |(index, flow): (usize, &Flow)| {
        let why = judge(flow, of(index), index).err()?;
        Some(format!(
            "{}: {} ({} > {}:{}): {why}",
            case.id, flow.name, flow.source_ip, flow.dest_ip, flow.dest_port
        ))
    };
    Ok(case.flows.iter().enumerate().filter_map(complaint).collect())
}

fn node(case: &Case, setup: &[Setup]) -> Value {
    let node_ips: Vec<String> =
        case.node_ips.iter().map(|ip| format!("{ip}/{}", if ip.contains(':') { 64 } else { 24 })).collect();
    let setup: Vec<Value> = setup.iter().map(|(run, stdin)| json!({"run": run, "stdin": stdin})).collect();
    let localhost = case.config.as_ref().is_some_and(|config| config.localhost_node_ports);
    json!({
        "interfaces": [
            {"name": "ext", "addresses": node_ips},
            {"name": "pods", "addresses": ["10.255.255.1/32", "fd00:ffff::1/128"]},
        ],
        "routes": [
            {"to": "10.0.0.0/8", "dev": "pods"},
            {"to": "fd00::/8", "dev": "pods"},
            {"to": "0.0.0.0/0", "dev": "ext"},
            {"to": "::/0", "dev": "ext"},
        ],
        "sysctls": {
            "net.ipv4.ip_forward": "1",
            "net.ipv6.conf.all.forwarding": "1",
            "net.ipv4.conf.all.route_localnet": if localhost { "1" } else { "0" },
        },
        "setup": setup,
    })
}

/// The source port of the first packet of a flow.
fn first_port(index: usize) -> u16 {
    20_000 + u16::try_from(index).expect("few flows") * PACKETS
}

fn packets(case: &Case, index: usize, flow: &Flow) -> Vec<Value> {
    let source: IpAddr = flow.source_ip.parse().expect("an address");
    let is_pod = match source {
        IpAddr::V4(addr) => addr.octets()[0] == 10,
        IpAddr::V6(addr) => addr.octets()[0] == 0xfd,
    };
    let input = match () {
        () if source.is_loopback() || case.node_ips.contains(&flow.source_ip) => "local",
        () if is_pod => "pods",
        () => "ext",
    };
    let packet = |sport| {
        let mut packet = json!({
            "at_ms": 0, "in": input, "src": flow.source_ip, "dst": flow.dest_ip, "proto": flow.protocol,
            "sport": sport, "dport": flow.dest_port,
        });
        if flow.protocol == "tcp" {
            packet["flags"] = "S".into();
        }
        packet
    };
    (first_port(index)..).take(usize::from(PACKETS)).map(packet).collect()
}

/// Compares what became of a flow's packets with what is recorded.
fn judge(flow: &Flow, reports: &[PacketReport], index: usize) -> Result<(), String> {
    let verdicts: BTreeSet<&str> = reports.iter().map(|report| report.verdict).collect();
    let reason = || reports.first().map_or("", |report| report.reason.as_str()).to_owned();
    let all = |wanted: &str| {
        if verdicts.iter().all(|verdict| *verdict == wanted) {
            Ok(())
        } else {
            Err(format!("{verdicts:?} instead of {wanted}: {}", reason()))
        }
    };
    match flow.output.as_str() {
        "REJECT" => all("rejected"),
        "DROP" => all("dropped"),
        // No rule of kube-proxy decided, or one let it pass: it goes where the routes say, untouched.
        "" | "ACCEPT" => {
            let untouched = |e: &EmittedReport| e.src == flow.source_ip && e.dst == flow.dest_ip;
            let passed = |report: &PacketReport| match report.verdict {
                "delivered" => true,
                "forwarded" => report.emitted.iter().all(untouched),
                _ => false,
            };
            if reports.iter().all(passed) { Ok(()) } else { Err(format!("{verdicts:?}: {}", reason())) }
        }
        endpoints => {
            all("forwarded")?;
            let wanted: BTreeSet<String> = endpoints.split(", ").map(str::to_owned).collect();
            let found: BTreeSet<String> =
                reports.iter().flat_map(|report| report.emitted.iter().map(address)).collect();
            if wanted != found {
                return Err(format!("went to {found:?} instead of {wanted:?}"));
            }
            // A masqueraded packet gets another source port, too, so it shows even where the address stays.
            let masqueraded = (first_port(index)..).zip(reports).all(|(sport, report)| {
                report.emitted.iter().all(|e| e.src != flow.source_ip || e.sport != Some(sport))
            });
            let untouched = (first_port(index)..).zip(reports).all(|(sport, report)| {
                report.emitted.iter().all(|e| e.src == flow.source_ip && e.sport == Some(sport))
            });
            match (flow.masq, masqueraded, untouched) {
                (true, true, _) | (false, _, true) => Ok(()),
                _ => Err(format!("masquerade is not {}", flow.masq)),
            }
        }
    }
}

/// `ip:port`, IPv6 in brackets.
fn address(emitted: &EmittedReport) -> String {
    let port = emitted.dport.unwrap_or(0);
    if emitted.dst.contains(':') {
        format!("[{}]:{port}", emitted.dst)
    } else {
        format!("{}:{port}", emitted.dst)
    }
}
