//! The service maps on a terminal: `cilium-dbg service list`, `cilium-dbg bpf lb list`, `bpftool map dump`.
//!
//! A hash map has no order; here frontends go by address and port. Blanks at the ends of lines are left out.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use crate::ebpf::maps::proto_name;
use crate::ebpf::{BackendState, Frontend, Kind, Maps, Scope, Service, Spec};
use crate::packet::Family;

/// `cilium-dbg service list`.
pub fn service_list(maps: &Maps) -> String {
    let mut rows = vec![["ID", "Frontend", "Service Type", "Backend"].map(str::to_owned).to_vec()];
    let mut services: Vec<_> = maps.services().collect();
    services.sort_by_key(|(_, service)| service.id);
    for (frontend, service) in services {
        let mut backends = service.backends.iter().enumerate().filter_map(|(at, id)| {
            let backend = maps.backend(*id)?;
            let place = SocketAddr::new(backend.addr, backend.port);
            let (proto, state) = (proto_name(backend.proto), backend.state.name());
            Some(format!("{} => {place}/{proto} ({state})", at + 1))
        });
        rows.push(vec![
            service.id.to_string(),
            frontend_name(frontend),
            service.spec.kind.name().to_owned(),
            backends.next().unwrap_or_default(),
        ]);
        rows.extend(backends.map(|text| vec![String::new(), String::new(), String::new(), text]));
    }
    table(&rows)
}

/// `10.96.0.1:443/TCP`; `/i` behind it where an entry is for traffic from inside alone.
pub fn frontend_name(frontend: &Frontend) -> String {
    format!("{}/{}{}", place(frontend), proto_name(frontend.proto), suffix(frontend))
}

/// `cilium-dbg bpf lb list`: every backend's slot, then slot 0, which says what the frontend is.
pub fn lb_list(maps: &Maps) -> String {
    let mut rows = vec![vec!["SERVICE ADDRESS".to_owned(), "BACKEND ADDRESS (REVNAT_ID) (SLOT)".to_owned()]];
    for (frontend, service) in maps.services() {
        let backends = service.backends.iter().filter_map(|id| maps.backend(*id));
        let mut texts: Vec<String> = backends
            .enumerate()
            .map(|(at, b)| format!("{} ({}) ({})", SocketAddr::new(b.addr, b.port), service.id, at + 1))
            .collect();
        let none = SocketAddr::new(unspecified(frontend.addr), 0);
        texts.push(format!("{none} ({}) (0) [{}]", service.id, flag_names(&service.spec)));
        let mut address = format!("{}{}", place(frontend), suffix(frontend));
        for text in texts {
            rows.push(vec![std::mem::take(&mut address), text]);
        }
    }
    table(&rows)
}

/// Maps that [`map_dump`] knows, of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapName {
    /// `cilium_lb4_services_v2`, `cilium_lb6_services_v2`.
    Services(Family),
    /// `cilium_lb4_backends_v3`, `cilium_lb6_backends_v3`.
    Backends(Family),
    /// `cilium_lb4_reverse_nat`, `cilium_lb6_reverse_nat`.
    ReverseNat(Family),
}

impl MapName {
    /// By its name in the kernel; none for a map that is not kept.
    pub fn parse(name: &str) -> Option<Self> {
        let (family, rest) = match name.strip_prefix("cilium_lb")?.split_at_checked(1)? {
            ("4", rest) => (Family::V4, rest),
            ("6", rest) => (Family::V6, rest),
            _ => return None,
        };
        match rest {
            "_services_v2" => Some(Self::Services(family)),
            "_backends_v3" => Some(Self::Backends(family)),
            "_reverse_nat" => Some(Self::ReverseNat(family)),
            _ => None,
        }
    }
}

