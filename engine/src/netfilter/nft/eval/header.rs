//! Bytes of headers: payload fields, IPv6 extension headers, IPv4 and TCP options (`nft_payload.c`, `nft_exthdr.c`).
//!
//! A field has a value only in a packet of its protocol: `nft` puts the test for it in front of the load.

use std::net::IpAddr;

use super::{Stop, Walk};
use crate::netfilter::nft::expr::{ExthdrField, Payload, PayloadBase};
use crate::netfilter::nft::field::{FieldSpec, Proto};
use crate::netfilter::nft::stmt::address_value;
use crate::packet::{Family, L4, Packet, PacketType, Skb, proto};

/// Options of IPv4 that `ipv4_find_option` knows: LSRR, RR, SSRR, RA.
const NOP: u8 = 1;

impl Walk<'_, '_, '_> {
    pub(super) fn payload(&self, payload: &Payload, skb: &Skb) -> Result<u128, Stop> {
        let (base, offset, bits) = self.place_of(payload, skb)?;
        self.load(base, offset, bits, skb).ok_or(Stop::Break)
    }

    /// Where a field lies, if the packet is of its protocol.
    pub(super) fn place_of(&self, payload: &Payload, skb: &Skb) -> Result<(PayloadBase, u16, u16), Stop> {
        match *payload {
            Payload::Raw { base, offset_bits, bits } => Ok((base, offset_bits, bits)),
            Payload::Field { proto, field } => {
                if !self.is_of(proto, field, skb) {
                    return Err(Stop::Break);
                }
                let base = if proto.is_link() {
                    PayloadBase::Link
                } else if proto.is_network() {
                    PayloadBase::Network
                } else {
                    PayloadBase::Transport
                };
                Ok((base, field.offset_bits, field.bits))
            }
        }
    }

    fn is_of(&self, proto: Proto, field: &FieldSpec, skb: &Skb) -> bool {
        let packet = &skb.packet;
        match proto {
            Proto::Ip => packet.family() == Family::V4,
            Proto::Ip6 => packet.family() == Family::V6,
            Proto::Ether => self.cx.indev.is_some_and(|dev| !self.cx.fib.is_loopback(dev.id)),
            Proto::Vlan | Proto::Arp => false,
            Proto::Th => true,
            _ => proto.l4proto() == Some(packet.ip.proto) && has_message(proto, field, packet),
        }
    }

    fn load(&self, base: PayloadBase, offset: u16, bits: u16, skb: &Skb) -> Option<u128> {
        let packet = &skb.packet;
        if let Some(value) = quick(packet, base, offset, bits) {
            return Some(value);
        }
        let bytes = match base {
            PayloadBase::Link => self.link_header(skb)?,
            PayloadBase::Network => packet.to_bytes(),
            PayloadBase::Transport if packet.is_later_fragment() && is_fast(offset, bits) => {
                // Taken from where a header would be; for IPv6, where none is found, from the IP header.
                match packet.family() {
                    Family::V4 => transport_bytes(packet),
                    Family::V6 => packet.to_bytes(),
                }
            }
            PayloadBase::Transport | PayloadBase::Inner if packet.is_later_fragment() => return None,
            PayloadBase::Transport => transport_bytes(packet),
            PayloadBase::Inner => {
                let bytes = transport_bytes(packet);
                let header = inner_offset(packet, &bytes)?;
                bytes.get(header..)?.to_vec()
            }
        };
        read_bits(&bytes, offset, bits)
    }

    /// The Ethernet header that the packet came with; a packet made here has none.
    fn link_header(&self, skb: &Skb) -> Option<Vec<u8>> {
        let dev = skb.indev?;
        let own = self.cx.fib.device_mac(dev).unwrap_or([0; 6]);
        let to = match (skb.packet_type, skb.packet.ip.dst) {
            (PacketType::Host, _) => own,
            (PacketType::Broadcast, _) => [0xff; 6],
            (PacketType::Multicast, IpAddr::V4(group)) => {
                let [_, b, c, d] = group.octets();
                [1, 0, 0x5e, b & 0x7f, c, d]
            }
            (PacketType::Multicast, IpAddr::V6(group)) => {
                let [.., a, b, c, d] = group.octets();
                [0x33, 0x33, a, b, c, d]
            }
        };
        let kind: [u8; 2] = match skb.family() {
            Family::V4 => [0x08, 0x00],
            Family::V6 => [0x86, 0xdd],
        };
        Some([&to[..], &skb.mac_src.unwrap_or([0; 6]), &kind].concat())
    }

    pub(super) fn exthdr(&self, field: &ExthdrField, skb: &Skb) -> Result<u128, Stop> {
        let packet = &skb.packet;
        match *field {
            ExthdrField::Ipv6 { header, field } => {
                if packet.family() != Family::V6 {
                    return Err(Stop::Break);
                }
                let found = extension_header(packet, header.number);
                match field {
                    None => Ok(found.is_some().into()),
                    Some(f) => {
                        found.and_then(|bytes| read_bits(&bytes, f.offset_bits, f.bits)).ok_or(Stop::Break)
                    }
                }
            }
            ExthdrField::TcpOption { option, number, field } => {
                let place = field.map(|f| (f.offset_bits + u16::from(number) * 64, f.bits));
                tcp_option_value(packet, option.number, place)
            }
            ExthdrField::TcpRaw { kind, offset_bits, bits } => {
                tcp_option_value(packet, kind, (bits != 0).then_some((offset_bits, bits)))
            }
            ExthdrField::IpOption { option, field } => {
                if packet.family() != Family::V4 {
                    return Err(Stop::Break);
                }
                let found = ip_option(&packet.ip.options, option.number);
                match field {
                    None => Ok(found.is_some().into()),
                    Some(f) => {
                        found.and_then(|bytes| read_bits(bytes, f.offset_bits, f.bits)).ok_or(Stop::Break)
                    }
                }
            }
        }
    }
}

