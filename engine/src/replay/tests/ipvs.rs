//! Packets through virtual servers: from a client behind one device to servers behind another, as kube-proxy sets IPVS up.

use serde_json::{Value, json};

use crate::replay::{Options, Report, parse, run};

/// A node between clients (10.1.0.0/24 at c0) and servers (10.2.0.0/24 at s0) that holds the virtual address.
fn node(setup: &[(&str, &str)], sysctls: &Value) -> Value {
    let setup: Vec<Value> = setup.iter().map(|(run, stdin)| json!({"run": run, "stdin": stdin})).collect();
    json!({
        "interfaces": [
            {"name": "c0", "addresses": ["10.1.0.1/24", "fd00:1::1/64"]},
            {"name": "s0", "addresses": ["10.2.0.1/24", "fd00:2::1/64"]},
            {"name": "kube-ipvs0", "kind": "dummy", "addresses": ["10.96.0.1/32", "fd00:96::1/128"]}],
        "sysctls": sysctls,
        "setup": setup
    })
}

const TWO: &str = "-A -t 10.96.0.1:80 -s rr\n\
    -a -t 10.96.0.1:80 -r 10.2.0.3:8080 -m -w 1\n\
    -a -t 10.96.0.1:80 -r 10.2.0.2:8080 -m -w 1\n";
const MASQUERADE: &str = "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -m mark --mark 0x4000 -j MASQUERADE\nCOMMIT\n\
    *mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.1 -j MARK --set-mark 0x4000\nCOMMIT\n";

fn case(node: &Value, packets: &[Value], show: &[&str]) -> Report {
    let case = json!({
        "format": "chainwalk.replay/1", "seed": 1, "node": node, "packets": packets, "show": show
    });
    run(&parse(&case.to_string()).expect("a case"), &Options { all: true, why: true }).expect("a run")
}

fn tcp(input: &str, src: &str, dst: &str, flags: &str) -> Value {
    let (src, sport) = src.rsplit_once(':').expect("a port");
    let (dst, dport) = dst.rsplit_once(':').expect("a port");
    let strip = |text: &str| text.trim_matches(['[', ']']).to_owned();
    json!({
        "at_ms": 0, "in": input, "src": strip(src), "dst": strip(dst), "proto": "tcp",
        "sport": sport.parse::<u16>().expect("a port"), "dport": dport.parse::<u16>().expect("a port"),
        "flags": flags, "seq": 1, "ack": 0, "win": 1000
    })
}

fn later(mut packet: Value, ms: u64) -> Value {
    packet["at_ms"] = json!(ms);
    packet
}

/// `dev src:port > dst:port ttl` of everything that left.
fn left(report: &Report, at: usize) -> Vec<String> {
    report.packets[at]
        .emitted
        .iter()
        .map(|e| {
            let port = |p: Option<u16>| p.map_or(String::new(), |p| format!(":{p}"));
            format!("{} {}{} > {}{} ttl {}", e.dev, e.src, port(e.sport), e.dst, port(e.dport), e.ttl)
        })
        .collect()
}

/// The hooks a packet met rules in, with their tables.
fn tables(report: &Report, at: usize) -> Vec<String> {
    let mut met: Vec<String> =
        report.packets[at].walk.iter().map(|w| format!("{} {}", w.hook, w.table)).collect();
    met.dedup();
    met
}

#[test]
fn a_request_is_sent_on_and_its_answer_comes_from_the_virtual_address() {
    let node = node(&[("ipvsadm -R", TWO)], &json!({"net.ipv4.ip_forward": "1"}));
    let report = case(
        &node,
        &[
            tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "S"),
            tcp("s0", "10.2.0.2:8080", "10.1.0.2:40000", "SA"),
            tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "A"),
            tcp("c0", "10.1.0.3:40000", "10.96.0.1:80", "S"),
        ],
        &["ipvsadm -Ln", "ipvsadm -Lnc", "ipvsadm -Sn"],
    );
    assert_eq!(left(&report, 0), ["s0 10.1.0.2:40000 > 10.2.0.2:8080 ttl 63"]);
    assert_eq!(report.packets[0].verdict, "forwarded");
    assert_eq!(left(&report, 1), ["c0 10.96.0.1:80 > 10.1.0.2:40000 ttl 63"]);
    assert_eq!(left(&report, 2), ["s0 10.1.0.2:40000 > 10.2.0.2:8080 ttl 63"]);
    assert_eq!(left(&report, 3), ["s0 10.1.0.3:40000 > 10.2.0.3:8080 ttl 63"]);
    assert!(
        report.show[0].1.contains("  -> 10.2.0.2:8080                Masq    1      1          0         \n")
    );
    assert!(
        report.show[1]
            .1
            .contains("TCP 15:00  ESTABLISHED 10.1.0.2:40000     10.96.0.1:80       10.2.0.2:8080\n")
    );
    assert!(
        report.show[2]
            .1
            .starts_with("-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 10.2.0.2:8080 -m -w 1\n")
    );
}

