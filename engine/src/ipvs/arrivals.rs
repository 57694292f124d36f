//! [`Arrivals`]: connections that come and go at one service, without a network around it: for lessons and figures that
//! compare schedulers on the same arrivals.
//!
//! Every connection is a SYN, its handshake and in the end a FIN from both sides, through the same code that packets of
//! a node take; so active and inactive counts, and with them the schedulers' scores, are those of a node.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::config::SysctlError;
use super::dest::Forward;
use super::sched::SchedFlags;
use super::service::{Mask, Persistence, ServiceKey};
use super::{DestSpec, Encapsulation, Error, Ipvs, IpvsCx, Request, ServiceSpec};
use crate::base::{Duration, Instant, KernelVersion};
use crate::packet::{Family, Ip, L4, Packet, Skb, Tcp, TcpFlags, proto};
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
    spec: ServiceSpec,
    servers: Vec<Server>,
    /// Open connections, by client.
    going: BTreeMap<SocketAddr, SocketAddr>,
    level: Level,
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
        let spec = ServiceSpec {
            key: ServiceKey::address(proto::TCP, SERVICE.ip(), SERVICE.port()),
            scheduler: scheduler.to_owned(),
            flags,
            persistence: None,
            one_packet: false,
        };
        ipvs.add_service(&spec)?;
        for server in servers.iter().rev() {
            ipvs.add_dest(&spec.key, &dest_spec(*server))?;
        }
        Ok(Self { ipvs, spec, servers: servers.to_vec(), going: BTreeMap::new(), level: Level::Full })
    }

    /// Reasons are not asked for: [`Picked`] holds the server only.
    pub const fn without_reasons(mut self) -> Self {
        self.level = Level::Off;
        self
    }

    /// Clients stick to their server for `timeout` after their last connection (`ipvsadm -p`).
    pub fn stick(&mut self, timeout: Duration) -> Result<(), Error> {
        self.spec.persistence = Some(Persistence { timeout, mask: Mask::host(Family::V4) });
        self.ipvs.edit_service(&self.spec)
    }

    /// `ipvsadm -e`: a server, by its place in the list, gets another weight.
    pub fn weigh(&mut self, server: usize, weight: u32) -> Result<(), Error> {
        let Some(known) = self.servers.get_mut(server) else { return Err(Error::NoSuchDest) };
        known.weight = weight;
        self.ipvs.edit_dest(&self.spec.key, &dest_spec(*known))
    }

    /// `ipvsadm -d`: a server, by its place in the list, is removed. The others keep their places.
    pub fn remove(&mut self, server: usize, now: Instant) -> Result<(), Error> {
        let Some(known) = self.servers.get(server) else { return Err(Error::NoSuchDest) };
        self.ipvs.delete_dest(&self.spec.key, known.addr.ip(), known.addr.port(), now)
    }

    /// The server of each slot of the scheduler's table, by its place in the list; empty for a scheduler without one.
    pub fn slots(&self) -> Vec<usize> {
        let slots = self.ipvs.service(&self.spec.key).map_or(&[][..], |service| service.scheduler.slots());
        let addr_of = |id| self.ipvs.dest(id).map(|dest| SocketAddr::new(dest.addr, dest.port));
        let place = |addr| self.servers.iter().position(|server| server.addr == addr);
        slots.iter().filter_map(|id| place(addr_of(*id)?)).collect()
    }

    pub const fn ipvs(&self) -> &Ipvs {
        &self.ipvs
    }

    /// `sysctl -w net.ipv4.vs.…`
    pub fn sysctl(&mut self, name: &str, value: &str) -> Result<(), SysctlError> {
        self.ipvs.config.set(name, value)
    }

    /// A connection begins. Time never goes backwards between calls.
    pub fn open(&mut self, at: Instant, client: SocketAddr) -> Picked {
        let mut trace = Trace::new(self.level);
        let request = self.client_sends(at, client, TcpFlags::SYN, &mut trace);
        let mut picked = Picked { server: None, candidates: Vec::new(), because: String::new() };
        for event in trace.events {
            if let TraceKind::Schedule { candidates, because, .. } = event.kind {
                picked.candidates = candidates;
                picked.because = because;
            }
        }
        let Request::Send(xmit) = request else { return picked };
        self.going.insert(client, xmit.server);
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
        if let Some(server) = self.going.remove(&client) {
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

const fn dest_spec(server: Server) -> DestSpec {
    DestSpec {
        addr: server.addr.ip(),
        port: server.addr.port(),
        forward: Forward::Masq,
        encapsulation: Encapsulation::Ipip,
        weight: server.weight,
        upper: 0,
        lower: 0,
    }
}

/// A TCP segment without data.
pub(crate) fn segment(src: SocketAddr, dst: SocketAddr, flags: TcpFlags) -> Skb {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn server(last: u8) -> Server {
        Server { addr: SocketAddr::from(([10, 0, 0, last], 80)), weight: 1 }
    }

    /// Round robin over two; one is quiesced while a client that sticks to it comes back.
    #[test]
    fn a_quiesced_server_keeps_those_that_stick_to_it() {
        let servers = [server(1), server(2)];
        let made = Arrivals::new("rr", SchedFlags::default(), &servers, KernelVersion::V6_12, 1);
        let mut arrivals = made.expect("the service is made");
        assert_eq!(arrivals.stick(Duration::from_secs(300)), Ok(()));
        let client = |host: u8, port: u16| SocketAddr::from(([10, 1, 0, host], port));
        let open = |arrivals: &mut Arrivals, ms, host, port| {
            arrivals.open(Instant::from_millis(ms), client(host, port)).server
        };
        assert_eq!(open(&mut arrivals, 0, 1, 4000), Some(0));
        assert_eq!(open(&mut arrivals, 1, 2, 4000), Some(1));
        arrivals.close(Instant::from_millis(2), client(1, 4000));
        assert_eq!(arrivals.ipvs().dests.values().map(|dest| dest.active).sum::<u32>(), 1);
        assert_eq!(arrivals.weigh(0, 0), Ok(()));
        assert_eq!(open(&mut arrivals, 3, 1, 4001), Some(0), "its template");
        assert_eq!(open(&mut arrivals, 4, 3, 4000), Some(1), "the scheduler");
        assert_eq!(arrivals.weigh(2, 1), Err(Error::NoSuchDest));
    }
}
