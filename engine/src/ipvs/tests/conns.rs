//! The life of connections: states, timers, counts, thresholds, removal, re-use of ports.

use crate::base::KernelVersion;
use crate::ipvs::testing::{Bench, at, datagram, server, tcp_key};
use crate::ipvs::{Refusal, Reply, Request, ServiceKey};
use crate::packet::{TcpFlags, proto};

const C: &str = "10.1.0.1:40000";
const S: &str = "10.0.0.1:80";

#[test]
fn a_connection_from_syn_to_time_wait() {
    let mut bench = Bench::new("rr", &[1]);
    assert_eq!(bench.syn(C), S);
    // A SYN counts as active at once: a flood of them does too.
    assert_eq!(bench.counts(), "1/0/0");
    assert_eq!(bench.table(), ["TCP SYN_RECV 10.1.0.1:40000 -> 10.96.0.1:80 -> 10.0.0.1:80 (Masq)"]);
    let synack = TcpFlags::SYN.with(TcpFlags::ACK);
    assert!(matches!(bench.answer(S, C, synack), Reply::Rewrite(x) if x.virt == at("10.96.0.1:80")));
    bench.tcp(C, TcpFlags::ACK);
    assert_eq!(bench.table(), ["TCP ESTABLISHED 10.1.0.1:40000 -> 10.96.0.1:80 -> 10.0.0.1:80 (Masq)"]);
    bench.close(S, C);
    assert_eq!(bench.table(), ["TCP TIME_WAIT 10.1.0.1:40000 -> 10.96.0.1:80 -> 10.0.0.1:80 (Masq)"]);
    assert_eq!(bench.counts(), "0/1/0");
    bench.at_secs(119);
    assert_eq!(bench.table().len(), 1);
    bench.at_secs(120);
    assert!(bench.table().is_empty());
    assert_eq!(bench.counts(), "0/0/0");
}

/// 60 s after a SYN, 15 minutes when established, 10 s after a reset; every packet starts the timer anew.
#[test]
fn timeouts_follow_the_state() {
    let mut bench = Bench::new("rr", &[1]);
    bench.syn(C);
    bench.at_secs(59).tcp(C, TcpFlags::SYN);
    bench.at_secs(118);
    assert_eq!(bench.table().len(), 1);
    bench.at_secs(119);
    assert!(bench.table().is_empty());
    bench.connect(C);
    bench.at_secs(119 + 899);
    assert_eq!(bench.table().len(), 1);
    bench.tcp(C, TcpFlags::RST);
    bench.at_secs(119 + 899 + 10);
    assert!(bench.table().is_empty());
}

#[test]
fn set_changes_three_timeouts() {
    let mut bench = Bench::new("rr", &[1]);
    bench.ipvs.config.set_timeouts(30, 0, 7);
    bench.connect(C);
    bench.at_secs(30);
    assert!(bench.table().is_empty());
    assert_eq!(bench.ipvs.config.timeouts.tcp_fin, 120);
}

#[test]
fn only_a_syn_begins_a_connection_unless_sloppy() {
    let mut bench = Bench::new("rr", &[1]);
    assert_eq!(bench.tcp(C, TcpFlags::ACK).server(), "(pass)");
    assert_eq!(bench.tcp(C, TcpFlags::RST.with(TcpFlags::SYN)).server(), "(pass)");
    bench.set("sloppy_tcp", 1);
    assert_eq!(bench.tcp(C, TcpFlags::RST).server(), "(pass)");
    assert_eq!(bench.tcp(C, TcpFlags::ACK).server(), S);
}

#[test]
fn what_is_no_service_passes() {
    let mut bench = Bench::new("rr", &[1]);
    assert_eq!(bench.send(&datagram(C, "10.96.0.1:80")).server(), "(pass)");
    assert_eq!(bench.answer("10.0.0.9:80", C, TcpFlags::ACK), Reply::Pass);
}

#[test]
fn without_a_destination_the_client_is_told() {
    assert_eq!(Bench::new("rr", &[]).syn(C), "(NoDest)");
    assert_eq!(Bench::new("wlc", &[0]).syn(C), "(NoDest)");
}

/// Weight 0 carries what there is and takes nothing new (k8s#71071).
#[test]
fn a_quiesced_server_keeps_its_connections() {
    let mut bench = Bench::new("rr", &[1, 1]);
    bench.connect(C);
    bench.weight(S, 0);
    assert_eq!(bench.tcp(C, TcpFlags::ACK).server(), S);
    assert_eq!(bench.syn("10.1.0.2:1"), "10.0.0.2:80");
    assert_eq!(bench.syn("10.1.0.3:1"), "10.0.0.2:80");
}