/// INPUT and not FORWARD sees requests; they pass OUTPUT and POSTROUTING; answers pass FORWARD.
#[test]
fn requests_meet_input_and_output_answers_meet_forward() {
    let rules = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n-A INPUT -p tcp\n\
        -A FORWARD -p tcp\n-A OUTPUT -p tcp\nCOMMIT\n*mangle\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n\
        -A PREROUTING -p tcp\n-A POSTROUTING -p tcp\nCOMMIT\n";
    let node = node(
        &[("iptables-legacy-restore", rules), ("ipvsadm -R", TWO)],
        &json!({"net.ipv4.ip_forward": "1"}),
    );
    let report = case(
        &node,
        &[
            tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "S"),
            tcp("s0", "10.2.0.2:8080", "10.1.0.2:40000", "SA"),
        ],
        &[],
    );
    assert_eq!(
        tables(&report, 0),
        ["prerouting mangle", "input filter", "output filter", "postrouting mangle"]
    );
    assert_eq!(tables(&report, 1), ["prerouting mangle", "forward filter", "postrouting mangle"]);
}

/// What kube-proxy needs `net.ipv4.vs.conntrack` for: MASQUERADE of balanced connections. The entry keeps what the client
/// dialled and expects answers from the server at the node's own address.
#[test]
fn masquerade_works_with_conntrack_and_not_without() {
    for (conntrack, expected) in [
        ("1", ["s0 10.2.0.1:40000 > 10.2.0.2:8080 ttl 63", "c0 10.96.0.1:80 > 10.1.0.2:40000 ttl 63"]),
        ("0", ["s0 10.1.0.2:40000 > 10.2.0.2:8080 ttl 63", ""]),
    ] {
        let node = node(
            &[("iptables-legacy-restore", MASQUERADE), ("ipvsadm -R", TWO)],
            &json!({"net.ipv4.ip_forward": "1", "net.ipv4.vs.conntrack": conntrack}),
        );
        let answer_to = if conntrack == "1" { "10.2.0.1:40000" } else { "10.1.0.2:40001" };
        let report = case(
            &node,
            &[tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "S"), tcp("s0", "10.2.0.2:8080", answer_to, "SA")],
            &["conntrack -L"],
        );
        assert_eq!(left(&report, 0), [expected[0]], "conntrack={conntrack}");
        if conntrack == "1" {
            assert_eq!(left(&report, 1), [expected[1]]);
            assert!(
                report.show[0].1.contains(
                    "src=10.1.0.2 dst=10.96.0.1 sport=40000 dport=80 src=10.2.0.2 dst=10.2.0.1 sport=8080 dport=40000"
                ),
                "{}",
                report.show[0].1
            );
        } else {
            assert!(report.show[0].1.is_empty(), "{}", report.show[0].1);
        }
    }
}

/// A port used again after the close: the SYN belongs to the old conntrack entry in TIME_WAIT, which reopens as a new,
/// unconfirmed one (so since 5.9 nothing is dropped), and another server is chosen.
#[test]
fn a_port_used_again_passes_at_once() {
    let node = node(
        &[("iptables-legacy-restore", MASQUERADE), ("ipvsadm -R", TWO)],
        &json!({"net.ipv4.ip_forward": "1", "net.ipv4.vs.conntrack": "1"}),
    );
    let client = |flags: &str, seq: u32, ack: u32, ms: u64| {
        let mut packet = later(tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", flags), ms);
        (packet["seq"], packet["ack"]) = (json!(seq), json!(ack));
        packet
    };
    let server = |flags: &str, seq: u32, ack: u32, ms: u64| {
        let mut packet = later(tcp("s0", "10.2.0.2:8080", "10.2.0.1:40000", flags), ms);
        (packet["seq"], packet["ack"]) = (json!(seq), json!(ack));
        packet
    };
    let report = case(
        &node,
        &[
            client("S", 100, 0, 0),
            server("SA", 500, 101, 1),
            client("A", 101, 501, 2),
            client("FA", 101, 501, 3),
            server("FA", 501, 102, 4),
            client("A", 102, 502, 5),
            client("S", 9000, 0, 1000),
        ],
        &["ipvsadm -Lnc"],
    );
    assert_eq!(
        left(&report, 6),
        ["s0 10.2.0.1:40000 > 10.2.0.3:8080 ttl 63"],
        "{:?}",
        report.packets[6].reason
    );
    assert!(report.show[0].1.contains("SYN_RECV    10.1.0.2:40000     10.96.0.1:80       10.2.0.3:8080"));
}

#[test]
fn without_a_server_the_client_gets_port_unreachable() {
    let node = node(&[("ipvsadm -A -t 10.96.0.1:80 -s rr", "")], &json!({"net.ipv4.ip_forward": "1"}));
    let report = case(&node, &[tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "S")], &[]);
    assert_eq!(report.packets[0].verdict, "dropped");
    let sent = &report.packets[0].emitted[0];
    assert_eq!((sent.src.as_str(), sent.icmp_type, sent.icmp_code), ("10.96.0.1", Some(3), Some(3)));
}

