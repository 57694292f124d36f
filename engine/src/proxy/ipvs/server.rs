//! Virtual and real servers, and the commands of `ipvsadm` that program them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::cluster::objects::Protocol;
use crate::proxy::Origin;

/// What clients address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VirtualKey {
    pub addr: IpAddr,
    pub port: u16,
    pub protocol: Protocol,
}

/// `10.96.10.20:80/TCP`, as kube-proxy logs it.
impl fmt::Display for VirtualKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.protocol.name().to_uppercase())
    }
}

impl VirtualKey {
    fn address(&self) -> SocketAddr {
        SocketAddr::new(self.addr, self.port)
    }

    /// `-t 10.96.10.20:80`, which every command about it carries.
    fn option(&self) -> String {
        let option = match self.protocol {
            Protocol::Tcp => "-t",
            Protocol::Udp => "-u",
            Protocol::Sctp => "--sctp-service",
        };
        format!("{option} {}", self.address())
    }
}

/// How a virtual server chooses, and among what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualServer {
    pub scheduler: String,
    /// Session affinity, in seconds.
    pub persistent_seconds: Option<u32>,
    /// The source port takes part in the hash (`IP_VS_SVC_F_SCHED_MH_PORT`, 0x10).
    pub hashes_port: bool,
    /// Weight 1 each, masquerading.
    pub real_servers: Vec<SocketAddr>,
    pub origin: Origin,
}

impl VirtualServer {
    /// Flags as kube-proxy hands them to the kernel, which adds `IP_VS_SVC_F_HASHED`.
    pub fn flags(&self) -> u32 {
        u32::from(self.persistent_seconds.is_some()) | if self.hashes_port { 0x10 } else { 0 }
    }

    pub(super) fn has_same_options(&self, other: &Self) -> bool {
        (&self.scheduler, self.persistent_seconds, self.hashes_port)
            == (&other.scheduler, other.persistent_seconds, other.hashes_port)
    }

    fn options(&self) -> String {
        let mut out = format!("-s {}", self.scheduler);
        if let Some(seconds) = self.persistent_seconds {
            out.push_str(&format!(" -p {seconds}"));
        }
        if self.hashes_port {
            out.push_str(" -b mh-port");
        }
        out
    }
}

/// Adds a virtual server.
pub(super) fn add(key: &VirtualKey, server: &VirtualServer) -> String {
    format!("-A {} {}", key.option(), server.options())
}

/// Changes the options of a virtual server.
pub(super) fn edit(key: &VirtualKey, server: &VirtualServer) -> String {
    format!("-E {} {}", key.option(), server.options())
}

/// Deletes a virtual server with its real servers.
pub(super) fn delete(key: &VirtualKey) -> String {
    format!("-D {}", key.option())
}

/// Adds a real server with masquerading (NAT) forwarding.
pub(super) fn add_weighted(key: &VirtualKey, real: SocketAddr, weight: u32) -> String {
    format!("-a {} -r {real} -m -w {weight}", key.option())
}

pub(super) fn weigh_real(key: &VirtualKey, real: SocketAddr, weight: u32) -> String {
    format!("-e {} -r {real} -m -w {weight}", key.option())
}

pub(super) fn delete_real(key: &VirtualKey, real: SocketAddr) -> String {
    format!("-d {} -r {real}", key.option())
}
