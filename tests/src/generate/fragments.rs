//! Cuts an IP packet into fragments, now and then in an odd order, twice, or with one missing.

use super::Rng;
use crate::frame::{hex, ipv4_checksum};

/// Fragment offsets count in these.
const UNIT: usize = 8;
/// `ip_hdr.frag_off`: more fragments follow.
const MORE: u16 = 0x2000;
/// IPv6 next header of the fragment header.
const FRAGMENT: u8 = 44;

/// The fragments of a packet as `raw_hex`, in the order they are sent; empty when it is too short to cut.
pub(super) fn cut(packet: &[u8], id: u16, rng: &mut Rng) -> Vec<String> {
    let four = packet.first().is_some_and(|byte| byte >> 4 == 4);
    let header = if four { 20 } else { 40 };
    let body = packet.get(header..).unwrap_or_default();
    let units = body.len().div_ceil(UNIT) as u64;
    if units < 2 {
        return Vec::new();
    }
    let mut cuts = vec![0, UNIT * (1 + rng.below(units - 1) as usize), body.len()];
    if rng.one_in(4) {
        cuts.insert(1, UNIT * rng.below(units) as usize);
        cuts.sort_unstable();
        cuts.dedup();
    }
    let mut pieces: Vec<String> =
        cuts.windows(2).map(|pair| piece(&packet[..header], body, (pair[0], pair[1]), id, four)).collect();
    match rng.below(8) {
        0 => pieces.reverse(),
        1 => {
            pieces.remove(rng.below(pieces.len() as u64) as usize);
        }
        2 => pieces.insert(1, pieces[0].clone()),
        _ => {}
    }
    pieces
}

fn piece(header: &[u8], body: &[u8], (from, to): (usize, usize), id: u16, four: bool) -> String {
    let more = to < body.len();
    let mut bytes = header.to_vec();
    if four {
        let field = (from / UNIT) as u16 | if more { MORE } else { 0 };
        bytes[2..4].copy_from_slice(&((header.len() + to - from) as u16).to_be_bytes());
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        bytes[6..8].copy_from_slice(&field.to_be_bytes());
        bytes[10..12].fill(0);
        let sum = ipv4_checksum(&bytes);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        let next = std::mem::replace(&mut bytes[6], FRAGMENT);
        bytes[4..6].copy_from_slice(&((8 + to - from) as u16).to_be_bytes());
        bytes.extend_from_slice(&[next, 0]);
        bytes.extend_from_slice(&(from as u16 | u16::from(more)).to_be_bytes());
        bytes.extend_from_slice(&u32::from(id).to_be_bytes());
    }
    bytes.extend_from_slice(&body[from..to]);
    hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{build, decode};
    use crate::replay::{Packet, address, text};

    #[test]
    fn pieces_cover_the_packet() {
        for (src, dst) in [("10.1.0.2", "10.2.0.2"), ("fd00:1::2", "fd00:2::2")] {
            let packet = Packet {
                src: Some(address(src)),
                dst: Some(address(dst)),
                proto: Some(text("udp")),
                len: Some(92),
                ..Packet::default()
            };
            let bytes = build(&packet).expect("a packet");
            let pieces = (0..50).map(|seed| cut(&bytes, 7, &mut Rng::new(seed)));
            for pieces in pieces.filter(|pieces| pieces.len() == 2) {
                for piece in pieces {
                    let piece = build(&Packet { raw_hex: Some(piece), ..Packet::default() }).expect("hex");
                    let seen = decode(&piece).expect("IP");
                    assert_eq!(seen.proto, "udp");
                    assert!(seen.fragment.is_some_and(|offset| offset % 8 == 0), "{seen:?}");
                }
            }
        }
    }
}
