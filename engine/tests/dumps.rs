//! Public rulesets with answers measured on Linux 6.18 (`../shared/peer/dumps/README.md`, which is not part of the
//! project: without it these tests say so and pass).

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::PathBuf;

use chainwalk_engine::base::KernelVersion;
use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::netns::Ran;
use chainwalk_engine::packet::{CtInfo, Packet};
use chainwalk_engine::replay::report::{EmittedReport, verdict};
use chainwalk_engine::replay::{Facts, Session, line};
use chainwalk_engine::text::xt::{ParseOptions, parse, rule_text};
use chainwalk_engine::trace::{Level, TraceKind};

fn folder() -> Option<PathBuf> {
    let dumps = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer/dumps/iptables-save");
    if dumps.is_dir() {
        return Some(dumps);
    }
    eprintln!("skipped: {} is absent", dumps.display());
    None
}

/// A dump loaded into a node with these addresses (`DEV=ADDRESS/LEN`) and routes (`PREFIX=GATEWAY@DEV`).
struct Dump {
    session: Session,
    facts: Facts,
}

impl Dump {
    fn load(file: &str, addresses: &[&str], routes: &[&str]) -> Option<Self> {
        let text = std::fs::read_to_string(folder()?.join(file)).expect("a dump of the list");
        let options = ParseOptions { flavour: Some(Flavour::Legacy), ..ParseOptions::default() };
        let (ruleset, _) = parse(&text, &options);
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        Some(Self {
            session: Session::new(vec![ruleset], KernelVersion::default(), 1),
            facts: Facts { addresses: owned(addresses), routes: owned(routes), ..Facts::default() },
        })
    }

    /// Sends packets one after the other through a fresh node and tells the fate of the last.
    #[track_caller]
    fn expect(&mut self, packets: &[&str], wanted: &str) {
        let mut lines = packets.iter().map(|l| line::parse(l).expect(l));
        let first = lines.next().expect("a packet");
        let notes =
            self.session.start(first, &self.facts, Level::Matched).expect("a packet that can be sent");
        assert_eq!(notes, []);
        for spec in lines {
            self.session.send(spec, Level::Matched).expect("a packet that can be sent");
        }
        let sent = self.session.sent().last().expect("something was sent");
        assert_eq!(summary(&sent.ran), wanted, "{packets:?}: {}", sent.ran.end.because);
    }
}

impl Dump {
    /// The last rule that matched the last packet, as iptables-save prints it.
    fn decided_by(&self) -> String {
        let events = &self.session.sent().last().expect("something was sent").ran.trace.events;
        let matched = |kind: &TraceKind| match kind {
            TraceKind::Rule { rule, matched: Some(true), .. } => Some(*rule),
            _ => None,
        };
        let rule = events.iter().rev().find_map(|event| matched(&event.kind)).expect("a rule matched");
        let table = &self.session.netns().tables()[usize::from(rule.table)].table;
        let chain = &table.chains[rule.chain as usize];
        let (front, back) = rule_text(table, &chain.rules[rule.index as usize]);
        format!("{} {front} {back}", chain.name)
    }

    /// The kernel log lines of the last packet that begin with `prefix`.
    fn logged(&self, prefix: &str) -> usize {
        let events = &self.session.sent().last().expect("something was sent").ran.trace.events;
        let of = |kind: &TraceKind| matches!(kind, TraceKind::Note { text } if text.contains(prefix));
        events.iter().filter(|event| of(&event.kind)).count()
    }

    /// The node's connections, as `conntrack -L` lists them.
    fn connections(&self) -> String {
        let netns = self.session.netns();
        chainwalk_engine::text::conntrack::show(&netns.ct, netns.now, &["-L"]).stdout
    }
}

