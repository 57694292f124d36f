//! A service with servers, packets in a line each: for the tests of this layer.

use std::net::SocketAddr;

use super::arrivals::{header, segment};
use super::service::{Mask, Persistence};
use super::*;
use crate::base::Duration;
use crate::packet::{L4, Packet, Skb, TcpFlags, Udp, proto};
use crate::trace::{Level, TraceKind};

pub(super) fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address and a port")
}

pub(super) fn tcp_key(text: &str) -> ServiceKey {
    ServiceKey::address(proto::TCP, at(text).ip(), at(text).port())
}

pub(super) fn server(text: &str, weight: u32) -> DestSpec {
    DestSpec {
        addr: at(text).ip(),
        port: at(text).port(),
        forward: Forward::Masq,
        encapsulation: Encapsulation::Ipip,
        weight,
        upper: 0,
        lower: 0,
    }
}

/// What one packet met.
pub(super) struct Met {
    pub(super) request: Request,
    pub(super) trace: Trace,
}

impl Met {
    /// The server's socket, or the reason in brackets.
    pub(super) fn server(&self) -> String {
        match &self.request {
            Request::Send(xmit) => xmit.server.to_string(),
            Request::Pass => "(pass)".to_owned(),
            Request::Refuse(refusal) => format!("({refusal:?})"),
        }
    }

    pub(super) fn scores(&self) -> Vec<String> {
        let mut out = Vec::new();
        for event in &self.trace.events {
            if let TraceKind::Schedule { candidates, .. } = &event.kind {
                out.extend(candidates.iter().map(|c| c.score.clone().unwrap_or_default()));
            }
        }
        out
    }
}

/// One service at 10.96.0.1:80 unless said otherwise.
pub(super) struct Bench {
    pub(super) ipvs: Ipvs,
    pub(super) key: ServiceKey,
    pub(super) now: Instant,
    pub(super) old_conntrack: bool,
    pub(super) ended: Vec<Xmit>,
}

impl Bench {
    /// `weights` are those of 10.0.0.1:80, 10.0.0.2:80, ... in the kernel's order.
    pub(super) fn new(scheduler: &str, weights: &[u32]) -> Self {
        Self::with(scheduler, weights, KernelVersion::V6_12, |_| {})
    }

    pub(super) fn with(
        scheduler: &str,
        weights: &[u32],
        kernel: KernelVersion,
        change: impl FnOnce(&mut ServiceSpec),
    ) -> Self {
        let mut ipvs = Ipvs::new(kernel, 1);
        let mut spec = ServiceSpec {
            key: tcp_key("10.96.0.1:80"),
            scheduler: scheduler.to_owned(),
            flags: SchedFlags::default(),
            persistence: None,
            one_packet: false,
        };
        change(&mut spec);
        ipvs.add_service(&spec).expect("a service");
        let port = if spec.key.port() == 0 { 80 } else { spec.key.port() };
        for (index, weight) in weights.iter().enumerate().rev() {
            let dest = server(&format!("10.0.0.{}:{port}", index + 1), *weight);
            ipvs.add_dest(&spec.key, &dest).expect("a destination");
        }
        let now = Instant::ZERO;
        Self { ipvs, key: spec.key, now, old_conntrack: false, ended: Vec::new() }
    }

    pub(super) fn persistent(scheduler: &str, weights: &[u32], secs: u64, mask: &str) -> Self {
        let mask = Mask::V4(mask.parse().expect("a mask"));
        Self::with(scheduler, weights, KernelVersion::V6_12, |spec| {
            spec.persistence = Some(Persistence { timeout: Duration::from_secs(secs), mask });
        })
    }

    pub(super) fn set(&mut self, name: &str, value: u32) {
        self.ipvs.config.set(&format!("net.ipv4.vs.{name}"), &value.to_string()).expect("a sysctl");
    }

    pub(super) fn at_secs(&mut self, secs: u64) -> &mut Self {
        self.now = Instant::from_millis(secs * 1000);
        self.ended.extend(self.ipvs.advance(self.now));
        self
    }

    pub(super) fn send(&mut self, skb: &Skb) -> Met {
        self.ended.extend(self.ipvs.advance(self.now));
        let mut trace = Trace::new(Level::Full);
        let mut cx =
            IpvsCx { now: self.now, trace: &mut trace, old_conntrack: self.old_conntrack, from_self: false };
        let request = self.ipvs.request(&mut cx, skb, &mut self.ended);
        Met { request, trace }
    }

    /// A client's segment to the service.
    pub(super) fn tcp(&mut self, client: &str, flags: TcpFlags) -> Met {
        let to = match self.key {
            ServiceKey::Address { addr, port, .. } => SocketAddr::new(addr, port),
            ServiceKey::Mark { .. } => at("10.96.0.1:80"),
        };
        self.send(&segment(at(client), to, flags))
    }

    /// The server that a SYN gets.
    pub(super) fn syn(&mut self, client: &str) -> String {
        self.tcp(client, TcpFlags::SYN).server()
    }

    /// The last digit of the server of each of `count` SYNs from clients 10.1.0.1 on.
    pub(super) fn syns(&mut self, count: usize) -> String {
        (0..count)
            .map(|index| {
                let client = format!("10.1.{}.{}:{}", index / 200, index % 200 + 1, 40000);
                let server = self.syn(&client);
                server.strip_prefix("10.0.0.").and_then(|s| s.split(':').next()).unwrap_or("-").to_owned()
            })
            .collect()
    }

    pub(super) fn answer(&mut self, server: &str, client: &str, flags: TcpFlags) -> Reply {
        self.ended.extend(self.ipvs.advance(self.now));
        let skb = segment(at(server), at(client), flags);
        let mut trace = Trace::default();
        let mut cx = IpvsCx { now: self.now, trace: &mut trace, old_conntrack: false, from_self: false };
        self.ipvs.reply(&mut cx, &skb)
    }

    /// SYN, SYN-ACK, ACK; the server.
    pub(super) fn connect(&mut self, client: &str) -> String {
        let server = self.syn(client);
        self.answer(&server, client, TcpFlags::SYN.with(TcpFlags::ACK));
        self.tcp(client, TcpFlags::ACK);
        server
    }

    /// Both sides close.
    pub(super) fn close(&mut self, server: &str, client: &str) {
        let fin = TcpFlags::FIN.with(TcpFlags::ACK);
        self.answer(server, client, fin);
        self.tcp(client, fin);
    }

    /// `active/inactive/persistent` of each destination in the kernel's order.
    pub(super) fn counts(&self) -> String {
        let service = self.ipvs.service(&self.key).expect("the service");
        let all: Vec<String> = self
            .ipvs
            .dests(service)
            .map(|d| format!("{}/{}/{}", d.active, d.inactive, d.persistent))
            .collect();
        all.join(" ")
    }

    /// The connection table, a line each.
    pub(super) fn table(&self) -> Vec<String> {
        self.ipvs.conns().map(Conn::line).collect()
    }

    pub(super) fn weight(&mut self, server_at: &str, weight: u32) {
        let key = self.key;
        self.ipvs.edit_dest(&key, &server(server_at, weight)).expect("the destination");
    }
}

pub(super) fn datagram(src: &str, dst: &str) -> Skb {
    let (src, dst) = (at(src), at(dst));
    let udp = Udp::new(src.port(), dst.port(), vec![0; 10]);
    Skb::new(Packet { ip: header(src, dst, proto::UDP), l4: L4::Udp(udp) })
}
