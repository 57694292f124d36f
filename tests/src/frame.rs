//! Owns IP bytes on the kernel's side of a comparison: building the packet a case describes, and reading what
//! a node emitted. Deliberately independent of the engine's own `packet/`, so that one is checked against the
//! other. Does not own sockets (`kernel::tap`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::replay::Packet;

mod build;
mod decode;

pub use build::{build, icmp_error, ip_header, sctp_seal};
pub use decode::decode;

/// One packet as it was seen on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Seen {
    /// The device it left on; absent in a quoted packet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dev: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub src: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dst: String,
    /// tcp, udp, icmp, icmpv6, sctp or a number in digits.
    pub proto: String,
    pub ttl: u8,
    #[serde(skip_serializing_if = "is_zero")]
    pub tos: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sport: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dport: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win: Option<u16>,
    /// Payload behind the transport header, in bytes.
    pub len: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_id: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_seq: Option<u16>,
    /// Fragment offset in bytes, when the packet is a fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment: Option<u16>,
    /// The packet an ICMP error quotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Box<Seen>>,
}

fn is_zero(value: &u8) -> bool {
    *value == 0
}

/// TCP flag letters in the order of the header's bits.
const FLAG_LETTERS: &str = "FSRPAUEC";

/// TCP flag byte from letters.
pub fn flag_bits(letters: &str) -> Result<u8, String> {
    letters.chars().try_fold(0, |bits, letter| {
        let bit = FLAG_LETTERS.find(letter).ok_or_else(|| format!("unknown TCP flag {letter:?}"))?;
        Ok(bits | (1 << bit))
    })
}

/// Letters of a TCP flag byte.
pub fn flag_letters(bits: u8) -> String {
    FLAG_LETTERS
        .chars()
        .enumerate()
        .filter(|(bit, _)| bits & (1 << bit) != 0)
        .map(|(_, letter)| letter)
        .collect()
}

/// The Internet checksum over the concatenation of even-sized parts (only the last may be odd).
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum of an IPv4 header whose own field is zero.
pub fn ipv4_checksum(header: &[u8]) -> u16 {
    checksum(&[header])
}

/// Bytes as a case's `raw_hex` writes them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn v4(bytes: &[u8]) -> String {
    Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).to_string()
}

fn v6(bytes: &[u8]) -> String {
    let mut octets = [0; 16];
    octets.copy_from_slice(&bytes[..16]);
    Ipv6Addr::from(octets).to_string()
}

#[cfg(test)]
mod tests;