/// `forwarded 10.0.0.1:40000 > 8.8.8.8:80`, `rejected 3/10`, `rejected RST from 10.0.0.1:80`, `dropped`.
fn summary(ran: &Ran) -> String {
    let word = if ran.certain() { verdict(&ran.end.disposition) } else { "uncertain" };
    let point = |addr: &str, port: Option<u16>| match port {
        Some(port) => format!("{addr}:{port}"),
        None => addr.to_owned(),
    };
    let text = |packet: &Packet| {
        let shown = EmittedReport::of(packet);
        match (shown.icmp_type, shown.icmp_code, shown.flags.as_deref()) {
            (Some(kind), Some(code), _) if shown.quoted.is_some() => format!("{kind}/{code}"),
            (_, _, Some("R" | "RA")) => format!("RST from {}", point(&shown.src, shown.sport)),
            _ => format!("{} > {}", point(&shown.src, shown.sport), point(&shown.dst, shown.dport)),
        }
    };
    let out: Vec<String> = ran.emitted.iter().map(|e| text(&e.packet)).collect();
    [&[word.to_owned()], &out[..]].concat().join(" ")
}

#[test]
fn firewalld_of_fedora_27() {
    let Some(mut dump) =
        Dump::load("06-fedora27-firewalld.txt", &["ens3=10.0.0.1/24", "virbr0=192.168.122.1/24"], &[])
    else {
        return;
    };
    for (port, fate) in [
        (22, "delivered"),
        (1025, "delivered"),
        (8080, "delivered"),
        (80, "rejected 3/10"),
        (1024, "rejected 3/10"),
    ] {
        dump.expect(&[&format!("tcp 10.0.0.9:40000 > 10.0.0.1:{port} in ens3")], fate);
    }
    // The guest was masqueraded when this was measured; the dump has no nat table, so here it is not.
    dump.facts.routes = vec!["default=10.0.0.254@ens3".to_owned()];
    dump.expect(
        &["tcp 192.168.122.9:40000 > 8.8.8.8:80 in virbr0"],
        "forwarded 192.168.122.9:40000 > 8.8.8.8:80",
    );
    dump.expect(&["tcp 8.8.8.8:40000 > 192.168.122.9:80 in ens3"], "rejected 3/3");
}

#[test]
fn home_router_with_vlans() {
    let addresses = ["eth1=11.0.0.2/24", "eth0.10=192.168.10.1/24", "eth0.11=192.168.11.1/24"];
    let Some(mut dump) =
        Dump::load("10-home-router-vlan-recent-ct.txt", &addresses, &["default=11.0.0.254@eth1"])
    else {
        return;
    };
    dump.expect(&["tcp 8.8.8.8:40000 > 11.0.0.2:24562 in eth1"], "dropped");
    let end = &dump.session.sent()[0].ran.end;
    assert_eq!(end.because, "dropped by the policy of filter FORWARD");
    // By the first of two DNAT rules; the second would say 192.168.11.64.
    let translated = |kind: &TraceKind| match kind {
        TraceKind::Rewrite { changes, .. } => changes.iter().any(|c| c.after == "192.168.10.64"),
        _ => false,
    };
    assert!(dump.session.sent()[0].ran.trace.events.iter().any(|event| translated(&event.kind)));
    dump.expect(&["tcp 8.8.8.8:40000 > 11.0.0.2:22 in eth1"], "dropped");
    dump.expect(&["tcp 8.8.8.8:40000 > 11.0.0.2:22 in eth1 flags SF"], "dropped");
    // INVALID, so neither NEW nor RELATED: no rule of the filter table matched, the last jump was in raw.
    assert_eq!(dump.session.sent()[0].ran.ct_info, Some(CtInfo::None));
    assert_eq!(dump.decided_by(), "PREROUTING -i eth1 -j invalid_ext");
    dump.expect(&["icmp 8.8.8.8 > 11.0.0.2 in eth1"], "delivered 11.0.0.2 > 8.8.8.8");
    dump.expect(&["tcp 192.168.10.200:40000 > 8.8.8.8:80 in eth0.10"], "dropped");
    for bogon in ["192.0.2.9", "198.51.100.9", "203.0.113.9"] {
        dump.expect(&[&format!("icmp {bogon} > 11.0.0.2 in eth1")], "dropped");
    }
}

