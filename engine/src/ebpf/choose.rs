//! Which service a packet or socket means, and which of its backends it gets (`lb4_lookup_service`,
//! `lb4_local`, `__sock4_xlate_fwd`).

use std::net::IpAddr;

use super::Ebpf;
use super::config::Algorithm;
use super::maglev::packet_hash;
use super::maps::{Backend, BackendId, Client, Frontend, Scope, Service};
use crate::base::Instant;
use crate::trace::{Trace, TraceKind};

/// Where a packet or a connect comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Over one of the node's own devices.
    Outside,
    /// A pod's packet at its veth.
    Pod,
    /// A socket.
    Socket,
}

/// One end's view of a flow, as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    pub proto: u8,
    pub src: (IpAddr, u16),
    pub dst: (IpAddr, u16),
}

/// A backend that was chosen, by which service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub frontend: Frontend,
    pub service: u16,
    pub id: BackendId,
    pub backend: Backend,
}

impl Ebpf {
    /// The service behind a destination: as it is, then as a node port on any address of the node.
    pub(super) fn find_service(&mut self, flow: &Flow, from: From) -> Option<(Frontend, Service)> {
        let (addr, port) = flow.dst;
        let inside = [Scope::Internal, Scope::External];
        let scopes = if from == From::Outside { &inside[1..] } else { &inside[..] };
        let wildcard = match addr {
            IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        };
        let own = addr.is_loopback() || self.config.node_addresses.contains(&addr);
        let addrs = if own { vec![addr, wildcard] } else { vec![addr] };
        for addr in addrs {
            for &scope in scopes {
                let frontend = Frontend { addr, port, proto: flow.proto, scope };
                self.lookups += 1;
                if let Some(service) = self.maps.service(&frontend) {
                    return Some((frontend, service.clone()));
                }
            }
        }
        None
    }

    /// Chooses: the backend that the client had, else by the algorithm. None when there is no backend.
    pub(super) fn choose(
        &mut self,
        flow: &Flow,
        from: From,
        (frontend, service): (Frontend, &Service),
        now: Instant,
        trace: &mut Trace,
    ) -> Option<Choice> {
        let client = match from {
            // Sockets of the node's own namespace; its cookie is 0 here.
            From::Socket => Client::Cookie(0),
            From::Outside | From::Pod => Client::Addr(flow.src.0),
        };
        let (remembered, asked) = self.maps.remembered(client, service, now);
        self.lookups += asked;
        let (id, how) = match remembered {
            Some(id) => (id, "session affinity"),
            None if from != From::Socket && self.config.algorithm == Algorithm::Maglev => {
                let (sport, dport) =
                    if service.spec.affinity.is_some() { (0, 0) } else { (flow.src.1, flow.dst.1) };
                let hash = packet_hash(flow.src.0, sport, dport, flow.proto, self.config.seed);
                // The table is a map in a map: the service's, then the slot's.
                self.lookups += 2;
                let table = self.maps.table(service.id);
                let slot = hash.checked_rem(table.len() as u32)? as usize;
                (*table.get(slot)?, "the Maglev table")
            }
            None => {
                // `lb4_lookup_backend_slot`.
                self.lookups += 1;
                let draw = u64::from(self.supplied.next_u32(&mut self.draws));
                let slot = ((draw * service.backends.len() as u64) >> 32) as usize;
                (*service.backends.get(slot)?, "a random slot")
            }
        };
        self.lookups += 1;
        let backend = *self.maps.backend(id)?;
        self.maps.remember(client, service, id, now);
        trace.record(now, || TraceKind::Note {
            text: format!(
                "eBPF: service {} ({}) gives backend {} at {}:{}, by {how}",
                service.id,
                service.spec.kind.name(),
                id.0,
                backend.addr,
                backend.port
            ),
        });
        Some(Choice { frontend, service: service.id, id, backend })
    }
}
