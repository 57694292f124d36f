//! [`Tuple`]: one direction of a connection (`struct nf_conntrack_tuple`).

use std::net::IpAddr;

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
}

/// The part of a tuple that the transport protocol fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum L4Part {
    /// TCP, UDP, UDP-Lite, SCTP, DCCP.
    Ports { src: u16, dst: u16 },
    /// ICMP and ICMPv6 queries.
    Icmp { id: u16, kind: u8, code: u8 },
    /// GRE keys (version 1), zero otherwise.
    Gre { src_key: u16, dst_key: u16 },
    /// Protocols the generic tracker handles.
    None,
}

/// Source, destination and protocol of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tuple {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub proto: u8,
    pub l4: L4Part,
}
