//! ICMP queries and errors, IPv4 and IPv6.

use std::net::IpAddr;

use crate::conntrack::testing::{LINUX_SYN, Lab, icmp, ip, packet, seg, to, to_addr, udp};
use crate::conntrack::{CtVerdict, Tuple};
use crate::packet::{L4, Packet, proto};

/// The first bytes of `packet` on the wire: IP header and eight bytes of its payload.
fn quote(packet: &Packet) -> Vec<u8> {
    let (sport, dport) = packet.ports().unwrap_or((0, 0));
    let mut bytes = match (packet.ip.src, packet.ip.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut head = vec![0x45, 0, 0, 60, 0, 1, 0, 0, 63, packet.ip.proto, 0, 0];
            head.extend(src.octets());
            head.extend(dst.octets());
            let sum = checksum(&head);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            head
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let mut head = vec![0x60, 0, 0, 0, 0, 20, packet.ip.proto, 63];
            head.extend(src.octets());
            head.extend(dst.octets());
            head
        }
        _ => panic!("one family"),
    };
    if let L4::Icmp(icmp) = &packet.l4 {
        bytes.extend([icmp.kind, icmp.code, 0, 0, icmp.rest[0], icmp.rest[1], 0, 1]);
    } else {
        bytes.extend(sport.to_be_bytes());
        bytes.extend(dport.to_be_bytes());
        bytes.extend([0, 0, 0, 0]);
    }
    bytes
}

fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn quoted(seen: &Packet) -> Tuple {
    let L4::Icmp(icmp) = &seen.l4 else { panic!("ICMP") };
    if seen.ip.src.is_ipv4() {
        assert_eq!(checksum(&icmp.payload[..20]), 0, "the quoted header's checksum was kept right");
    }
    crate::conntrack::quoted::Quoted::parse(&icmp.payload, seen.family()).expect("a quote").tuple
}

#[test]
fn an_echo_lives_thirty_seconds_and_is_never_assured() {
    let mut lab = Lab::new();
    let (client, server) = (lab.client, lab.server);
    assert_eq!(lab.forward(icmp(client, server, 8, 0, 77, vec![])).state(), "NEW");
    assert_eq!(
        lab.lines(),
        ["icmp     1 30 src=10.0.0.50 dst=10.0.1.50 type=8 code=0 id=77 [UNREPLIED] src=10.0.1.50 \
          dst=10.0.0.50 type=0 code=0 id=77 mark=0 use=1"]
    );
    assert_eq!(lab.at(5000).forward(icmp(server, client, 0, 0, 77, vec![])).state(), "ESTABLISHED");
    // The answer does not delete the entry.
    assert_eq!(lab.now_is(), " 30");
    assert_eq!(lab.at(9000).forward(icmp(client, server, 8, 0, 77, vec![])).state(), "ESTABLISHED");
    assert_eq!(lab.now_is(), " 30");
}

#[test]
fn an_answer_nobody_asked_for_is_invalid() {
    let mut lab = Lab::new();
    for kind in [0, 14, 16, 18] {
        assert_eq!(lab.forward(icmp(lab.server, lab.client, kind, 0, 7, vec![])).state(), "INVALID");
    }
    // Router solicitation: nothing answers it by tuple.
    assert_eq!(lab.forward(icmp(lab.server, lab.client, 10, 0, 0, vec![])).state(), "INVALID");
    assert_eq!((lab.ct.stats.invalid, lab.ct.stats.error), (5, 0));
    // Not an ICMP type at all: counted as an error.
    assert_eq!(lab.forward(icmp(lab.server, lab.client, 19, 0, 0, vec![])).state(), "INVALID");
    assert_eq!((lab.ct.stats.invalid, lab.ct.stats.error), (5, 1));
    assert_eq!(lab.ct.count(), 0);
}

