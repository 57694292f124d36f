//! Rule counts of kube-proxy's TestNumberIptablesRules, large-cluster mode, and the text of `/metrics`.

use std::collections::BTreeMap;

use super::*;
use crate::base::Duration;
use crate::cluster::objects::{
    EndpointPort, EndpointSlice, EndpointSpec, LoadBalancerIngress, LoadBalancerStatus, Metadata,
    SERVICE_NAME_LABEL, Service, ServicePortSpec, ServiceSpec, ServiceStatus, ServiceType, TrafficPolicy,
};
use crate::proxy::{Changes, LocalDetector};

fn service(number: u8) -> Service {
    let port = ServicePortSpec { name: "p80".into(), port: 80, ..Default::default() };
    Service {
        metadata: Metadata { name: format!("svc{number}"), namespace: "ns".into(), ..Default::default() },
        spec: ServiceSpec {
            cluster_ip: format!("172.30.0.{number}"),
            ports: vec![port],
            ..Default::default()
        },
        ..Default::default()
    }
}

fn slice(service: u8, endpoints: u32) -> EndpointSlice {
    let name = format!("svc{service}");
    let labels = BTreeMap::from([(SERVICE_NAME_LABEL.to_owned(), name.clone())]);
    let endpoint = |i: u32| EndpointSpec {
        addresses: vec![format!("10.{service}.{}.{}", i / 250, i % 250)],
        node_name: Some("other".into()),
        ..Default::default()
    };
    EndpointSlice {
        metadata: Metadata {
            name: format!("{name}-1"),
            namespace: "ns".into(),
            labels,
            ..Default::default()
        },
        ports: vec![EndpointPort { name: Some("p80".into()), port: Some(80), ..Default::default() }],
        endpoints: (0..endpoints).map(endpoint).collect(),
        ..Default::default()
    }
}

struct Lab {
    tracker: Tracker,
    proxier: iptables::Proxier,
    metrics: Metrics,
    now: Instant,
}

impl Lab {
    fn new() -> Self {
        let mut config = Config::new(Family::V4, "node", [192, 168, 0, 2].into());
        config.local_detector = LocalDetector::Cidr("10.0.0.0/8".into());
        Self {
            tracker: Tracker::new(Family::V4, "node"),
            proxier: iptables::Proxier::new(config),
            metrics: Metrics::new(Mode::Iptables, Family::V4),
            now: Instant::ZERO,
        }
    }

    fn sync(&mut self, succeeds: bool) -> iptables::Sync {
        let is_hourly = !self.proxier.is_large_cluster();
        let changes = self.tracker.changes(self.now, is_hourly);
        let (services, endpoints) = (self.tracker.services(), self.tracker.endpoints());
        let sync = self.proxier.sync(services, endpoints, &changes, self.now);
        let found = NoLocalEndpoints::count(&self.proxier.config, services, endpoints);
        self.metrics.wrote(&sync);
        self.metrics.set_no_local_endpoints(found);
        self.metrics.synced(sync.full, succeeds, self.now);
        if succeeds {
            self.proxier.applied(&sync);
        }
        self.tracker.synced(&changes, succeeds, self.now);
        sync
    }

    fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }
}

/// (filter, nat) after a first sync.
fn counts(services: &[(Service, u32)]) -> (usize, usize) {
    let mut lab = Lab::new();
    for (number, (service, endpoints)) in (1..).zip(services) {
        lab.tracker.set_service(service);
        lab.tracker.set_slice(slice(number, *endpoints));
    }
    let sync = lab.sync(true);
    assert_eq!(sync.rules_total, sync.rules_written, "a full sync writes all there are");
    (sync.rules_total.filter, sync.rules_total.nat)
}

#[test]
fn rule_counts_are_kube_proxys() {
    let balanced = || {
        let mut service = service(1);
        service.spec.kind = ServiceType::LoadBalancer;
        service.spec.ports[0].node_port = 3001;
        service.spec.external_ips = vec!["1.2.3.4".into()];
        service.spec.load_balancer_source_ranges = vec!["1.2.3.4/28".into()];
        let ingress = LoadBalancerIngress { ip: "1.2.3.4".into(), ..Default::default() };
        service.status = ServiceStatus { load_balancer: LoadBalancerStatus { ingress: vec![ingress] } };
        service
    };
    assert_eq!(counts(&[]), (4, 5));
    assert_eq!(counts(&[(service(1), 0)]), (5, 5));
    for (endpoints, nat) in [(1, 10), (2, 13), (10, 37)] {
        assert_eq!(counts(&[(service(1), endpoints)]), (4, nat));
    }
    let ten: Vec<_> = (1..=10).map(|number| (service(number), 10)).collect();
    assert_eq!(counts(&ten), (4, 325));
    for (endpoints, filter, nat) in [(0, 8, 5), (1, 5, 18), (2, 5, 21), (10, 5, 45)] {
        assert_eq!(counts(&[(balanced(), endpoints)]), (filter, nat), "{endpoints} endpoints");
    }
}

