//! [`Arrivals`]: connections that come and go at one service, without a network around it: for lessons and figures that
//! compare schedulers on the same arrivals.
//!
//! Every connection is a SYN, its handshake and in the end a FIN from both sides, through the same code that packets of
//! a node take; so active and inactive counts, and with them the schedulers' scores, are those of a node.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::dest::Forward;
use super::sched::SchedFlags;
use super::service::ServiceKey;
use super::{DestSpec, Encapsulation, Error, Ipvs, IpvsCx, Request, ServiceSpec};
use crate::base::{Instant, KernelVersion};
use crate::packet::{Ip, L4, Packet, Skb, Tcp, TcpFlags, proto};
use crate::trace::{Candidate, Level, Trace, TraceKind};

/// The service all arrivals go to.
const SERVICE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 96, 0, 1)), 80);

/// A server and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    pub addr: SocketAddr,
    pub weight: u32,
}

/// What the scheduler saw and chose for one arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    /// Place in the list of servers given; none when the connection was refused.
    pub server: Option<usize>,
    /// Every server with its score, in the order of the list of servers given.
    pub candidates: Vec<Candidate>,
    pub because: String,
}

/// One service and its connections.
#[derive(Clone, Debug)]
pub struct Arrivals {
    ipvs: Ipvs,
    servers: Vec<Server>,
}

impl Arrivals {
    /// `scheduler` as after `ipvsadm -s`. Servers are added in such an order that the kernel's list is in theirs.
    pub fn new(
        scheduler: &str,
        flags: SchedFlags,
        servers: &[Server],
        kernel: KernelVersion,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut ipvs = Ipvs::new(kernel, seed);
        let key = ServiceKey::address(proto::TCP, SERVICE.ip(), SERVICE.port());
        ipvs.add_service(&ServiceSpec {
            key,
            scheduler: scheduler.to_owned(),
            flags,
            persistence: None,
            one_packet: false,
        })?;
        for server in servers.iter().rev() {
            let spec = DestSpec {
                addr: server.addr.ip(),
                port: server.addr.port(),
                forward: Forward::Masq,
                encapsulation: Encapsulation::Ipip,
                weight: server.weight,
                upper: 0,
                lower: 0,
            };
            ipvs.add_dest(&key, &spec)?;
        }
        Ok(Self { ipvs, servers: servers.to_vec() })
    }

    pub const fn ipvs(&self) -> &Ipvs {
        &self.ipvs
    }

    /// A connection begins. Time never goes backwards between calls.
    pub fn open(&mut self, at: Instant, client: SocketAddr) -> Picked {
        let mut trace = Trace::new(Level::Full);
        let request = self.client_sends(at, client, TcpFlags::SYN, &mut trace);
        let mut picked = Picked { server: None, candidates: Vec::new(), because: String::new() };
        for event in trace.events {
            if let TraceKind::Schedule { candidates, because, .. } = event.kind {
                picked.candidates = candidates;
                picked.because = because;
            }
        }
        let Request::Send(xmit) = request else { return picked };
        picked.server = self.servers.iter().position(|server| server.addr == xmit.server);
        let mut trace = Trace::default();
        self.server_sends(at, xmit.server, client, TcpFlags::SYN.with(TcpFlags::ACK), &mut trace);
        self.client_sends(at, client, TcpFlags::ACK, &mut trace);
        picked
    }

    /// A connection ends: the server closes first, then the client. It stays in TIME_WAIT, inactive, for two minutes.
    pub fn close(&mut self, at: Instant, client: SocketAddr) {
        let mut trace = Trace::default();
        let fin = TcpFlags::FIN.with(TcpFlags::ACK);
        let server = self.ipvs.conns().filter(|c| c.client == client).last().map(|c| c.server);
        if let Some(server) = server {
            self.server_sends(at, server, client, fin, &mut trace);
            self.client_sends(at, client, fin, &mut trace);
        }
    }

    fn client_sends(
        &mut self,
        at: Instant,
        client: SocketAddr,
        flags: TcpFlags,
        trace: &mut Trace,
    ) -> Request {
        self.ipvs.advance(at);
        let skb = segment(client, SERVICE, flags);
        let mut cx = IpvsCx { now: at, trace, old_conntrack: false, from_self: false };
        self.ipvs.request(&mut cx, &skb, &mut Vec::new())
    }

    fn server_sends(
        &mut self,
        at: Instant,
        server: SocketAddr,
        client: SocketAddr,
        flags: TcpFlags,
        trace: &mut Trace,
    ) {
        let skb = segment(server, client, flags);
        let mut cx = IpvsCx { now: at, trace, old_conntrack: false, from_self: false };
        _ = self.ipvs.reply(&mut cx, &skb);
    }
}

/// A TCP segment without data.
pub(super) fn segment(src: SocketAddr, dst: SocketAddr, flags: TcpFlags) -> Skb {
    let tcp = Tcp {
        sport: src.port(),
        dport: dst.port(),
        seq: 0,
        ack: 0,
        flags,
        window: 0,
        urgent: 0,
        options: Vec::new(),
        payload: Vec::new(),
        checksum_ok: true,
    };
    Skb::new(Packet { ip: header(src, dst, proto::TCP), l4: L4::Tcp(tcp) })
}

pub(super) const fn header(src: SocketAddr, dst: SocketAddr, number: u8) -> Ip {
    Ip {
        src: src.ip(),
        dst: dst.ip(),
        proto: number,
        ttl: 64,
        tos: 0,
        id: 0,
        dont_fragment: false,
        more_fragments: false,
        frag_offset: 0,
        flow_label: 0,
        options: Vec::new(),
    }
}
