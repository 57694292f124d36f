//! Transcripts of Linux 6.18.44, as packet scripts: connections through DNAT and MASQUERADE.
//!
//! Provenance: recorded in network namespaces on that kernel with conntrack-tools 1.4.7; the names c1, t1, t2
//! and t7 are those of the recordings. Lines here are what the kernel printed.

mod clash;
mod full;
mod icmp;
mod laws;
mod nat;
mod udp;

use super::line::LineForm;
use super::testing::{LINUX_SYN, Lab, ip, seg, to, to_addr, udp};
use crate::packet::{L4, Packet, proto};

/// The router of c1: VIP 10.0.0.100, TCP 8080 and UDP 53 go to 10.0.1.2, sources become 10.0.1.1.
fn c1() -> Lab {
    let mut lab = Lab::new();
    lab.client = ip("10.0.0.2");
    lab.vip = ip("10.0.0.100");
    lab.server = ip("10.0.1.2");
    lab.dnat = vec![(proto::TCP, 8080, to(lab.server, 80)), (proto::UDP, 53, to(lab.server, 53))];
    lab
}

fn tcp(src: &str, sport: u16, dst: &str, dport: u16, mut seg: super::testing::Seg) -> Packet {
    (seg.0.sport, seg.0.dport) = (sport, dport);
    super::testing::packet(ip(src), ip(dst), proto::TCP, L4::Tcp(seg.0))
}

#[test]
fn c1_udp_through_dnat_and_masquerade() {
    let mut lab = c1();
    let query = |lab: &Lab, port| udp(lab.client, 40000, lab.vip, port, 1);
    let packet = query(&lab, 5353);
    lab.at(0).forward(packet);
    assert_eq!(
        lab.at(40).lines(),
        ["udp      17 29 src=10.0.0.2 dst=10.0.0.100 sport=40000 dport=5353 [UNREPLIED] src=10.0.0.100 \
          dst=10.0.0.2 sport=5353 dport=40000 mark=0 use=1"]
    );
    // MASQUERADE to the server's network only; 5353 went out the other way.
    lab.snat = Some(to_addr(ip("10.0.1.1")));
    let packet = query(&lab, 53);
    let seen = lab.at(100).forward(packet);
    assert_eq!((seen.packet.ip.src, seen.packet.ip.dst), (ip("10.0.1.1"), lab.server));
    let answer = udp(lab.server, 53, ip("10.0.1.1"), 40000, 1);
    let seen = lab.at(101).forward(answer.clone());
    assert_eq!((seen.packet.ip.src, seen.packet.ip.dst), (lab.vip, lab.client));
    assert_eq!(
        lab.at(140).lines()[1],
        "udp      17 29 src=10.0.0.2 dst=10.0.0.100 sport=40000 dport=53 src=10.0.1.2 dst=10.0.1.1 sport=53 \
         dport=40000 mark=0 use=1"
    );
    let packet = query(&lab, 53);
    lab.at(2300).forward(packet);
    lab.at(2301).forward(answer);
    assert_eq!(
        lab.at(2340).lines()[1],
        "udp      17 119 src=10.0.0.2 dst=10.0.0.100 sport=40000 dport=53 src=10.0.1.2 dst=10.0.1.1 sport=53 \
         dport=40000 [ASSURED] mark=0 use=1"
    );
}

