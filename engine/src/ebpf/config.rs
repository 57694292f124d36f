//! Settings of the agent (`cilium-agent` flags, in brackets).

use std::net::IpAddr;

use super::maglev::{Seed, TABLE_SIZE};
use crate::packet::proto;

/// How a packet finds its backend (`--bpf-lb-algorithm`). Sockets always draw a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    #[default]
    Random,
    Maglev,
}

/// How a packet from outside gets to a backend on another node (`--bpf-lb-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// With the node's address as source: the answer comes back this way.
    #[default]
    Snat,
    /// With the client's address as source; an IP option names the frontend, and the backend's node answers by itself.
    Dsr,
    /// DSR for TCP, SNAT for the rest.
    Hybrid,
}

impl Mode {
    pub const fn is_dsr(self, protocol: u8) -> bool {
        match self {
            Self::Snat => false,
            Self::Dsr => true,
            Self::Hybrid => protocol == proto::TCP,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub algorithm: Algorithm,
    /// One of [`super::maglev::TABLE_SIZES`] (`--bpf-lb-maglev-table-size`).
    pub table_size: u32,
    pub seed: Seed,
    pub mode: Mode,
    /// Connect-time translation for sockets of the node and its pods (`--bpf-lb-sock`).
    pub socket_lb: bool,
    /// Devices that lead out of the node (`--devices`); every other one is a pod's.
    pub devices: Vec<String>,
    /// Addresses of the node: a node port answers on each.
    pub node_addresses: Vec<IpAddr>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            table_size: TABLE_SIZE,
            seed: Seed::default(),
            mode: Mode::default(),
            socket_lb: true,
            devices: Vec::new(),
            node_addresses: Vec::new(),
        }
    }
}
