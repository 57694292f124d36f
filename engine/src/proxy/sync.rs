//! What every mode's sync shares: what changed, and why a rule exists.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::{ServiceMap, ServicePort, ServicePortName};
use crate::cluster::objects::Protocol;

/// What changed since the last successful sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// First sync, failed sync, flushed tables, or the hourly one.
    Everything,
    /// Services (namespace, name) whose Service or EndpointSlices changed.
    Services(BTreeSet<(String, String)>),
}

impl Changes {
    pub const fn is_everything(&self) -> bool {
        matches!(self, Self::Everything)
    }

    /// The Service ports to be written anew, by name.
    pub(super) fn of<'a>(
        &self,
        services: &'a ServiceMap,
    ) -> Vec<(&'a Arc<ServicePortName>, &'a ServicePort)> {
        match self {
            Self::Everything => services.iter().collect(),
            Self::Services(changed) => {
                changed.iter().flat_map(|service| ports_of(services, service)).collect()
            }
        }
    }

    /// The ports among `known` that `services` no longer has.
    pub(super) fn gone<T>(
        &self,
        known: &BTreeMap<Arc<ServicePortName>, T>,
        services: &ServiceMap,
    ) -> Vec<Arc<ServicePortName>> {
        let is_gone = |name: &&Arc<ServicePortName>| !services.contains_key(&***name);
        match self {
            Self::Everything => known.keys().filter(is_gone).cloned().collect(),
            Self::Services(changed) => {
                let ports = changed.iter().flat_map(|service| ports_of(known, service));
                ports.map(|(name, _)| name).filter(is_gone).cloned().collect()
            }
        }
    }
}

/// The ports of one Service (namespace, name).
pub(super) fn ports_of<'a, K: Borrow<ServicePortName> + Ord, T>(
    map: &'a BTreeMap<K, T>,
    (namespace, name): &(String, String),
) -> impl Iterator<Item = (&'a K, &'a T)> {
    let (namespace, name) = (namespace.clone(), name.clone());
    // Names sort by namespace, name, port, protocol; the empty port is the first.
    let first = ServicePortName {
        namespace: namespace.clone(),
        name: name.clone(),
        port: String::new(),
        protocol: Protocol::Tcp,
    };
    map.range::<ServicePortName, _>((Bound::Included(&first), Bound::Unbounded)).take_while(
        move |(port, _)| {
            let port: &ServicePortName = (*port).borrow();
            port.namespace == namespace && port.name == name
        },
    )
}

/// Why a rule exists: the object and field it comes from, and its purpose in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// None for rules that every node has.
    pub service: Option<Arc<ServicePortName>>,
    /// `ip:port` of the endpoint it concerns.
    pub endpoint: Option<String>,
    /// Path of the field, such as `spec.externalIPs`; empty when no single field is behind it.
    pub field: &'static str,
    pub purpose: &'static str,
}

impl Origin {
    /// Of something every node has.
    pub const fn of_node(purpose: &'static str) -> Self {
        Self { service: None, endpoint: None, field: "", purpose }
    }
}
