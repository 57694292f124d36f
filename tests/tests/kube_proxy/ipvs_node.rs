//! What IPVS mode programs, loaded into the engine's node: the tools take it, `ipvsadm -Sn` gives it back, and a
//! client of every virtual server reaches exactly its real servers.

use std::collections::BTreeSet;

use chainwalk_engine::cluster::objects::Protocol;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::ipvs::{self, IpSet, Proxier, Sync, Tool};
use chainwalk_engine::replay::{self, Options};
use serde_json::{Value, json};

/// Packets to each virtual server: enough for `rr` to pass every real one.
const PACKETS: u16 = 8;

/// The commands of a first sync, in order.
fn setup(proxier: &Proxier, sync: &Sync) -> Vec<Value> {
    let tool = if proxier.config.family == Family::V6 { "ip6tables" } else { "iptables" };
    let restore = |input: &str| json!({"run": format!("{tool}-restore --noflush"), "stdin": input});
    let line = |op: &ipvs::Op| match op.tool {
        Tool::Sysctl => json!({"run": format!("sysctl -w {}", op.text.replace(" = ", "="))}),
        Tool::Ip => json!({"run": format!("ip {}", op.text)}),
        Tool::Ipset => json!({"run": format!("ipset {}", op.text)}),
        Tool::Ipvsadm => json!({"run": "ipvsadm -R", "stdin": format!("{}\n", op.text)}),
    };
    let own = proxier.setup();
    let commands = own.iter().chain(&sync.ops).map(line);
    commands.chain([restore(&ipvs::jumps_text()), restore(&sync.input)]).collect()
}

/// Runs the node of a case after its first sync; an entry for each thing that is not as programmed. Also how many
/// virtual servers were asked.
pub(crate) fn run(proxier: &Proxier, sync: &Sync) -> (usize, Vec<String>) {
    let is_v6 = proxier.config.family == Family::V6;
    let (client, node_net) =
        if is_v6 { ("2001:db8:9::9", "2001:db8::1:1/64") } else { ("203.0.113.9", "100.101.102.103/24") };
    let node_ips: Vec<String> = proxier
        .config
        .node_addresses
        .iter()
        .filter(|ip| Family::of(ip) == proxier.config.family && !ip.is_loopback())
        .map(|ip| format!("{ip}/{}", if is_v6 { 64 } else { 24 }))
        .chain([node_net.to_owned()])
        .collect();
    // Some of kube-proxy's tests have a Service port 0, which neither the API server nor ipvsadm would take.
    if proxier.virtual_servers().any(|(key, ..)| key.port == 0) {
        return (0, Vec::new());
    }
    let servers: Vec<_> = proxier.virtual_servers().filter(|(key, ..)| !key.addr.is_loopback()).collect();
    let mut packets = Vec::new();
    for (index, (key, ..)) in servers.iter().enumerate() {
        for number in 0..PACKETS {
            let sport = 20_000 + PACKETS * u16::try_from(index).expect("few servers") + number;
            let mut packet = json!({
                "at_ms": 0, "in": "ext", "src": client, "dst": key.addr, "proto": key.protocol.name(),
                "sport": sport, "dport": key.port,
            });
            if key.protocol == Protocol::Tcp {
                packet["flags"] = "S".into();
            }
            packets.push(packet);
        }
    }
    let case = json!({
        "format": replay::FORMAT,
        "node": {
            "interfaces": [
                {"name": "ext", "addresses": node_ips},
                {"name": "pods", "addresses": ["10.255.255.1/32", "fd00:ffff::1/128"]},
            ],
            "routes": [
                {"to": "10.0.0.0/8", "dev": "pods"}, {"to": "2001::1/128", "dev": "pods"},
                {"to": "1000::/4", "dev": "pods"}, {"to": "0.0.0.0/0", "dev": "ext"}, {"to": "::/0", "dev": "ext"},
            ],
            "sysctls": {"net.ipv6.conf.all.forwarding": "1"},
            "setup": setup(proxier, sync),
        },
        "packets": packets,
        "show": ["ipvsadm -Sn"],
    });
    let parsed = replay::parse(&case.to_string()).expect("the case is well formed");
    let report = match replay::run(&parsed, &Options::default()) {
        Ok(report) => report,
        Err(error) => return (0, vec![error.to_string()]),
    };
    let mut wrong = Vec::new();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (shown, ours) = (lines(&report.show[0].1), lines(&proxier.servers_text()));
    if shown != ours {
        wrong.push(format!("ipvsadm -Sn: {shown:#?} instead of {ours:#?}"));
    }
    for ((key, server, real), reports) in servers.iter().zip(report.packets.chunks(usize::from(PACKETS))) {
        let found: BTreeSet<String> = reports
            .iter()
            .filter(|report| report.verdict == "forwarded")
            .flat_map(|report| &report.emitted)
            .map(|e| {
                let port = e.dport.unwrap_or(0);
                if is_v6 { format!("[{}]:{port}", e.dst) } else { format!("{}:{port}", e.dst) }
            })
            .collect();
        // The client is in nobody's source ranges: the packet is dropped before IPVS sees it.
        let entry = format!("{},{}:{}", key.addr, key.protocol.name(), key.port);
        let is_guarded =
            proxier.members().any(|(set, member)| set == IpSet::LoadBalancerFirewall && member == entry);
        let wanted: BTreeSet<String> = real.keys().filter(|_| !is_guarded).map(ToString::to_string).collect();
        // A client that sticks sees one of them.
        let sticks = server.persistent_seconds.is_some();
        if if sticks {
            found.len() != wanted.len().min(1) || !found.is_subset(&wanted)
        } else {
            found != wanted
        } {
            let reason = reports.first().map_or("", |report| report.reason.as_str());
            wrong.push(format!("{key}: went to {found:?} instead of {wanted:?}: {reason}"));
        }
    }
    (servers.len(), wrong)
}
