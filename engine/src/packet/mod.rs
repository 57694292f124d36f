//! Packets: parsed headers, and bytes both ways.
//!
//! [`Packet`] is the parsed form the engine works on; [`Skb`] is a packet on its way through the node, with
//! what the kernel keeps beside the bytes (devices, mark, connection).

pub mod skb;
pub mod wire;

use std::net::IpAddr;

pub use skb::{CtInfo, CtRef, DevId, Dst, Owner, PacketType, Skb};

/// Address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub const fn of(addr: &IpAddr) -> Self {
        match addr {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

/// IP protocol numbers the engine names (`/etc/protocols`).
pub mod proto {
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const DCCP: u8 = 33;
    pub const GRE: u8 = 47;
    pub const ESP: u8 = 50;
    pub const AH: u8 = 51;
    pub const ICMPV6: u8 = 58;
    pub const SCTP: u8 = 132;
    pub const UDPLITE: u8 = 136;
}

/// One IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub ip: Ip,
    pub l4: L4,
}

/// The fields of the IPv4 or IPv6 header. `src` and `dst` are always of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ip {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// The protocol of the payload; for IPv6, after the extension headers.
    pub proto: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// TOS byte or traffic class: six bits of DSCP, two of ECN.
    pub tos: u8,
    /// IPv4 identification, or that of the IPv6 fragment header (32 bits).
    pub id: u32,
    pub dont_fragment: bool,
    pub more_fragments: bool,
    /// Offset of this fragment in bytes; zero for a whole packet and for a first fragment.
    pub frag_offset: u16,
    /// IPv6 flow label (20 bits).
    pub flow_label: u32,
    /// IPv4 options verbatim; or the IPv6 extension headers without the fragment header, each with its own
    /// type in its first byte, where the wire has the next header's.
    pub options: Vec<u8>,
}

/// What the IP packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum L4 {
    Tcp(Tcp),
    Udp(Udp),
    /// ICMP or ICMPv6; the family of the IP header tells which.
    Icmp(Icmp),
    Sctp(Sctp),
    /// Another protocol, or a later fragment: the bytes as they are.
    Raw(Vec<u8>),
    /// The protocol's header does not fit in the bytes present.
    Truncated(Vec<u8>),
}

/// TCP flags, bit by bit as in byte 13 of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    pub const FIN: Self = Self(0x01);
    pub const SYN: Self = Self(0x02);
    pub const RST: Self = Self(0x04);
    pub const PSH: Self = Self(0x08);
    pub const ACK: Self = Self(0x10);
    pub const URG: Self = Self(0x20);
    pub const ECE: Self = Self(0x40);
    pub const CWR: Self = Self(0x80);

    /// The letters of the replay contract, in its order.
    pub const LETTERS: [(char, Self); 8] = [
        ('F', Self::FIN),
        ('S', Self::SYN),
        ('R', Self::RST),
        ('P', Self::PSH),
        ('A', Self::ACK),
        ('U', Self::URG),
        ('E', Self::ECE),
        ('C', Self::CWR),
    ];

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub sport: u16,
    pub dport: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: TcpFlags,
    /// Raw 16-bit window, unscaled.
    pub window: u16,
    pub urgent: u16,
    /// The options verbatim, padding included; a multiple of four bytes, at most 40.
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
    /// False when the bytes came with a wrong checksum.
    pub checksum_ok: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Udp {
    pub sport: u16,
    pub dport: u16,
    /// The header's own length field: of header and payload, in bytes. In a first fragment that of the datagram.
    pub length: u16,
    /// What the IP packet holds behind the header, be it more or less than `length` says.
    pub payload: Vec<u8>,
    pub checksum: UdpChecksum,
}

impl Udp {
    /// Bytes of the header.
    pub const HEADER: usize = 8;

    /// A datagram as a host sends it. A payload longer than UDP can say has a length that does not fit.
    pub const fn new(sport: u16, dport: u16, payload: Vec<u8>) -> Self {
        let length = (Self::HEADER + payload.len()) as u16;
        Self { sport, dport, length, payload, checksum: UdpChecksum::Right }
    }

    /// Header and payload, in bytes.
    pub const fn len_bytes(&self) -> usize {
        Self::HEADER + self.payload.len()
    }

    /// Whether the header and what `length` says are there (`__udp4_lib_rcv`, `udp_error`).
    pub const fn fits(&self) -> bool {
        Self::HEADER <= self.length as usize && self.length as usize <= self.len_bytes()
    }