/// `nft_payload_select_ops`: one, two or four aligned bytes are loaded without a look at the fragment offset.
const fn is_fast(offset_bits: u16, bits: u16) -> bool {
    let (start, end) = (offset_bits / 8, (offset_bits + bits).div_ceil(8));
    let len = end - start;
    matches!(len, 1 | 2 | 4) && start.is_multiple_of(len)
}

/// Messages of ICMP that have a field: `nft` tests the type before it reads what only some have.
fn has_message(proto: Proto, field: &FieldSpec, packet: &Packet) -> bool {
    let L4::Icmp(icmp) = &packet.l4 else { return true };
    match (proto, field.name) {
        (Proto::Icmp, "id" | "sequence") => matches!(icmp.kind, 0 | 8),
        (Proto::Icmp, "gateway") => icmp.kind == 5,
        (Proto::Icmp, "mtu") => icmp.kind == 3,
        (Proto::Icmpv6, "id" | "sequence") => matches!(icmp.kind, 128 | 129),
        (Proto::Icmpv6, "parameter-problem") => icmp.kind == 4,
        (Proto::Icmpv6, "mtu") => icmp.kind == 2,
        (Proto::Icmpv6, "max-delay") => matches!(icmp.kind, 130..=132),
        _ => true,
    }
}

/// The fields that rules ask for most, without spelling the packet out.
fn quick(packet: &Packet, base: PayloadBase, offset: u16, bits: u16) -> Option<u128> {
    let ip = &packet.ip;
    match (base, packet.family(), offset, bits) {
        (PayloadBase::Network, Family::V4, 96, 32) | (PayloadBase::Network, Family::V6, 64, 128) => {
            Some(address_value(ip.src))
        }
        (PayloadBase::Network, Family::V4, 128, 32) | (PayloadBase::Network, Family::V6, 192, 128) => {
            Some(address_value(ip.dst))
        }
        (PayloadBase::Network, Family::V4, 72, 8) => Some(ip.proto.into()),
        (PayloadBase::Network, Family::V4, 64, 8) | (PayloadBase::Network, Family::V6, 56, 8) => {
            Some(ip.ttl.into())
        }
        (PayloadBase::Transport, _, 0, 16) => packet.ports().map(|p| p.0.into()),
        (PayloadBase::Transport, _, 16, 16) => packet.ports().map(|p| p.1.into()),
        (PayloadBase::Transport, _, 104, 8) => packet.tcp().map(|tcp| tcp.flags.0.into()),
        _ => None,
    }
}

/// The transport header and what follows.
pub(super) fn transport_bytes(packet: &Packet) -> Vec<u8> {
    let bytes = packet.to_bytes();
    let start = bytes.len().saturating_sub(packet.l4.len_bytes());
    bytes[start..].to_vec()
}

/// `nft_payload_inner_offset`: what stands behind a UDP or TCP header.
fn inner_offset(packet: &Packet, transport: &[u8]) -> Option<usize> {
    match packet.ip.proto {
        proto::UDP => Some(8),
        proto::TCP => Some(usize::from(transport.get(12)? >> 4) * 4),
        _ => None,
    }
}

