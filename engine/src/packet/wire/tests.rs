//! Bytes in, headers out, and back.

use super::*;
use crate::packet::{TcpFlags, UdpChecksum};

fn ip(src: &str, dst: &str, proto: u8) -> Ip {
    Ip {
        src: src.parse().unwrap(),
        dst: dst.parse().unwrap(),
        proto,
        ttl: 61,
        tos: 0xb9,
        id: 0x1234,
        dont_fragment: true,
        more_fragments: false,
        frag_offset: 0,
        flow_label: 0,
        options: Vec::new(),
    }
}

fn v6(proto: u8) -> Ip {
    Ip { id: 0, dont_fragment: false, flow_label: 0xabcde, ..ip("fd00::1", "fd00::2", proto) }
}

fn tcp() -> L4 {
    L4::Tcp(Tcp {
        sport: 40000,
        dport: 80,
        seq: 0xffff_fff0,
        ack: 7,
        flags: TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR),
        window: 64240,
        urgent: 3,
        options: vec![2, 4, 5, 180],
        payload: b"odd".to_vec(),
        checksum_ok: true,
    })
}

#[track_caller]
fn round_trip(packet: &Packet) -> Vec<u8> {
    let bytes = packet.to_bytes();
    assert_eq!(bytes.len(), packet.len_bytes());
    assert_eq!(Packet::parse(&bytes).as_ref(), Ok(packet));
    bytes
}

#[test]
fn packets_survive_the_wire() {
    let v4 = |proto, l4| Packet { ip: ip("10.1.0.2", "10.96.0.1", proto), l4 };
    let udp = L4::Udp(Udp::new(53, 1, vec![1, 2, 3]));
    let icmp =
        L4::Icmp(Icmp { kind: 8, code: 0, rest: [1, 2, 3, 4], payload: vec![9; 7], checksum_ok: true });
    let sctp = L4::Sctp(Sctp { sport: 1, dport: 2, vtag: 3, payload: vec![4; 5], checksum_ok: true });
    round_trip(&v4(proto::TCP, tcp()));
    round_trip(&v4(proto::UDP, udp.clone()));
    round_trip(&v4(proto::ICMP, icmp.clone()));
    round_trip(&v4(proto::SCTP, sctp));
    round_trip(&v4(proto::GRE, L4::Raw(vec![1, 2, 3])));
    round_trip(&v4(proto::TCP, L4::Truncated(vec![0; 19])));
    round_trip(&Packet { ip: v6(proto::TCP), l4: tcp() });
    round_trip(&Packet { ip: v6(proto::UDP), l4: udp });
    round_trip(&Packet { ip: v6(proto::ICMPV6), l4: icmp });
}

#[test]
fn a_wrong_checksum_stays_wrong() {
    for (proto, l4) in [
        (proto::TCP, {
            let L4::Tcp(t) = tcp() else { unreachable!() };
            L4::Tcp(Tcp { checksum_ok: false, ..t })
        }),
        (proto::UDP, L4::Udp(Udp { checksum: UdpChecksum::Wrong, ..Udp::new(1, 2, vec![]) })),
        (proto::ICMP, L4::Icmp(Icmp { kind: 8, code: 0, rest: [0; 4], payload: vec![], checksum_ok: false })),
        (proto::SCTP, L4::Sctp(Sctp { sport: 1, dport: 2, vtag: 0, payload: vec![], checksum_ok: false })),
    ] {
        round_trip(&Packet { ip: ip("10.0.0.1", "10.0.0.2", proto), l4 });
    }
}

#[test]
fn a_datagram_without_a_checksum_stays_without_one() {
    let l4 = || L4::Udp(Udp { checksum: UdpChecksum::Absent, ..Udp::new(1, 2, vec![9]) });
    for ip in [ip("10.0.0.1", "10.0.0.2", proto::UDP), v6(proto::UDP)] {
        let mut packet = Packet { ip, l4: l4() };
        let bytes = round_trip(&packet);
        assert_eq!(bytes[bytes.len() - 3..], [0, 0, 9]);
        packet.ip.more_fragments = true;
        packet.ip.dont_fragment = false;
        round_trip(&packet);
    }
}

#[test]
fn fragments_and_options_keep_their_place() {
    let mut first = Packet { ip: ip("10.0.0.1", "10.0.0.2", proto::TCP), l4: tcp() };
    (first.ip.more_fragments, first.ip.dont_fragment) = (true, false);
    first.ip.options = vec![0x94, 4, 0, 0];
    round_trip(&first);
    let mut later = Packet { ip: v6(proto::UDP), l4: L4::Raw(vec![5; 16]) };
    (later.ip.frag_offset, later.ip.id) = (1448, 0xdead_beef);
    round_trip(&later);
}

#[test]
fn ipv6_extension_headers_keep_their_types() {
    let mut packet = Packet { ip: v6(proto::TCP), l4: tcp() };
    packet.ip.options = vec![0, 0, 5, 2, 0, 0, 1, 0, 43, 0, 0, 0, 0, 0, 0, 0];
    let bytes = round_trip(&packet);
    assert_eq!((bytes[6], bytes[40], bytes[48]), (0, 43, proto::TCP));
}

#[test]
fn what_ip_rcv_refuses_is_an_error() {
    let good = Packet { ip: ip("10.0.0.1", "10.0.0.2", proto::TCP), l4: tcp() }.to_bytes();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        Packet::parse(&bytes)
    };
    assert_eq!(Packet::parse(&[]), Err(WireError::Short));
    assert_eq!(Packet::parse(&good[..good.len() - 1]), Err(WireError::Short));
    assert_eq!(with(0, 0x75), Err(WireError::Version));
    assert_eq!(with(0, 0x44), Err(WireError::HeaderLength));
    assert_eq!(with(8, 1), Err(WireError::Checksum));
    let mut padded = good.clone();
    padded.extend_from_slice(&[0; 6]);
    assert_eq!(Packet::parse(&padded), Packet::parse(&good));
}

#[test]
fn random_bytes_never_panic() {
    let mut rng = crate::base::Rng::new(5);
    for round in 0..20_000 {
        let mut bytes: Vec<u8> = (0..rng.below(90)).map(|_| rng.next_u32() as u8).collect();
        if let Some(first) = bytes.first_mut() {
            *first = if round % 2 == 0 { 0x45 } else { 0x60 };
        }
        if bytes.len() >= 40 && round % 2 == 0 {
            let len = bytes.len() as u16;
            bytes[2..4].copy_from_slice(&len.to_be_bytes());
            Ipv4Packet::new_unchecked(&mut bytes[..]).fill_checksum();
        } else if bytes.len() >= 40 {
            let len = bytes.len() as u16 - 40;
            bytes[4..6].copy_from_slice(&len.to_be_bytes());
        }
        if let Ok(packet) = Packet::parse(&bytes) {
            let _ = packet.to_bytes();
        }
    }
}