#[test]
fn a_partial_sync_writes_less_than_there_is() {
    let mut lab = Lab::new();
    for number in 1..=2 {
        lab.tracker.set_service(&service(number));
        lab.tracker.set_slice(slice(number, 2));
    }
    lab.sync(true);
    lab.tracker.set_slice(slice(1, 1));
    let sync = lab.sync(true);
    assert!(!sync.full);
    // svc1 has 2 + 3 rules now, svc2 keeps 2 + 6 of which only the one in KUBE-SERVICES is written.
    assert_eq!((sync.rules_total.nat, sync.rules_written.nat), (5 + 5 + 8, 5 + 5 + 1));
    assert_eq!(sync.stale.len(), 1);
    assert!(sync.input.contains(&format!("-X {}\n", sync.stale[0])));
}

#[test]
fn a_large_cluster_leaves_unused_chains_for_a_while_and_comments_out() {
    let mut lab = Lab::new();
    for number in 1..=2 {
        lab.tracker.set_service(&service(number));
        lab.tracker.set_slice(slice(number, 500));
    }
    assert!(!lab.sync(true).large_cluster, "a thousand endpoints are not more than a thousand");
    lab.tracker.set_slice(slice(2, 501));
    let sync = lab.sync(true);
    assert!(sync.large_cluster && !sync.full);
    let own = |sync: &iptables::Sync| sync.rules.iter().filter(|r| r.chain.starts_with("KUBE-SEP-")).count();
    assert_eq!(own(&sync), 2 * 501, "only the changed Service is written");
    assert!(
        sync.rules.iter().filter(|r| r.chain.starts_with("KUBE-SEP-")).all(|r| !r.text.contains("comment"))
    );
    assert!(sync.rules.iter().any(|r| r.text.contains("ns/svc1:p80 cluster IP")), "the others keep theirs");
    lab.wait(10);
    lab.tracker.set_slice(slice(2, 502));
    lab.tracker.delete_service("ns", "svc1");
    lab.tracker.delete_slice("ns", "svc1-1");
    lab.tracker.set_slice(slice(3, 600));
    lab.tracker.set_service(&service(3));
    let sync = lab.sync(true);
    assert!(sync.large_cluster && sync.stale.is_empty(), "{:?}", sync.stale);
    lab.wait(31);
    let sync = lab.sync(true);
    assert_eq!(sync.stale.len(), 501, "the chain of svc1 and its endpoints");
    lab.wait(4_000);
    assert!(!lab.sync(true).full, "the hourly full sync is off in a large cluster");
}

#[test]
fn metrics_are_told_by_their_names() {
    let mut lab = Lab::new();
    let mut local = service(1);
    local.spec.internal_traffic_policy = TrafficPolicy::Local;
    lab.tracker.set_service(&local);
    lab.tracker.set_slice(slice(1, 2));
    lab.wait(2);
    lab.sync(true);
    lab.tracker.set_slice(slice(1, 3));
    lab.sync(false);
    lab.metrics.deleted_conntrack_entries(3);
    lab.tracker.set_slice(slice(1, 2));
    assert_eq!(
        lab.metrics.text(&lab.tracker),
        "\
kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family=\"IPv4\"} 3
kubeproxy_sync_proxy_rules_endpoint_changes_pending 1
kubeproxy_sync_proxy_rules_endpoint_changes_total 3
kubeproxy_sync_proxy_rules_iptables_last{ip_family=\"IPv4\",table=\"filter\"} 5
kubeproxy_sync_proxy_rules_iptables_last{ip_family=\"IPv4\",table=\"nat\"} 5
kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total{ip_family=\"IPv4\"} 1
kubeproxy_sync_proxy_rules_iptables_restore_failures_total{ip_family=\"IPv4\"} 1
kubeproxy_sync_proxy_rules_iptables_total{ip_family=\"IPv4\",table=\"filter\"} 5
kubeproxy_sync_proxy_rules_iptables_total{ip_family=\"IPv4\",table=\"nat\"} 5
kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family=\"IPv4\"} 2
kubeproxy_sync_proxy_rules_no_local_endpoints_total{ip_family=\"IPv4\",traffic_policy=\"external\"} 0
kubeproxy_sync_proxy_rules_no_local_endpoints_total{ip_family=\"IPv4\",traffic_policy=\"internal\"} 1
kubeproxy_sync_proxy_rules_service_changes_pending 0
kubeproxy_sync_proxy_rules_service_changes_total 1
"
    );
    // A failed sync is followed by a full one.
    assert_eq!(lab.tracker.changes(lab.now, true), Changes::Everything);
}

#[test]
fn only_modes_that_have_them_count_failures_of_their_kind() {
    let tracker = Tracker::new(Family::V6, "node");
    let names = |mode| {
        let text = Metrics::new(mode, Family::V6).text(&tracker);
        text.lines()
            .map(|line| line.split(['{', ' ']).next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let nft = names(Mode::Nftables);
    assert!(nft.iter().any(|name| name == "kubeproxy_sync_proxy_rules_nftables_sync_failures_total"));
    assert!(nft.iter().all(|name| !name.contains("iptables")));
    let ipvs = names(Mode::Ipvs);
    assert!(ipvs.iter().any(|name| name == "kubeproxy_sync_proxy_rules_iptables_restore_failures_total"));
    assert!(ipvs.iter().all(|name| !name.ends_with("iptables_total")));
}
