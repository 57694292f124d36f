//! [`Conn`]: an entry of the connection table (`struct ip_vs_conn`).

use std::net::{IpAddr, SocketAddr};

use super::dest::{DestId, Encapsulation, Forward};
use super::state::State;
use crate::base::{Duration, Instant};

/// Numbers entries in the order they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// One connection, or a persistence template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conn {
    pub id: ConnId,
    /// Zero in the template of a service by mark.
    pub proto: u8,
    pub client: SocketAddr,
    /// What the client dialled; in the template of a service by mark, the mark as an address.
    pub virt: SocketAddr,
    pub server: SocketAddr,
    pub forward: Forward,
    pub encapsulation: Encapsulation,
    pub dest: Option<DestId>,
    pub state: State,
    pub timeout: Duration,
    pub expires: Instant,
    /// Counted among the inactive ones of its destination.
    pub inactive: bool,
    /// Lives for one packet.
    pub one_packet: bool,
    /// No answer was seen, as is usual with direct routing and tunnels (`IP_VS_CONN_F_NOOUTPUT`).
    pub no_output: bool,
    /// Its conntrack entry is kept and follows it (`IP_VS_CONN_F_NFCT`).
    pub conntrack: bool,
    /// The template it came from.
    pub control: Option<ConnId>,
    /// Connections that came from this template.
    pub controlled: u32,
    pub in_packets: u64,
}

impl Conn {
    pub const fn is_template(&self) -> bool {
        matches!(self.state, State::Template { .. })
    }

    /// Time left.
    pub const fn remaining(&self, now: Instant) -> Duration {
        self.expires.since(now)
    }

    /// What a packet of it is to be sent like.
    pub(super) const fn xmit(&self) -> Xmit {
        Xmit {
            proto: self.proto,
            client: self.client,
            virt: self.virt,
            server: self.server,
            forward: self.forward,
            encapsulation: self.encapsulation,
            conntrack: self.conntrack,
            one_packet: self.one_packet,
        }
    }

    /// `TCP ESTABLISHED 10.1.0.2:40000 -> 10.96.0.1:80 -> 10.244.1.5:8080 (Masq)`
    pub fn line(&self) -> String {
        format!(
            "{} {} {} -> {} -> {} ({})",
            proto_name(self.proto),
            self.state.name(),
            self.client,
            self.virt,
            self.server,
            self.forward.name()
        )
    }
}

/// As `/proc/net/ip_vs_conn` names a protocol (`ip_vs_proto_name`).
pub fn proto_name(proto: u8) -> String {
    use crate::packet::proto as number;
    match proto {
        0 => "IP".to_owned(),
        number::TCP => "TCP".to_owned(),
        number::UDP => "UDP".to_owned(),
        number::SCTP => "SCTP".to_owned(),
        number::ICMP => "ICMP".to_owned(),
        number::ICMPV6 => "ICMPv6".to_owned(),
        other => format!("IP_{other}"),
    }
}

/// How a packet goes on to its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xmit {
    pub proto: u8,
    pub client: SocketAddr,
    pub virt: SocketAddr,
    pub server: SocketAddr,
    pub forward: Forward,
    pub encapsulation: Encapsulation,
    pub conntrack: bool,
    pub one_packet: bool,
}

/// What a packet from the client is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InKey {
    pub(super) template: bool,
    pub(super) proto: u8,
    pub(super) client: SocketAddr,
    pub(super) virt: SocketAddr,
}

/// What a packet from the server is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OutKey {
    pub(super) proto: u8,
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
}

impl Conn {
    pub(super) const fn in_key(&self) -> InKey {
        InKey { template: self.is_template(), proto: self.proto, client: self.client, virt: self.virt }
    }

    /// Answers of a server behind NAT come from its own address, those of the others from the virtual one.
    pub(super) const fn out_key(&self) -> OutKey {
        let server = match self.forward {
            Forward::Masq => self.server,
            Forward::Route | Forward::Tunnel | Forward::Local | Forward::Bypass => self.virt,
        };
        OutKey { proto: self.proto, client: self.client, server }
    }
}

/// Without an IPv6 scope: what addresses of packets are compared by.
pub(super) const fn socket(addr: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(addr, port)
}
