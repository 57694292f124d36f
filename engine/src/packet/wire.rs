//! Bytes both ways: an IP packet as it is on the wire, and [`Packet`].
//!
//! Owns the field layout (through `smoltcp::wire`), lengths and checksums. Does not own judgement: a wrong
//! transport checksum is noted in the packet and left to whoever looks at it. The tests that `ip_rcv` and
//! `ipv6_rcv` make before any hook are here, because what fails them is no packet.

use std::net::IpAddr;

use smoltcp::wire::{
    Icmpv4Message, IpAddress, IpProtocol, Ipv4Packet, Ipv6Packet, TcpPacket, UdpPacket, checksum,
};

use super::{Icmp, Ip, L4, Packet, Sctp, Tcp, TcpFlags, Udp, UdpChecksum, proto};

/// Why bytes are not an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// Shorter than its header, or than the length it claims.
    Short,
    /// Neither version 4 nor 6.
    Version,
    /// IPv4 header length below 20 bytes or above the total length.
    HeaderLength,
    /// IPv4 header checksum.
    Checksum,
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Short => "fewer bytes than the header says",
            Self::Version => "IP version is neither 4 nor 6",
            Self::HeaderLength => "impossible IPv4 header length",
            Self::Checksum => "wrong IPv4 header checksum",
        })
    }
}

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const ICMP_HEADER: usize = 8;
const SCTP_HEADER: usize = 12;

/// IPv6 extension headers that are walked over (`ipv6_ext_hdr`).
mod ext {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION: u8 = 60;
}

impl Packet {
    /// Reads one IP packet. Bytes behind its own length are padding and ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        match bytes.first().map(|b| b >> 4) {
            None => Err(WireError::Short),
            Some(4) => parse_v4(bytes),
            Some(6) => parse_v6(bytes),
            Some(_) => Err(WireError::Version),
        }
    }

    /// Reads the packet that an ICMP error quotes: the cut-off rest counts as zeros, so lengths are those the
    /// packet had; checksums are not looked at.
    pub fn parse_quoted(bytes: &[u8]) -> Option<Self> {
        let mut whole = bytes.to_vec();
        match bytes.first()? >> 4 {
            4 if bytes.len() >= IPV4_HEADER => {
                whole.resize(usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), 0);
                parse_v4_header(&whole).ok()
            }
            6 if bytes.len() >= IPV6_HEADER => {
                whole.resize(IPV6_HEADER + usize::from(u16::from_be_bytes([bytes[4], bytes[5]])), 0);
                parse_v6(&whole).ok()
            }
            _ => None,
        }
    }

    /// The packet on the wire. Lengths and checksums are computed; a checksum that was wrong stays wrong.
    pub fn to_bytes(&self) -> Vec<u8> {
        let l4 = emit_l4(self);
        match (self.ip.src, self.ip.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let header = IPV4_HEADER + self.ip.options.len();
                let mut bytes = vec![0; header + l4.len()];
                let mut ip = Ipv4Packet::new_unchecked(&mut bytes[..]);
                ip.set_version(4);
                ip.set_header_len(header as u8);
                ip.set_dscp(self.ip.tos >> 2);
                ip.set_ecn(self.ip.tos & 3);
                ip.set_total_len((header + l4.len()) as u16);
                ip.set_ident(self.ip.id as u16);
                ip.set_dont_frag(self.ip.dont_fragment);
                ip.set_more_frags(self.ip.more_fragments);
                ip.set_frag_offset(self.ip.frag_offset);
                ip.set_hop_limit(self.ip.ttl);
                ip.set_next_header(self.ip.proto.into());
                ip.set_src_addr(src);
                ip.set_dst_addr(dst);
                bytes[IPV4_HEADER..header].copy_from_slice(&self.ip.options);
                bytes[header..].copy_from_slice(&l4);
                // The header checksum covers the options, which smoltcp's own filler does too.
                Ipv4Packet::new_unchecked(&mut bytes[..]).fill_checksum();
                bytes
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let (first, chain) = emit_extensions(&self.ip);
                let mut bytes = vec![0; IPV6_HEADER + chain.len() + l4.len()];
                let mut ip = Ipv6Packet::new_unchecked(&mut bytes[..]);
                ip.set_version(6);
                ip.set_traffic_class(self.ip.tos);
                ip.set_flow_label(self.ip.flow_label);
                ip.set_payload_len((chain.len() + l4.len()) as u16);
                ip.set_next_header(first.into());
                ip.set_hop_limit(self.ip.ttl);
                ip.set_src_addr(src);
                ip.set_dst_addr(dst);
                bytes[IPV6_HEADER..IPV6_HEADER + chain.len()].copy_from_slice(&chain);
                bytes[IPV6_HEADER + chain.len()..].copy_from_slice(&l4);
                bytes
            }
            // `Ip` promises one family; without it there is nothing sensible to write.
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => l4,
        }
    }
}

