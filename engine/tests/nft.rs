//! nftables rulesets as people have them: what kube-proxy writes carries packets to endpoints, and public rulesets give the
//! answers measured on Linux 6.18 (`../shared/peer/dumps/README.md`, not part of the project: without it those tests
//! say so and pass).

#![cfg(feature = "manifest")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::PathBuf;

use chainwalk_engine::base::{Instant, KernelVersion};
use chainwalk_engine::cluster::manifest;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::{Changes, Config, Tracker, nftables};
use chainwalk_engine::replay::report::verdict;
use chainwalk_engine::replay::{Facts, Session, line, render, show};
use chainwalk_engine::trace::Level;

struct Node {
    session: Session,
    facts: Facts,
}

impl Node {
    fn new(text: &str, addresses: &[&str], routes: &[&str]) -> Self {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let mut session = Session::new(Vec::new(), KernelVersion::default(), 1);
        session.load_nft(text).expect("nft takes it");
        Self {
            session,
            facts: Facts { addresses: owned(addresses), routes: owned(routes), ..Facts::default() },
        }
    }

    /// Sends packets (`MS PACKET`, or a packet at once) through a fresh node; what became of the last:
    /// its verdict, and the destination of what left.
    fn fate(&mut self, packets: &[&str]) -> String {
        for (at, packet) in packets.iter().enumerate() {
            let (ms, text) = match packet.split_once("ms ") {
                Some((ms, text)) => (ms.parse().expect("milliseconds"), text),
                None => (0, *packet),
            };
            let mut spec = line::parse(text).expect("a packet");
            spec.at_ms = ms;
            if at == 0 {
                self.session.start(spec, &self.facts, Level::Full).expect("it can be sent");
            } else {
                self.session.send(spec, Level::Full).expect("it can be sent");
            }
        }
        let ran = &self.session.sent().last().expect("something was sent").ran;
        let word = if ran.certain() { verdict(&ran.end.disposition) } else { "uncertain" };
        match ran.emitted.first() {
            Some(out) => {
                let port = out.packet.ports().map_or(String::new(), |p| format!(":{}", p.1));
                format!("{word} {}{port}", out.packet.ip.dst)
            }
            None => word.to_owned(),
        }
    }

    fn listing(&self) -> String {
        show(self.session.netns(), "nft list ruleset").expect("nft lists")
    }
}

const MANIFEST: &str = "kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.10.20, ports: [{name: http, port: 80}]}
---
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.244.1.10], nodeName: node-a}, {addresses: [10.244.2.11], nodeName: node-b}]
";

#[test]
fn what_kube_proxy_writes_carries_a_packet_to_an_endpoint() {
    let objects = manifest::parse(MANIFEST).expect("the manifest is fine");
    let config = Config::new(Family::V4, "node-a", [172, 18, 0, 2].into());
    let mut tracker = Tracker::new(config.family, &config.node_name);
    objects.services.iter().for_each(|service| tracker.set_service(service));
    objects.slices.into_iter().for_each(|slice| tracker.set_slice(slice));
    let changes = Changes::Everything;
    let sync =
        nftables::Proxier::new(config).sync(tracker.services(), tracker.endpoints(), &changes, Instant::ZERO);
    let mut node = Node::new(
        &sync.text(),
        &["eth0=172.18.0.2/16", "cni0=10.244.1.1/24"],
        &["10.244.2.0/24=172.18.0.3@eth0", "default=172.18.0.1@eth0"],
    );
    let fate = node.fate(&["tcp 10.244.1.5:40000 > 10.96.10.20:80 in cni0"]);
    assert!(matches!(fate.as_str(), "forwarded 10.244.1.10:8080" | "forwarded 10.244.2.11:8080"), "{fate}");
    // A port without a service is refused, an address without one is dropped or refused.
    assert_eq!(node.fate(&["tcp 10.244.1.5:40000 > 10.96.10.20:81 in cni0"]), "rejected 10.244.1.5");
    let told = render::sent(node.session.netns(), &node.session.sent()[0]);
    assert!(told.contains("ip kube-proxy"), "{told}");
}

#[test]
fn what_is_not_emulated_makes_the_verdict_uncertain() {
    let text = "table ip t { chain f { type filter hook forward priority 0; meta cgroup 5 drop; }\n}\n";
    let mut node = Node::new(text, &["c0=10.1.0.1/24", "s0=10.2.0.1/24"], &[]);
    assert_eq!(node.fate(&["udp 10.1.0.2:1 > 10.2.0.2:53 in c0"]), "uncertain 10.2.0.2:53");
}