/// The events of one whole TCP connection and of a refused one.
#[test]
fn c1_events() {
    let mut lab = c1();
    lab.ct.listen(true);
    lab.snat = Some(to_addr(ip("10.0.1.1")));
    let client = |s| tcp("10.0.0.2", 41000, "10.0.0.100", 8080, s);
    let server = |s| tcp("10.0.1.2", 80, "10.0.1.1", 41000, s);
    for packet in [
        client(seg("S", 1000, 0).opts(&LINUX_SYN)),
        server(seg("SA", 5000, 1001).opts(&LINUX_SYN)),
        client(seg("A", 1001, 5001).win(502)),
        client(seg("PA", 1001, 5001).win(502).len(2)),
        server(seg("A", 5001, 1003).win(509)),
        client(seg("FA", 1003, 5001).win(502)),
        server(seg("FA", 5001, 1004).win(509)),
        client(seg("A", 1004, 5002).win(502)),
    ] {
        lab.forward(packet);
    }
    lab.snat = None;
    lab.forward(tcp("10.0.0.2", 41001, "10.0.0.100", 8081, seg("S", 9000, 0)));
    lab.forward(tcp("10.0.0.100", 8081, "10.0.0.2", 41001, seg("RA", 0, 9001)));
    let lines: Vec<String> = lab
        .ct
        .take_events()
        .into_iter()
        .map(|e| {
            let mut line = format!("{} ", e.kind.tag());
            let form = match e.kind {
                super::EventKind::New | super::EventKind::Update => LineForm::Event,
                super::EventKind::Destroy => LineForm::Destroy,
            };
            e.entry.write(&mut line, form, e.at).expect("a String takes everything");
            line
        })
        .collect();
    let served = "src=10.0.0.2 dst=10.0.0.100 sport=41000 dport=8080";
    let answers = "src=10.0.1.2 dst=10.0.1.1 sport=80 dport=41000";
    let refused = "src=10.0.0.2 dst=10.0.0.100 sport=41001 dport=8081 [UNREPLIED] src=10.0.0.100 dst=10.0.0.2 \
                   sport=8081 dport=41001";
    assert_eq!(
        lines,
        [
            format!("    [NEW] tcp      6 120 SYN_SENT {served} [UNREPLIED] {answers}"),
            format!(" [UPDATE] tcp      6 60 SYN_RECV {served} {answers}"),
            format!(" [UPDATE] tcp      6 432000 ESTABLISHED {served} {answers} [ASSURED]"),
            format!(" [UPDATE] tcp      6 120 FIN_WAIT {served} {answers} [ASSURED]"),
            format!(" [UPDATE] tcp      6 30 LAST_ACK {served} {answers} [ASSURED]"),
            format!(" [UPDATE] tcp      6 120 TIME_WAIT {served} {answers} [ASSURED]"),
            format!("    [NEW] tcp      6 120 SYN_SENT {refused}"),
            format!("[DESTROY] tcp      6 120 CLOSE {refused}"),
        ]
    );
}

/// One step of t1: who sends what, whether it leaves translated, and state and seconds afterwards.
type Step = (&'static str, &'static str, bool, &'static str);

/// Plays a script of `who flags seq ack win len`; a window of 502 or 509 means that scaling was offered.
#[track_caller]
fn play(lab: &mut Lab, script: &[Step]) {
    for (at, (name, text, translated, wanted)) in script.iter().enumerate() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<i64>().expect("a number") as u32;
        let mut s = seg(words[1], number(2), number(3)).win(number(4) as u16).len(number(5) as usize);
        if words[1].contains('S') {
            s = s.opts(&LINUX_SYN);
        }
        lab.at(at as u64 * 100);
        let seen = if words[0] == "c" { lab.client(s) } else { lab.server(s) };
        let server_side = if words[0] == "c" { seen.packet.ip.dst } else { seen.packet.ip.src };
        let expected = match (words[0], translated) {
            ("c", true) | ("s", false) => lab.server,
            _ => lab.vip,
        };
        assert_eq!(server_side, expected, "{name}");
        lab.at(at as u64 * 100 + 90);
        assert_eq!(lab.now_is(), *wanted, "{name}");
    }
}

const HANDSHAKE: [Step; 3] = [
    ("SYN", "c S 1000 0 64240 0", true, "SYN_SENT 119 unreplied"),
    ("SYNACK", "s SA 5000 1001 65160 0", true, "SYN_RECV 59"),
    ("ACK", "c A 1001 5001 502 0", true, "ESTABLISHED 431999 assured"),
];

#[test]
fn t1_window_rst_and_resync() {
    let mut lab = Lab::new();
    let mut script = HANDSHAKE.to_vec();
    script.extend([
        ("srv data 1000", "s PA 5001 1001 509 1000", true, "ESTABLISHED 299 assured"),
        ("cli ack", "c A 1001 6001 502 0", true, "ESTABLISHED 431999 assured"),
        ("below window", "c PA -198999 6001 502 10", true, "ESTABLISHED 431999 assured"),
        ("seq way over", "s PA 10005001 1001 509 10", false, "ESTABLISHED 431999 assured"),
        ("ack over upper", "s A 6001 501001 509 0", false, "ESTABLISHED 431999 assured"),
        ("ack far too old", "c A 1001 -93999 502 0", true, "ESTABLISHED 431999 assured"),
        ("RST seq < maxack", "s R 5500 0 0 0", false, "ESTABLISHED 431999 assured"),
        ("RST inexact", "s R 6501 0 0 0", true, "ESTABLISHED 9 assured"),
        ("cli data after", "c PA 1001 6001 502 10", true, "ESTABLISHED 299 assured"),
        ("SYN in ESTABLISHED", "c S 900000 0 64240 0", true, "ESTABLISHED 299 assured"),
        ("challenge ACK", "s A 6001 1011 509 0", true, "ESTABLISHED 299 assured"),
        ("RST to it", "c R 1011 0 0 0", true, "CLOSE 9 assured"),
    ]);
    play(&mut lab, &script);
    assert_eq!(lab.ct.stats.invalid, 3);
}

