//! kube-proxy's own unit tests as a peer: the text it programs for given objects, endpoint categories and
//! conntrack clean-up. The data is not part of the project; without it these tests say so and skip.

#[path = "kube_proxy/peer.rs"]
mod peer;

use std::collections::BTreeMap;

use chainwalk_engine::cluster::objects::{EndpointSlice, Service};
use chainwalk_engine::proxy::conntrack::{Cleanup, UdpEntry};
use chainwalk_engine::proxy::iptables::{Changes, Proxier};
use chainwalk_engine::proxy::service_port::service_ports;
use chainwalk_engine::proxy::topology::{Locality, categorize};
use chainwalk_engine::proxy::{ServiceMap, endpoints::endpoints};
use peer::{Case, canonical};

/// Cases whose recorded endpoints are abridged, so their text cannot be rebuilt.
fn is_abridged(case: &Case) -> bool {
    case.endpoint_slices.iter().flatten().any(|slice| slice.endpoints.iter().any(|e| e.generated.is_some()))
}

#[test]
fn iptables_mode_writes_what_kube_proxy_writes() {
    let Some(peer) = peer::load() else { return };
    let (mut equal, mut skipped, mut wrong) = (0, Vec::new(), Vec::new());
    let mut proxier: Option<Proxier> = None;
    for case in peer.cases.iter().filter(|case| case.mode == "iptables") {
        let (Some(config), Some(services)) = (&case.config, &case.services) else {
            skipped.push(format!("{}: no objects", case.id));
            continue;
        };
        let config = config.to_config(case);
        if case.step == 0 || proxier.is_none() {
            proxier = Some(Proxier::new(config.clone()));
        }
        let proxier = proxier.as_mut().expect("made above");
        proxier.config = config;
        let services: Vec<Service> = services.iter().map(peer::Service::to_object).collect();
        let slices: Vec<EndpointSlice> =
            case.endpoint_slices.iter().flatten().map(peer::Slice::to_object).collect();
        let family = proxier.config.family;
        let services: ServiceMap =
            services.iter().flat_map(|service| service_ports(service, family)).collect();
        let node = proxier.config.node_name.clone();
        let endpoints = endpoints(&slices, family, &node);
        let changes = if case.full_sync { Changes::Everything } else { Changes::Services(case.changed()) };
        let ours = proxier.sync(&services, &endpoints, &changes);
        if case.sync_error.is_none() {
            proxier.applied(&ours);
        }
        let Some(theirs) = &case.ruleset.iptables_restore_input else {
            skipped.push(format!("{}: no text recorded", case.id));
            continue;
        };
        if is_abridged(case) {
            skipped.push(format!("{}: endpoints abridged", case.id));
            continue;
        }
        let ours = canonical(&ours.input.replace("0x00004000", "0x4000"));
        let theirs = canonical(theirs);
        if ours == theirs {
            equal += 1;
        } else {
            wrong.push(format!("{}\n{}", case.id, difference(&theirs, &ours)));
        }
    }
    println!("iptables: {equal} equal, {} wrong, {} skipped", wrong.len(), skipped.len());
    for reason in &skipped {
        println!("  skipped {reason}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(equal > 90, "only {equal} cases compared");
}

/// Lines only in one of the texts.
fn difference(theirs: &str, ours: &str) -> String {
    let mut count: BTreeMap<&str, i32> = BTreeMap::new();
    for line in theirs.lines() {
        *count.entry(line).or_default() -= 1;
    }
    for line in ours.lines() {
        *count.entry(line).or_default() += 1;
    }
    let lines: Vec<String> = count
        .iter()
        .filter(|(_, n)| **n != 0)
        .map(|(line, n)| format!("  {} {line}", if *n < 0 { "-" } else { "+" }))
        .collect();
    if lines.is_empty() { "  the same lines in another order".to_owned() } else { lines.join("\n") }
}

#[test]
fn endpoints_are_categorised_as_kube_proxy_does() {
    let Some(peer) = peer::load() else { return };
    let listed = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
    let mut wrong = Vec::new();
    let cases = &peer.categorize_endpoints.cases;
    for case in cases {
        let endpoints = case.endpoints();
        let labels = case.node_labels.clone().unwrap_or_default();
        let node = Locality {
            name: &case.node_name,
            labels: &labels,
            uses_node_hints: case.prefer_same_traffic_distribution_gate,
        };
        let found = categorize(&endpoints, &case.service_port(), &node);
        let addresses = |list: &[&chainwalk_engine::proxy::Endpoint]| {
            list.iter().map(|e| e.address()).collect::<Vec<_>>()
        };
        let ours = (addresses(&found.cluster), addresses(&found.local), found.has_any);
        let theirs = (listed(&case.cluster_endpoints), listed(&case.local_endpoints), case.has_any_endpoints);
        if ours != theirs || addresses(&found.reachable) != listed(&case.all_reachable_endpoints) {
            wrong.push(format!("{}: {ours:?} instead of {theirs:?}", case.name));
        }
    }
    println!("endpoint categories: {} of {} equal", cases.len() - wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn stale_udp_entries_are_found_as_kube_proxy_does() {
    let Some(peer) = peer::load() else { return };
    let data = &peer.conntrack_cleanup;
    let family = chainwalk_engine::packet::Family::V4;
    let services = service_ports(&data.service.to_object(), family);
    let slices = [data.endpoint_slice.to_object()];
    let cleanup = Cleanup::new(&services, &endpoints(&slices, family, "node"));
    let mut deleted = 0;
    for entry in &data.entries {
        let udp = UdpEntry {
            original_dst: entry.orig_dst.parse().unwrap_or([0, 0, 0, 0].into()),
            original_dport: entry.orig_dst_port,
            reply_src: entry.reply_src.parse().expect("an address"),
            reply_sport: entry.reply_src_port,
        };
        let ours = entry.protocol_number == 17 && cleanup.deletes(&udp);
        assert_eq!(ours, entry.deleted, "{entry:?}");
        deleted += usize::from(ours);
    }
    println!("conntrack clean-up: {} entries, {deleted} deleted", data.entries.len());
}
