//! The maps that agent and programs share: services, backends, tables, session affinity (`bpf/lib/lb.h`).
//!
//! A service is one value here, with the list of its backends; in the kernel it is an entry for slot 0 and one for
//! every backend. [`crate::text`] writes it out that way.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::config::{Algorithm, Config};
use super::maglev;
use crate::base::{Duration, Instant};
use crate::packet::proto;

/// Whose traffic a frontend is for, when a traffic policy is Local.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// From outside the cluster; from everywhere when there is no second entry.
    #[default]
    External,
    /// From pods and nodes.
    Internal,
}

/// Key of the service map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frontend {
    pub addr: IpAddr,
    pub port: u16,
    /// Protocol number: TCP, UDP or SCTP.
    pub proto: u8,
    pub scope: Scope,
}

/// What kind of address a frontend is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    ClusterIp,
    NodePort,
    ExternalIps,
    LoadBalancer,
}

impl Kind {
    /// As `cilium-dbg` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClusterIp => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::ExternalIps => "ExternalIPs",
            Self::LoadBalancer => "LoadBalancer",
        }
    }
}

/// A network, for `loadBalancerSourceRanges`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub addr: IpAddr,
    /// Length of the prefix in bits.
    pub len: u8,
}

impl Range {
    pub fn contains(&self, addr: IpAddr) -> bool {
        let (width, a, b) = match (self.addr, addr) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (32, u128::from(a.to_bits()), u128::from(b.to_bits())),
            (IpAddr::V6(a), IpAddr::V6(b)) => (128, a.to_bits(), b.to_bits()),
            _ => return false,
        };
        (a ^ b).checked_shr(width - u32::from(self.len).min(width)).is_none_or(|rest| rest == 0)
    }
}

/// What the agent says of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub kind: Kind,
    /// How long a client keeps its backend.
    pub affinity: Option<Duration>,
    pub external_local: bool,
    pub internal_local: bool,
    /// Empty when unrestricted.
    pub source_ranges: Vec<Range>,
}

impl Spec {
    /// Whether the address can be reached from outside (`SVC_FLAG_ROUTABLE`).
    pub const fn routable(&self) -> bool {
        !matches!(self.kind, Kind::ClusterIp)
    }
}

/// Value of the service map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// `rev_nat_index`: the number of the frontend, and of its entry in the reverse map.
    pub id: u16,
    pub spec: Spec,
    /// Slots 1 and up.
    pub backends: Vec<BackendId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BackendId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendState {
    Active,
    /// Keeps its connections, gets no new ones while another is active.
    Terminating,
}

impl BackendState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Terminating => "terminating",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    pub addr: IpAddr,
    pub port: u16,
    pub proto: u8,
    pub state: BackendState,
    /// For Maglev.
    pub weight: u16,
}

/// Who an affinity entry is about: the address of a client outside, or the network namespace of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    Addr(IpAddr),
    Cookie(u64),
}

/// A backend, and how many frontends list it.
#[derive(Clone, Copy, Debug)]
struct Held {
    backend: Backend,
    uses: usize,
}

/// Everything the agent writes, and the affinity entries that programs write.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    services: BTreeMap<Frontend, Service>,
    backends: BTreeMap<BackendId, Held>,
    numbers: BTreeMap<(IpAddr, u16, u8), BackendId>,
    /// By the number of a service; filled when the algorithm is Maglev.
    tables: BTreeMap<u16, Vec<BackendId>>,
    affinity: BTreeMap<(Client, u16), (Instant, BackendId)>,
    /// Numbers given so far: of frontends, of backends.
    last_id: u16,
    last_backend: u32,
}

impl Maps {
    /// Frontends in the order of their keys.
    pub fn services(&self) -> impl Iterator<Item = (&Frontend, &Service)> {
        self.services.iter()
    }

    pub fn backends(&self) -> impl Iterator<Item = (BackendId, &Backend)> {
        self.backends.iter().map(|(id, held)| (*id, &held.backend))
    }

    pub fn service(&self, frontend: &Frontend) -> Option<&Service> {
        self.services.get(frontend)
    }

