//! Bytes of the packet that a case describes.

use std::net::IpAddr;

use super::{Packet, checksum, flag_bits, octets};
use crate::replay::proto_number;

/// TTL or hop limit of a packet that names none.
const DEFAULT_TTL: u8 = 64;
/// Window of a TCP packet that names none.
const DEFAULT_WINDOW: u16 = 65535;

/// The IP packet that `packet` describes.
pub fn build(packet: &Packet) -> Result<Vec<u8>, String> {
    if let Some(hex) = &packet.raw_hex {
        return from_hex(hex);
    }
    let (source, destination) = (packet.src.ok_or("src is missing")?, packet.dst.ok_or("dst is missing")?);
    let protocol = proto_number(packet).ok_or("proto: not a known protocol")?;
    let mut segment = match protocol {
        6 => tcp(packet)?,
        17 => udp(packet),
        1 | 58 => icmp(packet),
        132 => sctp(packet),
        _ => payload(packet),
    };
    seal(&mut segment, protocol, source, destination);
    let ttl = packet.ttl.unwrap_or(DEFAULT_TTL);
    let mut bytes = ip_header(source, destination, protocol, segment.len(), ttl, packet.tos.unwrap_or(0));
    bytes.append(&mut segment);
    Ok(bytes)
}

/// An ICMP or ICMPv6 error from `source` to `destination` that quotes `inner`.
pub fn icmp_error(source: IpAddr, destination: IpAddr, kind: u8, code: u8, inner: &[u8]) -> Vec<u8> {
    let protocol = if source.is_ipv4() { 1 } else { 58 };
    let mut segment = vec![kind, code, 0, 0, 0, 0, 0, 0];
    segment.extend_from_slice(inner);
    seal(&mut segment, protocol, source, destination);
    let mut bytes = ip_header(source, destination, protocol, segment.len(), DEFAULT_TTL, 0);
    bytes.append(&mut segment);
    bytes
}

/// An IPv4 or IPv6 header for a payload of `len` bytes.
pub fn ip_header(source: IpAddr, destination: IpAddr, protocol: u8, len: usize, ttl: u8, tos: u8) -> Vec<u8> {
    let mut header = Vec::with_capacity(40);
    if source.is_ipv4() {
        header.extend_from_slice(&[0x45, tos]);
        header.extend_from_slice(&(20 + len as u16).to_be_bytes());
        header.extend_from_slice(&[0, 1, 0, 0, ttl, protocol, 0, 0]);
        header.extend_from_slice(&octets(source));
        header.extend_from_slice(&octets(destination));
        let sum = checksum(&[&header]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        header.extend_from_slice(&[0x60 | tos >> 4, tos << 4, 0, 0]);
        header.extend_from_slice(&(len as u16).to_be_bytes());
        header.extend_from_slice(&[protocol, ttl]);
        header.extend_from_slice(&octets(source));
        header.extend_from_slice(&octets(destination));
    }
    header
}

fn payload(packet: &Packet) -> Vec<u8> {
    vec![0; usize::from(packet.len.unwrap_or(0))]
}

fn tcp(packet: &Packet) -> Result<Vec<u8>, String> {
    let mut options = Vec::new();
    if let Some(mss) = packet.mss {
        options.extend_from_slice(&[2, 4]);
        options.extend_from_slice(&mss.to_be_bytes());
    }
    if packet.sack_ok == Some(true) {
        options.extend_from_slice(&[4, 2]);
    }
    if let Some(scale) = packet.wscale {
        options.extend_from_slice(&[3, 3, scale]);
    }
    while options.len() % 4 != 0 {
        options.push(1);
    }
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&packet.sport.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&packet.dport.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&packet.seq.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&packet.ack.unwrap_or(0).to_be_bytes());
    bytes.push((((20 + options.len()) / 4) << 4) as u8);
    bytes.push(flag_bits(packet.flags.as_deref().unwrap_or(""))?);
    bytes.extend_from_slice(&packet.win.unwrap_or(DEFAULT_WINDOW).to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.append(&mut options);
    bytes.append(&mut payload(packet));
    Ok(bytes)
}

fn udp(packet: &Packet) -> Vec<u8> {
    let mut body = payload(packet);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&packet.sport.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&packet.dport.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&(8 + body.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes.append(&mut body);
    bytes
}

fn icmp(packet: &Packet) -> Vec<u8> {
    let mut bytes = vec![packet.icmp_type.unwrap_or(8), packet.icmp_code.unwrap_or(0), 0, 0];
    bytes.extend_from_slice(&packet.icmp_id.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&packet.icmp_seq.unwrap_or(0).to_be_bytes());
    bytes.append(&mut payload(packet));
    bytes
}

/// An SCTP common header with one INIT chunk.
fn sctp(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&packet.sport.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&packet.dport.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[1, 0, 0, 20, 0, 0, 0, 1, 0, 0, 255, 255, 0, 1, 0, 1, 0, 0, 0, 1]);
    bytes.append(&mut payload(packet));
    bytes
}

/// Fills in an SCTP packet's checksum: CRC32c, least significant byte first (RFC 9260 6.8).
pub fn sctp_seal(segment: &mut [u8]) {
    let sum = !segment.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 })
    });
    segment[8..12].copy_from_slice(&sum.to_le_bytes());
}

/// Fills in the transport checksum.
fn seal(segment: &mut [u8], protocol: u8, source: IpAddr, destination: IpAddr) {
    let offset = match protocol {
        1 | 58 => 2,
        6 => 16,
        17 => 6,
        132 => return sctp_seal(segment),
        _ => return,
    };
    let mut pseudo = Vec::new();
    if protocol != 1 {
        pseudo.extend_from_slice(&octets(source));
        pseudo.extend_from_slice(&octets(destination));
        pseudo.extend_from_slice(&(segment.len() as u32).to_be_bytes());
        pseudo.extend_from_slice(&[0, 0, 0, protocol]);
    }
    let mut sum = checksum(&[&pseudo, segment]);
    if protocol == 17 && sum == 0 {
        sum = 0xffff;
    }
    segment[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let nibble =
        |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8).ok_or("raw_hex: not hexadecimal");
    digits
        .chunks(2)
        .map(|pair| Ok(nibble(pair[0])? << 4 | nibble(*pair.get(1).ok_or("raw_hex: odd length")?)?))
        .collect()
}