/// `ip_rcv_core`: version, lengths, header checksum.
fn parse_v4(bytes: &[u8]) -> Result<Packet, WireError> {
    let packet = parse_v4_header(bytes)?;
    if Ipv4Packet::new_unchecked(bytes).verify_checksum() { Ok(packet) } else { Err(WireError::Checksum) }
}

fn parse_v4_header(bytes: &[u8]) -> Result<Packet, WireError> {
    if bytes.len() < IPV4_HEADER {
        return Err(WireError::Short);
    }
    let ip = Ipv4Packet::new_unchecked(bytes);
    let (header, total) = (usize::from(ip.header_len()), usize::from(ip.total_len()));
    if header < IPV4_HEADER || total < header {
        return Err(WireError::HeaderLength);
    }
    if bytes.len() < total {
        return Err(WireError::Short);
    }
    let head = Ip {
        src: ip.src_addr().into(),
        dst: ip.dst_addr().into(),
        proto: ip.next_header().into(),
        ttl: ip.hop_limit(),
        tos: ip.dscp() << 2 | ip.ecn(),
        id: ip.ident().into(),
        dont_fragment: ip.dont_frag(),
        more_fragments: ip.more_frags(),
        frag_offset: ip.frag_offset(),
        flow_label: 0,
        options: bytes[IPV4_HEADER..header].to_vec(),
    };
    let l4 = parse_l4(&head, &bytes[header..total]);
    Ok(Packet { ip: head, l4 })
}

/// `ip6_rcv_core` and `ipv6_skip_exthdr`.
fn parse_v6(bytes: &[u8]) -> Result<Packet, WireError> {
    if bytes.len() < IPV6_HEADER {
        return Err(WireError::Short);
    }
    let ip = Ipv6Packet::new_unchecked(bytes);
    let total = ip.total_len();
    if bytes.len() < total {
        return Err(WireError::Short);
    }
    let mut head = Ip {
        src: ip.src_addr().into(),
        dst: ip.dst_addr().into(),
        proto: ip.next_header().into(),
        ttl: ip.hop_limit(),
        tos: ip.traffic_class(),
        id: 0,
        dont_fragment: false,
        more_fragments: false,
        frag_offset: 0,
        flow_label: ip.flow_label(),
        options: Vec::new(),
    };
    let mut rest = &bytes[IPV6_HEADER..total];
    loop {
        match head.proto {
            ext::HOP_BY_HOP | ext::ROUTING | ext::DESTINATION if rest.len() >= 8 => {
                let len = 8 + 8 * usize::from(rest[1]);
                let Some((header, behind)) = rest.split_at_checked(len) else { break };
                head.options.push(head.proto);
                head.options.extend_from_slice(&header[1..]);
                head.proto = header[0];
                rest = behind;
            }
            ext::FRAGMENT if rest.len() >= 8 => {
                let word = u16::from_be_bytes([rest[2], rest[3]]);
                head.frag_offset = word & !7;
                head.more_fragments = word & 1 != 0;
                head.id = u32::from_be_bytes([rest[4], rest[5], rest[6], rest[7]]);
                head.proto = rest[0];
                rest = &rest[8..];
                if head.frag_offset != 0 {
                    break;
                }
            }
            _ => break,
        }
    }
    let l4 = parse_l4(&head, rest);
    Ok(Packet { ip: head, l4 })
}

/// The chain of extension headers, and the value of the IPv6 header's next-header field.
///
/// `Ip::options` keeps each header with its own type in place of the next one's; here the types move back.
fn emit_extensions(ip: &Ip) -> (u8, Vec<u8>) {
    let mut chain = ip.options.clone();
    let mut starts = Vec::new();
    let mut at = 0;
    while at + 8 <= chain.len() {
        starts.push(at);
        at += 8 + 8 * usize::from(chain[at + 1]);
    }
    if ip.more_fragments || ip.frag_offset != 0 {
        starts.push(chain.len());
        let word = ip.frag_offset & !7 | u16::from(ip.more_fragments);
        chain.extend_from_slice(&[ext::FRAGMENT, 0]);
        chain.extend_from_slice(&word.to_be_bytes());
        chain.extend_from_slice(&ip.id.to_be_bytes());
    }
    let types: Vec<u8> = starts.iter().map(|&at| chain[at]).chain([ip.proto]).collect();
    for (&at, &next) in starts.iter().zip(&types[1..]) {
        chain[at] = next;
    }
    (types[0], chain)
}