#[test]
fn a_removed_server_swallows_packets_unless_told_otherwise() {
    for (expire, ack, syn) in [(0, "(DestGone)", "(DestGone)"), (1, "(pass)", "10.0.0.2:80")] {
        let mut bench = Bench::new("rr", &[1, 1]);
        bench.set("expire_nodest_conn", expire);
        bench.connect(C);
        bench.connect("10.1.0.3:5");
        bench.connect("10.1.0.3:6");
        let key = bench.key;
        bench.ipvs.delete_dest(&key, at(S).ip(), 80, bench.now).expect("it is there");
        assert_eq!(bench.tcp(C, TcpFlags::ACK).server(), ack, "expire_nodest_conn={expire}");
        assert_eq!(bench.tcp("10.1.0.3:6", TcpFlags::SYN).server(), syn, "expire_nodest_conn={expire}");
        // The other server's connection is not touched.
        assert_eq!(bench.tcp("10.1.0.3:5", TcpFlags::ACK).server(), "10.0.0.2:80");
    }
}

/// A destination that returns while its connections live gets them back, with its counts.
#[test]
fn a_returning_server_takes_its_connections_up() {
    let mut bench = Bench::new("rr", &[1]);
    bench.connect(C);
    let key = bench.key;
    bench.ipvs.delete_dest(&key, at(S).ip(), 80, bench.now).expect("it is there");
    assert_eq!(bench.tcp(C, TcpFlags::ACK).server(), "(DestGone)");
    bench.ipvs.add_dest(&key, &server(S, 1)).expect("it is new");
    assert_eq!(bench.tcp(C, TcpFlags::ACK).server(), S);
    assert_eq!(bench.counts(), "1/0/0");
}

/// The upper threshold overloads; below the lower one, or below three quarters of the upper, it is over.
#[test]
fn thresholds() {
    for (lower, back_at) in [(0, 2), (2, 1)] {
        let mut bench = Bench::new("rr", &[1]);
        let key = bench.key;
        let mut spec = server(S, 1);
        (spec.upper, spec.lower) = (3, lower);
        bench.ipvs.edit_dest(&key, &spec).expect("the destination");
        let clients: Vec<String> = (1..=3).map(|n| format!("10.1.0.{n}:1")).collect();
        for client in &clients {
            assert_eq!(bench.connect(client), S);
        }
        assert_eq!(bench.syn("10.1.0.9:1"), "(NoDest)");
        // Resets let connections end ten seconds later, one by one.
        for (index, client) in clients.iter().enumerate() {
            let left = 2 - index;
            bench.at_secs(20 * index as u64).tcp(client, TcpFlags::RST);
            bench.at_secs(20 * index as u64 + 10);
            let expected = if left <= back_at { S } else { "(NoDest)" };
            assert_eq!(bench.syn(&format!("10.1.1.{index}:1")), expected, "lower {lower}, {left} left");
            if expected == S {
                break;
            }
        }
    }
    let mut bench = Bench::new("rr", &[1]);
    let mut spec = server("10.0.0.7:80", 1);
    (spec.upper, spec.lower) = (1, 2);
    let key = bench.key;
    assert_eq!(bench.ipvs.add_dest(&key, &spec), Err(crate::ipvs::Error::OutOfRange));
}

/// A SYN from a port in TIME_WAIT: with conn_reuse_mode 1 the connection starts over, with 0 it goes on to the old server.
#[test]
fn a_port_used_again_is_scheduled_anew() {
    for (mode, expected) in [(1, "10.0.0.2:80"), (0, S)] {
        let mut bench = Bench::new("rr", &[1, 1]);
        bench.set("conn_reuse_mode", mode);
        bench.connect(C);
        bench.close(S, C);
        assert_eq!(bench.syn(C), expected, "conn_reuse_mode={mode}");
        assert_eq!(bench.table().len(), 1);
    }
    // An established connection is never started over by a SYN.
    let mut bench = Bench::new("rr", &[1, 1]);
    bench.connect(C);
    assert_eq!(bench.syn(C), S);
}

/// The famous second (k8s#81775): when the SYN still belongs to the confirmed conntrack entry of the old connection, it is
/// dropped and both entries end; the retransmit passes.
#[test]
fn an_old_conntrack_entry_costs_a_retransmit() {
    let mut bench = Bench::new("rr", &[1, 1]);
    bench.set("conntrack", 1);
    bench.connect(C);
    bench.close(S, C);
    bench.old_conntrack = true;
    assert_eq!(bench.syn(C), "(OldConntrack)");
    assert_eq!(bench.ended.len(), 1, "its conntrack entry ends with it");
    bench.old_conntrack = false;
    assert_eq!(bench.syn(C), "10.0.0.2:80");
}

/// Without `net.ipv4.vs.conntrack` no entry is kept, and none costs anything.
#[test]
fn without_conntrack_nothing_is_dropped() {
    let mut bench = Bench::new("rr", &[1, 1]);
    bench.connect(C);
    bench.close(S, C);
    bench.old_conntrack = true;
    assert_eq!(bench.syn(C), "10.0.0.2:80");
    assert!(bench.ended.is_empty());
}

