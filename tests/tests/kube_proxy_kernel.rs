//! What our proxy writes for random Services, loaded into this machine's kernel and into the engine: no error, the
//! same text read back, and the same packets going to the same places.
//!
//! Endpoints are drawn at random there and here, so a flow is many connections, and what is compared is the set of
//! places they went to.

#![expect(clippy::print_stdout, reason = "a test says what it skipped and how much it compared")]

#[path = "kube_proxy_kernel/cluster.rs"]
mod cluster;

use std::collections::BTreeSet;

use chainwalk_engine::base::Instant;
use chainwalk_engine::cluster::objects::Protocol;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::{Config, KubernetesVersion, LocalDetector, Mode, Tracker, iptables, nftables};
use chainwalk_tests::case::{Answer, CaseFile, Run};
use chainwalk_tests::replay::{Case, Interface, Node, Packet, Route, Setup, sysctls, text};
use chainwalk_tests::{emulator, kernel};
use cluster::{Cluster, From, Target, plan};

/// Random sets of Services for each tool (issue 4, acceptance 2).
const SETS: u64 = 50;
/// Connections a flow: the chance to miss one of three endpoints is three in ten million.
const CONNECTIONS: u16 = 40;

fn config(family: Family) -> Config {
    let plan = plan(family);
    Config {
        local_detector: LocalDetector::Cidr(plan.pod_net.to_owned()),
        service_cidrs: vec![plan.services.to_owned()],
        // kube-proxy leaves the counters out where it cannot create them, as here.
        nfacct_invalid: false,
        nfacct_localhost: false,
        ..Config::new(family, "node-a", plan.node_ip.parse().expect("an address"))
    }
}

fn tracker(cluster: &Cluster) -> Tracker {
    let mut tracker = Tracker::new(cluster.family, "node-a");
    feed(&mut tracker, cluster);
    tracker
}

/// Tells the tracker what the cluster holds now.
fn feed(tracker: &mut Tracker, cluster: &Cluster) {
    let names: BTreeSet<&str> = cluster.services.iter().map(|s| s.metadata.name.as_str()).collect();
    let known: BTreeSet<String> = tracker.services().keys().map(|name| name.name.clone()).collect();
    for gone in known.iter().filter(|name| !names.contains(name.as_str())) {
        tracker.delete_service("ns", gone);
        tracker.delete_slice("ns", &format!("{gone}-1"));
    }
    cluster.services.iter().for_each(|service| tracker.set_service(service));
    cluster.slices.iter().for_each(|slice| tracker.set_slice(slice.clone()));
}

fn setup(run: &str, stdin: String) -> Setup {
    Setup { run: run.to_owned(), stdin }
}

/// A full sync, then a partial one after something changed, as the commands that load them.
fn iptables_setup(cluster: &mut Cluster, seed: u64, tool: &str) -> Vec<Setup> {
    let mut tracker = tracker(cluster);
    let mut proxier = iptables::Proxier::new(config(cluster.family));
    let mut commands = vec![setup(&format!("{tool}-restore --noflush"), iptables::jumps_text())];
    for step in 0..2 {
        let now = Instant::from_millis(step * 2_000);
        let changes = tracker.changes(now, true);
        let sync = proxier.sync(tracker.services(), tracker.endpoints(), &changes, now);
        proxier.applied(&sync);
        tracker.synced(&changes, true, now);
        commands.push(setup(&format!("{tool}-restore --noflush --counters"), sync.input));
        if step == 0 {
            cluster.mutate(seed);
            feed(&mut tracker, cluster);
        }
    }
    commands
}