/// A mid-stream segment whose connection is gone reaches the node's own stack, which resets it.
#[test]
fn a_segment_of_no_connection_is_reset_by_the_node() {
    let node = node(&[("ipvsadm -R", TWO)], &json!({"net.ipv4.ip_forward": "1"}));
    let report = case(&node, &[tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "A")], &[]);
    assert_eq!(report.packets[0].verdict, "delivered");
    assert_eq!(report.packets[0].emitted[0].flags.as_deref(), Some("R"));
}

/// The client on the node takes OUTPUT's hooks, twice: once as sent, once as balanced.
#[test]
fn a_local_client_is_balanced_in_output() {
    let node = node(&[("ipvsadm -R", TWO)], &json!({"net.ipv4.ip_forward": "1"}));
    let report = case(
        &node,
        &[
            tcp("local", "10.96.0.1:40000", "10.96.0.1:80", "S"),
            tcp("local", "10.2.0.1:40001", "10.96.0.1:80", "S"),
            tcp("s0", "10.2.0.3:8080", "10.2.0.1:40001", "SA"),
        ],
        &[],
    );
    // k8s#65158: a client that got the virtual address as its source sends it out.
    assert_eq!(left(&report, 0), ["s0 10.96.0.1:40000 > 10.2.0.2:8080 ttl 63"]);
    assert_eq!(left(&report, 1), ["s0 10.2.0.1:40001 > 10.2.0.3:8080 ttl 63"]);
    // The answer is rewritten at INPUT before the client's socket, which does not exist here, sees it.
    assert_eq!(report.packets[2].verdict, "delivered");
    // Nobody there: the node's RST is a packet to the service, balanced like the client's own.
    assert_eq!(left(&report, 2), ["s0 10.2.0.1:40001 > 10.2.0.3:8080 ttl 63"]);
}

#[test]
fn a_server_on_the_node_is_reached_through_input() {
    let rules = "-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 10.2.0.1:8080 -m\n";
    let mut node = node(&[("ipvsadm -R", rules)], &json!({"net.ipv4.ip_forward": "1"}));
    node["listen"] = json!(["tcp/8080"]);
    let report = case(&node, &[tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "S")], &[]);
    assert_eq!(report.packets[0].verdict, "delivered");
    // The listener's SYN-ACK leaves with the virtual address.
    assert_eq!(left(&report, 0), ["c0 10.96.0.1:80 > 10.1.0.2:40000 ttl 64"]);
}

/// k8s#67730: a loopback source cannot leave the node; the packet is dropped without a word.
#[test]
fn a_loopback_client_hangs() {
    let rules = "-A -t 127.0.0.1:30080 -s rr\n-a -t 127.0.0.1:30080 -r 10.2.0.2:8080 -m\n";
    let node = node(&[("ipvsadm -R", rules)], &json!({"net.ipv4.ip_forward": "1"}));
    let report = case(&node, &[tcp("local", "127.0.0.1:40000", "127.0.0.1:30080", "S")], &[]);
    assert_eq!(report.packets[0].verdict, "dropped");
    assert!(report.packets[0].emitted.is_empty());
}

#[test]
fn direct_routing_changes_the_next_hop_only() {
    let rules = "-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 10.2.0.2:80 -g\n";
    let node = node(&[("ipvsadm -R", rules)], &json!({"net.ipv4.ip_forward": "1"}));
    let report = case(&node, &[tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "S")], &[]);
    assert_eq!(left(&report, 0), ["s0 10.1.0.2:40000 > 10.96.0.1:80 ttl 63"]);
}