/// Reads the transport header. A fragment cannot be checked; the checksum of a first fragment counts as right.
fn parse_l4(ip: &Ip, bytes: &[u8]) -> L4 {
    if ip.frag_offset != 0 {
        return L4::Raw(bytes.to_vec());
    }
    let whole = !ip.more_fragments;
    let (src, dst) = (IpAddress::from(ip.src), IpAddress::from(ip.dst));
    match ip.proto {
        proto::TCP => {
            let tcp = TcpPacket::new_unchecked(bytes);
            if bytes.len() < TCP_HEADER {
                return L4::Truncated(bytes.to_vec());
            }
            let header = usize::from(tcp.header_len());
            if header < TCP_HEADER || header > bytes.len() {
                return L4::Truncated(bytes.to_vec());
            }
            L4::Tcp(Tcp {
                sport: tcp.src_port(),
                dport: tcp.dst_port(),
                seq: tcp.seq_number().0 as u32,
                ack: tcp.ack_number().0 as u32,
                flags: TcpFlags(bytes[13]),
                window: tcp.window_len(),
                urgent: tcp.urgent_at(),
                options: bytes[TCP_HEADER..header].to_vec(),
                payload: bytes[header..].to_vec(),
                checksum_ok: !whole || tcp.verify_checksum(&src, &dst),
            })
        }
        proto::UDP if bytes.len() >= Udp::HEADER => {
            let header = UdpPacket::new_unchecked(bytes);
            let mut udp = Udp {
                length: header.len(),
                ..Udp::new(header.src_port(), header.dst_port(), bytes[Udp::HEADER..].to_vec())
            };
            if header.checksum() == 0 {
                udp.checksum = UdpChecksum::Absent;
            } else if whole && udp_sum(&src, &dst, summed_part(&udp, bytes)) != !0 {
                udp.checksum = UdpChecksum::Wrong;
            }
            L4::Udp(udp)
        }
        proto::ICMP if ip.src.is_ipv4() && bytes.len() >= ICMP_HEADER => {
            L4::Icmp(parse_icmp(bytes, !whole || checksum::data(bytes) == !0))
        }
        proto::ICMPV6 if ip.src.is_ipv6() && bytes.len() >= ICMP_HEADER => {
            let sum = checksum::combine(&[
                checksum::pseudo_header(&src, &dst, IpProtocol::Icmpv6, bytes.len() as u32),
                checksum::data(bytes),
            ]);
            L4::Icmp(parse_icmp(bytes, !whole || sum == !0))
        }
        proto::SCTP if bytes.len() >= SCTP_HEADER => L4::Sctp(Sctp {
            sport: u16::from_be_bytes([bytes[0], bytes[1]]),
            dport: u16::from_be_bytes([bytes[2], bytes[3]]),
            vtag: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            payload: bytes[SCTP_HEADER..].to_vec(),
            checksum_ok: !whole || sctp_checksum(bytes) == bytes[8..12],
        }),
        proto::UDP | proto::SCTP => L4::Truncated(bytes.to_vec()),
        proto::ICMP if ip.src.is_ipv4() => L4::Truncated(bytes.to_vec()),
        proto::ICMPV6 if ip.src.is_ipv6() => L4::Truncated(bytes.to_vec()),
        _ => L4::Raw(bytes.to_vec()),
    }
}

/// The bytes that the checksum of a datagram is of.
fn summed_part<'a>(udp: &Udp, bytes: &'a [u8]) -> &'a [u8] {
    if udp.fits() { &bytes[..usize::from(udp.length)] } else { bytes }
}

fn udp_sum(src: &IpAddress, dst: &IpAddress, bytes: &[u8]) -> u16 {
    checksum::combine(&[
        checksum::pseudo_header(src, dst, IpProtocol::Udp, bytes.len() as u32),
        checksum::data(bytes),
    ])
}

fn parse_icmp(bytes: &[u8], checksum_ok: bool) -> Icmp {
    Icmp {
        kind: bytes[0],
        code: bytes[1],
        rest: [bytes[4], bytes[5], bytes[6], bytes[7]],
        payload: bytes[ICMP_HEADER..].to_vec(),
        checksum_ok,
    }
}