/// With expire_nodest_conn a SYN leaves a quiesced server even from an established connection.
#[test]
fn expire_nodest_conn_reschedules_syns_of_quiesced_servers() {
    let mut bench = Bench::new("rr", &[1, 1]);
    bench.connect(C);
    bench.weight(S, 0);
    assert_eq!(bench.syn(C), S);
    bench.set("expire_nodest_conn", 1);
    assert_eq!(bench.syn(C), "10.0.0.2:80");
}

#[test]
fn one_packet_scheduling_leaves_no_entry() {
    let mut bench = Bench::with("rr", &[1, 1], KernelVersion::V6_12, |spec| {
        spec.key = ServiceKey::address(proto::UDP, at("10.96.0.1:53").ip(), 53);
        spec.one_packet = true;
    });
    for expected in ["10.0.0.1:53", "10.0.0.2:53", "10.0.0.1:53"] {
        assert_eq!(bench.send(&datagram(C, "10.96.0.1:53")).server(), expected);
    }
    assert!(bench.table().is_empty());
    assert_eq!(bench.counts(), "0/0/0 0/0/0");
}

#[test]
fn a_udp_flow_stays_for_five_minutes() {
    let mut bench = Bench::with("rr", &[1, 1], KernelVersion::V6_12, |spec| {
        spec.key = ServiceKey::address(proto::UDP, at("10.96.0.1:53").ip(), 53);
    });
    for secs in [0, 299, 598] {
        assert_eq!(bench.at_secs(secs).send(&datagram(C, "10.96.0.1:53")).server(), "10.0.0.1:53");
    }
    assert_eq!(bench.counts(), "0/1/0 0/0/0");
    assert_eq!(bench.at_secs(898).send(&datagram(C, "10.96.0.1:53")).server(), "10.0.0.2:53");
}

/// A mark decides before the address does, and takes any protocol and port.
#[test]
fn services_by_mark_come_first() {
    let mut bench = Bench::with("rr", &[1], KernelVersion::V6_12, |spec| {
        spec.key = ServiceKey::Mark { mark: 7, family: crate::packet::Family::V4 };
    });
    let mut skb = datagram(C, "10.99.0.1:1234");
    assert_eq!(bench.send(&skb).server(), "(pass)");
    skb.mark = 7;
    assert_eq!(bench.send(&skb).server(), "10.0.0.1:80");
}

#[test]
fn statistics_of_destination_service_and_all() {
    let mut bench = Bench::new("rr", &[1, 1]);
    bench.connect(C);
    bench.connect("10.1.0.2:1");
    let key = bench.key;
    let service = bench.ipvs.service(&key).expect("the service");
    let totals = service.stats.counted();
    assert_eq!((totals.conns, totals.in_packets, totals.out_packets), (2, 4, 2));
    assert_eq!((totals.in_bytes, totals.out_bytes), (160, 80));
    assert_eq!(bench.ipvs.stats.counted(), totals);
    let first = bench.ipvs.dests(service).next().expect("a destination").stats.counted();
    assert_eq!((first.conns, first.in_packets), (1, 2));
    assert_eq!(
        bench.ipvs.zero(Some(&tcp_key("10.9.9.9:1")), bench.now),
        Err(crate::ipvs::Error::NoSuchService)
    );
    bench.ipvs.zero(None, bench.now).expect("all");
    assert_eq!(bench.ipvs.stats.totals(bench.now).conns, 0);
}

/// drop_packet 3 drops the first and then one of am_droprate packets that would begin a connection.
#[test]
fn the_defence_drops_one_of_ten() {
    let mut bench = Bench::new("rr", &[1]);
    bench.set("drop_packet", 3);
    let dropped: Vec<usize> = (0..21)
        .filter(|n| {
            let met = bench.tcp(&format!("10.1.0.{}:1", n + 1), TcpFlags::SYN);
            met.request == Request::Refuse(Refusal::Defence)
        })
        .collect();
    assert_eq!(dropped, [0, 10, 20]);
}

#[test]
fn direct_routing_sees_one_side_only() {
    let mut bench = Bench::new("rr", &[]);
    let mut spec = server(S, 1);
    spec.forward = crate::ipvs::Forward::Route;
    let key = bench.key;
    bench.ipvs.add_dest(&key, &spec).expect("a destination");
    bench.syn(C);
    bench.tcp(C, TcpFlags::ACK);
    assert_eq!(bench.table(), ["TCP ESTABLISHED 10.1.0.1:40000 -> 10.96.0.1:80 -> 10.0.0.1:80 (Route)"]);
    // The client's FIN alone: FIN_WAIT where only its side is seen, CLOSE_WAIT behind NAT.
    bench.tcp(C, TcpFlags::FIN.with(TcpFlags::ACK));
    assert_eq!(bench.table(), ["TCP FIN_WAIT 10.1.0.1:40000 -> 10.96.0.1:80 -> 10.0.0.1:80 (Route)"]);
    bench.set("conn_reuse_mode", 3);
    bench.syn(C);
    assert_eq!(bench.ipvs.conns().next().map(|c| c.id.0), Some(2), "mode 2 starts FIN_WAIT over too");
}
