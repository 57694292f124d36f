//! UDP, UDP-Lite, GRE and the generic tracker.

use crate::conntrack::testing::{Lab, ip, packet, udp};
use crate::conntrack::{EventKind, Status};
use crate::packet::{L4, UdpChecksum, proto};

fn ask(lab: &mut Lab, ms: u64) -> String {
    let query = udp(lab.client, 5000, lab.server, 53, 10);
    lab.at(ms).forward(query);
    lab.now_is()
}

fn answer(lab: &mut Lab, ms: u64) -> String {
    let reply = udp(lab.server, 53, lab.client, 5000, 10);
    lab.at(ms).forward(reply);
    lab.now_is()
}

#[test]
fn a_stream_needs_an_answer_and_two_seconds() {
    let mut lab = Lab::new();
    assert_eq!(ask(&mut lab, 0), " 30 unreplied");
    assert_eq!(ask(&mut lab, 5000), " 30 unreplied");
    // The answer is judged before it counts as one.
    assert_eq!(answer(&mut lab, 5001), " 30");
    assert_eq!(ask(&mut lab, 5002), " 120 assured");
}

#[test]
fn exactly_two_seconds_are_not_enough() {
    let mut lab = Lab::new();
    ask(&mut lab, 0);
    answer(&mut lab, 1);
    assert_eq!(ask(&mut lab, 2000), " 30");
    assert_eq!(ask(&mut lab, 2001), " 120 assured");
    assert_eq!(answer(&mut lab, 60_000), " 120 assured");
}

#[test]
fn every_packet_refreshes_and_silence_ends_it() {
    let mut lab = Lab::new();
    ask(&mut lab, 0);
    ask(&mut lab, 29_999);
    assert_eq!(lab.at(59_998).now_is(), " 0 unreplied");
    assert_eq!(lab.at(59_999).now_is(), "-");
    assert_eq!(ask(&mut lab, 60_000), " 30 unreplied");
    assert_eq!(lab.ct.count(), 1);
}

#[test]
fn a_bad_checksum_is_invalid() {
    let mut lab = Lab::new();
    let mut query = udp(lab.client, 5000, lab.server, 53, 10);
    if let L4::Udp(udp) = &mut query.l4 {
        udp.checksum = UdpChecksum::Wrong;
    }
    assert_eq!(lab.forward(query).state(), "INVALID");
    assert_eq!(lab.ct.stats.invalid, 1);
}

#[test]
fn udp_lite_is_a_stream_at_the_first_answer() {
    let mut lab = Lab::new();
    let bytes = |a: u16, b: u16| [a.to_be_bytes(), b.to_be_bytes(), [0, 8], [0x12, 0x34]].concat();
    let there = packet(lab.client, lab.server, proto::UDPLITE, L4::Raw(bytes(7, 9)));
    let back = packet(lab.server, lab.client, proto::UDPLITE, L4::Raw(bytes(9, 7)));
    lab.forward(there.clone());
    lab.forward(back);
    lab.forward(there);
    assert_eq!(lab.now_is(), " 120 assured");
    assert!(lab.lines()[0].starts_with("udplite  136 "));
    let bare = [7_u16.to_be_bytes(), 9_u16.to_be_bytes(), [0, 8], [0, 0]].concat();
    let bare = packet(lab.client, lab.server, proto::UDPLITE, L4::Raw(bare));
    assert_eq!(lab.forward(bare).state(), "INVALID");
}

#[test]
fn gre_has_its_own_two_timeouts() {
    let mut lab = Lab::new();
    let there = packet(lab.client, lab.server, proto::GRE, L4::Raw(vec![0, 0, 8, 0]));
    let back = packet(lab.server, lab.client, proto::GRE, L4::Raw(vec![0, 0, 8, 0]));
    lab.forward(there.clone());
    assert_eq!(lab.now_is(), " 30 unreplied");
    lab.forward(back);
    lab.forward(there);
    assert_eq!(lab.now_is(), " 180 assured");
}

#[test]
fn other_protocols_live_ten_minutes_by_addresses_alone() {
    let mut lab = Lab::new();
    let esp = packet(lab.client, lab.server, proto::ESP, L4::Raw(vec![1; 20]));
    lab.forward(esp);
    assert_eq!(
        lab.lines(),
        ["unknown  50 600 src=10.0.0.50 dst=10.0.1.50 [UNREPLIED] src=10.0.1.50 dst=10.0.0.50 mark=0 use=1"]
    );
}

#[test]
fn later_fragments_and_cut_headers_are_invalid() {
    let mut lab = Lab::new();
    let mut late = packet(lab.client, lab.server, proto::UDP, L4::Raw(vec![0; 64]));
    late.ip.frag_offset = 1480;
    assert_eq!(lab.forward(late).state(), "INVALID");
    let cut = packet(lab.client, lab.server, proto::UDP, L4::Truncated(vec![0; 3]));
    assert_eq!(lab.forward(cut).state(), "INVALID");
    assert_eq!(lab.ct.stats.invalid, 2);
}

