//! Service load balancing by eBPF programs, as Cilium does it in place of kube-proxy.
//!
//! Owns the maps, the choice of a backend, translation at a socket's connect, and translation of packets at the
//! devices (`bpf_sock.c`, `bpf_host.c`, `nodeport.h`, `lb.h`). Does not own the packet path ([`crate::netns`] asks the
//! programs at their places), what the agent writes into the maps ([`crate::proxy`]), nor the look of a map on a
//! terminal ([`crate::text`]).
//!
//! | file | owns |
//! |---|---|
//! | `config` | what the agent was started with |
//! | `maps` | services, backends, tables, session affinity |
//! | `maglev`, `murmur` | the consistent table, and the hash it is made with |
//! | `choose` | from a destination to a service to a backend |
//! | `socket` | connect, sendmsg, recvmsg, getpeername, bind |
//! | `tc` | packets at the devices: node ports, SNAT, DSR |
//! | `flows` | connections that `tc` translates, with their timers |
//!
//! There is no kernel case behind this layer: the judge is Cilium's source, and for Maglev its published tables. Not
//! emulated: XDP (the same translation, earlier), Geneve and IPIP for DSR, DSR over IPv6, network policy, the
//! translation of ICMP errors, answers to clients of a service without backends.

pub mod choose;
pub mod config;
pub mod flows;
pub mod maglev;
pub mod maps;
pub mod murmur;
pub mod socket;
pub mod tc;

#[cfg(test)]
mod tests;

use crate::base::{Draws, Rng};

pub use choose::{Choice, Flow, From};
pub use config::{Algorithm, Config, Mode};
pub use maps::{Backend, BackendId, BackendState, Client, Frontend, Kind, Maps, Range, Scope, Service, Spec};
pub use socket::Errno;
pub use tc::Verdict;

/// The programs and maps of one node.
#[derive(Clone, Debug)]
pub struct Ebpf {
    pub config: Config,
    pub maps: Maps,
    flows: flows::Flows,
    sockets: socket::Sockets,
    /// `bpf_get_prandom_u32`: what a scenario supplies, then a stream of its own.
    supplied: Draws,
    draws: Rng,
    /// Map look-ups so far, misses included.
    lookups: u64,
}

impl Ebpf {
    /// Programs with empty maps. `seed` is the scenario's.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            config,
            maps: Maps::default(),
            flows: flows::Flows::default(),
            sockets: socket::Sockets::default(),
            supplied: Draws::default(),
            draws: Rng::named(seed, "ebpf"),
            lookups: 0,
        }
    }

    /// Writes a service and its backends into the maps.
    pub fn set(&mut self, frontend: Frontend, spec: Spec, backends: &[Backend]) {
        self.maps.set(&self.config, frontend, spec, backends);
    }

    /// Supplies the uniform draws of the next choices.
    pub fn supply_draws(&mut self, draws: Draws) {
        self.supplied = draws;
    }

    /// Map look-ups since the start, misses included.
    pub const fn lookups(&self) -> u64 {
        self.lookups
    }

    /// Connections that the programs at the devices translate.
    pub const fn flows(&self) -> &flows::Flows {
        &self.flows
    }
}
