//! [`Quoted`]: the packet that an ICMP error quotes, read and rewritten in place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::tuple::quoted_tuple;
use super::{L4Part, Manip, Tuple};
use crate::packet::{Family, proto};

/// Where things are in the quoted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quoted {
    pub(crate) tuple: Tuple,
    family: Family,
    /// Start of the transport header.
    l4_at: usize,
}

impl Quoted {
    /// Reads the quoted packet; none when it is cut before its ports.
    pub(crate) fn parse(bytes: &[u8], family: Family) -> Option<Self> {
        let (src, dst, number, l4_at) = match family {
            Family::V4 => ipv4(bytes)?,
            Family::V6 => ipv6(bytes)?,
        };
        let tuple = quoted_tuple(src, dst, number, bytes.get(l4_at..)?)?;
        Some(Self { tuple, family, l4_at })
    }

    /// Rewrites source or destination to those of `target` (`nf_nat_ipv4_manip_pkt`,
    /// `nf_nat_ipv6_manip_pkt` on the inner header). False when the quote is too short to be rewritten.
    pub(crate) fn mangle(&self, bytes: &mut [u8], target: &Tuple, manip: Manip) -> bool {
        let needed = match self.tuple.proto {
            proto::TCP | proto::UDP | proto::UDPLITE | proto::ICMP | proto::ICMPV6 | proto::SCTP => 8,
            _ => 0,
        };
        if bytes.len() < self.l4_at + needed {
            return false;
        }
        let addr = match manip {
            Manip::Src => target.src,
            Manip::Dst => target.dst,
        };
        let addr_at = match (self.family, manip) {
            (Family::V4, Manip::Src) => 12,
            (Family::V4, Manip::Dst) => 16,
            (Family::V6, Manip::Src) => 8,
            (Family::V6, Manip::Dst) => 24,
        };
        let new = octets(addr);
        let old = bytes[addr_at..addr_at + new.len()].to_vec();
        let (at, value) = match (target.l4, manip) {
            (L4Part::Ports { src, .. }, Manip::Src) => (0, src),
            (L4Part::Ports { dst, .. }, Manip::Dst) => (2, dst),
            (L4Part::Icmp { id, .. }, _) => (4, id),
            (L4Part::Gre { .. } | L4Part::None, _) => {
                self.put_address(bytes, addr_at, &old, &new);
                return true;
            }
        };
        let at = self.l4_at + at;
        let old_word = [bytes[at], bytes[at + 1]];
        if let Some(sum_at) = self.checksum_at(bytes) {
            // ICMPv4 sums no addresses.
            if self.tuple.proto != proto::ICMP {
                adjust(bytes, sum_at, &old, &new);
            }
            adjust(bytes, sum_at, &old_word, &value.to_be_bytes());
        }
        bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        self.put_address(bytes, addr_at, &old, &new);
        true
    }

    fn put_address(&self, bytes: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
        if self.family == Family::V4 {
            adjust(bytes, 10, old, new);
        }
        bytes[at..at + new.len()].copy_from_slice(new);
    }

    /// Where the transport checksum is, if the quote reaches that far and the sender made one.
    fn checksum_at(&self, bytes: &[u8]) -> Option<usize> {
        let offset = match self.tuple.proto {
            proto::TCP => 16,
            proto::UDP | proto::UDPLITE => 6,
            proto::ICMP | proto::ICMPV6 => 2,
            _ => return None,
        };
        let at = self.l4_at + offset;
        let sum = bytes.get(at..at + 2)?;
        let complete = self.tuple.proto != proto::TCP || bytes.len() >= self.l4_at + 20;
        (complete && (self.tuple.proto != proto::UDP || sum != [0, 0])).then_some(at)
    }
}

type Header = (IpAddr, IpAddr, u8, usize);

fn ipv4(bytes: &[u8]) -> Option<Header> {
    let header_len = usize::from(bytes.first()? & 0x0f) * 4;
    let fragment_offset = u16::from_be_bytes([*bytes.get(6)?, *bytes.get(7)?]) & 0x1fff;
    if header_len < 20 || fragment_offset != 0 {
        return None;
    }
    let addr = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(octets).into())
    };
    Some((addr(12)?, addr(16)?, *bytes.get(9)?, header_len))
}

fn ipv6(bytes: &[u8]) -> Option<Header> {
    let addr = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
        Some(Ipv6Addr::from(octets).into())
    };
    let (mut next, mut at) = (*bytes.get(6)?, 40);
    loop {
        let length = match next {
            // Hop-by-hop, routing, destination options.
            0 | 43 | 60 => (usize::from(*bytes.get(at + 1)?) + 1) * 8,
            // Fragment header; a later fragment shows no ports.
            44 => {
                if u16::from_be_bytes([*bytes.get(at + 2)?, *bytes.get(at + 3)?]) & 0xfff8 != 0 {
                    return None;
                }
                8
            }
            _ => return Some((addr(8)?, addr(24)?, next, at)),
        };
        next = *bytes.get(at)?;
        at += length;
    }
}

fn octets(addr: IpAddr) -> Vec<u8> {
    match addr {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// RFC 1624: adjusts the checksum at `at` for words that change from `old` to `new`.
fn adjust(bytes: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    let Some(field) = bytes.get(at..at + 2) else { return };
    let mut sum = u32::from(!u16::from_be_bytes([field[0], field[1]]));
    for (old, new) in old.chunks_exact(2).zip(new.chunks_exact(2)) {
        sum += u32::from(!u16::from_be_bytes([old[0], old[1]]));
        sum += u32::from(u16::from_be_bytes([new[0], new[1]]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let field = !(sum as u16);
    bytes[at..at + 2].copy_from_slice(&field.to_be_bytes());
}