#[test]
fn accounting_counts_bytes_of_the_ip_packet_if_it_was_on_at_birth() {
    let mut lab = Lab::new();
    ask(&mut lab, 0);
    lab.set("acct", 1);
    ask(&mut lab, 1);
    assert_eq!(lab.entry().acct, None);
    lab.ct.flush(lab.now);
    ask(&mut lab, 2);
    ask(&mut lab, 3);
    answer(&mut lab, 4);
    assert_eq!(
        lab.lines(),
        ["udp      17 30 src=10.0.0.50 dst=10.0.1.50 sport=5000 dport=53 packets=2 bytes=76 src=10.0.1.50 \
          dst=10.0.0.50 sport=53 dport=5000 packets=1 bytes=38 mark=0 use=1"]
    );
}

#[test]
fn events_tell_of_changes_not_of_refreshes() {
    let mut lab = Lab::new();
    lab.ct.listen(true);
    ask(&mut lab, 0);
    ask(&mut lab, 1);
    answer(&mut lab, 2);
    answer(&mut lab, 3);
    ask(&mut lab, 3000);
    ask(&mut lab, 3001);
    lab.at(200_000).ct.collect(crate::base::Instant::from_millis(200_000));
    let kinds: Vec<EventKind> = lab.ct.take_events().into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [EventKind::New, EventKind::Update, EventKind::Update, EventKind::Destroy]);
}

#[test]
fn zones_keep_equal_tuples_apart() {
    let mut lab = Lab::new();
    for zone in [0, 7] {
        let mut skb = crate::packet::Skb::new(udp(lab.client, 5000, lab.server, 53, 10));
        skb.ct_zone = zone;
        let mut trace = crate::trace::Trace::default();
        let _ = lab.in_flight(&mut skb, &mut trace);
        let _ = lab.confirm(&mut skb, &mut trace);
        assert_eq!(skb.ct_info.state_name(), "NEW");
        lab.ct.release(&mut skb);
    }
    let lines = lab.lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[1].ends_with("mark=0 zone=7 use=1"), "{}", lines[1]);
}

#[test]
fn untracked_and_disabled_pass_untouched() {
    let mut lab = Lab::new();
    let mut skb = crate::packet::Skb::new(udp(lab.client, 5000, lab.server, 53, 10));
    skb.ct_info = crate::packet::CtInfo::Untracked;
    let mut trace = crate::trace::Trace::default();
    let _ = lab.in_flight(&mut skb, &mut trace);
    assert_eq!((skb.ct, skb.ct_info.state_name()), (None, "UNTRACKED"));
    let mut off = Lab::new();
    off.ct.set_enabled(crate::packet::Family::V4, false);
    assert_eq!(off.forward(udp(ip("10.0.0.50"), 1, ip("10.0.1.50"), 2, 0)).state(), "INVALID");
    assert_eq!(off.ct.stats.invalid, 0);
    assert_eq!(off.ct.count(), 0);
}

#[test]
fn a_dropped_packets_entry_dies_with_it_and_release_is_idempotent() {
    let mut lab = Lab::new();
    let mut skb = crate::packet::Skb::new(udp(lab.client, 5000, lab.server, 53, 10));
    let mut trace = crate::trace::Trace::default();
    let _ = lab.in_flight(&mut skb, &mut trace);
    assert_eq!((lab.ct.count(), lab.lines().len()), (1, 0));
    lab.ct.release(&mut skb);
    lab.ct.release(&mut skb);
    assert_eq!(lab.ct.count(), 0);
    assert!(!lab.ct.entries(lab.now).any(|e| e.status.has(Status::CONFIRMED)));
}

/// Asked of the kernel: the error about an untracked packet is tracked all the same, finds nothing, and counts.
#[test]
fn the_answer_to_an_untracked_packet_is_no_untracked_packet() {
    let mut lab = Lab::new();
    let mut offender = crate::packet::Skb::new(udp(lab.client, 5000, lab.server, 53, 10));
    offender.ct_info = crate::packet::CtInfo::Untracked;
    let quote = vec![0; 8];
    let error = crate::conntrack::testing::icmp(lab.server, lab.client, 3, 3, 0, quote);
    let mut answer = crate::packet::Skb::new(error);
    lab.ct.attach_answer(&mut answer, &offender);
    assert_eq!((answer.ct, answer.ct_info.state_name()), (None, "RELATED"));
    let _ = lab.in_flight(&mut answer, &mut crate::trace::Trace::default());
    assert_eq!((answer.ct_info.state_name(), lab.ct.stats.error), ("INVALID", 1));
}