/// The same for nftables mode; what an earlier sync emptied is deleted in a transaction of its own.
fn nft_setup(cluster: &mut Cluster, seed: u64, kubernetes: KubernetesVersion) -> Vec<Setup> {
    let mut tracker = tracker(cluster);
    let mut config = Config { kubernetes, ..config(cluster.family) };
    config.node_port_addresses = config.default_node_port_addresses(Mode::Nftables);
    let mut proxier = nftables::Proxier::new(config);
    let mut commands = Vec::new();
    for step in 0..3 {
        let now = Instant::from_millis(step * 2_000);
        let changes = tracker.changes(now, true);
        let sync = proxier.sync(tracker.services(), tracker.endpoints(), &changes, now);
        proxier.applied(&sync);
        tracker.synced(&changes, true, now);
        let cleanup: String = sync.cleanup.iter().map(|op| op.text.clone() + "\n").collect();
        commands.extend([cleanup, sync.text()].into_iter().filter(|text| !text.is_empty()));
        if step == 0 {
            cluster.mutate(seed);
            feed(&mut tracker, cluster);
        }
    }
    commands.into_iter().map(|text| setup("nft -f -", text)).collect()
}

/// A flow: one source, one target, many connections.
struct Flow {
    what: String,
    /// A port that the Service does not have: the modes differ there.
    is_stray: bool,
    /// From the node to an address outside the cluster, which iptables mode refuses only to others: its
    /// KUBE-EXTERNAL-SERVICES has no jump from OUTPUT.
    escapes: bool,
    packets: Vec<Packet>,
}

fn flows(cluster: &Cluster) -> Vec<Flow> {
    let plan = plan(cluster.family);
    let mut port = 20_000_u16;
    let mut out = Vec::new();
    for target in cluster.targets() {
        for from in [From::Pod, From::World, From::Stranger, From::Node] {
            // Who is inside the source ranges matters only to load balancers.
            if from == From::Stranger && !target.what.ends_with("load balancer") {
                continue;
            }
            let connections = match target.endpoints {
                _ if target.sticky && from == From::Node => 1,
                0 | 1 => 2,
                _ => CONNECTIONS,
            };
            let packets = (0..connections)
                .map(|number| {
                    port = if port == 29_999 { 20_000 } else { port + 1 };
                    packet(&target, from, &plan.source(from, number), port)
                })
                .collect();
            let is_stray = target.what.contains("no such port");
            let is_outside = target.what.ends_with("external IP") || target.what.ends_with("load balancer");
            let escapes = from == From::Node && is_outside;
            out.push(Flow { what: format!("{from:?} to {}", target.what), is_stray, escapes, packets });
        }
    }
    out
}

fn packet(target: &Target, from: From, source: &str, sport: u16) -> Packet {
    let input = match from {
        From::Pod => "pods",
        From::World | From::Stranger => "ext",
        From::Node => "local",
    };
    Packet {
        input: input.to_owned(),
        src: source.parse().ok(),
        dst: Some(target.addr),
        proto: Some(text(target.protocol.name())),
        sport: Some(sport),
        dport: Some(target.port),
        flags: (target.protocol == Protocol::Tcp).then(|| "S".to_owned()),
        ..Packet::default()
    }
}

fn node(family: Family, setup: Vec<Setup>) -> Node {
    let plan = plan(family);
    let interface = |name: &str, mac: &str, address: &str| Interface {
        name: name.to_owned(),
        mac: Some(mac.to_owned()),
        addresses: vec![address.to_owned()],
        ..Interface::default()
    };
    let route =
        |to: &str, dev: &str| Route { to: to.to_owned(), dev: Some(dev.to_owned()), ..Route::default() };
    let default = match family {
        Family::V4 => "0.0.0.0/0",
        Family::V6 => "::/0",
    };
    Node {
        interfaces: vec![
            interface("ext", "02:00:00:00:01:01", plan.node_net),
            interface("pods", "02:00:00:00:02:01", plan.pod_gateway),
        ],
        routes: vec![route(plan.pod_net, "pods"), route(default, "ext")],
        sysctls: sysctls(&[
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv6.conf.all.forwarding", "1"),
            // A kernel sends its refusals over real time, the engine all at once: no limit on either.
            ("net.ipv4.icmp_ratelimit", "0"),
            ("net.ipv6.icmp.ratelimit", "0"),
            ("net.ipv4.icmp_msgs_per_sec", "1000000"),
            ("net.ipv4.icmp_msgs_burst", "1000000"),
        ]),
        setup,
        ..Node::default()
    }
}

