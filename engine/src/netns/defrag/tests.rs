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

type Added = Result<Option<Whole>, &'static str>;

/// Adds fragments one after the other; what the last one gave, and how many datagrams wait then.
fn add(pieces: &[Packet]) -> (Added, usize) {
    let mut fragments = Fragments::default();
    let mut last = Ok(None);
    for piece in pieces {
        last = fragments.add(piece, Instant::ZERO, TIMEOUT_V4);
    }
    (last, fragments.held.len())
}

/// A TCP segment of 20 + 28 bytes.
fn segment() -> (Packet, Vec<u8>) {
    let tcp = [156, 64, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 250, 240, 0, 0, 0, 0];
    let mut whole = piece(0, false, &[&tcp[..], &[9; 28]].concat());
    if let L4::Tcp(tcp) = &mut whole.l4 {
        tcp.checksum_ok = true;
    }
    let bytes = body(&whole);
    (whole, bytes)
}

#[test]
fn a_header_cut_in_two_is_read_from_the_whole() {
    let (whole, bytes) = segment();
    let first = piece(0, true, &bytes[..16]);
    assert!(matches!(first.l4, L4::Truncated(_)));
    let (joined, waiting) = add(&[first, piece(16, false, &bytes[16..])]);
    assert_eq!((joined, waiting), (Ok(Some((whole, 52, vec![16, 32]))), 0));
}

#[test]
fn a_length_that_is_no_multiple_of_eight_is_cut() {
    let (whole, bytes) = segment();
    for end in [23, 31] {
        let at = end / 8 * 8;
        let (joined, _) = add(&[piece(0, true, &bytes[..end]), piece(at as u16, false, &bytes[at..])]);
        assert_eq!(joined.unwrap().map(|(packet, ..)| packet), Some(whole.clone()), "{end}");
    }
}

#[test]
fn what_the_kernel_discards_ends_the_datagram() {
    let later = piece(64, true, &[0; 16]);
    for (last, why) in [
        (piece(16, false, &[0; 8]), "the last fragment ends before another one"),
        (piece(16, true, &[]), "an empty fragment"),
        (piece(16, true, &[0; 7]), "an empty fragment"),
        (piece(72, false, &[0; 16]), "fragments overlap"),
    ] {
        assert_eq!(add(&[later.clone(), last]), (Err(why), 0));
    }
}

#[test]
fn the_header_counts_for_the_longest_datagram() {
    let parts = |len: usize| [piece(0, true, &[0; 65_000]), piece(65_000, false, &vec![0; len])];
    assert!(matches!(add(&parts(515)), (Ok(Some(_)), 0)));
    assert_eq!(add(&parts(516)), (Err(TOO_LONG), 0));
}

#[test]
fn a_datagram_waits_from_its_first_fragment_on() {
    let mut fragments = Fragments::default();
    let (_, bytes) = segment();
    let timeout = Duration::from_secs(5);
    let second = Instant::from_millis(5000);
    assert_eq!(fragments.add(&piece(0, true, &bytes[..24]), Instant::ZERO, timeout), Ok(None));
    assert_eq!(fragments.add(&piece(24, false, &bytes[24..]), second, timeout), Ok(None));
}

#[test]
fn the_sysctl_rules_how_long_ipv6_waits() {
    let mut netns = Netns::new(crate::base::KernelVersion::default(), 1);
    netns.set_sysctl("net.netfilter.nf_conntrack_frag6_timeout", "7").unwrap();
    assert_eq!(netns.defrag_timeout(Family::V6), Duration::from_secs(7));
}
