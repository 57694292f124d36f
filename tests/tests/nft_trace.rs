//! `nft monitor trace` against the real one: `tests/nft/trace/NAME.nft` are rules, `NAME.frames` the frames that came in
//! through `rc` (hexadecimal, 150 ms apart), `NAME.said` what nft 1.0.6 on Linux 6.18 printed meanwhile.
//!
//! Packets are numbered in the order they are heard of. What the node draws for a packet of its own is not compared: the
//! identification of an ICMP error, the flow label of an ICMPv6 message.

use std::path::Path;

use chainwalk_tests::case::CaseFile;
use chainwalk_tests::emulator;
use chainwalk_tests::replay::{Case, Interface, Node, Packet, Setup, sysctls};

const COMMAND: &str = "nft monitor trace";

/// The node that was asked: a client behind `rc` with the addresses 10.0.0.2 and fd00::2, servers behind `rs`.
fn node(rules: String) -> Node {
    let interface = |name: &str, addresses: [&str; 2], mac: &str| Interface {
        name: name.into(),
        addresses: addresses.map(Into::into).to_vec(),
        mac: Some(mac.into()),
        ..Interface::default()
    };
    Node {
        interfaces: vec![
            interface("rc", ["10.0.0.1/24", "fd00::1/64"], "02:00:00:00:01:01"),
            interface("rs", ["10.0.1.1/24", "fd00:1::1/64"], "02:00:00:00:03:01"),
        ],
        sysctls: sysctls(&[("net.ipv4.ip_forward", "1"), ("net.ipv6.conf.all.forwarding", "1")]),
        setup: vec![Setup { run: "nft -f -".into(), stdin: rules }],
        ..Node::default()
    }
}

/// Behind the frame's header of 14 bytes begins the packet.
fn packet((number, frame): (usize, &str)) -> Packet {
    let (_, bytes) = frame.split_at(28);
    Packet {
        at_ms: 150 * number as u64,
        input: "rc".into(),
        mac: Some("02:00:00:00:02:02".into()),
        raw_hex: Some(bytes.to_owned()),
        ..Packet::default()
    }
}

/// The lines without what nobody can foresee.
fn settled(text: &str) -> Vec<String> {
    let mut ids: Vec<&str> = Vec::new();
    let traces = text.lines().filter_map(|line| line.strip_prefix("trace id ")?.split_once(' '));
    traces
        .map(|(id, rest)| {
            if !ids.contains(&id) {
                ids.push(id);
            }
            let number = ids.iter().position(|known| *known == id).unwrap_or_default();
            let own = rest.contains(" packet: oif ") || rest.contains("iif \"lo\"");
            let mut before = ["", ""];
            let words = rest.split(' ').map(|word| {
                let drawn = own && matches!(before, ["ip", "id"] | ["ip6", "flowlabel"]);
                before = [before[1], word];
                if drawn { "_" } else { word }
            });
            format!("{number} {}", words.collect::<Vec<_>>().join(" "))
        })
        .collect()
}

#[track_caller]
fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("nft/trace");
    let file = |ending: &str| {
        std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).expect("a transcript")
    };
    let case = Case {
        format: "chainwalk.replay/1".into(),
        seed: 1,
        node: node(file("nft")),
        packets: file("frames").lines().enumerate().map(packet).collect(),
        draws: Vec::new(),
        show: vec![COMMAND.into()],
    };
    let case = CaseFile { purpose: String::new(), case, links: Vec::new(), recorded: None };
    let run = emulator::run(&case).expect("everything here is emulated");
    let (theirs, ours) = (settled(&file("said")), settled(&run.show[COMMAND]));
    let wrong = theirs.iter().zip(&ours).filter(|(theirs, ours)| theirs != ours);
    let wrong: Vec<String> = wrong.map(|(theirs, ours)| format!("nft:  {theirs}\nours: {ours}")).collect();
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(theirs.len(), ours.len());
}

#[test]
fn jumps_marks_and_verdicts_are_told() {
    check("verdicts");
}

/// Also the lines of IPv6 packets, with TCP, UDP, ICMPv6, SCTP and others behind the header.
#[test]
fn an_answer_is_told_before_the_rule_that_sends_it() {
    check("reject");
}

#[test]
fn an_answer_to_an_answer_comes_in_when_both_rules_have_run() {
    check("answer-rejected");
}
