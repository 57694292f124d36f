//! Transport headers as a match reads them (`skb_header_pointer` at the transport offset).

use crate::packet::{Family, L4, Packet, TcpFlags};

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

/// What a match reads of a TCP header, also where only its first twenty bytes are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpView<'a> {
    pub sport: u16,
    pub dport: u16,
    pub flags: TcpFlags,
    /// None when they are cut short, or the header says it is shorter than it can be.
    pub options: Option<&'a [u8]>,
}

/// The TCP header at the transport offset; none when twenty bytes are not there.
pub(super) fn tcp(packet: &Packet) -> Option<TcpView<'_>> {
    let bytes = match &packet.l4 {
        L4::Tcp(tcp) => {
            let (sport, dport, flags) = (tcp.sport, tcp.dport, tcp.flags);
            return Some(TcpView { sport, dport, flags, options: Some(&tcp.options) });
        }
        L4::Raw(bytes) | L4::Truncated(bytes) => bytes,
        L4::Udp(_) | L4::Icmp(_) | L4::Sctp(_) => return None,
    };
    let header = bytes.first_chunk::<20>()?;
    Some(TcpView {
        sport: u16::from_be_bytes([header[0], header[1]]),
        dport: u16::from_be_bytes([header[2], header[3]]),
        flags: TcpFlags(header[13]),
        options: bytes.get(20..usize::from(header[12] >> 4) * 4),
    })
}

/// Bytes of a transport header that the parsed form does not know, or that is cut short.
pub(super) fn raw(packet: &Packet) -> Option<&[u8]> {
    match &packet.l4 {
        L4::Raw(bytes) | L4::Truncated(bytes) => Some(bytes),
        L4::Tcp(_) | L4::Udp(_) | L4::Icmp(_) | L4::Sctp(_) => None,
    }
}

/// What the payload expressions of nf_tables load from a transport header: ports, and the flags of TCP. None for
/// what a header cut short lacks; the rule then does not match, and nothing is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loaded {
    pub sport: Option<u16>,
    pub dport: Option<u16>,
    pub flags: Option<TcpFlags>,
}

/// Loads of so few bytes do not ask whether the header is there (`nft_payload_fast_eval`). Of a later fragment they
/// take what it carries for a header; for IPv6, where `ipv6_find_hdr` tells no place, the IP header itself.
pub(super) fn loaded(packet: &Packet) -> Loaded {
    let from = |bytes: &[u8]| Loaded {
        sport: bytes.first_chunk().map(|word| u16::from_be_bytes(*word)),
        dport: bytes.get(2..4).map(|word| u16::from_be_bytes([word[0], word[1]])),
        flags: bytes.get(13).map(|byte| TcpFlags(*byte)),
    };
    match &packet.l4 {
        _ if packet.is_later_fragment() && packet.family() == Family::V6 => from(&packet.to_bytes()),
        L4::Raw(bytes) | L4::Truncated(bytes) => from(bytes),
        l4 => {
            let (sport, dport) = ports(packet).unzip();
            let flags = if let L4::Tcp(tcp) = l4 { Some(tcp.flags) } else { None };
            Loaded { sport, dport, flags }
        }
    }
}