/// t7: UDP to the VIP, the pod's port is closed. The client sees the VIP complain about its own packet.
#[test]
fn t7_an_error_from_behind_dnat_is_translated_inside_and_out() {
    let mut lab = Lab::new();
    lab.client = ip("10.0.0.2");
    lab.dnat = vec![(proto::UDP, 4444, to_addr(ip("10.0.1.2")))];
    let query = udp(lab.client, 45000, lab.vip, 4444, 1);
    let sent = lab.forward(query);
    assert_eq!(sent.packet.ip.dst, ip("10.0.1.2"));
    let error = icmp(ip("10.0.1.2"), lab.client, 3, 3, 0, quote(&sent.packet));
    let seen = lab.forward(error);
    assert_eq!(seen.state(), "RELATED");
    assert_eq!((seen.packet.ip.src, seen.packet.ip.dst), (lab.vip, lab.client));
    let inner = quoted(&seen.packet);
    assert_eq!((inner.src, inner.dst), (lab.client, lab.vip));
    assert_eq!((inner.l4.src(), inner.l4.dst()), (45000, 4444));
    // An error is no answer.
    assert_eq!(lab.now_is(), " 30 unreplied");
}

#[test]
fn an_error_from_a_router_on_the_way_is_translated_too() {
    let mut lab = Lab::new();
    lab.snat = Some(to_addr(ip("10.0.1.1")));
    let sent = lab.client(seg("S", 1000, 0).opts(&LINUX_SYN));
    assert_eq!(sent.packet.ip.src, ip("10.0.1.1"));
    let error = icmp(ip("192.0.2.9"), ip("10.0.1.1"), 11, 0, 0, quote(&sent.packet));
    let seen = lab.forward(error);
    assert_eq!(seen.state(), "RELATED");
    assert_eq!(seen.packet.ip.dst, lab.client);
    let inner = quoted(&seen.packet);
    assert_eq!((inner.src, inner.dst), (lab.client, lab.vip));
    assert_eq!((inner.l4.src(), inner.l4.dst()), (20001, 80));
}

#[test]
fn an_error_in_the_original_direction_is_translated_like_the_data() {
    let mut lab = Lab::new();
    lab.handshake(&[]);
    let got = lab.server(seg("PA", 5001, 1001).len(10));
    assert_eq!((got.packet.ip.src, got.packet.ip.dst), (lab.vip, lab.client));
    // The client complains about what it received from the VIP.
    let error = icmp(lab.client, lab.vip, 3, 3, 0, quote(&got.packet));
    let seen = lab.forward(error);
    assert_eq!((seen.state(), seen.packet.ip.dst), ("RELATED", lab.server));
    let inner = quoted(&seen.packet);
    assert_eq!((inner.src, inner.dst), (lab.server, lab.client));
    assert_eq!((inner.l4.src(), inner.l4.dst()), (8080, 20001));
}

#[test]
fn errors_about_nothing_known_are_counted_as_errors() {
    let mut lab = Lab::new();
    lab.handshake(&[]);
    let stranger = udp(lab.client, 1, lab.server, 2, 0);
    let error = icmp(lab.server, lab.client, 3, 3, 0, quote(&stranger));
    assert_eq!(lab.forward(error).state(), "INVALID");
    // Known connection, but not addressed to the quoted packet's sender.
    let sent = lab.client(seg("A", 1001, 5001)).packet;
    let error = icmp(lab.server, ip("10.0.0.99"), 3, 3, 0, quote(&sent));
    assert_eq!(lab.forward(error).state(), "INVALID");
    // Cut before the ports.
    let error = icmp(lab.server, lab.client, 3, 3, 0, quote(&sent)[..22].to_vec());
    assert_eq!(lab.forward(error).state(), "INVALID");
    let mut error = icmp(lab.server, lab.client, 3, 3, 0, quote(&sent));
    if let L4::Icmp(icmp) = &mut error.l4 {
        icmp.checksum_ok = false;
    }
    assert_eq!(lab.forward(error).state(), "INVALID");
    assert_eq!((lab.ct.stats.error, lab.ct.stats.invalid), (4, 0));
}

