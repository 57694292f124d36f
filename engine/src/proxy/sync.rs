//! What every mode's sync shares: what changed, and why a rule exists.

use std::collections::BTreeSet;

use super::ServicePortName;

/// What changed since the last successful sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// First sync, failed sync, flushed tables, or the hourly one.
    Everything,
    /// Services (namespace, name) whose Service or EndpointSlices changed.
    Services(BTreeSet<(String, String)>),
}

impl Changes {
    /// Whether objects of this Service port are to be written anew.
    pub fn concern(&self, name: &ServicePortName) -> bool {
        match self {
            Self::Everything => true,
            Self::Services(changed) => changed.contains(&(name.namespace.clone(), name.name.clone())),
        }
    }
}

/// Why a rule exists: the object and field it comes from, and its purpose in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// None for rules that every node has.
    pub service: Option<ServicePortName>,
    /// `ip:port` of the endpoint it concerns.
    pub endpoint: Option<String>,
    /// Path of the field, such as `spec.externalIPs`; empty when no single field is behind it.
    pub field: &'static str,
    pub purpose: &'static str,
}