#[test]
fn a_tunnel_wraps_the_packet() {
    let rules = "-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 10.2.0.2:80 -i\n";
    let node = node(&[("ipvsadm -R", rules)], &json!({"net.ipv4.ip_forward": "1"}));
    let report = case(&node, &[tcp("c0", "10.1.0.2:40000", "10.96.0.1:80", "S")], &[]);
    let sent = &report.packets[0].emitted[0];
    assert_eq!((sent.src.as_str(), sent.dst.as_str(), sent.proto.as_str()), ("10.2.0.1", "10.2.0.2", "4"));
    assert_eq!((sent.ttl, sent.len), (63, 40));
}

#[test]
fn ipv6_is_balanced_too() {
    let rules = "-A -t [fd00:96::1]:80 -s rr\n-a -t [fd00:96::1]:80 -r [fd00:2::2]:8080 -m\n";
    let node = node(&[("ipvsadm -R", rules)], &json!({"net.ipv6.conf.all.forwarding": "1"}));
    let report = case(
        &node,
        &[
            tcp("c0", "[fd00:1::2]:40000", "[fd00:96::1]:80", "S"),
            tcp("s0", "[fd00:2::2]:8080", "[fd00:1::2]:40000", "SA"),
        ],
        &[],
    );
    assert_eq!(left(&report, 0), ["s0 fd00:1::2:40000 > fd00:2::2:8080 ttl 63"]);
    assert_eq!(left(&report, 1), ["c0 fd00:96::1:80 > fd00:1::2:40000 ttl 63"]);
}

/// A server refuses a datagram: its ICMP error speaks of the packet that it got, and goes to the client as one about
/// the packet that the client sent.
#[test]
fn icmp_errors_are_translated_inside_and_out() {
    let rules = "-A -u 10.96.0.1:53 -s rr\n-a -u 10.96.0.1:53 -r 10.2.0.2:5353 -m\n";
    let node = node(&[("ipvsadm -R", rules)], &json!({"net.ipv4.ip_forward": "1"}));
    let mut request = tcp("c0", "10.1.0.2:40000", "10.96.0.1:53", "");
    request["proto"] = json!("udp");
    for field in ["flags", "seq", "ack", "win"] {
        request.as_object_mut().expect("an object").remove(field);
    }
    // 10.1.0.2:40000 > 10.2.0.2:5353, eight bytes of UDP.
    let quoted = "4500001c00000000 3f11 0000 0a010002 0a020002 9c40 14e9 0008 0000".replace(' ', "");
    let error = json!({
        "at_ms": 1, "in": "s0", "src": "10.2.0.2", "dst": "10.1.0.2", "proto": "icmp", "icmp_type": 3,
        "icmp_code": 3, "payload_hex": quoted
    });
    let report = case(&node, &[request, error], &[]);
    let sent = &report.packets[1].emitted[0];
    assert_eq!((sent.dev.as_str(), sent.src.as_str(), sent.dst.as_str()), ("c0", "10.96.0.1", "10.1.0.2"));
    let inner = sent.quoted.as_ref().expect("a quoted packet");
    assert_eq!((inner.src.as_str(), inner.dst.as_str(), inner.dport), ("10.1.0.2", "10.96.0.1", Some(53)));
}

#[test]
fn what_is_not_emulated_is_refused_by_name() {
    for (setup, named) in [
        ("ipvsadm --start-daemon master", "--start-daemon master is not emulated"),
        ("sysctl -w net.ipv4.vs.secure_tcp=3", "net.ipv4.vs.secure_tcp is not emulated"),
        ("ipvsadm -A -t 10.96.0.1:80 -s nope", "Scheduler or persistence engine not found"),
    ] {
        let node = node(&[(setup, "")], &json!({}));
        let case = json!({"format": "chainwalk.replay/1", "node": node});
        let error = run(&parse(&case.to_string()).expect("a case"), &Options::default()).expect_err(setup);
        assert!(error.message.contains(named), "{}", error.message);
    }
    let gue =
        "-A -t 10.96.0.1:80 -s rr\n-a -t 10.96.0.1:80 -r 10.2.0.2:80 -i --tun-type gue --tun-port 6080\n";
    let case = json!({"format": "chainwalk.replay/1", "node": node(&[("ipvsadm -R", gue)], &json!({}))});
    let error = run(&parse(&case.to_string()).expect("a case"), &Options::default()).expect_err("gue");
    assert!(error.message.contains("type gue"), "{}", error.message);
}