fn dump(file: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer/dumps/nft").join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(_) => {
            eprintln!("skipped: {} is absent", path.display());
            None
        }
    }
}

#[test]
fn router_06_gives_the_measured_answers() {
    let Some(text) = dump("06-router-vmaps-dynamic-sets.nft") else { return };
    let mut node = Node::new(
        &text,
        &["eth0=11.0.0.2/24", "eth1=192.168.1.1/24", "eth2.10=192.168.3.1/24", "eth2.20=192.168.4.1/24"],
        &["default=11.0.0.1@eth0"],
    );
    let mut fate = |packet: &str| node.fate(&[packet]);
    assert_eq!(fate("tcp 192.168.1.20:4000 > 8.8.8.8:443 in eth1"), "forwarded 8.8.8.8:443");
    assert_eq!(fate("tcp 192.168.4.20:4000 > 8.8.8.8:443 in eth2.20"), "forwarded 8.8.8.8:443");
    for rejected in [
        "tcp 192.168.4.20:4000 > 192.168.1.20:443 in eth2.20",
        "tcp 192.168.3.20:4000 > 8.8.8.8:443 in eth2.10",
        "tcp 192.168.1.20:4000 > 192.168.3.20:443 in eth1",
    ] {
        assert!(fate(rejected).starts_with("rejected"), "{rejected}");
    }
    assert_eq!(fate("tcp 8.8.8.8:4000 > 11.0.0.2:22 in eth0"), "dropped");
    assert_eq!(fate("icmp 8.8.8.8 > 11.0.0.2 in eth0"), "dropped");
}

#[test]
fn maps_07_give_the_measured_answers() {
    let Some(text) = dump("07-nat-addr-port-maps.nft") else { return };
    let mut node = Node::new(&text, &["foobar=192.168.7.1/24", "s0=10.3.0.1/24"], &["default=10.3.0.2@s0"]);
    let mut fate = |packet: &str| node.fate(&[packet]);
    assert_eq!(fate("tcp 192.168.7.2:4000 > 9.9.9.9:80 in foobar"), "forwarded 10.1.1.1:4242");
    assert_eq!(fate("udp 192.168.7.2:4000 > 9.9.9.9:80 in foobar"), "forwarded 9.9.9.9:80");
    assert_eq!(fate("tcp 192.168.7.9:4000 > 9.9.9.9:80 in foobar"), "forwarded 9.9.9.9:80");
    assert_eq!(fate("tcp 10.1.1.2:4000 > 9.9.9.9:42 in foobar"), "forwarded 10.2.3.4:4242");
}

#[test]
fn port_knocking_08_gives_the_measured_answers() {
    let Some(text) = dump("08-port-knocking-dynset.nft") else { return };
    let mut node = Node::new(&text, &["eth0=10.1.0.1/24"], &[]);
    let at = |ms: u64, port: u16| format!("{ms}ms tcp 10.1.0.2:4000 > 10.1.0.1:{port} in eth0");
    let mut knock = |steps: &[(u64, u16)]| {
        let packets: Vec<String> = steps.iter().map(|(ms, port)| at(*ms, *port)).collect();
        node.fate(&packets.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let right = [(0, 10001), (100, 10002), (200, 10003), (300, 10004), (400, 10005), (500, 22)];
    assert_eq!(knock(&right), "delivered");
    let wrong = [(0, 10001), (100, 10003), (200, 10002), (300, 10004), (400, 10005), (500, 22)];
    assert!(knock(&wrong).starts_with("rejected"));
    let slow = [(0, 10001), (1300, 10002), (1400, 10003), (1500, 10004), (1600, 10005), (1700, 22)];
    assert!(knock(&slow).starts_with("rejected"));
}

#[test]
fn wildcard_names_13_give_the_measured_answers() {
    let Some(text) = dump("13-ifname-wildcard-sets.nft") else { return };
    let mut node = Node::new(&text, &["abcdef7=10.1.2.1/24"], &[]);
    node.fate(&["icmp 10.1.2.2 > 10.1.2.1 in abcdef7"]);
    let listing = node.listing();
    let hit = |rule: &str| {
        let line = listing.lines().find(|line| line.trim().starts_with(rule));
        line.unwrap_or_else(|| panic!("no rule {rule}")).contains("packets 1 ")
    };
    assert!(!hit("iifname @simple counter"));
    assert!(hit("iifname @simple_wild"));
    assert!(!hit("ip saddr . iifname @concat counter"));
    assert!(hit("ip saddr . iifname @concat_wild"));
}