/// Bits `offset..offset + bits`, the first being the highest of the first byte; none where bytes are missing.
pub(super) fn read_bits(bytes: &[u8], offset: u16, bits: u16) -> Option<u128> {
    let (offset, bits) = (usize::from(offset), usize::from(bits));
    let (from, to) = (offset / 8, (offset + bits).div_ceil(8));
    let span = bytes.get(from..to)?;
    let shift = to * 8 - offset - bits;
    // Up to 128 bits that may straddle seventeen bytes.
    let mut value = 0_u128;
    let mut left = bits;
    for (at, byte) in span.iter().enumerate() {
        let first = if at == 0 { 8 - offset % 8 } else { 8 };
        let last = if at + 1 == span.len() { shift } else { 0 };
        let take = first.saturating_sub(last).min(left);
        let part = (u128::from(*byte) >> last) & ((1_u128 << take) - 1);
        value = value.checked_shl(take as u32).unwrap_or(0) | part;
        left -= take;
    }
    Some(value)
}

/// Writes bits as [`read_bits`] reads them; nothing where bytes are missing.
pub(super) fn write_bits(bytes: &mut [u8], offset: u16, bits: u16, value: u128) -> Option<()> {
    let (offset, bits) = (usize::from(offset), usize::from(bits));
    bytes.get(offset / 8..(offset + bits).div_ceil(8))?;
    for at in 0..bits {
        let (byte, bit) = ((offset + at) / 8, 7 - (offset + at) % 8);
        let on = value >> (bits - 1 - at) & 1 == 1;
        bytes[byte] = bytes[byte] & !(1 << bit) | u8::from(on) << bit;
    }
    Some(())
}

/// An extension header with the next header's number in its first byte, as on the wire (`ipv6_find_hdr`).
fn extension_header(packet: &Packet, number: u8) -> Option<Vec<u8>> {
    let bytes = packet.to_bytes();
    let (mut kind, mut at) = (*bytes.get(6)?, 40);
    let end = bytes.len().saturating_sub(packet.l4.len_bytes());
    while at < end {
        let len = match kind {
            44 => 8,
            _ => 8 + 8 * usize::from(*bytes.get(at + 1)?),
        };
        if kind == number {
            return Some(bytes.get(at..at + len)?.to_vec());
        }
        (kind, at) = (*bytes.get(at)?, at + len);
    }
    None
}

/// A field of a TCP option, or with no field whether the option is there (`nft_exthdr_tcp_eval`).
fn tcp_option_value(packet: &Packet, kind: u8, field: Option<(u16, u16)>) -> Result<u128, Stop> {
    let missing = if field.is_some() { Err(Stop::Break) } else { Ok(0) };
    let Some(tcp) = packet.tcp() else { return missing };
    let Some((at, len)) = tcp_option(&tcp.options, kind) else { return missing };
    let Some((offset, bits)) = field else { return Ok(1) };
    let end = usize::from(offset + bits).div_ceil(8);
    if end > len {
        return Err(Stop::Break);
    }
    tcp.options.get(at..at + len).and_then(|bytes| read_bits(bytes, offset, bits)).ok_or(Stop::Break)
}

/// Where the first option of a kind stands among TCP options, and its length.
pub(super) fn tcp_option(options: &[u8], kind: u8) -> Option<(usize, usize)> {
    let mut at = 0;
    // The last byte is never looked at (`i < tcphdr_len - 1`).
    while at + 1 < options.len() {
        let len = if options[at] <= NOP || options[at + 1] == 0 { 1 } else { usize::from(options[at + 1]) };
        if options[at] == kind {
            return (at + len <= options.len()).then_some((at, len));
        }
        at += len;
    }
    None
}

/// `ipv4_find_option`.
fn ip_option(mut options: &[u8], kind: u8) -> Option<&[u8]> {
    while let [first, rest @ ..] = options {
        match (*first, rest.first()) {
            (0, _) => return None,
            (NOP, _) => options = rest,
            (found, Some(&len)) if usize::from(len) >= 2 && usize::from(len) <= options.len() => {
                if found == kind {
                    return Some(&options[..usize::from(len)]);
                }
                options = &options[usize::from(len)..];
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_and_written_where_they_stand() {
        let mut bytes = [0b1010_1100, 0b0101_0011, 0xff];
        assert_eq!(read_bits(&bytes, 0, 6), Some(0b10_1011));
        assert_eq!(read_bits(&bytes, 6, 4), Some(0b0001));
        assert_eq!(read_bits(&bytes, 8, 16), Some(0b0101_0011_1111_1111));
        assert_eq!(read_bits(&bytes, 16, 16), None);
        assert!(write_bits(&mut bytes, 6, 4, 0b1110).is_some());
        assert_eq!(bytes, [0b1010_1111, 0b1001_0011, 0xff]);
    }

    #[test]
    fn options_are_found_and_the_last_byte_is_not_looked_at() {
        assert_eq!(tcp_option(&[1, 2, 4, 5, 0xb4, 0], 2), Some((1, 4)));
        assert_eq!(tcp_option(&[1, 1, 1, 4], 4), None);
        assert_eq!(tcp_option(&[3, 9], 3), None);
    }
}
