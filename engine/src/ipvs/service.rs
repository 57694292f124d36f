//! [`Service`]: a virtual service (`struct ip_vs_service`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::dest::DestId;
use super::sched::hash::fold;
use super::sched::{SchedFlags, Scheduler};
use super::stats::Stats;
use crate::base::Duration;
use crate::packet::Family;

/// What a service is found by. The order is that in which `ipvsadm` prints: addresses before marks, IPv4 before
/// IPv6, then by protocol, address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServiceKey {
    Address {
        family: Family,
        /// TCP, UDP or SCTP.
        proto: u8,
        addr: IpAddr,
        /// Zero: any port, which only a persistent service may have.
        port: u16,
    },
    /// Packets with this firewall mark, whatever their protocol.
    Mark { mark: u32, family: Family },
}

impl ServiceKey {
    pub const fn address(proto: u8, addr: IpAddr, port: u16) -> Self {
        Self::Address { family: Family::of(&addr), proto, addr, port }
    }

    pub const fn family(&self) -> Family {
        match self {
            Self::Address { family, .. } | Self::Mark { family, .. } => *family,
        }
    }

    /// Zero for a service by mark.
    pub const fn port(&self) -> u16 {
        match self {
            Self::Address { port, .. } => *port,
            Self::Mark { .. } => 0,
        }
    }

    pub const fn mark(&self) -> u32 {
        match self {
            Self::Address { .. } => 0,
            Self::Mark { mark, .. } => *mark,
        }
    }

    /// The list that the kernel searches for it, of [`BUCKETS`] in the table of its kind (`ip_vs_svc_hashkey`,
    /// `ip_vs_svc_fwm_hashkey`). The kernel also mixes in a number of the namespace, the same for all its services:
    /// it moves the lists around and leaves their lengths alone.
    pub fn bucket(&self) -> u32 {
        let mixed = match self {
            Self::Address { proto, addr, port, .. } => {
                let port = u32::from(*port);
                u32::from(*proto) ^ fold(*addr) ^ (port >> BUCKETS.ilog2()) ^ port
            }
            Self::Mark { mark, .. } => *mark,
        };
        mixed % BUCKETS
    }
}

/// Lists of services by address, and as many of those by mark (`IP_VS_SVC_TAB_SIZE`, up to 6.18).
pub const BUCKETS: u32 = 256;

/// How clients stick to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persistence {
    /// Lifetime of a template.
    pub timeout: Duration,
    /// Clients that agree in these bits of their address share a template.
    pub mask: Mask,
}

/// The granularity of persistence: any IPv4 mask, or an IPv6 prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    V4(Ipv4Addr),
    V6(u8),
}

impl Mask {
    /// One client each.
    pub const fn host(family: Family) -> Self {
        match family {
            Family::V4 => Self::V4(Ipv4Addr::BROADCAST),
            Family::V6 => Self::V6(128),
        }
    }

    /// The address that stands for the client in a template.
    pub fn apply(self, client: IpAddr) -> IpAddr {
        match (client, self) {
            (IpAddr::V4(addr), Self::V4(mask)) => (addr & mask).into(),
            (IpAddr::V6(addr), Self::V6(len)) => {
                let bits = u128::MAX.checked_shl(128 - u32::from(len.min(128))).unwrap_or(0);
                Ipv6Addr::from_bits(addr.to_bits() & bits).into()
            }
            (addr, _) => addr,
        }
    }
}

/// One virtual service.
#[derive(Clone, Debug)]
pub struct Service {
    pub scheduler: Scheduler,
    pub flags: SchedFlags,
    pub persistence: Option<Persistence>,
    /// Every UDP packet is scheduled by itself (`ipvsadm --ops`).
    pub one_packet: bool,
    /// The kernel's list: the newest destination first.
    pub dests: Vec<DestId>,
    pub stats: Stats,
    /// Place in the order of adding.
    pub number: u64,
}