#[test]
fn a_redirect_about_a_mapped_flow_is_dropped() {
    let mut lab = Lab::new();
    lab.handshake(&[]);
    let sent = lab.client(seg("A", 1001, 5001)).packet;
    let redirect = icmp(ip("10.0.1.9"), lab.client, 5, 1, 0, quote(&sent));
    assert!(matches!(lab.forward(redirect).verdict, CtVerdict::Drop(_)));
    // About one without a mapping it passes.
    let mut plain = Lab::new();
    plain.dnat.clear();
    let sent = plain.client(seg("S", 1000, 0)).packet;
    let redirect = icmp(ip("10.0.1.9"), plain.client, 5, 1, 0, quote(&sent));
    let seen = plain.forward(redirect);
    assert_eq!((seen.verdict, seen.state()), (CtVerdict::Accept, "RELATED"));
}

#[test]
fn an_error_about_an_echo_keeps_its_identifier_mapping() {
    let mut lab = Lab::new();
    lab.snat = Some(crate::conntrack::NatRange { ports: Some((500, 500)), ..to_addr(ip("10.0.1.1")) });
    let sent = lab.forward(icmp(lab.client, lab.server, 8, 0, 77, vec![]));
    let L4::Icmp(echo) = &sent.packet.l4 else { panic!("ICMP") };
    assert_eq!((sent.packet.ip.src, echo.id()), (ip("10.0.1.1"), 500));
    let error = icmp(ip("192.0.2.9"), ip("10.0.1.1"), 11, 0, 0, quote(&sent.packet));
    let seen = lab.forward(error);
    assert_eq!((seen.state(), seen.packet.ip.dst), ("RELATED", lab.client));
    assert_eq!(quoted(&seen.packet).l4.src(), 77);
    // And so does the answer.
    let seen = lab.forward(icmp(lab.server, ip("10.0.1.1"), 0, 0, 500, vec![]));
    let L4::Icmp(echo) = &seen.packet.l4 else { panic!("ICMP") };
    assert_eq!((seen.packet.ip.dst, echo.id()), (lab.client, 77));
}

fn lab6() -> Lab {
    let mut lab = Lab::new();
    (lab.client, lab.vip, lab.server) = (ip("fd00:1::2"), ip("fd00:96::1"), ip("fd00:2::2"));
    lab.dnat = vec![(proto::UDP, 53, to(lab.server, 5353))];
    lab
}

#[test]
fn icmpv6_echo_and_errors() {
    let mut lab = lab6();
    let (client, vip, server) = (lab.client, lab.vip, lab.server);
    assert_eq!(lab.forward(icmp(client, server, 128, 0, 9, vec![])).state(), "NEW");
    assert_eq!(lab.forward(icmp(server, client, 129, 0, 9, vec![])).state(), "ESTABLISHED");
    assert!(
        lab.lines()[0].starts_with("icmpv6   58 30 src=fd00:1::2 dst=fd00:2::2 type=128 code=0 id=9 src=")
    );
    let sent = lab.forward(udp(client, 4000, vip, 53, 8)).packet;
    let seen = lab.forward(icmp(server, client, 1, 4, 0, quote(&sent)));
    assert_eq!((seen.state(), seen.packet.ip.src), ("RELATED", vip));
    let inner = quoted(&seen.packet);
    assert_eq!((inner.src, inner.dst, inner.l4.dst()), (client, vip, 53));
}

#[test]
fn neighbour_discovery_is_untracked() {
    let mut lab = lab6();
    for kind in (130..=136).chain([143]) {
        assert_eq!(
            lab.forward(icmp(lab.client, lab.server, kind, 0, 0, vec![])).state(),
            "UNTRACKED",
            "{kind}"
        );
    }
    assert_eq!(lab.ct.count(), 0);
}

#[test]
fn icmp_in_the_wrong_family_is_invalid() {
    let mut lab = lab6();
    let wrong = packet(lab.client, lab.server, proto::ICMP, L4::Raw(vec![8, 0, 0, 0, 0, 1, 0, 1]));
    assert_eq!(lab.forward(wrong).state(), "INVALID");
    let mut lab = Lab::new();
    let wrong = packet(lab.client, lab.server, proto::ICMPV6, L4::Raw(vec![128, 0, 0, 0, 0, 1, 0, 1]));
    assert_eq!(lab.forward(wrong).state(), "INVALID");
    assert_eq!(lab.ct.stats.invalid, 1);
}