/// `bpftool map dump`, as it prints a map without BTF: bytes of key and value, as a little-endian machine holds them.
pub fn map_dump(maps: &Maps, name: MapName) -> String {
    let of_family = |addr: &IpAddr, family| Family::of(addr) == family;
    let entries: Vec<(Vec<u8>, Vec<u8>)> = match name {
        MapName::Services(family) => maps
            .services()
            .filter(|(frontend, _)| of_family(&frontend.addr, family))
            .flat_map(|(frontend, service)| service_entries(frontend, service))
            .collect(),
        MapName::Backends(family) => maps
            .backends()
            .filter(|(_, backend)| of_family(&backend.addr, family))
            .map(|(id, backend)| {
                let flags = u8::from(backend.state == BackendState::Terminating);
                let end = [backend.proto, flags, 0, 0, 0, 0];
                let value = [&octets(backend.addr)[..], &backend.port.to_be_bytes(), &end].concat();
                (id.0.to_le_bytes().to_vec(), value)
            })
            .collect(),
        MapName::ReverseNat(family) => maps
            .services()
            .filter(|(frontend, _)| of_family(&frontend.addr, family))
            .map(|(frontend, service)| {
                let value = [&octets(frontend.addr)[..], &frontend.port.to_be_bytes()].concat();
                (service.id.to_be_bytes().to_vec(), value)
            })
            .collect(),
    };
    let mut out = String::new();
    for (key, value) in &entries {
        // One line as long as both fit in 24 bytes.
        let gap = if key.len() + value.len() <= 24 { "  " } else { "\n" };
        let _ = writeln!(out, "key: {}{gap}value: {}", hex(key), hex(value));
    }
    let plural = if entries.len() == 1 { "" } else { "s" };
    let _ = writeln!(out, "Found {} element{plural}", entries.len());
    out
}

/// Slot 0, then one entry a backend (`struct lb4_key`, `struct lb4_service`).
fn service_entries(frontend: &Frontend, service: &Service) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scope = u8::from(frontend.scope == Scope::Internal);
    let key = |slot: u16| {
        let end = [frontend.proto, scope, 0, 0];
        let (port, slot) = (frontend.port.to_be_bytes(), slot.to_le_bytes());
        [&octets(frontend.addr)[..], &port, &slot, &end].concat()
    };
    let value = |first: u32, count: usize, [flags, more]: [u8; 2]| {
        let (count, id) = ((count as u16).to_le_bytes(), service.id.to_be_bytes());
        [&first.to_le_bytes()[..], &count, &id, &[flags, more, 0, 0]].concat()
    };
    let seconds = service.spec.affinity.map_or(0, |time| time.as_secs() as u32);
    let mut entries = vec![(key(0), value(seconds, service.backends.len(), flags(service)))];
    for (at, id) in service.backends.iter().enumerate() {
        entries.push((key(at as u16 + 1), value(id.0, 0, [0, 0])));
    }
    entries
}

/// `flags` and `flags2` of a service (`SVC_FLAG_*`).
fn flags(service: &Service) -> [u8; 2] {
    let spec = &service.spec;
    let kind = match spec.kind {
        Kind::ClusterIp => 0,
        Kind::ExternalIps => 1,
        Kind::NodePort => 2,
        Kind::LoadBalancer => 32,
    };
    let bit = |on: bool, value: u8| if on { value } else { 0 };
    [
        kind | bit(spec.external_local, 4)
            | bit(spec.affinity.is_some(), 16)
            | bit(spec.routable(), 64)
            | bit(!spec.source_ranges.is_empty(), 128),
        bit(spec.internal_local, 16) | bit(spec.external_local != spec.internal_local, 32),
    ]
}

/// The same in words, as `bpf lb list` prints them.
pub fn flag_names(spec: &Spec) -> String {
    let words = [
        (true, spec.kind.name()),
        (spec.external_local, "Local"),
        (spec.internal_local, "InternalLocal"),
        (spec.external_local != spec.internal_local, "two-scopes"),
        (spec.affinity.is_some(), "sessionAffinity"),
        (!spec.routable(), "non-routable"),
        (!spec.source_ranges.is_empty(), "check source-range"),
    ];
    words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}

const fn place(frontend: &Frontend) -> SocketAddr {
    SocketAddr::new(frontend.addr, frontend.port)
}

const fn suffix(frontend: &Frontend) -> &'static str {
    match frontend.scope {
        Scope::External => "",
        Scope::Internal => "/i",
    }
}

const fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    }
}

fn octets(addr: IpAddr) -> Vec<u8> {
    match addr {
        IpAddr::V4(addr) => addr.octets().to_vec(),
        IpAddr::V6(addr) => addr.octets().to_vec(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Columns as Go's tabwriter lays them out with a least width of 5 and a padding of 3.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let longest = rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        (longest + 3).max(5)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let line: String = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
