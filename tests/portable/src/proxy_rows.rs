//! The rows of kube-proxy: 5,000 Services with 20 endpoints each, from objects to what a node is told, and one
//! changed Service among them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use chainwalk_engine::base::Instant;
use chainwalk_engine::cluster::objects::{
    EndpointPort, EndpointSlice, EndpointSpec, Metadata, SERVICE_NAME_LABEL, Service, ServicePortSpec,
    ServiceSpec,
};
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::{Changes, Config, KubernetesVersion, Tracker, iptables, ipvs, nftables};

use crate::dump::Dump;
use crate::rows::{Row, Work};

const SIZE: Dump = Dump::FULL;
/// Objects to ruleset.
const FULL_LIMIT_NS: Option<u64> = Some(2_000_000_000);
/// One changed Service.
const PARTIAL_LIMIT_NS: Option<u64> = Some(5_000_000);

pub(crate) fn rows() -> [Row; 8] {
    let full = |what, prepare| Row { what, limit_ns: FULL_LIMIT_NS, operations: 1, samples: 5, prepare };
    let partial =
        |what, prepare| Row { what, limit_ns: PARTIAL_LIMIT_NS, operations: 1, samples: 15, prepare };
    [
        full("proxy: 5,000 Services x 20 endpoints to iptables rules", || full_sync(iptables_proxier())),
        full("proxy: the same to an nftables transaction", || {
            full_sync(nftables_proxier(KubernetesVersion::V1_36))
        }),
        full("proxy: the same in the layout of 1.35", || {
            full_sync(nftables_proxier(KubernetesVersion::V1_35))
        }),
        full("proxy: the same to virtual servers and ipsets", || full_sync(ipvs_proxier())),
        partial("proxy: one changed Service of 5,000, iptables", || partial_sync(iptables_proxier())),
        partial("proxy: the same, nftables", || partial_sync(nftables_proxier(KubernetesVersion::V1_36))),
        partial("proxy: the same, nftables in the layout of 1.35", || {
            partial_sync(nftables_proxier(KubernetesVersion::V1_35))
        }),
        partial("proxy: the same, ipvs", || partial_sync(ipvs_proxier())),
    ]
}

fn config() -> Config {
    Config::new(Family::V4, "node-0", [172, 18, 0, 2].into())
}

/// Syncs, tells the proxier that the kernel took it, and hands back the text.
type Sync = Box<dyn FnMut(&Tracker, &Changes) -> String>;

fn iptables_proxier() -> fn() -> Sync {
    || {
        let mut proxier = iptables::Proxier::new(config());
        Box::new(move |tracker, changes| {
            let sync = proxier.sync(tracker.services(), tracker.endpoints(), changes, Instant::ZERO);
            proxier.applied(&sync);
            sync.input
        })
    }
}

fn nftables_proxier(version: KubernetesVersion) -> fn() -> Sync {
    fn make(version: KubernetesVersion) -> Sync {
        let mut proxier = nftables::Proxier::new(Config { kubernetes: version, ..config() });
        Box::new(move |tracker, changes| {
            let sync = proxier.sync(tracker.services(), tracker.endpoints(), changes, Instant::ZERO);
            proxier.applied(&sync);
            sync.text()
        })
    }
    match version {
        KubernetesVersion::V1_36 => || make(KubernetesVersion::V1_36),
        KubernetesVersion::V1_34 | KubernetesVersion::V1_35 => || make(KubernetesVersion::V1_35),
    }
}

fn ipvs_proxier() -> fn() -> Sync {
    || {
        let mut proxier = ipvs::Proxier::new(config());
        Box::new(move |tracker, changes| {
            let sync = proxier.sync(tracker.services(), tracker.endpoints(), changes, &|_, _| 0);
            proxier.applied(&sync);
            sync.ops
                .iter()
                .map(|op| op.text.as_str())
                .chain([sync.input.as_str()])
                .collect::<Vec<_>>()
                .join("\n")
        })
    }
}

fn full_sync(proxier: fn() -> Sync) -> Work {
    let services: Vec<Service> = (0..SIZE.services).map(service).collect();
    let slices: Vec<EndpointSlice> = (0..SIZE.services).map(|s| slice(s, SIZE.endpoints)).collect();
    Box::new(move || {
        let mut tracker = Tracker::new(Family::V4, "node-0");
        services.iter().for_each(|service| tracker.set_service(service));
        slices.iter().for_each(|slice| tracker.set_slice(slice.clone()));
        let text = proxier()(&tracker, &Changes::Everything);
        assert!(text.len() > 1_000_000, "{} bytes", text.len());
        Box::new((tracker, text))
    })
}

/// One endpoint goes and comes back, by turns.
fn partial_sync(proxier: fn() -> Sync) -> Work {
    let mut tracker = Tracker::new(Family::V4, "node-0");
    for number in 0..SIZE.services {
        tracker.set_service(&service(number));
        tracker.set_slice(slice(number, SIZE.endpoints));
    }
    let mut sync = proxier();
    sync(&tracker, &Changes::Everything);
    tracker.synced(&Changes::Everything, true, Instant::ZERO);
    let mut endpoints = SIZE.endpoints;
    Box::new(move || {
        endpoints = 2 * SIZE.endpoints - 1 - endpoints;
        tracker.set_slice(slice(SIZE.services / 2, endpoints));
        let changes = tracker.changes(Instant::ZERO, true);
        let text = sync(&tracker, &changes);
        tracker.synced(&changes, true, Instant::ZERO);
        assert!(!text.is_empty(), "something changed");
        Box::new(text)
    })
}

fn metadata(service: u32) -> Metadata {
    Metadata { name: format!("web-{service}"), namespace: "shop".into(), ..Default::default() }
}

fn service(number: u32) -> Service {
    let port = ServicePortSpec { name: "http".into(), port: 80, ..Default::default() };
    let spec = ServiceSpec {
        cluster_ip: Dump::cluster_ip(number).to_string(),
        ports: vec![port],
        ..Default::default()
    };
    Service { metadata: metadata(number), spec, ..Default::default() }
}

/// A slice with some of the endpoints of a Service; every hundredth is on this node.
fn slice(service: u32, endpoints: u32) -> EndpointSlice {
    let endpoint = |number: u32| {
        let first = Ipv4Addr::new(10, 128, 0, 0).to_bits() + service * SIZE.endpoints;
        EndpointSpec {
            addresses: vec![Ipv4Addr::from_bits(first + number).to_string()],
            node_name: Some(format!("node-{}", (service * SIZE.endpoints + number) % 100)),
            ..Default::default()
        }
    };
    let labels = BTreeMap::from([(SERVICE_NAME_LABEL.to_owned(), format!("web-{service}"))]);
    EndpointSlice {
        metadata: Metadata { labels, ..metadata(service) },
        ports: vec![EndpointPort { name: Some("http".into()), port: Some(8080), ..Default::default() }],
        endpoints: (0..endpoints).map(endpoint).collect(),
        ..Default::default()
    }
}
