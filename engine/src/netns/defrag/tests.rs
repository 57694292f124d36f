//! Fragments made by hand: what is put together, and what ends a datagram.

use super::*;
use crate::packet::{Ip, proto};

/// A fragment of an IPv4 TCP datagram, as it is read from the wire.
fn piece(offset: u16, more: bool, bytes: &[u8]) -> Packet {
    let ip = Ip {
        src: "10.1.0.2".parse().unwrap(),
        dst: "10.2.0.2".parse().unwrap(),
        proto: proto::TCP,
        ttl: 64,
        tos: 0,
        id: 7,
        dont_fragment: false,
        more_fragments: more,
        frag_offset: offset,
        flow_label: 0,
        options: Vec::new(),
    };
    Packet::parse(&Packet { ip, l4: L4::Raw(bytes.to_vec()) }.to_bytes()).unwrap()
}

#[test]
fn the_offset_of_a_piece_wraps() {
    let pieces = split(&piece(65_520, true, &[0; 8000]), 1500, 0);
    let offsets: Vec<_> = pieces.iter().map(|p| p.ip.frag_offset).collect();
    assert_eq!(offsets, [65_520, 1464, 2944, 4424, 5904, 7384]);
}
