//! [`Tracker`]: Services and EndpointSlices as they change, and what a sync must look at
//! (`pkg/proxy/servicechangetracker.go`, `endpointschangetracker.go`, and the beginning of `syncProxyRules`).
//!
//! Owns which objects concern a proxier, what changed since the last successful sync, and whether the next one is
//! full. Does not own when a sync runs.

use std::collections::{BTreeMap, BTreeSet};

use super::endpoints::endpoints;
use super::service_port::service_ports;
use super::{Changes, EndpointsMap, ServiceMap};
use crate::base::{Duration, Instant};
use crate::cluster::objects::{EndpointSlice, Protocol, SERVICE_NAME_LABEL, Service};
use crate::packet::Family;

/// Services with this label are another proxy's.
pub const PROXY_NAME_LABEL: &str = "service.kubernetes.io/service-proxy-name";
/// EndpointSlices with this label belong to a headless Service.
pub const HEADLESS_LABEL: &str = "service.kubernetes.io/headless";

/// A full sync at least this often (`proxyutil.FullSyncPeriod`).
pub const FULL_SYNC_PERIOD: Duration = Duration::from_secs(3_600);

/// Namespace and name.
type ServiceName = (String, String);

/// See the module. One per address family.
#[derive(Clone, Debug)]
pub struct Tracker {
    family: Family,
    node_name: String,
    services: ServiceMap,
    endpoints: EndpointsMap,
    slices: BTreeMap<ServiceName, BTreeMap<String, EndpointSlice>>,
    /// The Service that each slice belongs to, by the slice's namespace and name.
    owners: BTreeMap<ServiceName, ServiceName>,
    changed: BTreeSet<ServiceName>,
    /// Endpoints of a UDP port changed since the last clean-up of connection entries.
    udp_changed: bool,
    /// First sync, failed sync, flushed tables, changed node labels.
    needs_full: bool,
    last_full: Option<Instant>,
    /// Events since the start, and since the last sync.
    pub service_events: Events,
    pub endpoint_events: Events,
}

/// `..._changes_total` and `..._changes_pending`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    pub total: u64,
    pub pending: u64,
}

impl Events {
    const fn count(&mut self) {
        self.total += 1;
        self.pending += 1;
    }
}

impl Tracker {
    pub fn new(family: Family, node_name: &str) -> Self {
        Self {
            family,
            node_name: node_name.to_owned(),
            services: ServiceMap::new(),
            endpoints: EndpointsMap::new(),
            slices: BTreeMap::new(),
            owners: BTreeMap::new(),
            changed: BTreeSet::new(),
            udp_changed: false,
            needs_full: true,
            last_full: None,
            service_events: Events::default(),
            endpoint_events: Events::default(),
        }
    }

    pub const fn services(&self) -> &ServiceMap {
        &self.services
    }

    pub const fn endpoints(&self) -> &EndpointsMap {
        &self.endpoints
    }

    /// A Service was added or updated.
    pub fn set_service(&mut self, service: &Service) {
        let is_ours = !service.metadata.labels.contains_key(PROXY_NAME_LABEL);
        let ports = if is_ours { service_ports(service, self.family) } else { ServiceMap::new() };
        self.replace_service(&service.metadata.namespace, &service.metadata.name, ports);
    }

    pub fn delete_service(&mut self, namespace: &str, name: &str) {
        self.replace_service(namespace, name, ServiceMap::new());
    }

    fn replace_service(&mut self, namespace: &str, name: &str, ports: ServiceMap) {
        let service = (namespace.to_owned(), name.to_owned());
        let old: ServiceMap = super::sync::ports_of(&self.services, &service)
            .map(|(name, port)| (std::sync::Arc::clone(name), port.clone()))
            .collect();
        if old == ports {
            return;
        }
        self.service_events.count();
        for name in old.keys() {
            self.services.remove(name);
        }
        self.services.extend(ports);
        self.changed.insert(service);
    }

    /// An EndpointSlice was added or updated.
    pub fn set_slice(&mut self, slice: EndpointSlice) {
        let key = (slice.metadata.namespace.clone(), slice.metadata.name.clone());
        let is_ours = !slice.metadata.labels.contains_key(HEADLESS_LABEL);
        let service = slice.metadata.labels.get(SERVICE_NAME_LABEL).filter(|_| is_ours);
        let service = service.map(|name| (slice.metadata.namespace.clone(), name.clone()));
        if self.owners.get(&key) != service.as_ref() {
            self.delete_slice(&key.0, &key.1);
        }
        let Some(service) = service else { return };
        self.owners.insert(key.clone(), service.clone());
        self.slices.entry(service.clone()).or_default().insert(key.1, slice);
        self.merge(service);
    }

    pub fn delete_slice(&mut self, namespace: &str, name: &str) {
        let Some(service) = self.owners.remove(&(namespace.to_owned(), name.to_owned())) else { return };
        if let Some(slices) = self.slices.get_mut(&service) {
            slices.remove(name);
        }
        self.merge(service);
    }

    /// Merges the slices of one Service anew.
    fn merge(&mut self, service: ServiceName) {
        let slices = self.slices.get(&service).into_iter().flat_map(BTreeMap::values);
        let merged = endpoints(slices, self.family, &self.node_name);
        let old: EndpointsMap = super::sync::ports_of(&self.endpoints, &service)
            .map(|(name, list)| (name.clone(), list.clone()))
            .collect();
        if old == merged {
            return;
        }
        self.endpoint_events.count();
        self.udp_changed |= old.keys().chain(merged.keys()).any(|name| name.protocol == Protocol::Udp);
        for name in old.keys() {
            self.endpoints.remove(name);
        }
        self.endpoints.extend(merged);
        self.changed.insert(service);
    }

    /// The next sync writes everything: the canary vanished, or labels of the node changed its topology.
    pub const fn force_full(&mut self) {
        self.needs_full = true;
    }

    /// What a sync at `now` must write. `is_hourly` says whether a full sync is due every hour: not in a large
    /// cluster in iptables mode, since 1.36.1.
    pub fn changes(&self, now: Instant, is_hourly: bool) -> Changes {
        let is_due = self.last_full.is_none_or(|at| now.since(at) > FULL_SYNC_PERIOD);
        if self.needs_full || (is_hourly && is_due) {
            Changes::Everything
        } else {
            Changes::Services(self.changed.clone())
        }
    }

    /// Whether the sync must be followed by a clean-up of connection entries.
    pub const fn cleans_conntrack(&self) -> bool {
        self.udp_changed
    }

    /// A sync of `changes` ended. After a failure the next one is full.
    pub fn synced(&mut self, changes: &Changes, succeeded: bool, now: Instant) {
        self.service_events.pending = 0;
        self.endpoint_events.pending = 0;
        self.needs_full = !succeeded;
        if succeeded {
            self.changed.clear();
            self.udp_changed = false;
            if changes.is_everything() {
                self.last_full = Some(now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
