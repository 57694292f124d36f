//! IPVS, the kernel's layer-4 load balancer (`net/netfilter/ipvs/`).
//!
//! Owns virtual services, their destinations, the connection table with its timers, the schedulers, counters
//! and rates. Does not own the packet path: [`Ipvs::request`] and [`Ipvs::reply`] say what is to become of a
//! packet, [`crate::netns`] routes and rewrites it. Text is [`crate::text`]'s business.
//!
//! Not emulated: connection synchronisation (the master and backup daemons), the FTP helper and the SIP
//! persistence engine, scheduling by ICMP errors (`schedule_icmp`), `secure_tcp`, `drop_entry`, AH and ESP.
//!
//! The judge is Linux 6.12 and 6.1 as Debian builds them, asked in a virtual machine; formulas that differ
//! between kernel versions say so where they stand.

pub mod arrivals;
pub mod config;
pub mod conn;
pub mod dest;
pub mod ledger;
pub mod sched;
pub mod service;
pub mod state;
pub mod stats;

mod admin;
mod icmp;
mod persist;
mod reply;
mod request;
mod table;
mod timer;

use std::collections::BTreeMap;

pub use admin::{DestSpec, Error, ServiceSpec};
pub use config::{Config, Knob, Timeouts};
pub use conn::{Conn, ConnId, Xmit};
pub use dest::{Dest, DestId, Encapsulation, Forward};
pub use icmp::IcmpRewrite;
pub use reply::Reply;
pub use request::{Refusal, Request};
pub use sched::SchedFlags;
pub use service::{Service, ServiceKey};
pub use stats::{Rates, Stats, Totals};

use crate::base::{Instant, KernelVersion, Rng};
use crate::packet::Family;
use crate::trace::Trace;

/// IPVS of one network namespace.
#[derive(Clone, Debug)]
pub struct Ipvs {
    pub config: Config,
    /// Sums over all services (`/proc/net/ip_vs_stats`).
    pub stats: Stats,
    kernel: KernelVersion,
    services: BTreeMap<ServiceKey, Service>,
    /// Destinations of all services, and removed ones that may come back (`dest_trash`).
    dests: BTreeMap<DestId, Dest>,
    conns: table::ConnTable,
    /// Services ever added: gives each its place in the order of adding.
    services_made: u64,
    /// Draws of the scheduler `twos`.
    draws: Rng,
    /// Packets until the next one is dropped (`drop_packet`).
    drop_counter: i64,
}

/// Context of one call.
#[derive(Debug)]
pub struct IpvsCx<'a> {
    pub now: Instant,
    pub trace: &'a mut Trace,
    /// The packet belongs to a confirmed conntrack entry (`ip_vs_conn_uses_old_conntrack`).
    pub old_conntrack: bool,
    /// The packet was made by this node or came over `lo`.
    pub from_self: bool,
}

impl Ipvs {
    /// No services, default sysctls. `seed` is the scenario's.
    pub fn new(kernel: KernelVersion, seed: u64) -> Self {
        Self {
            config: Config::default(),
            stats: Stats::default(),
            kernel,
            services: BTreeMap::new(),
            dests: BTreeMap::new(),
            conns: table::ConnTable::default(),
            services_made: 0,
            draws: Rng::named(seed, "ipvs-twos"),
            drop_counter: 0,
        }
    }

    pub const fn kernel(&self) -> KernelVersion {
        self.kernel
    }

    /// Whether a service of this family exists: only then are its hooks registered.
    pub fn enabled(&self, family: Family) -> bool {
        self.services.keys().any(|key| key.family() == family)
    }

    /// Services in the order in which `ipvsadm` prints them: by address, then those by mark.
    pub fn services(&self) -> impl Iterator<Item = (&ServiceKey, &Service)> {
        self.services.iter()
    }

    pub fn service(&self, key: &ServiceKey) -> Option<&Service> {
        self.services.get(key)
    }

    /// Destinations of a service in the kernel's own order: the newest first.
    pub fn dests<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = &'a Dest> {
        service.dests.iter().filter_map(|id| self.dests.get(id))
    }

    pub fn dest(&self, id: DestId) -> Option<&Dest> {
        self.dests.get(&id)
    }

    /// Entries of the connection table, the oldest first, templates included.
    pub fn conns(&self) -> impl Iterator<Item = &Conn> {
        self.conns.iter()
    }

    pub fn conn(&self, id: ConnId) -> Option<&Conn> {
        self.conns.get(id)
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
