//! [`Element`]: one element of a set, and what is kept of it.

use std::net::IpAddr;

use crate::base::Instant;
use crate::netfilter::Counters;

/// A protocol and a port. For ICMP the port is type times 256 plus code; for others it is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Service {
    pub proto: u8,
    pub port: u16,
}

/// An element. Networks have their host bits clear.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    Ip(IpAddr),
    Net(IpAddr, u8),
    IpPort(IpAddr, Service),
    IpPortIp(IpAddr, Service, IpAddr),
    IpPortNet(IpAddr, Service, IpAddr, u8),
    NetPort(IpAddr, u8, Service),
    /// Device name, and whether it is a bridge port.
    NetIface(IpAddr, u8, Box<str>, bool),
    Port(u16),
}

impl Element {
    /// Prefix length of the network part, if it has one.
    pub const fn prefix_len(&self) -> Option<u8> {
        match self {
            Self::Net(_, len)
            | Self::IpPortNet(_, _, _, len)
            | Self::NetPort(_, len, _)
            | Self::NetIface(_, len, _, _) => Some(*len),
            Self::Ip(_) | Self::IpPort(..) | Self::IpPortIp(..) | Self::Port(_) => None,
        }
    }

    /// The same element with its network cut to `len` bits.
    #[must_use]
    pub fn with_prefix(&self, len: u8) -> Self {
        match self {
            Self::Net(a, _) => Self::Net(cut(*a, len), len),
            Self::IpPortNet(a, service, net, _) => Self::IpPortNet(*a, *service, cut(*net, len), len),
            Self::NetPort(a, _, service) => Self::NetPort(cut(*a, len), len, *service),
            Self::NetIface(a, _, name, port) => Self::NetIface(cut(*a, len), len, name.clone(), *port),
            Self::Ip(_) | Self::IpPort(..) | Self::IpPortIp(..) | Self::Port(_) => self.clone(),
        }
    }
}

/// `addr` with all but the first `len` bits clear.
pub fn cut(addr: IpAddr, len: u8) -> IpAddr {
    match addr {
        IpAddr::V4(a) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
            IpAddr::V4((a.to_bits() & mask).into())
        }
        IpAddr::V6(a) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(len.min(128))).unwrap_or(0);
            IpAddr::V6((a.to_bits() & mask).into())
        }
    }
}

/// What is kept of an element (`struct ip_set_ext`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// When it expires; none in a set without timeouts, and for an element that never does.
    pub expires: Option<Instant>,
    /// Packets and bytes, in a set with counters.
    pub counters: Counters,
    pub comment: Box<str>,
    /// An exception: a packet that hits it does not match.
    pub nomatch: bool,
}

impl Data {
    pub fn is_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}