#[test]
fn company_firewall_with_ppp() {
    let addresses = ["ppp0=11.0.0.2/24", "eth0=172.16.2.1/24"];
    let Some(mut dump) =
        Dump::load("13-medium-company-ppp-rpfilter.txt", &addresses, &["default=11.0.0.254@ppp0"])
    else {
        return;
    };
    dump.expect(&["tcp 172.16.2.9:40000 > 11.0.0.2:22 in ppp0"], "dropped");
    assert_eq!(dump.decided_by(), "PREROUTING -m rpfilter --invert -j DROP");
    dump.expect(&["tcp 8.8.8.8:40000 > 11.0.0.2:4081 in ppp0"], "forwarded 8.8.8.8:40000 > 172.16.2.34:4081");
    dump.expect(&["tcp 172.16.2.100:40000 > 8.8.8.8:25 in eth0"], "rejected 3/1");
    dump.expect(&["tcp 8.8.8.8:40000 > 11.0.0.2:23 in ppp0"], "rejected RST from 11.0.0.2:23");
    assert_eq!(dump.logged("[portscan] "), 1);
    let lists = format!("{:?}", dump.session.netns().shared.recent);
    assert!(lists.contains("TCP-PORTSCAN") && lists.contains("8.8.8.8"), "{lists}");
}

#[test]
fn ufw_server() {
    let Some(mut dump) = Dump::load("14-ufw-server.txt", &["eth0=10.9.0.1/24"], &["default=10.9.0.254@eth0"])
    else {
        return;
    };
    dump.expect(&["tcp 10.9.0.9:40000 > 10.9.0.1:22 in eth0"], "delivered");
    for port in [80, 443, 25] {
        dump.expect(&[&format!("tcp 10.9.0.9:40000 > 10.9.0.1:{port} in eth0")], "dropped");
        assert_eq!(dump.logged("[UFW BLOCK] "), 1);
    }
    // Ten log lines, then three a minute.
    let knocks: Vec<String> =
        (0..11).map(|n| format!("tcp 10.9.0.9:{} > 10.9.0.1:80 in eth0", 40000 + n)).collect();
    let knocks: Vec<&str> = knocks.iter().map(String::as_str).collect();
    dump.expect(&knocks[..10], "dropped");
    assert_eq!(dump.logged("[UFW BLOCK] "), 1);
    dump.expect(&knocks, "dropped");
    assert_eq!(dump.logged("[UFW BLOCK] "), 0);
    dump.expect(&["udp 10.9.0.9:40000 > 10.9.0.1:5353 in eth0"], "dropped");
    dump.expect(&["udp 10.9.0.9:40000 > 10.9.0.1:137 in eth0"], "dropped");
    assert_eq!(dump.logged("[UFW BLOCK] "), 0);
    dump.expect(&["tcp 10.9.0.9:40000 > 10.9.0.1:22 in eth0 flags SA"], "dropped");
    assert_eq!(dump.decided_by(), "ufw-before-input -m state --state INVALID -j DROP");
    // Where nothing listens the host answers with RST; a session lets a process take it.
    dump.expect(&["tcp 10.9.0.9:40000 > 10.9.0.1:22 in eth0 flags A"], "delivered");
}