#[test]
fn t1_exact_rst() {
    let mut script = HANDSHAKE.to_vec();
    script.push(("srv RST exact", "s RA 5001 1001 0 0", true, "CLOSE 9 assured"));
    play(&mut Lab::new(), &script);
}

#[test]
fn t1_pickup() {
    play(
        &mut Lab::new(),
        &[
            ("ACK first", "c A 1001 5001 64240 0", true, "ESTABLISHED 299 unreplied"),
            ("srv ack", "s A 5001 1001 64240 0", true, "ESTABLISHED 299"),
            ("cli data", "c PA 1001 5001 64240 1", true, "ESTABLISHED 299 assured"),
        ],
    );
}

#[test]
fn t1_strays_are_invalid_and_counted() {
    let mut lab = Lab::new();
    play(
        &mut lab,
        &[
            ("stray SA from server", "s SA 5000 1001 65535 0", false, "-"),
            ("stray FA", "c FA 5000 1001 65535 0", false, "-"),
            ("stray R", "c R 5000 0 65535 0", false, "-"),
            ("SYN+FIN", "c SF 5000 0 65535 0", false, "-"),
            ("null", "c P 5000 0 65535 0", false, "-"),
        ],
    );
    assert_eq!(lab.ct.stats.invalid, 5);
    assert_eq!(lab.ct.count(), 0);
}

#[test]
fn t1_retransmits_and_zero_window() {
    let mut lab = Lab::new();
    let mut script = HANDSHAKE.to_vec();
    script.extend([("cli data", "c PA 1001 5001 502 5", true, "ESTABLISHED 299 assured"); 5]);
    script.extend([
        ("srv ack zero win", "s A 5001 1006 0 0", true, "ESTABLISHED 299 assured"),
        ("srv ack win open", "s A 5001 1006 500 0", true, "ESTABLISHED 431999 assured"),
    ]);
    play(&mut lab, &script);
}

/// t7, the resets of 2019: one packet beyond the window leaks untranslated.
#[test]
fn t7_the_invalid_packet_leaks_and_its_rst_is_nobodys() {
    let mut lab = Lab::new();
    lab.handshake(&LINUX_SYN);
    let leak = lab.server(seg("A", 5001 + 50_000_000, 1001).win(500));
    assert_eq!((leak.state(), leak.packet.ip.src), ("INVALID", lab.server));
    // The client knows no connection with the pod's own address, and says so to the pod.
    let rst = tcp("10.0.0.50", 20001, "10.0.1.50", 8080, seg("R", 1001, 0).win(0));
    let seen = lab.forward(rst);
    assert_eq!((seen.state(), seen.packet.ip.dst), ("INVALID", lab.server));
    assert_eq!(lab.ct.stats.invalid, 2);
    assert_eq!(lab.now_is(), "ESTABLISHED 432000 assured");
}

#[test]
fn t7_liberal_translates_it() {
    let mut lab = Lab::new();
    lab.set("tcp_be_liberal", 1).handshake(&LINUX_SYN);
    let seen = lab.server(seg("A", 5001 + 50_000_000, 1001).win(500));
    assert_eq!((seen.state(), seen.packet.ip.src), ("ESTABLISHED", lab.vip));
}

/// What a reader is told about a segment beyond the window: the arithmetic, not just the verdict.
#[test]
fn explanations_carry_the_numbers() {
    let mut lab = Lab::new();
    lab.handshake(&LINUX_SYN);
    let seen = lab.server(seg("PA", 10_005_001, 1001).win(509).len(10));
    let why: Vec<String> = seen
        .trace
        .events
        .iter()
        .filter_map(|e| match &e.kind {
            crate::trace::TraceKind::Conntrack { why, .. } => Some(why),
            _ => None,
        })
        .flatten()
        .map(|c| format!("{} {} {}: {}", c.field, c.have, c.want, if c.pass { "ok" } else { "fails" }))
        .collect();
    assert_eq!(
        why,
        [
            "checksum right right: ok",
            "state ACK in the reply direction, ESTABLISHED ESTABLISHED: ok",
            "I seq 10005001 <= 69257, the end of the window that was offered: fails",
            "II end 10005011 >= 4294908041 (modulo 2^32), one window behind the newest data: ok",
            "III ack 1001 <= 1001, the end of what the other side sent: ok",
            "IV ack 1001 >= 4294902297 (modulo 2^32), not absurdly late: ok",
        ]
    );
    assert_eq!(seen.said(), ["INVALID: SEQ is over upper bound 69258 (over the window of the receiver)"]);
}
