//! SCTP packets of one chunk: what the two ends of an association send, mostly in order.

use std::net::IpAddr;

use super::Rng;
use crate::frame::{hex, ip_header, sctp_seal};

/// Chunk types (RFC 9260 3.2) in the order of an association's life, with the end that sends each: true is near.
const LIFE: [(u8, bool); 9] = [
    (1, true),   // INIT
    (2, false),  // INIT ACK
    (10, true),  // COOKIE ECHO
    (11, false), // COOKIE ACK
    (0, true),   // DATA
    (3, false),  // SACK
    (7, true),   // SHUTDOWN
    (8, false),  // SHUTDOWN ACK
    (14, true),  // SHUTDOWN COMPLETE
];
/// Chunks that may come at any time: HEARTBEAT, HEARTBEAT ACK, ABORT, ERROR, and those above again.
const STRAY: [u8; 12] = [4, 5, 6, 9, 0, 1, 2, 7, 8, 10, 11, 14];
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
/// Verification tags of the near and the far end.
const TAGS: [u32; 2] = [0x1111_1111, 0x2222_2222];

/// Whether it is the far end's turn.
pub(super) fn far_turn(step: u32) -> bool {
    LIFE.get(step as usize).is_some_and(|(_, near)| !near)
}

/// The next packet from an end, as bytes in hexadecimal, and whether the association went on with it.
pub(super) fn packet(
    rng: &mut Rng,
    step: u32,
    near: bool,
    (source, destination): (IpAddr, IpAddr),
    (sport, dport): (u16, u16),
) -> (String, bool) {
    let planned = LIFE.get(step as usize).filter(|(_, sender)| *sender == near && !rng.one_in(6));
    let kind = planned.map_or_else(|| *rng.pick(&STRAY), |(kind, _)| *kind);
    // An INIT has tag zero; everything else the receiver's.
    let mut tag = if kind == INIT { 0 } else { TAGS[usize::from(near)] };
    if rng.one_in(20) {
        tag ^= 5;
    }
    let mut segment = Vec::new();
    segment.extend_from_slice(&sport.to_be_bytes());
    segment.extend_from_slice(&dport.to_be_bytes());
    segment.extend_from_slice(&tag.to_be_bytes());
    segment.extend_from_slice(&[0; 4]);
    let mut value = match kind {
        INIT | INIT_ACK => {
            let mut value = TAGS[usize::from(!near)].to_be_bytes().to_vec();
            value.extend_from_slice(&[0, 0, 255, 255, 0, 1, 0, 1, 0, 0, 0, 1]);
            value
        }
        0 | 3 => vec![0; 12],
        _ => vec![0; 4],
    };
    segment.extend_from_slice(&[kind, 0]);
    segment.extend_from_slice(&(4 + value.len() as u16).to_be_bytes());
    segment.append(&mut value);
    sctp_seal(&mut segment);
    let mut bytes = ip_header(source, destination, 132, segment.len(), 64, 0);
    bytes.append(&mut segment);
    (hex(&bytes), planned.is_some())
}
