//! Translation at the socket (`bpf_sock.c`): the address is exchanged before the kernel's own connect runs, so no
//! packet ever carries the service's, and there is nothing for conntrack to translate.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::choose::{Choice, Flow, From};
use super::maps::Kind;
use super::{Ebpf, Frontend, Scope};
use crate::base::Instant;
use crate::packet::{L4, Packet, TcpFlags, proto};
use crate::trace::{Change, Trace, TraceKind};

/// What the call of a process fails with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// `EHOSTUNREACH`: the service has no backend.
    HostUnreachable,
    /// `EADDRINUSE`: the port belongs to a service.
    AddressInUse,
}

impl Errno {
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostUnreachable => "EHOSTUNREACH",
            Self::AddressInUse => "EADDRINUSE",
        }
    }
}

/// A socket as its process knows it: protocol, own port, the address it dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Socket {
    proto: u8,
    port: u16,
    to: (IpAddr, u16),
}

/// What connected sockets got, and the reverse map (`cilium_lb4_reverse_sk`).
#[derive(Clone, Debug, Default)]
pub(super) struct Sockets {
    chosen: BTreeMap<Socket, Choice>,
    dialled: BTreeMap<Socket, (IpAddr, u16)>,
}

impl Ebpf {
    /// connect4, connect6, sendmsg4, sendmsg6: the packet that a local process makes. A socket keeps its backend until
    /// it connects anew; removing the backend does not move it.
    pub fn connect(&mut self, packet: &mut Packet, now: Instant, trace: &mut Trace) -> Result<(), Errno> {
        if !self.config.socket_lb {
            return Ok(());
        }
        let Some(flow) = Flow::of(packet) else { return Ok(()) };
        let socket = Socket { proto: flow.proto, port: flow.src.1, to: flow.dst };
        let connects = match &packet.l4 {
            L4::Tcp(tcp) => tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::ACK),
            L4::Udp(_) => !self.sockets.chosen.contains_key(&socket),
            L4::Icmp(_) | L4::Sctp(_) | L4::Raw(_) | L4::Truncated(_) => return Ok(()),
        };
        if connects {
            self.forget(&socket);
            let Some((frontend, service)) = self.find_service(&flow, From::Socket) else { return Ok(()) };
            let choice = self
                .choose(&flow, From::Socket, (frontend, &service), now, trace)
                .ok_or(Errno::HostUnreachable)?;
            let seen = Socket { to: (choice.backend.addr, choice.backend.port), ..socket };
            self.sockets.dialled.insert(seen, flow.dst);
            self.sockets.chosen.insert(socket, choice);
        }
        let Some(choice) = self.sockets.chosen.get(&socket) else { return Ok(()) };
        let by = if flow.proto == proto::TCP { "connect (cgroup)" } else { "sendmsg (cgroup)" };
        rewrite(packet, None, Some((choice.backend.addr, choice.backend.port)), by, now, trace);
        Ok(())
    }

    /// getpeername and recvmsg: what the process is told about its peer. The service's address, if it dialled one and
    /// the service is still the same.
    pub fn peer(&self, protocol: u8, port: u16, peer: (IpAddr, u16)) -> (IpAddr, u16) {
        let seen = Socket { proto: protocol, port, to: peer };
        let dialled = self.sockets.dialled.get(&seen).copied();
        let alive = |to: &(IpAddr, u16)| {
            let choice = self.sockets.chosen.get(&Socket { to: *to, ..seen });
            choice.is_some_and(|c| self.maps.service(&c.frontend).is_some_and(|s| s.id == c.service))
        };
        dialled.filter(alive).unwrap_or(peer)
    }

    /// post_bind: a port of the node that a service answers on cannot be bound.
    pub fn bind(&self, protocol: u8, addr: IpAddr, port: u16) -> Result<(), Errno> {
        let taken = |frontend: &Frontend, kind: Kind| {
            let (any, own) = (addr.is_unspecified(), self.config.node_addresses.contains(&frontend.addr));
            let meets = frontend.addr == addr || frontend.addr.is_unspecified() || (any && own);
            kind != Kind::ClusterIp
                && frontend.proto == protocol
                && frontend.port == port
                && frontend.addr.is_ipv4() == addr.is_ipv4()
                && frontend.scope == Scope::External
                && meets
        };
        if self.maps.services().any(|(frontend, service)| taken(frontend, service.spec.kind)) {
            return Err(Errno::AddressInUse);
        }
        Ok(())
    }

    fn forget(&mut self, socket: &Socket) {
        if let Some(choice) = self.sockets.chosen.remove(socket) {
            let seen = Socket { to: (choice.backend.addr, choice.backend.port), ..*socket };
            self.sockets.dialled.remove(&seen);
        }
    }
}

impl Flow {
    /// None for packets without ports.
    pub fn of(packet: &Packet) -> Option<Self> {
        let (sport, dport) = packet.ports()?;
        Some(Self { proto: packet.ip.proto, src: (packet.ip.src, sport), dst: (packet.ip.dst, dport) })
    }
}

/// Writes new ends into a packet and tells of it.
pub(super) fn rewrite(
    packet: &mut Packet,
    src: Option<(IpAddr, u16)>,
    dst: Option<(IpAddr, u16)>,
    by: &str,
    now: Instant,
    trace: &mut Trace,
) {
    let Some(before) = Flow::of(packet) else { return };
    let after = Flow { src: src.unwrap_or(before.src), dst: dst.unwrap_or(before.dst), ..before };
    (packet.ip.src, packet.ip.dst) = (after.src.0, after.dst.0);
    packet.set_sport(after.src.1);
    packet.set_dport(after.dst.1);
    let texts = |flow: &Flow| {
        [
            ("src", flow.src.0.to_string()),
            ("sport", flow.src.1.to_string()),
            ("dst", flow.dst.0.to_string()),
            ("dport", flow.dst.1.to_string()),
        ]
    };
    trace.record(now, || {
        let changes = texts(&before).into_iter().zip(texts(&after)).filter(|(old, new)| old != new);
        let change =
            |((field, before), (_, after)): ((&'static str, String), _)| Change { field, before, after };
        TraceKind::Rewrite { by: by.to_owned(), changes: changes.map(change).collect() }
    });
}