    /// `nf_checksum`: whether netfilter takes the checksum. It sums all there is, so bytes behind the datagram, which
    /// a socket cuts off, make it wrong.
    pub const fn netfilter_takes_sum(&self) -> bool {
        match self.checksum {
            UdpChecksum::Absent => true,
            UdpChecksum::Right => self.length as usize >= self.len_bytes(),
            UdpChecksum::Wrong => false,
        }
    }
}

/// What a datagram's checksum field says (RFC 768, RFC 8200 8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpChecksum {
    /// That of as many bytes as the header says, or of all if it says what cannot be. Nobody can tell of a first
    /// fragment: it counts as right.
    Right,
    Wrong,
    /// Zero: the sender computed none. Netfilter takes it in both families, and NAT leaves it zero; a socket
    /// takes it over IPv4 only.
    Absent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    pub kind: u8,
    pub code: u8,
    /// Bytes 4 to 7: identifier and sequence of an echo, MTU of "too big", zero otherwise.
    pub rest: [u8; 4],
    /// After byte 8: echo data, or the quoted packet of an error.
    pub payload: Vec<u8>,
    pub checksum_ok: bool,
}

impl Icmp {
    /// Identifier of an echo or timestamp message.
    pub const fn id(&self) -> u16 {
        u16::from_be_bytes([self.rest[0], self.rest[1]])
    }

    pub const fn seq(&self) -> u16 {
        u16::from_be_bytes([self.rest[2], self.rest[3]])
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sctp {
    pub sport: u16,
    pub dport: u16,
    pub vtag: u32,
    /// The chunks verbatim.
    pub payload: Vec<u8>,
    pub checksum_ok: bool,
}

impl Tcp {
    /// Sequence numbers the segment takes: its payload, one for SYN, one for FIN.
    pub const fn segment_len(&self) -> u32 {
        self.payload.len() as u32
            + self.flags.has(TcpFlags::SYN) as u32
            + self.flags.has(TcpFlags::FIN) as u32
    }
}

impl Packet {
    pub const fn family(&self) -> Family {
        Family::of(&self.ip.src)
    }

    /// Source and destination port, if this packet shows ports.
    pub const fn ports(&self) -> Option<(u16, u16)> {
        match &self.l4 {
            L4::Tcp(tcp) => Some((tcp.sport, tcp.dport)),
            L4::Udp(udp) => Some((udp.sport, udp.dport)),
            L4::Sctp(sctp) => Some((sctp.sport, sctp.dport)),
            L4::Icmp(_) | L4::Raw(_) | L4::Truncated(_) => None,
        }
    }

    pub fn set_sport(&mut self, port: u16) {
        match &mut self.l4 {
            L4::Tcp(tcp) => tcp.sport = port,
            L4::Udp(udp) => udp.sport = port,
            L4::Sctp(sctp) => sctp.sport = port,
            L4::Icmp(_) | L4::Raw(_) | L4::Truncated(_) => {}
        }
    }

    pub fn set_dport(&mut self, port: u16) {
        match &mut self.l4 {
            L4::Tcp(tcp) => tcp.dport = port,
            L4::Udp(udp) => udp.dport = port,
            L4::Sctp(sctp) => sctp.dport = port,
            L4::Icmp(_) | L4::Raw(_) | L4::Truncated(_) => {}
        }
    }

    pub const fn tcp(&self) -> Option<&Tcp> {
        match &self.l4 {
            L4::Tcp(tcp) => Some(tcp),
            L4::Udp(_) | L4::Icmp(_) | L4::Sctp(_) | L4::Raw(_) | L4::Truncated(_) => None,
        }
    }

    /// Whether this is a fragment other than the first: it shows no transport header.
    pub const fn is_later_fragment(&self) -> bool {
        self.ip.frag_offset != 0
    }

    /// Length of the whole IP packet in bytes: what rule counters add and `-m length` tests.
    pub fn len_bytes(&self) -> usize {
        let header = match self.ip.src {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) if self.ip.more_fragments || self.ip.frag_offset != 0 => 48,
            IpAddr::V6(_) => 40,
        };
        header + self.ip.options.len() + self.l4.len_bytes()
    }
}

impl L4 {
    /// Length of the transport header and payload in bytes.
    pub fn len_bytes(&self) -> usize {
        match self {
            Self::Tcp(tcp) => 20 + tcp.options.len() + tcp.payload.len(),
            Self::Udp(udp) => udp.len_bytes(),
            Self::Icmp(icmp) => 8 + icmp.payload.len(),
            Self::Sctp(sctp) => 12 + sctp.payload.len(),
            Self::Raw(bytes) | Self::Truncated(bytes) => bytes.len(),
        }
    }
}
