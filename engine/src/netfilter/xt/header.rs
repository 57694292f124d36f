//! Transport headers as a match reads them (`skb_header_pointer` at the transport offset).

use crate::packet::{L4, Packet};

/// The first four bytes as two ports, for any protocol that has ports there. None when the packet does not
/// hold four bytes of transport header.
pub(super) fn ports(packet: &Packet) -> Option<(u16, u16)> {
    match &packet.l4 {
        L4::Tcp(tcp) => Some((tcp.sport, tcp.dport)),
        L4::Udp(udp) => Some((udp.sport, udp.dport)),
        L4::Sctp(sctp) => Some((sctp.sport, sctp.dport)),
        L4::Icmp(icmp) => Some((
            u16::from_be_bytes([icmp.kind, icmp.code]),
            // The checksum, which the parsed form does not keep.
            0,
        )),
        L4::Raw(bytes) | L4::Truncated(bytes) => match bytes[..] {
            [a, b, c, d, ..] => Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))),
            _ => None,
        },
    }
}

/// The same, when at least `len` bytes of transport header and payload are there.
pub(super) fn ports_within(packet: &Packet, len: usize) -> Option<(u16, u16)> {
    if packet.l4.len_bytes() >= len { ports(packet) } else { None }
}

/// Bytes of a transport header that the parsed form does not know, or that is cut short.
pub(super) fn raw(packet: &Packet) -> Option<&[u8]> {
    match &packet.l4 {
        L4::Raw(bytes) | L4::Truncated(bytes) => Some(bytes),
        L4::Tcp(_) | L4::Udp(_) | L4::Icmp(_) | L4::Sctp(_) => None,
    }
}