/// Where the connections of a flow went: one line a kind of answer.
fn places(flow: &Flow, answers: &[Answer]) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    let mut is_port_kept = true;
    for (sent, answer) in flow.packets.iter().zip(answers) {
        let client = sent.src.map(|src| src.to_string()).unwrap_or_default();
        if answer.emitted.is_empty() {
            // A refusal to the node itself goes through lo, where the kernel counts it as delivered.
            let delivered = answer.delivered && sent.input != "local";
            places.insert(format!("nothing left, delivered {delivered}"));
        }
        for seen in &answer.emitted {
            let is_answer = seen.dst == client;
            let to = match flow.packets.len() {
                _ if is_answer => "the client".to_owned(),
                // A single draw may fall on any endpoint.
                1 => "an endpoint".to_owned(),
                _ => format!("{}:{:?}", seen.dst, seen.dport),
            };
            let source = if is_answer || seen.src == client { "kept" } else { &seen.src };
            // A port drawn at random may be the same by chance; not in a whole flow.
            is_port_kept &= is_answer || seen.sport == sent.sport;
            places.insert(format!(
                "{} to {to} on {}, source {source}, icmp {:?} {:?}, flags {:?}",
                seen.proto, seen.dev, seen.icmp_type, seen.icmp_code, seen.flags
            ));
        }
    }
    places.insert(format!("source port kept: {is_port_kept}"));
    places
}

/// Whether the arms differ as nftables mode (there) and iptables mode (here) do: refused there, out of the door here.
fn is_escape(flow: &Flow, there: &BTreeSet<String>, here: &BTreeSet<String>) -> bool {
    flow.escapes
        && there
            .iter()
            .all(|place| place.starts_with("nothing left") || place.starts_with("source port kept"))
        && here.iter().any(|place| place.contains("on ext, source kept"))
}

/// Differences between two runs of the same flows.
fn compare(flows: &[Flow], theirs: &Run, ours: &Run, same_mode: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut first = 0;
    for flow in flows {
        let range = first..first + flow.packets.len();
        first = range.end;
        let (there, here) = (
            places(flow, theirs.packets.get(range.clone()).unwrap_or_default()),
            places(flow, ours.packets.get(range).unwrap_or_default()),
        );
        if there != here && (same_mode || !is_escape(flow, &there, &here)) {
            found.push(format!("{}\n  kernel {there:#?}\n  engine {here:#?}", flow.what));
        }
    }
    for (command, text) in &theirs.show {
        let read = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let ours = ours.show.get(command).map(String::as_str).unwrap_or_default();
        if read(text) != read(ours) {
            found.push(format!("{command}\n  kernel\n{text}\n  engine\n{ours}"));
        }
    }
    found
}

/// A case that loads `setup` and sends every packet of `flows`.
fn case(family: Family, seed: u64, setup: Vec<Setup>, flows: &[Flow], show: &[String]) -> CaseFile {
    let case = Case {
        format: chainwalk_engine::replay::FORMAT.to_owned(),
        seed,
        node: node(family, setup),
        packets: flows.iter().flat_map(|flow| flow.packets.clone()).collect(),
        draws: Vec::new(),
        show: show.to_vec(),
    };
    CaseFile { purpose: format!("random Services {seed}"), case, links: Vec::new(), recorded: None }
}

