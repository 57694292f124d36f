//! What concerns a proxier, what counts as a change, and when everything is written.

use super::*;
use crate::cluster::objects::{EndpointPort, EndpointSpec, Metadata, ServicePortSpec, ServiceSpec};

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), namespace: "shop".into(), ..Default::default() }
}

fn service(port: u16, protocol: Protocol) -> Service {
    let port = ServicePortSpec { name: "p".into(), port, protocol, ..Default::default() };
    let spec = ServiceSpec { cluster_ip: "10.96.0.1".into(), ports: vec![port], ..Default::default() };
    Service { metadata: metadata("web"), spec, ..Default::default() }
}

fn slice(name: &str, addresses: &[&str], protocol: Protocol) -> EndpointSlice {
    let mut metadata = metadata(name);
    metadata.labels.insert(SERVICE_NAME_LABEL.into(), "web".into());
    let endpoint = |addr: &&str| EndpointSpec { addresses: vec![(*addr).to_owned()], ..Default::default() };
    EndpointSlice {
        metadata,
        ports: vec![EndpointPort { name: Some("p".into()), protocol, port: Some(8080) }],
        endpoints: addresses.iter().map(endpoint).collect(),
        ..Default::default()
    }
}

fn synced(tracker: &mut Tracker, at_s: u64) -> Changes {
    let now = Instant::from_millis(at_s * 1_000);
    let changes = tracker.changes(now, true);
    tracker.synced(&changes, true, now);
    changes
}

fn web() -> Changes {
    Changes::Services(BTreeSet::from([("shop".to_owned(), "web".to_owned())]))
}

fn nothing() -> Changes {
    Changes::Services(BTreeSet::new())
}

fn tracker() -> Tracker {
    let mut tracker = Tracker::new(Family::V4, "node-a");
    tracker.set_service(&service(80, Protocol::Tcp));
    tracker.set_slice(slice("web-1", &["10.244.0.1", "10.244.0.2"], Protocol::Tcp));
    assert_eq!(synced(&mut tracker, 0), Changes::Everything);
    tracker
}

#[test]
fn only_what_changed_is_written() {
    let mut tracker = tracker();
    assert_eq!(synced(&mut tracker, 1), nothing());
    tracker.set_slice(slice("web-1", &["10.244.0.2", "10.244.0.1"], Protocol::Tcp));
    assert_eq!(synced(&mut tracker, 2), nothing(), "the same endpoints in another order");
    tracker.set_slice(slice("web-2", &["10.244.0.3"], Protocol::Tcp));
    assert_eq!(tracker.endpoint_events, Events { total: 2, pending: 1 });
    assert_eq!(synced(&mut tracker, 3), web());
    assert_eq!(tracker.endpoints().values().map(Vec::len).sum::<usize>(), 3);
    tracker.delete_slice("shop", "web-1");
    assert_eq!(synced(&mut tracker, 4), web());
    assert_eq!(tracker.endpoints().values().map(Vec::len).sum::<usize>(), 1);
    tracker.delete_service("shop", "web");
    assert_eq!(synced(&mut tracker, 5), web());
    assert!(tracker.services().is_empty());
}

#[test]
fn a_failed_sync_and_the_hour_write_everything() {
    let mut tracker = tracker();
    let changes = tracker.changes(Instant::from_millis(1_000), true);
    tracker.synced(&changes, false, Instant::from_millis(1_000));
    assert_eq!(synced(&mut tracker, 31), Changes::Everything);
    assert_eq!(synced(&mut tracker, 3_600), nothing());
    assert_eq!(tracker.changes(Instant::from_millis(3_632_000), false), nothing(), "a large cluster");
    assert_eq!(synced(&mut tracker, 3_632), Changes::Everything);
    tracker.force_full();
    assert_eq!(synced(&mut tracker, 3_633), Changes::Everything);
}

#[test]
fn a_failed_sync_keeps_what_changed() {
    let mut tracker = tracker();
    tracker.set_service(&service(81, Protocol::Tcp));
    let changes = tracker.changes(Instant::ZERO, true);
    tracker.synced(&changes, false, Instant::ZERO);
    assert_eq!(tracker.changed.len(), 1);
}

#[test]
fn other_proxies_and_headless_slices_are_not_ours() {
    let mut tracker = Tracker::new(Family::V4, "node-a");
    let mut other = service(80, Protocol::Tcp);
    other.metadata.labels.insert(PROXY_NAME_LABEL.into(), "mesh".into());
    tracker.set_service(&other);
    let mut headless = slice("web-1", &["10.244.0.1"], Protocol::Tcp);
    headless.metadata.labels.insert(HEADLESS_LABEL.into(), String::new());
    tracker.set_slice(headless);
    assert!(tracker.services().is_empty() && tracker.endpoints().is_empty());
}

#[test]
fn a_slice_that_changes_its_service_leaves_the_old_one() {
    let mut tracker = tracker();
    let mut moved = slice("web-1", &["10.244.0.1"], Protocol::Tcp);
    moved.metadata.labels.insert(SERVICE_NAME_LABEL.into(), "api".into());
    tracker.set_slice(moved);
    let names: Vec<&str> = tracker.endpoints().keys().map(|name| name.name.as_str()).collect();
    assert_eq!(names, ["api"]);
}

#[test]
fn only_udp_endpoints_ask_for_a_clean_up() {
    let mut tracker = tracker();
    assert!(!tracker.cleans_conntrack());
    tracker.set_service(&service(53, Protocol::Udp));
    assert!(!tracker.cleans_conntrack(), "the Service alone does not");
    tracker.set_slice(slice("web-1", &["10.244.0.9"], Protocol::Udp));
    assert!(tracker.cleans_conntrack());
    synced(&mut tracker, 1);
    assert!(!tracker.cleans_conntrack());
}
