//! Metrics of one proxier, by kube-proxy's names (`pkg/proxy/metrics/metrics.go`).
//!
//! Owns counters and gauges. Durations are not here: nothing in this layer takes time.

use std::fmt::Write as _;

use super::iptables::{self, RuleCounts};
use super::topology::categorize;
use super::{Config, EndpointsMap, Mode, ServiceMap, Tracker};
use crate::base::Instant;
use crate::packet::Family;

/// Service ports whose Local policy finds no endpoint on this node, though other nodes have some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoLocalEndpoints {
    pub internal: usize,
    pub external: usize,
}

impl NoLocalEndpoints {
    pub fn count(config: &Config, services: &ServiceMap, endpoints: &EndpointsMap) -> Self {
        let mut found = Self::default();
        let none = Vec::new();
        for (name, port) in services {
            let endpoints = endpoints.get(&**name).unwrap_or(&none);
            if !port.uses_local_endpoints() {
                continue;
            }
            let categories = categorize(endpoints, port, &config.locality());
            if categories.has_any && categories.local.is_empty() {
                found.internal += usize::from(port.internal_policy_local);
                found.external += usize::from(port.external_policy_local);
            }
        }
        found
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Metrics {
    mode: Mode,
    family: Family,
    rules_total: RuleCounts,
    rules_last: RuleCounts,
    no_local_endpoints: NoLocalEndpoints,
    /// Refused by the kernel, and those among them that were partial.
    failures: u64,
    partial_failures: u64,
    /// Transactions that delete emptied chains (nftables).
    cleanup_failures: u64,
    conntrack_deleted: u64,
    last_success: Option<Instant>,
}

impl Metrics {
    pub fn new(mode: Mode, family: Family) -> Self {
        Self {
            mode,
            family,
            rules_total: RuleCounts::default(),
            rules_last: RuleCounts::default(),
            no_local_endpoints: NoLocalEndpoints::default(),
            failures: 0,
            partial_failures: 0,
            cleanup_failures: 0,
            conntrack_deleted: 0,
            last_success: None,
        }
    }

    /// A sync of iptables mode wrote its rules.
    pub const fn wrote(&mut self, sync: &iptables::Sync) {
        self.rules_total = sync.rules_total;
        self.rules_last = sync.rules_written;
    }

    /// A sync ended.
    pub const fn synced(&mut self, full: bool, succeeded: bool, now: Instant) {
        if succeeded {
            self.last_success = Some(now);
        } else {
            self.failures += 1;
            self.partial_failures += !full as u64;
        }
    }

    pub const fn set_no_local_endpoints(&mut self, found: NoLocalEndpoints) {
        self.no_local_endpoints = found;
    }

    pub const fn cleanup_failed(&mut self) {
        self.cleanup_failures += 1;
    }

    pub const fn deleted_conntrack_entries(&mut self, count: u64) {
        self.conntrack_deleted += count;
    }

    /// What `/metrics` answers, without help and type lines, sorted by name. Times are seconds since the run began.
    pub fn text(&self, tracker: &Tracker) -> String {
        let family = match self.family {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        };
        let mut out = String::new();
        let mut line = |name: &str, labels: &str, value: f64| {
            let separator = if labels.is_empty() { "" } else { "," };
            let _ = writeln!(out, "kubeproxy_{name}{{ip_family=\"{family}\"{separator}{labels}}} {value}");
        };
        line("conntrack_reconciler_deleted_entries_total", "", self.conntrack_deleted as f64);
        match self.mode {
            Mode::Iptables => {
                let (total, last) = (self.rules_total, self.rules_last);
                line("sync_proxy_rules_iptables_last", "table=\"filter\"", last.filter as f64);
                line("sync_proxy_rules_iptables_last", "table=\"nat\"", last.nat as f64);
                let name = "sync_proxy_rules_iptables_partial_restore_failures_total";
                line(name, "", self.partial_failures as f64);
                line("sync_proxy_rules_iptables_restore_failures_total", "", self.failures as f64);
                line("sync_proxy_rules_iptables_total", "table=\"filter\"", total.filter as f64);
                line("sync_proxy_rules_iptables_total", "table=\"nat\"", total.nat as f64);
            }
            Mode::Ipvs => line("sync_proxy_rules_iptables_restore_failures_total", "", self.failures as f64),
            Mode::Nftables | Mode::Ebpf => {}
        }
        if let Some(at) = self.last_success {
            line(
                "sync_proxy_rules_last_timestamp_seconds",
                "",
                at.since(Instant::ZERO).as_nanos() as f64 / 1e9,
            );
        }
        if self.mode == Mode::Nftables {
            let name = "sync_proxy_rules_nftables_cleanup_failures_total";
            line(name, "", self.cleanup_failures as f64);
            line("sync_proxy_rules_nftables_sync_failures_total", "", self.failures as f64);
        }
        let NoLocalEndpoints { internal, external } = self.no_local_endpoints;
        let name = "sync_proxy_rules_no_local_endpoints_total";
        line(name, "traffic_policy=\"external\"", external as f64);
        line(name, "traffic_policy=\"internal\"", internal as f64);
        // These four know no family: one process serves both.
        let (services, endpoints) = (tracker.service_events, tracker.endpoint_events);
        for (name, value) in [
            ("sync_proxy_rules_endpoint_changes_pending", endpoints.pending),
            ("sync_proxy_rules_endpoint_changes_total", endpoints.total),
            ("sync_proxy_rules_service_changes_pending", services.pending),
            ("sync_proxy_rules_service_changes_total", services.total),
        ] {
            let _ = writeln!(out, "kubeproxy_{name} {value}");
        }
        let mut lines: Vec<&str> = out.lines().collect();
        lines.sort_unstable();
        lines.into_iter().map(|line| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests;
