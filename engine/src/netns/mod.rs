//! One network namespace: devices, routes, sysctls, loaded tables, connections, and the packet path.
//!
//! [`Netns::receive`] and [`Netns::send`] take one packet through the node. The way itself is in `path`, the
//! order of hook users in `hooks`, what the node answers by itself in `answer` and `stack`. Virtual time is
//! [`Netns::now`]; the caller moves it.

pub mod device;
pub mod inet;
pub mod route;
pub mod sysctl;

mod answer;
mod decide;
mod defrag;
mod ebpf;
mod fib;
mod hooks;
mod ipvs;
mod nft;
mod path;
mod ratelimit;
mod reject;
mod stack;
mod tables;
mod worlds;

use crate::base::{Instant, KernelVersion, Rng};
use crate::conntrack::{self, Conntrack};
use crate::ebpf::Ebpf;
use crate::ipvs::Ipvs;
use crate::netfilter::{HookTable, Shared};

pub use device::{Address, Device, DeviceKind};
pub use inet::{Inet, LOOPBACK};
pub use path::{Emitted, End};
pub use route::{Route, RouteKind, RouteOrigin, RouteTable};
pub use stack::Listen;
pub use tables::LoadedTable;
pub use worlds::{Alternative, Ran};

/// Why a sysctl was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SysctlError {
    /// The engine does not emulate it, or there is no such device.
    Unknown,
    /// Not a value it takes.
    Invalid,
}

/// One network namespace.
#[derive(Clone, Debug)]
pub struct Netns {
    pub inet: Inet,
    pub ct: Conntrack,
    pub shared: Shared,
    /// After an edit of services, [`Netns::ipvs_edited`] has to be called.
    pub ipvs: Ipvs,
    /// The eBPF programs attached, if any.
    pub ebpf: Option<Box<Ebpf>>,
    /// Virtual time, moved by the caller, never backwards.
    pub now: Instant,
    /// Seconds since the epoch at [`Instant::ZERO`].
    pub epoch_secs: u64,
    /// Where local sockets listen.
    pub listen: Vec<Listen>,
    tables: tables::Tables,
    hooks: HookTable,
    fragments: defrag::Fragments,
    limits: ratelimit::PeerLimits,
    all_peers: ratelimit::GlobalLimit,
    sockets: stack::Sockets,
    /// IP identifications of packets the node makes.
    ids: Rng,
    /// Initial sequence numbers of the node's own sockets.
    isn: Rng,
}

impl Netns {
    /// A namespace with `lo` and nothing else. `seed` is the scenario's.
    pub fn new(kernel: KernelVersion, seed: u64) -> Self {
        Self {
            inet: Inet::new(kernel),
            ct: Conntrack::new(kernel, seed),
            shared: Shared { seed, ..Shared::default() },
            ipvs: Ipvs::new(kernel, seed),
            ebpf: None,
            now: Instant::ZERO,
            epoch_secs: 0,
            listen: Vec::new(),
            tables: tables::Tables::default(),
            hooks: HookTable::default(),
            fragments: defrag::Fragments::default(),
            limits: ratelimit::PeerLimits::default(),
            all_peers: ratelimit::GlobalLimit::new(seed),
            sockets: stack::Sockets::default(),
            ids: Rng::named(seed, "ip-id"),
            isn: Rng::named(seed, "isn"),
        }
    }

    pub const fn kernel(&self) -> KernelVersion {
        self.inet.kernel
    }

    /// Writes a kernel parameter by its real name, dots or slashes between the parts.
    pub fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), SysctlError> {
        let name = dotted(name);
        if name.starts_with("net.netfilter.") || name == "net.nf_conntrack_max" {
            return self.ct.config.set(&name, value).map_err(|error| match error {
                conntrack::SysctlError::Unknown => SysctlError::Unknown,
                conntrack::SysctlError::Invalid => SysctlError::Invalid,
            });
        }
        if name.starts_with("net.ipv4.vs.") {
            return self.ipvs.config.set(&name, value).map_err(|error| match error {
                crate::ipvs::config::SysctlError::Unknown => SysctlError::Unknown,
                crate::ipvs::config::SysctlError::Invalid => SysctlError::Invalid,
            });
        }
        let value: i64 = value.trim().parse().map_err(|_| SysctlError::Invalid)?;
        let name = if name == "net.ipv4.ip_forward" { "net.ipv4.conf.all.forwarding" } else { &name };
        if self.inet.sysctls.set(name, value) {
            return Ok(());
        }
        match sysctl::split_conf(name) {
            Some((v6, dev, leaf)) if self.inet.set_conf(v6, dev, leaf, value) => Ok(()),
            _ => Err(SysctlError::Unknown),
        }
    }

    /// Reads a kernel parameter; none when it is not emulated.
    pub fn sysctl(&self, name: &str) -> Option<i64> {
        let name = dotted(name);
        if name.starts_with("net.netfilter.") || name == "net.nf_conntrack_max" {
            return self.ct.config.get(&name).map(i64::from);
        }
        if name.starts_with("net.ipv4.vs.") {
            return self.ipvs.config.get(&name).map(i64::from);
        }
        let name = if name == "net.ipv4.ip_forward" { "net.ipv4.conf.all.forwarding" } else { &name };
        self.inet.sysctls.get(name).or_else(|| {
            let (v6, dev, leaf) = sysctl::split_conf(name)?;
            self.inet.get_conf(v6, dev, leaf)
        })
    }
}

/// `net/ipv4/conf/eth0.10/rp_filter` as `net.ipv4.conf.eth0/10.rp_filter`: `sysctl` swaps the two signs when
/// the first one is a slash.
fn dotted(name: &str) -> String {
    match name.find(['.', '/']).map(|at| name.as_bytes()[at]) {
        Some(b'/') => name
            .chars()
            .map(|c| match c {
                '/' => '.',
                '.' => '/',
                c => c,
            })
            .collect(),
        _ => name.to_owned(),
    }
}
