//! Frames built from packets and read back.

use super::*;
use crate::replay::{address, text};

fn packet(proto: &str, src: &str, dst: &str) -> Packet {
    Packet {
        src: Some(address(src)),
        dst: Some(address(dst)),
        proto: Some(text(proto)),
        sport: Some(40000),
        dport: Some(80),
        len: Some(3),
        ..Packet::default()
    }
}

#[test]
fn what_is_built_reads_back() {
    for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
        let mut tcp = packet("tcp", src, dst);
        tcp.flags = Some("SA".into());
        tcp.mss = Some(1460);
        tcp.wscale = Some(7);
        let seen = decode(&build(&tcp).unwrap()).unwrap();
        assert_eq!((seen.src.as_str(), seen.dst.as_str()), (src, dst));
        assert_eq!((seen.flags.as_deref(), seen.mss, seen.len, seen.ttl), (Some("SA"), Some(1460), 3, 64));
    }
}

#[test]
fn an_icmp_error_carries_the_packet_it_answers() {
    let inner = build(&packet("udp", "10.0.0.1", "10.0.0.2")).unwrap();
    let error = icmp_error("10.0.0.9".parse().unwrap(), "10.0.0.1".parse().unwrap(), 3, 3, &inner);
    let quoted = decode(&error).unwrap().quoted.unwrap();
    assert_eq!((quoted.proto.as_str(), quoted.sport, quoted.dport), ("udp", Some(40000), Some(80)));
}

#[test]
fn headers_carry_a_checksum_that_sums_to_zero() {
    let bytes = build(&packet("udp", "10.0.0.1", "10.0.0.2")).unwrap();
    assert_eq!(checksum(&[&bytes[..20]]), 0);
    assert_eq!(checksum(&[&bytes[12..20], &[0, 17, 0, 11], &bytes[20..]]), 0);
}