#[test]
fn openwrt_zones() {
    let addresses = ["eth0=11.0.0.2/24", "eth1=192.168.1.1/24", "tun0=10.8.0.1/24"];
    let Some(mut dump) = Dump::load("18-openwrt-barrier-zones.txt", &addresses, &["default=11.0.0.254@eth0"])
    else {
        return;
    };
    dump.expect(&["tcp 192.168.1.9:40000 > 8.8.8.8:80 in eth1"], "forwarded 11.0.0.2:40000 > 8.8.8.8:80");
    dump.expect(&["tcp 8.8.8.8:40000 > 192.168.1.9:80 in eth0"], "rejected RST from 192.168.1.9:80");
    dump.expect(&["tcp 8.8.8.8:40000 > 11.0.0.2:23 in eth0"], "delivered");
    dump.expect(&["tcp 8.8.8.8:40000 > 11.0.0.2:22 in eth0"], "rejected RST from 11.0.0.2:22");
    dump.expect(&["tcp 10.8.0.9:40000 > 192.168.1.9:80 in tun0"], "rejected RST from 192.168.1.9:80");
    dump.expect(&["tcp 192.168.1.9:40000 > 10.8.0.9:80 in eth1"], "rejected RST from 10.8.0.9:80");
}

#[test]
fn dual_wan() {
    let addresses = ["eth0=192.168.1.1/24", "eth2=11.0.0.2/24"];
    let Some(mut dump) =
        Dump::load("20-dualwan-connmark-log-quotes.txt", &addresses, &["default=11.0.0.254@eth2"])
    else {
        return;
    };
    dump.expect(
        &[
            "tcp 192.168.1.9:40000 > 8.8.8.8:80 in eth0",
            "tcp 8.8.8.8:80 > 11.0.0.2:40000 in eth2 flags SA seq 9 ack 1",
        ],
        "forwarded 8.8.8.8:80 > 192.168.1.9:40000",
    );
    assert!(
        dump.connections().contains("dst=11.0.0.2 sport=80 dport=40000 mark=2 "),
        "{}",
        dump.connections()
    );
    assert_eq!(dump.decided_by(), "FORWARD -i eth2 -o eth0 -m state --state RELATED,ESTABLISHED -j ACCEPT");
}

#[test]
fn overlapping_networks_by_netmap() {
    let addresses = ["eth0=10.0.0.1/24", "tun0=192.168.21.1/24"];
    let Some(mut dump) = Dump::load("22-netmap-vpn-overlap.txt", &addresses, &[]) else { return };
    dump.expect(
        &["tcp 10.0.0.2:40000 > 192.168.121.5:80 in eth0"],
        "forwarded 192.168.21.1:40000 > 192.168.21.5:80",
    );
    dump.expect(
        &["tcp 10.0.0.3:40000 > 192.168.121.5:80 in eth0"],
        "forwarded 10.0.0.3:40000 > 192.168.21.5:80",
    );
    dump.expect(
        &["tcp 192.168.21.9:40000 > 10.0.0.3:80 in tun0"],
        "forwarded 192.168.121.9:40000 > 10.0.0.3:80",
    );
}

#[test]
fn docker_with_a_rule_a_container() {
    let addresses = ["br-b74b417b331f=10.0.0.254/8", "docker0=172.17.0.1/16", "eth0=11.0.0.2/24"];
    let Some(mut dump) =
        Dump::load("27-docker-user-bridges-icc.txt", &addresses, &["default=11.0.0.254@eth0"])
    else {
        return;
    };
    dump.expect(&["tcp 172.17.0.2:40000 > 8.8.8.8:80 in docker0"], "forwarded 11.0.0.2:40000 > 8.8.8.8:80");
    dump.expect(
        &["tcp 10.0.0.4:40000 > 8.8.8.8:80 in br-b74b417b331f"],
        "forwarded 11.0.0.2:40000 > 8.8.8.8:80",
    );
    dump.expect(&["tcp 10.0.0.3:40000 > 8.8.8.8:80 in br-b74b417b331f"], "dropped");
    // Between containers of the bridge, as `br_netfilter` or proxy ARP makes them pass FORWARD.
    let between = |from: u8, to: u8, port: u16| {
        format!("tcp 10.0.0.{from}:40000 > 10.0.0.{to}:{port} in br-b74b417b331f")
    };
    dump.expect(&[&between(4, 3, 80)], "forwarded 10.0.0.4:40000 > 10.0.0.3:80");
    dump.expect(&[&between(3, 1, 80)], "dropped");
    dump.expect(&[&between(3, 1, 22)], "forwarded 10.0.0.3:40000 > 10.0.0.1:22");
    let knock = |sport: u32| format!("tcp 172.17.0.2:{sport} > 203.0.113.1:80 in docker0");
    dump.expect(&[&knock(1), &knock(2)], "forwarded 11.0.0.2:2 > 203.0.113.1:80");
    dump.expect(&[&knock(1), &knock(2), &knock(3)], "dropped");
}