fn emit_l4(packet: &Packet) -> Vec<u8> {
    let (src, dst) = (IpAddress::from(packet.ip.src), IpAddress::from(packet.ip.dst));
    match &packet.l4 {
        L4::Tcp(tcp) => {
            let header = TCP_HEADER + tcp.options.len();
            let mut bytes = vec![0; header + tcp.payload.len()];
            let mut out = TcpPacket::new_unchecked(&mut bytes[..]);
            out.set_src_port(tcp.sport);
            out.set_dst_port(tcp.dport);
            out.set_seq_number(smoltcp::wire::TcpSeqNumber(tcp.seq as i32));
            out.set_ack_number(smoltcp::wire::TcpSeqNumber(tcp.ack as i32));
            out.set_header_len(header as u8);
            out.set_window_len(tcp.window);
            out.set_urgent_at(tcp.urgent);
            bytes[13] = tcp.flags.0;
            bytes[TCP_HEADER..header].copy_from_slice(&tcp.options);
            bytes[header..].copy_from_slice(&tcp.payload);
            TcpPacket::new_unchecked(&mut bytes[..]).fill_checksum(&src, &dst);
            spoil(&mut bytes, 16, tcp.checksum_ok);
            bytes
        }
        L4::Udp(udp) => {
            let mut bytes = vec![0; udp.len_bytes()];
            let mut out = UdpPacket::new_unchecked(&mut bytes[..]);
            out.set_src_port(udp.sport);
            out.set_dst_port(udp.dport);
            out.set_len(udp.length);
            bytes[Udp::HEADER..].copy_from_slice(&udp.payload);
            if udp.checksum != UdpChecksum::Absent {
                let sum = !udp_sum(&src, &dst, summed_part(udp, &bytes));
                bytes[6..8].copy_from_slice(&sum.to_be_bytes());
                spoil(&mut bytes, 6, udp.checksum == UdpChecksum::Right);
                // Zero would say that there is none.
                if bytes[6..8] == [0, 0] {
                    bytes[6..8].fill(0xff);
                }
            }
            bytes
        }
        L4::Icmp(icmp) => {
            let mut bytes = Vec::with_capacity(ICMP_HEADER + icmp.payload.len());
            bytes.extend_from_slice(&[icmp.kind, icmp.code, 0, 0]);
            bytes.extend_from_slice(&icmp.rest);
            bytes.extend_from_slice(&icmp.payload);
            let sum = match packet.ip.src {
                IpAddr::V4(_) => checksum::data(&bytes),
                IpAddr::V6(_) => checksum::combine(&[
                    checksum::pseudo_header(&src, &dst, IpProtocol::Icmpv6, bytes.len() as u32),
                    checksum::data(&bytes),
                ]),
            };
            bytes[2..4].copy_from_slice(&(!sum).to_be_bytes());
            spoil(&mut bytes, 2, icmp.checksum_ok);
            bytes
        }
        L4::Sctp(sctp) => {
            let mut bytes = Vec::with_capacity(SCTP_HEADER + sctp.payload.len());
            bytes.extend_from_slice(&sctp.sport.to_be_bytes());
            bytes.extend_from_slice(&sctp.dport.to_be_bytes());
            bytes.extend_from_slice(&sctp.vtag.to_be_bytes());
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(&sctp.payload);
            let sum = sctp_checksum(&bytes);
            bytes[8..12].copy_from_slice(&sum);
            spoil(&mut bytes, 8, sctp.checksum_ok);
            bytes
        }
        L4::Raw(bytes) | L4::Truncated(bytes) => bytes.clone(),
    }
}

/// Makes a checksum wrong again that came wrong: the low bit of its first byte is flipped.
fn spoil(bytes: &mut [u8], at: usize, checksum_ok: bool) {
    if !checksum_ok {
        bytes[at] ^= 1;
    }
}

/// CRC-32c of the packet with its checksum field zero, as it stands in the header (RFC 9260 6.8).
fn sctp_checksum(bytes: &[u8]) -> [u8; 4] {
    let mut crc = !0_u32;
    for (index, &byte) in bytes.iter().enumerate() {
        crc ^= u32::from(if (8..12).contains(&index) { 0 } else { byte });
        for _ in 0..8 {
            crc = if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0x82f6_3b78 };
        }
    }
    (!crc).to_le_bytes()
}

/// Whether an ICMP type is an error that quotes a packet (`icmp_pointers[].error`); ICMPv6 errors are those
/// below 128.
pub fn is_icmp_error(v6: bool, kind: u8) -> bool {
    if v6 {
        return kind < 128;
    }
    matches!(
        Icmpv4Message::from(kind),
        Icmpv4Message::DstUnreachable
            | Icmpv4Message::Redirect
            | Icmpv4Message::TimeExceeded
            | Icmpv4Message::ParamProblem
    ) || kind == 4
}

#[cfg(test)]
mod tests;
