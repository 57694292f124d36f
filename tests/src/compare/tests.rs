//! Which differences between kernel and engine are reported, and which are let pass.

use super::*;
use crate::case::Answer;
use crate::frame::Seen;

fn file() -> CaseFile {
    serde_json::from_str(
        r#"{"purpose": "test", "case": {"format": "chainwalk.replay/1", "node": {"interfaces": []},
            "packets": [{"in": "c0", "sport": 33333}]}}"#,
    )
    .unwrap()
}

fn run(sport: u16, conntrack: &str) -> Run {
    let seen = Seen { src: "10.0.0.1".into(), proto: "tcp".into(), sport: Some(sport), ..Seen::default() };
    Run {
        packets: vec![Answer { emitted: vec![seen], ..Answer::default() }],
        show: [("conntrack -L".to_string(), conntrack.to_string())].into(),
        ..Run::default()
    }
}

fn line(seconds: u32, port: u16) -> String {
    format!(
        "tcp      6 {seconds} SYN_SENT src=10.1.0.2 dst=10.2.0.2 sport=33333 dport=80 [UNREPLIED] src=10.2.0.2 dst=10.0.0.1 sport=80 dport={port} mark=0 use=1\n"
    )
}

#[test]
fn a_drawn_port_is_judged_by_its_class_and_followed() {
    let kernel = run(46538, &line(119, 46538));
    assert_eq!(runs(&file(), &kernel, &run(31267, &line(119, 31267))), []);
    assert_eq!(runs(&file(), &kernel, &run(31267, &line(119, 5000))).len(), 1);
    assert_eq!(runs(&file(), &kernel, &run(300, &line(119, 300))).len(), 2);
    assert_eq!(
        runs(&file(), &kernel, &run(33333, &line(119, 33333))).len(),
        2,
        "kept where the kernel changed"
    );
}

/// A segment of the node's own TCP: flags, and the sequence number it drew for its address.
fn segment(src: &str, flags: &str, seq: u32) -> Answer {
    let seen = Seen {
        src: src.into(),
        dst: "10.1.0.3".into(),
        proto: "tcp".into(),
        sport: Some(30081),
        dport: Some(40000),
        flags: Some(flags.into()),
        seq: Some(seq),
        ..Seen::default()
    };
    Answer { emitted: vec![seen], delivered: true, ..Answer::default() }
}

#[test]
fn initial_sequence_numbers_are_followed_for_each_address_of_the_node() {
    let run = |draws: [u32; 3]| {
        let [one, other, next] = draws;
        let packets = vec![
            segment("10.2.0.1", "SA", one),
            segment("10.1.0.1", "SA", other),
            segment("10.2.0.1", "A", next),
        ];
        Run { packets, ..Run::default() }
    };
    assert_eq!(runs(&file(), &run([500, 9000, 501]), &run([20, 70, 21])), []);
    assert_eq!(runs(&file(), &run([500, 9000, 502]), &run([20, 70, 21])).len(), 1);
}

#[test]
fn seconds_may_differ_by_one() {
    let kernel = run(33333, &line(119, 33333));
    assert_eq!(runs(&file(), &kernel, &run(33333, &line(120, 33333))), []);
    assert_eq!(runs(&file(), &kernel, &run(33333, &line(117, 33333))).len(), 1);
}

#[test]
fn tables_of_a_save_may_come_in_any_order() {
    let command = "iptables-legacy-save -c";
    let with = |text: &str| Run { show: [(command.to_string(), text.to_string())].into(), ..Run::default() };
    let kernel =
        with("# Generated\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n*nat\n:INPUT ACCEPT [0:0]\nCOMMIT\n");
    let emulator = with("*nat\n:INPUT ACCEPT [0:0]\nCOMMIT\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n");
    assert_eq!(runs(&file(), &kernel, &emulator), []);
}