#[test]
fn firewalld_of_centos_7() {
    let Some(mut dump) = Dump::load("32-firewalld-centos7-goto-mark-dnat.txt", &["eth0=10.0.0.1/24"], &[])
    else {
        return;
    };
    dump.expect(&["tcp 10.0.0.9:40000 > 10.0.0.1:22 in eth0"], "delivered");
    dump.expect(&["tcp 10.0.0.9:40000 > 10.0.0.1:80 in eth0"], "rejected 3/10");
    dump.expect(&["tcp 10.0.0.9:40000 > 10.0.0.1:443 in eth0"], "rejected 3/10");
}

#[test]
fn tails_owners_and_redirects() {
    let Some(mut dump) =
        Dump::load("24-tails-owner-redirect.txt", &["eth0=192.168.1.9/24"], &["default=192.168.1.1@eth0"])
    else {
        return;
    };
    let local =
        |proto: &str, to: &str, uid: u32| format!("{proto} 192.168.1.9:40000 > {to} in local uid {uid}");
    // The error of a local sender goes round through lo: nothing leaves.
    dump.expect(&[&local("tcp", "8.8.8.8:80", 1000)], "rejected");
    dump.expect(&[&local("tcp", "8.8.8.8:80", 114)], "forwarded 192.168.1.9:40000 > 8.8.8.8:80");
    dump.expect(&["tcp 127.0.0.1:40000 > 127.192.0.1:80 in local uid 1000"], "delivered");
    let redirected = dump.session.sent()[0].ran.delivered.as_ref().and_then(Packet::ports);
    assert_eq!(redirected, Some((40000, 9040)));
    dump.expect(&[&local("udp", "192.168.1.1:53", 1000)], "rejected");
    dump.expect(&[&local("tcp", "192.168.1.1:22", 1000)], "forwarded 192.168.1.9:40000 > 192.168.1.1:22");
    dump.expect(&[&local("tcp", "192.168.1.1:22", 113)], "rejected");
}

#[test]
fn office_with_vlans() {
    let addresses = ["br0v100=198.18.64.234/24", "br0v700=172.16.200.1/21", "br0v702=172.16.199.65/26"];
    let Some(mut dump) =
        Dump::load("33-office-vlan-ipsec-nflog.txt", &addresses, &["default=198.18.64.1@br0v100"])
    else {
        return;
    };
    for (host, seen_as) in [("172.16.201.101", "172.16.201.101"), ("172.16.201.103", "198.18.64.234")] {
        dump.expect(
            &[&format!("tcp {host}:40000 > 198.18.64.212:80 in br0v700")],
            &format!("forwarded {seen_as}:40000 > 198.18.64.212:80"),
        );
    }
    dump.expect(&["tcp 198.18.64.9:40000 > 198.18.64.234:22 in br0v100"], "delivered");
    dump.expect(&["tcp 8.8.8.8:40000 > 198.18.64.234:22 in br0v100"], "dropped");
    dump.expect(
        &["udp 198.18.64.9:5060 > 198.18.64.234:5060 in br0v100"],
        "forwarded 198.18.64.9:5060 > 172.16.199.126:5060",
    );
}
