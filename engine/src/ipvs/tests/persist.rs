//! Persistence: templates, their lifetime, netmask, and what a quiesced or removed server does to them.

use crate::base::{Duration, KernelVersion};
use crate::ipvs::ServiceKey;
use crate::ipvs::service::{Mask, Persistence};
use crate::ipvs::testing::{Bench, at};
use crate::packet::{Family, TcpFlags, proto};

const HOST: &str = "255.255.255.255";

#[test]
fn a_client_stays_with_its_server() {
    let mut bench = Bench::persistent("rr", &[1, 1], 300, HOST);
    assert_eq!(bench.connect("10.1.0.1:1"), "10.0.0.1:80");
    assert_eq!(bench.connect("10.1.0.1:2"), "10.0.0.1:80");
    assert_eq!(bench.connect("10.1.0.2:1"), "10.0.0.2:80");
    assert_eq!(
        bench.table(),
        [
            "TCP ASSURED 10.1.0.1:0 -> 10.96.0.1:80 -> 10.0.0.1:80 (Masq)",
            "TCP ESTABLISHED 10.1.0.1:1 -> 10.96.0.1:80 -> 10.0.0.1:80 (Masq)",
            "TCP ESTABLISHED 10.1.0.1:2 -> 10.96.0.1:80 -> 10.0.0.1:80 (Masq)",
            "TCP ASSURED 10.1.0.2:0 -> 10.96.0.1:80 -> 10.0.0.2:80 (Masq)",
            "TCP ESTABLISHED 10.1.0.2:1 -> 10.96.0.1:80 -> 10.0.0.2:80 (Masq)",
        ]
    );
    assert_eq!(bench.counts(), "2/0/1 1/0/1");
}

#[test]
fn a_mask_ties_whole_networks() {
    let mut bench = Bench::persistent("rr", &[1, 1], 300, "255.255.255.0");
    assert_eq!(bench.connect("10.1.0.1:1"), "10.0.0.1:80");
    assert_eq!(bench.connect("10.1.0.200:1"), "10.0.0.1:80");
    assert_eq!(bench.connect("10.1.1.1:1"), "10.0.0.2:80");
    assert!(bench.table()[0].contains("10.1.0.0:0"), "{:?}", bench.table());
}

/// k8s#89358: five seconds behave as two minutes and more. The template's timer fires while a connection lives (also one in
/// TIME_WAIT), and from then on it looks again every 60 s.
#[test]
fn affinity_outlives_its_timeout_while_connections_do() {
    let mut bench = Bench::persistent("rr", &[1, 1], 5, HOST);
    bench.connect("10.1.0.1:1");
    bench.close("10.0.0.1:80", "10.1.0.1:1");
    // TIME_WAIT until 120 s. The template looks at 5, 65 and 125 s.
    assert_eq!(bench.at_secs(121).table().len(), 1);
    assert_eq!(bench.connect("10.1.0.1:2"), "10.0.0.1:80");
    let mut bench = Bench::persistent("rr", &[1, 1], 5, HOST);
    bench.connect("10.1.0.1:1");
    bench.close("10.0.0.1:80", "10.1.0.1:1");
    assert!(bench.at_secs(125).table().is_empty());
    assert_eq!(bench.connect("10.1.0.1:2"), "10.0.0.2:80");
}

/// k8s PR 71834: weight 0 keeps its clients unless expire_quiescent_template says otherwise.
#[test]
fn a_quiesced_server_keeps_its_clients_by_default() {
    for (sysctl, expected) in [(0, "10.0.0.1:80"), (1, "10.0.0.2:80")] {
        let mut bench = Bench::persistent("rr", &[1, 1], 300, HOST);
        bench.connect("10.1.0.1:1");
        bench.set("expire_quiescent_template", sysctl);
        bench.weight("10.0.0.1:80", 0);
        assert_eq!(bench.connect("10.1.0.1:2"), expected, "expire_quiescent_template={sysctl}");
        // The old connection goes on in either case.
        assert_eq!(bench.tcp("10.1.0.1:1", TcpFlags::ACK).server(), "10.0.0.1:80");
    }
}

#[test]
fn a_removed_server_loses_its_clients() {
    let mut bench = Bench::persistent("rr", &[1, 1], 300, HOST);
    bench.connect("10.1.0.1:1");
    let key = bench.key;
    bench.ipvs.delete_dest(&key, at("10.0.0.1:80").ip(), 80, bench.now).expect("it is there");
    assert_eq!(bench.connect("10.1.0.1:2"), "10.0.0.2:80");
    assert!(bench.table()[0].contains(":65535"), "the old template is out of the way: {:?}", bench.table());
}

/// A service of port 0 takes every port; its template has none, and the port that was dialled is kept.
#[test]
fn any_port_shares_a_template() {
    let mut bench = Bench::with("rr", &[1, 1], KernelVersion::V6_12, |spec| {
        spec.key = ServiceKey::address(proto::TCP, at("10.96.0.1:0").ip(), 0);
        spec.persistence =
            Some(Persistence { timeout: Duration::from_secs(300), mask: Mask::host(Family::V4) });
    });
    let syn = |bench: &mut Bench, client: &str, port: u16| {
        let to = std::net::SocketAddr::new(at("10.96.0.1:0").ip(), port);
        bench.send(&crate::ipvs::arrivals::segment(at(client), to, TcpFlags::SYN)).server()
    };
    assert_eq!(syn(&mut bench, "10.1.0.1:1", 443), "10.0.0.1:443");
    assert_eq!(syn(&mut bench, "10.1.0.1:2", 80), "10.0.0.1:80");
    assert_eq!(syn(&mut bench, "10.1.0.2:1", 80), "10.0.0.2:80");
}

#[test]
fn the_template_of_a_mark_has_the_mark_for_an_address() {
    let mut bench = Bench::with("rr", &[1, 1], KernelVersion::V6_12, |spec| {
        spec.key = ServiceKey::Mark { mark: 7, family: Family::V4 };
        spec.persistence =
            Some(Persistence { timeout: Duration::from_secs(300), mask: Mask::host(Family::V4) });
    });
    let mut skb = crate::ipvs::arrivals::segment(at("10.1.0.1:1"), at("10.99.0.1:443"), TcpFlags::SYN);
    skb.mark = 7;
    assert_eq!(bench.send(&skb).server(), "10.0.0.1:443");
    assert_eq!(bench.table()[0], "IP NONE 10.1.0.1:0 -> 0.0.0.7:0 -> 10.0.0.1:0 (Masq)");
}

#[test]
fn ipv6_masks_are_prefix_lengths() {
    let mask = Mask::V6(64);
    let masked = mask.apply("fd00:1:2:3:4:5:6:7".parse().expect("an address"));
    assert_eq!(masked.to_string(), "fd00:1:2:3::");
    assert_eq!(Mask::V6(128).apply(masked), masked);
}
