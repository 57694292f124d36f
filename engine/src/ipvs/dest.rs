//! [`Dest`]: a real server of one service (`struct ip_vs_dest`).

use std::net::{IpAddr, SocketAddr};

use super::service::ServiceKey;
use super::stats::Stats;
use crate::base::{Instant, KernelVersion};

/// Stands for a destination as long as a connection or a cache may speak of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DestId(pub u32);

/// How packets reach a destination (`IP_VS_CONN_F_FWD_MASK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// NAT: the destination address and port are rewritten.
    Masq,
    /// Direct routing: only the next hop changes.
    Route,
    /// Wrapped into another packet.
    Tunnel,
    /// Handed to this node's own stack. Set by the kernel, not by users.
    Local,
    /// To where the packet went anyway (`cache_bypass`).
    Bypass,
}

impl Forward {
    /// As `ipvsadm -L` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Masq => "Masq",
            Self::Route => "Route",
            Self::Tunnel => "Tunnel",
            Self::Local => "Local",
            Self::Bypass => "Bypass",
        }
    }
}

/// Checksums of a tunnel's own header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TunnelChecksum {
    #[default]
    None,
    Full,
    Remote,
}

/// What a tunnelled packet is wrapped into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    #[default]
    Ipip,
    /// Generic UDP encapsulation, to this port.
    Gue {
        port: u16,
        checksum: TunnelChecksum,
    },
    Gre {
        checksum: TunnelChecksum,
    },
}

/// One real server.
#[derive(Clone, Debug)]
pub struct Dest {
    pub id: DestId,
    pub service: ServiceKey,
    pub addr: IpAddr,
    /// Zero: the port that the client dialled.
    pub port: u16,
    pub forward: Forward,
    pub encapsulation: Encapsulation,
    /// Zero: quiesced. No new connections are scheduled, existing ones go on.
    pub weight: u32,
    /// The last weight above zero, on which Maglev's table is built (`last_weight`).
    pub last_weight: u32,
    /// Connections at which it counts as overloaded; zero for none.
    pub upper: u32,
    /// Connections below which it no longer does; zero for three quarters of [`Self::upper`].
    pub lower: u32,
    pub active: u32,
    pub inactive: u32,
    /// Templates.
    pub persistent: u32,
    /// Reached its upper threshold (`IP_VS_DEST_F_OVERLOAD`).
    pub overloaded: bool,
    /// Belongs to its service; a removed one only serves to recognise its connections.
    pub available: bool,
    pub stats: Stats,
    pub(super) removed_at: Option<Instant>,
}

impl Dest {
    pub const fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.addr, self.port)
    }

    /// Whether a scheduler may choose it.
    pub const fn schedulable(&self) -> bool {
        self.weight > 0 && !self.overloaded
    }

    pub const fn connections(&self) -> u32 {
        self.active + self.inactive
    }

    /// `ip_vs_dest_conn_overhead`: an active connection weighs as much as 256 inactive ones. Kernels that count
    /// active and all connections (6.12.117, 7.2) add all in place of the inactive ones.
    pub fn overhead(&self, kernel: KernelVersion) -> i64 {
        let others = if kernel >= KernelVersion::V6_12 { self.connections() } else { self.inactive };
        (i64::from(self.active) << 8) + i64::from(others)
    }

    /// After a connection was bound (`ip_vs_bind_dest`).
    pub(super) const fn bound(&mut self) {
        if self.upper != 0 && self.connections() >= self.upper {
            self.overloaded = true;
        }
    }

    /// After a connection was let go (`ip_vs_unbind_dest`).
    pub(super) const fn unbound(&mut self) {
        let below = if self.lower != 0 {
            self.connections() < self.lower
        } else {
            self.upper == 0 || self.connections() as u64 * 4 < self.upper as u64 * 3
        };
        if below {
            self.overloaded = false;
        }
    }
}