    pub fn backend(&self, id: BackendId) -> Option<&Backend> {
        self.backends.get(&id).map(|held| &held.backend)
    }

    /// The look-up table of a service, by its number.
    pub fn table(&self, id: u16) -> &[BackendId] {
        self.tables.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Affinity entries: whose, of which service, when last used, which backend.
    pub fn affinities(&self) -> impl Iterator<Item = (Client, u16, Instant, BackendId)> {
        self.affinity.iter().map(|((client, id), (used, backend))| (*client, *id, *used, *backend))
    }

    /// Writes a service with its backends. A known frontend and known backends keep their numbers. Terminating
    /// backends get slots only when none is active.
    pub fn set(&mut self, config: &Config, frontend: Frontend, spec: Spec, backends: &[Backend]) {
        let any_active = backends.iter().any(|backend| backend.state == BackendState::Active);
        let serves = |backend: &&Backend| !any_active || backend.state == BackendState::Active;
        let listed: Vec<(BackendId, Backend)> =
            backends.iter().filter(serves).map(|backend| (self.number(backend), *backend)).collect();
        for (id, backend) in &listed {
            let held = self.backends.entry(*id).or_insert(Held { backend: *backend, uses: 0 });
            held.backend = *backend;
            held.uses += 1;
        }
        let old = self.services.remove(&frontend);
        let id = old.as_ref().map_or_else(
            || {
                self.last_id += 1;
                self.last_id
            },
            |old| old.id,
        );
        if config.algorithm == Algorithm::Maglev {
            self.tables.insert(id, maglev::table(&listed, config.table_size, config.seed));
        }
        let backends = listed.iter().map(|(id, _)| *id).collect();
        self.services.insert(frontend, Service { id, spec, backends });
        self.release(old.map_or_else(Vec::new, |old| old.backends));
    }

    /// Deletes a frontend; true when there was one.
    pub fn remove(&mut self, frontend: &Frontend) -> bool {
        let Some(service) = self.services.remove(frontend) else { return false };
        self.tables.remove(&service.id);
        self.affinity.retain(|(_, id), _| *id != service.id);
        self.release(service.backends);
        true
    }

    /// The backend a client used last, if it still serves and the entry is young enough; used now.
    pub(super) fn remembered(
        &mut self,
        client: Client,
        service: &Service,
        now: Instant,
    ) -> (Option<BackendId>, u64) {
        let Some(lifetime) = service.spec.affinity else { return (None, 0) };
        let Some((used, backend)) = self.affinity.get_mut(&(client, service.id)) else { return (None, 1) };
        if now.since(*used) >= lifetime {
            return (None, 1);
        }
        if !service.backends.contains(backend) {
            return (None, 2);
        }
        *used = now;
        (Some(*backend), 2)
    }

    pub(super) fn remember(&mut self, client: Client, service: &Service, backend: BackendId, now: Instant) {
        if service.spec.affinity.is_some() {
            self.affinity.insert((client, service.id), (now, backend));
        }
    }

    /// The number of a backend; a new one for a new address.
    fn number(&mut self, backend: &Backend) -> BackendId {
        *self.numbers.entry((backend.addr, backend.port, backend.proto)).or_insert_with(|| {
            self.last_backend += 1;
            BackendId(self.last_backend)
        })
    }

    /// Lets go of backends; what no frontend lists any more is forgotten.
    fn release(&mut self, backends: Vec<BackendId>) {
        for id in backends {
            let Some(held) = self.backends.get_mut(&id) else { continue };
            held.uses -= 1;
            if held.uses == 0 {
                let Held { backend, .. } = *held;
                self.numbers.remove(&(backend.addr, backend.port, backend.proto));
                self.backends.remove(&id);
            }
        }
    }
}

/// `TCP`, `UDP`, `SCTP`, as `cilium-dbg` prints them.
pub const fn proto_name(number: u8) -> &'static str {
    match number {
        proto::TCP => "TCP",
        proto::UDP => "UDP",
        proto::SCTP => "SCTP",
        _ => "ANY",
    }
}