/// Loads and runs every random set with `tool` there and here.
fn agree(tool: &str, family: Family, sets: u64) {
    if let Some(reason) = kernel::unavailable() {
        println!("skipped: {reason}");
        return;
    }
    let (mut packets, mut wrong) = (0, Vec::new());
    for seed in 0..sets {
        let mut cluster = Cluster::random(seed, family);
        let setup = iptables_setup(&mut cluster, seed, tool);
        let flows = flows(&cluster);
        let file = case(family, seed, setup, &flows, &[format!("{tool}-save")]);
        packets += file.case.packets.len();
        let theirs =
            kernel::run(&file).unwrap_or_else(|error| panic!("{tool}, set {seed}: the kernel: {error}"));
        let ours =
            emulator::run(&file).unwrap_or_else(|error| panic!("{tool}, set {seed}: the engine: {error}"));
        let found = compare(&flows, &theirs, &ours, true);
        wrong.extend(found.into_iter().map(|found| format!("{tool}, set {seed}: {found}")));
    }
    println!("{tool}: {sets} random sets of Services, {packets} packets, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The kernel takes the transactions of nftables mode, lists them as the engine does, and carries packets as they do
/// here, and as the rules of iptables mode do: the modes differ only in ports that a Service does not have, and in what
/// the node itself may reach.
fn nftables_agree(kubernetes: KubernetesVersion, family: Family, sets: u64) {
    if let Some(reason) = kernel::unavailable() {
        println!("skipped: {reason}");
        return;
    }
    let (mut packets, mut wrong) = (0, Vec::new());
    for seed in 0..sets {
        let mut cluster = Cluster::random(seed, family);
        let tool = if family == Family::V4 { "iptables-nft" } else { "ip6tables-nft" };
        let reference = iptables_setup(&mut cluster.clone(), seed, tool);
        let nft = nft_setup(&mut cluster, seed, kubernetes);
        let there = |file: &CaseFile| {
            kernel::run(file)
                .unwrap_or_else(|error| panic!("{kubernetes:?}, set {seed}: the kernel: {error}"))
        };
        let here = |file: &CaseFile| {
            emulator::run(file)
                .unwrap_or_else(|error| panic!("{kubernetes:?}, set {seed}: the engine: {error}"))
        };
        let listed = case(family, seed, nft.clone(), &[], &["nft list ruleset".to_owned()]);
        let found = chainwalk_tests::compare::runs(&listed, &there(&listed), &here(&listed));
        wrong.extend(found.iter().map(|found| format!("{kubernetes:?}, set {seed}, read back: {found}")));
        let mut flows = flows(&cluster);
        flows.retain(|flow| !flow.is_stray);
        let loaded = case(family, seed, nft, &flows, &[]);
        packets += loaded.case.packets.len();
        let theirs = there(&loaded);
        let mut found = compare(&flows, &theirs, &here(&loaded), true);
        found.extend(compare(&flows, &theirs, &here(&case(family, seed, reference, &flows, &[])), false));
        wrong.extend(found.into_iter().map(|found| format!("{kubernetes:?}, set {seed}: {found}")));
    }
    println!(
        "nftables {kubernetes:?} {family:?}: {sets} random sets of Services, {packets} packets, {} differences",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_kernel_takes_nftables_mode_and_carries_it_like_iptables_mode() {
    nftables_agree(KubernetesVersion::V1_36, Family::V4, SETS);
}

#[test]
fn the_kernel_takes_nftables_mode_of_1_35() {
    nftables_agree(KubernetesVersion::V1_35, Family::V4, SETS / 5);
}

#[test]
fn the_kernel_takes_nftables_mode_of_ipv6() {
    nftables_agree(KubernetesVersion::V1_36, Family::V6, SETS / 5);
}

#[test]
fn the_kernel_takes_nftables_mode_of_ipv6_and_1_35() {
    nftables_agree(KubernetesVersion::V1_35, Family::V6, SETS / 5);
}

#[test]
fn iptables_legacy_takes_and_carries_it_as_we_say() {
    agree("iptables-legacy", Family::V4, SETS);
}

#[test]
fn iptables_nft_takes_and_carries_it_as_we_say() {
    agree("iptables-nft", Family::V4, SETS);
}

#[test]
fn ip6tables_takes_and_carries_it_as_we_say() {
    agree("ip6tables-nft", Family::V6, SETS / 5);
}
