//! [`Tuple`]: one direction of a connection (`struct nf_conntrack_tuple`): from a packet, inverted, hashed.

use std::net::IpAddr;

use crate::packet::{Family, L4, Packet, proto};

/// Which of an entry's two tuples a packet matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    Original,
    Reply,
}

impl Direction {
    pub const fn other(self) -> Self {
        match self {
            Self::Original => Self::Reply,
            Self::Reply => Self::Original,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Reply => "reply",
        }
    }
}

/// The part of a tuple that the transport protocol fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum L4Part {
    /// TCP, UDP, UDP-Lite, SCTP.
    Ports { src: u16, dst: u16 },
    /// ICMP and ICMPv6 queries.
    Icmp { id: u16, kind: u8, code: u8 },
    /// GRE keys (version 1), zero otherwise.
    Gre { src_key: u16, dst_key: u16 },
    /// Protocols the generic tracker handles.
    None,
}

impl L4Part {
    /// What a source mapping may change: the source port, the ICMP identifier, the GRE key.
    pub const fn src(self) -> u16 {
        match self {
            Self::Ports { src, .. } => src,
            Self::Icmp { id, .. } => id,
            Self::Gre { src_key, .. } => src_key,
            Self::None => 0,
        }
    }

    pub const fn dst(self) -> u16 {
        match self {
            Self::Ports { dst, .. } => dst,
            Self::Icmp { kind, code, .. } => (kind as u16) << 8 | code as u16,
            Self::Gre { dst_key, .. } => dst_key,
            Self::None => 0,
        }
    }
}

/// Source, destination and protocol of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tuple {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub proto: u8,
    pub l4: L4Part,
}

impl Tuple {
    pub const fn family(&self) -> Family {
        Family::of(&self.src)
    }

    /// The tuple a packet shows (`nf_ct_get_tuple`); none for a later fragment, a header too short for its
    /// ports, and protocols that cannot belong to this address family.
    pub fn of(packet: &Packet) -> Option<Self> {
        if packet.is_later_fragment() {
            return None;
        }
        let ip = &packet.ip;
        let l4 = match &packet.l4 {
            L4::Tcp(tcp) => L4Part::Ports { src: tcp.sport, dst: tcp.dport },
            L4::Udp(udp) => L4Part::Ports { src: udp.sport, dst: udp.dport },
            L4::Sctp(sctp) => L4Part::Ports { src: sctp.sport, dst: sctp.dport },
            L4::Icmp(icmp) => L4Part::Icmp { id: icmp.id(), kind: icmp.kind, code: icmp.code },
            L4::Raw(bytes) => l4_of(ip.proto, bytes)?,
            L4::Truncated(_) => return None,
        };
        Some(Self { src: ip.src, dst: ip.dst, proto: ip.proto, l4 })
    }

    /// The tuple that answers will show (`nf_ct_invert_tuple`); none for ICMP types that ask nothing.
    pub fn invert(&self) -> Option<Self> {
        let l4 = match self.l4 {
            L4Part::Ports { src, dst } => L4Part::Ports { src: dst, dst: src },
            L4Part::Gre { src_key, dst_key } => L4Part::Gre { src_key: dst_key, dst_key: src_key },
            L4Part::Icmp { id, kind, code } => {
                L4Part::Icmp { id, kind: icmp_counterpart(self.proto, kind)?, code }
            }
            L4Part::None => L4Part::None,
        };
        Some(Self { src: self.dst, dst: self.src, proto: self.proto, l4 })
    }

    /// A stable hash of the whole tuple.
    pub(super) fn hash(&self, zone: u16, seed: u64) -> u64 {
        let l4 = u64::from(self.l4.src()) << 48
            | u64::from(self.l4.dst()) << 32
            | u64::from(zone) << 16
            | u64::from(self.proto);
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let addrs = u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits());
                fold(fold(addrs ^ seed, l4 ^ 0xa076_1d64_78bd_642f), seed ^ 0xe703_7ed1_a0b4_28db)
            }
            (src, dst) => fold(
                fold(address_bits(src) ^ seed, l4 ^ 0xa076_1d64_78bd_642f),
                address_bits(dst) ^ 0xe703_7ed1_a0b4_28db,
            ),
        }
    }

    /// A stable hash of what two connections of one socket share (`hash_by_src`).
    pub(super) fn source_hash(&self, zone: u16, seed: u64) -> u64 {
        let l4 = u64::from(self.l4.src()) << 32 | u64::from(zone) << 16 | u64::from(self.proto);
        fold(address_bits(self.src) ^ seed, l4 ^ 0x8ebc_6af0_9c88_c6e3)
    }
}

/// The transport part of the protocols that come as raw bytes.
fn l4_of(number: u8, bytes: &[u8]) -> Option<L4Part> {
    let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    match number {
        proto::TCP | proto::UDP | proto::UDPLITE | proto::SCTP => {
            Some(L4Part::Ports { src: word(0)?, dst: word(2)? })
        }
        proto::ICMP | proto::ICMPV6 => {
            Some(L4Part::Icmp { id: word(4)?, kind: *bytes.first()?, code: *bytes.get(1)? })
        }
        // Version 1 (PPTP) carries a call id; without the PPTP helper nothing knows the other side's.
        proto::GRE => match word(0)? & 7 {
            1 => Some(L4Part::Gre { src_key: 0, dst_key: word(6)? }),
            _ => Some(L4Part::Gre { src_key: 0, dst_key: 0 }),
        },
        _ => Some(L4Part::None),
    }
}

/// The tuple of a packet quoted by an ICMP error, of which 8 bytes of transport header suffice.
pub(super) fn quoted_tuple(src: IpAddr, dst: IpAddr, number: u8, l4: &[u8]) -> Option<Tuple> {
    Some(Tuple { src, dst, proto: number, l4: l4_of(number, l4)? })
}

/// The ICMP type that answers this one (`invmap` of `nf_conntrack_proto_icmp.c`, `..._icmpv6.c`).
const fn icmp_counterpart(number: u8, kind: u8) -> Option<u8> {
    match (number, kind) {
        // Echo, timestamp, information, address mask.
        (proto::ICMP, 8) => Some(0),
        (proto::ICMP, 0) => Some(8),
        (proto::ICMP, 13) => Some(14),
        (proto::ICMP, 14) => Some(13),
        (proto::ICMP, 15) => Some(16),
        (proto::ICMP, 16) => Some(15),
        (proto::ICMP, 17) => Some(18),
        (proto::ICMP, 18) => Some(17),
        // Echo, node information.
        (proto::ICMPV6, 128) => Some(129),
        (proto::ICMPV6, 129) => Some(128),
        (proto::ICMPV6, 139) => Some(140),
        (proto::ICMPV6, 140) => Some(139),
        _ => None,
    }
}

fn address_bits(addr: IpAddr) -> u64 {
    match addr {
        IpAddr::V4(a) => u64::from(a.to_bits()),
        IpAddr::V6(a) => {
            let bits = a.to_bits();
            fold((bits >> 64) as u64 ^ 0x5896_5f0b_a1c2_d3e4, bits as u64 ^ 0x1d8e_4e27_c47d_124f)
        }
    }
}

/// Multiplies to 128 bits and folds the halves: the mixing step of wyhash, equal on every platform.
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}
