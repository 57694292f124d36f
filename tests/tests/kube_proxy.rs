//! kube-proxy's own unit tests as a peer: the text it programs for given objects, endpoint categories and
//! conntrack clean-up. The data is not part of the project; without it these tests say so and skip.

#[path = "kube_proxy/flows.rs"]
mod flows;
#[path = "kube_proxy/ipvs_node.rs"]
mod ipvs_node;
#[path = "kube_proxy/peer.rs"]
mod peer;

use std::collections::BTreeMap;

use chainwalk_engine::cluster::objects::{EndpointSlice, Service};
use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::proxy::conntrack::{Cleanup, UdpEntry};
use chainwalk_engine::proxy::endpoints::endpoints;
use chainwalk_engine::proxy::service_port::service_ports;
use chainwalk_engine::proxy::topology::{Locality, categorize};
use chainwalk_engine::proxy::{Changes, Config, EndpointsMap, ServiceMap, iptables, ipvs, nftables};
use chainwalk_engine::text::xt::SaveOptions;
use peer::{Case, canonical};

/// Cases whose recorded endpoints are abridged, so their text cannot be rebuilt.
fn is_abridged(case: &Case) -> bool {
    case.endpoint_slices.iter().flatten().any(|slice| slice.endpoints.iter().any(|e| e.generated.is_some()))
}

/// The objects of a case, ready for a proxier.
struct Objects {
    config: Config,
    services: ServiceMap,
    endpoints: EndpointsMap,
    changes: Changes,
}

impl Objects {
    fn of(case: &Case) -> Option<Self> {
        let config = case.config.as_ref()?.to_config(case);
        let services: Vec<Service> = case.services.as_ref()?.iter().map(peer::Service::to_object).collect();
        let slices: Vec<EndpointSlice> =
            case.endpoint_slices.iter().flatten().map(peer::Slice::to_object).collect();
        let family = config.family;
        Some(Self {
            services: services.iter().flat_map(|service| service_ports(service, family)).collect(),
            endpoints: endpoints(&slices, family, &config.node_name),
            changes: if case.full_sync { Changes::Everything } else { Changes::Services(case.changed()) },
            config,
        })
    }
}

#[test]
fn iptables_mode_writes_what_kube_proxy_writes() {
    let Some(peer) = peer::load() else { return };
    let (mut equal, mut skipped, mut wrong) = (0, Vec::new(), Vec::new());
    let mut proxier: Option<iptables::Proxier> = None;
    for case in peer.cases.iter().filter(|case| case.mode == "iptables") {
        let Some(objects) = Objects::of(case) else {
            skipped.push(format!("{}: no objects", case.id));
            continue;
        };
        if case.step == 0 || proxier.is_none() {
            proxier = Some(iptables::Proxier::new(objects.config.clone()));
        }
        let proxier = proxier.as_mut().expect("made above");
        proxier.config = objects.config.clone();
        let ours = proxier.sync(&objects.services, &objects.endpoints, &objects.changes, case.time());
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

/// What iptables-nft printed after the real kernel took kube-proxy's rules, against our proxy, restore and save.
#[test]
fn a_first_sync_reads_back_as_from_the_kernel() {
    let Some(peer) = peer::load() else { return };
    let (mut equal, mut wrong) = (0, Vec::new());
    for case in peer.cases.iter().filter(|case| case.mode == "iptables" && case.step == 0) {
        let (Some(objects), Some(theirs)) = (Objects::of(case), &case.ruleset.real_kernel_readback) else {
            continue;
        };
        if is_abridged(case) {
            continue;
        }
        let proxier = iptables::Proxier::new(objects.config);
        let sync = proxier.sync(&objects.services, &objects.endpoints, &objects.changes, case.time());
        let tables = match proxier.tables(&sync, Flavour::Nft) {
            Ok(tables) => tables,
            Err(refusal) => {
                wrong.push(format!("{}: {refusal}", case.id));
                continue;
            }
        };
        let (ours, theirs) = (canonical(&tables.save(&SaveOptions::default())), canonical(theirs));
        if ours == theirs {
            equal += 1;
        } else {
            wrong.push(format!("{}\n{}", case.id, difference(&theirs, &ours)));
        }
    }
    println!("readback: {equal} equal, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(equal > 60, "only {equal} cases compared");
}

#[test]
fn nftables_mode_sends_what_kube_proxy_1_36_sends() {
    nftables_mode("nftables-1.36");
}

#[test]
fn nftables_mode_sends_what_kube_proxy_1_35_sends() {
    nftables_mode("nftables-1.35");
}

#[expect(clippy::print_stdout, reason = "the score of a comparison")]
fn nftables_mode(version: &str) {
    let Some(peer) = peer::load() else { return };
    let (mut equal, mut skipped, mut wrong) = (0, Vec::new(), Vec::new());
    let mut proxier: Option<nftables::Proxier> = None;
    for case in peer.cases.iter().filter(|case| case.id.starts_with(version)) {
        let Some(objects) = Objects::of(case) else {
            skipped.push(format!("{}: no objects", case.id));
            continue;
        };
        if case.step == 0 || proxier.is_none() {
            let mut fresh = nftables::Proxier::new(objects.config.clone());
            fresh.adopt(case.elements_before());
            fresh.adopt_names(case.names_before());
            proxier = Some(fresh);
        }
        let proxier = proxier.as_mut().expect("made above");
        proxier.config = objects.config.clone();
        let ours = proxier.sync(&objects.services, &objects.endpoints, &objects.changes, case.time());
        if case.sync_error.is_none() {
            proxier.applied(&ours);
        }
        let theirs = sorted(case.ruleset.nft_transaction.as_deref().unwrap_or(""));
        let ours = sorted(&ours.text());
        if ours == theirs {
            equal += 1;
        } else {
            wrong.push(format!("{}\n{}", case.id, difference(&theirs, &ours)));
        }
    }
    println!("{version}: {equal} equal, {} wrong, {} skipped", wrong.len(), skipped.len());
    for reason in &skipped {
        println!("  skipped {reason}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(equal > 80, "only {equal} cases compared");
}

#[test]
fn ipvs_mode_programs_what_kube_proxy_programs() {
    let Some(peer) = peer::load() else { return };
    let (mut equal, mut wrong) = (0, Vec::new());
    let mut proxier: Option<ipvs::Proxier> = None;
    for case in peer.cases.iter().filter(|case| case.mode == "ipvs") {
        let objects = Objects::of(case).expect("every case has its objects");
        if case.step == 0 || proxier.is_none() {
            proxier = Some(ipvs::Proxier::new(objects.config.clone()));
        }
        let proxier = proxier.as_mut().expect("made above");
        proxier.config = objects.config.clone();
        let sync = proxier.sync(&objects.services, &objects.endpoints, &objects.changes, &|_, _| 0);
        proxier.applied(&sync);
        // The upstream tests leave the mark empty and name IPv6 sets as IPv4 ones.
        let ours = sync.input.replace("0x00004000", "").replace("KUBE-6-", "KUBE-");
        let theirs = case.ruleset.iptables_restore_input.as_deref().unwrap_or("").trim_end();
        let mut found = Vec::new();
        if ours.trim_end() != theirs {
            found.push(difference(theirs, ours.trim_end()));
        }
        let (theirs, ours) = (case.ipvs_state(), peer::ipvs_state(proxier));
        if ours != theirs {
            found.push(difference(&theirs, &ours));
        }
        if found.is_empty() {
            equal += 1;
        } else {
            wrong.push(format!("{}\n{}", case.id, found.join("\n")));
        }
    }
    println!("ipvs: {equal} equal, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(equal, 64);
}

/// kube-proxy's tests record no flows in IPVS mode; what they record of virtual servers says where packets go.
#[test]
fn an_ipvs_node_sends_clients_to_the_real_servers() {
    let Some(peer) = peer::load() else { return };
    let (mut total, mut wrong) = (0, Vec::new());
    // A full sync from nothing, so that each node is loaded once.
    for case in peer.cases.iter().filter(|case| case.mode == "ipvs") {
        let objects = Objects::of(case).expect("every case has its objects");
        let mut proxier = ipvs::Proxier::new(objects.config);
        let sync = proxier.sync(&objects.services, &objects.endpoints, &Changes::Everything, &|_, _| 0);
        proxier.applied(&sync);
        let (asked, found) = ipvs_node::run(&proxier, &sync);
        total += asked;
        wrong.extend(found.into_iter().map(|found| format!("{}: {found}", case.id)));
    }
    println!("ipvs nodes: {total} virtual servers asked, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(total > 80, "only {total} virtual servers");
}

/// Packets through the rules that our proxy wrote, against the answers of kube-proxy's tests.
#[test]
fn flows_in_iptables_mode_go_where_kube_proxy_says() {
    let Some(peer) = peer::load() else { return };
    let (mut total, mut wrong) = (0, Vec::new());
    let mut proxier: Option<iptables::Proxier> = None;
    let mut setup = Vec::new();
    for case in peer.cases.iter().filter(|case| case.mode == "iptables") {
        let is_v6 = case.config.as_ref().is_some_and(|config| config.is_ipv6());
        let tool = |rest: &str| format!("ip{}tables-restore {rest}", if is_v6 { "6" } else { "" });
        match Objects::of(case) {
            Some(objects) => {
                if case.step == 0 || proxier.is_none() {
                    proxier = Some(iptables::Proxier::new(objects.config.clone()));
                    setup = vec![(tool("--noflush"), iptables::jumps_text())];
                }
                let proxier = proxier.as_mut().expect("made above");
                proxier.config = objects.config.clone();
                let sync = proxier.sync(&objects.services, &objects.endpoints, &objects.changes, case.time());
                if case.sync_error.is_none() {
                    proxier.applied(&sync);
                    setup.push((tool("--noflush --counters"), sync.input));
                }
            }
            // A test of the tracer, with rules but no objects.
            None => {
                let rules = case.ruleset.real_kernel_readback.clone().unwrap_or_default();
                setup = vec![(tool(""), rules)];
            }
        }
        if !case.flows.is_empty() {
            total += case.flows.len();
            let found = flows::run(case, &setup);
            wrong.extend(found.unwrap_or_else(|error| panic!("{}: {error}", case.id)));
        }
    }
    println!("iptables flows: {} of {total} equal", total - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(total, 246);
}

#[test]
fn flows_in_nftables_mode_1_36_go_where_kube_proxy_says() {
    nftables_flows("nftables-1.36");
}

#[test]
fn flows_in_nftables_mode_1_35_go_where_kube_proxy_says() {
    nftables_flows("nftables-1.35");
}

#[expect(clippy::print_stdout, reason = "the score of a comparison")]
fn nftables_flows(version: &str) {
    let Some(peer) = peer::load() else { return };
    let (mut total, mut wrong) = (0, Vec::new());
    let mut proxier: Option<nftables::Proxier> = None;
    let mut setup = Vec::new();
    for case in peer.cases.iter().filter(|case| case.id.starts_with(version)) {
        let load = |text: String| ("nft -f -".to_owned(), text);
        match Objects::of(case) {
            Some(objects) => {
                if case.step == 0 || proxier.is_none() {
                    proxier = Some(nftables::Proxier::new(objects.config.clone()));
                    setup.clear();
                }
                let proxier = proxier.as_mut().expect("made above");
                proxier.config = objects.config.clone();
                let sync = proxier.sync(&objects.services, &objects.endpoints, &objects.changes, case.time());
                if case.sync_error.is_none() {
                    proxier.applied(&sync);
                    let cleanup = sync.cleanup.iter().map(|op| op.text.clone() + "\n").collect();
                    setup
                        .extend([cleanup, sync.text()].into_iter().filter(|text| !text.is_empty()).map(load));
                }
            }
            // A test of the tracer, with rules but no objects.
            None => setup = vec![load(case.ruleset.real_kernel_readback.clone().unwrap_or_default())],
        }
        if case.flows.is_empty() {
            continue;
        }
        total += case.flows.len();
        match flows::run(case, &setup) {
            Ok(found) => wrong.extend(found),
            Err(error) if error.contains("is not emulated as a set-up command") => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{}: {error}", case.id),
        }
    }
    println!("{version} flows: {} of {total} equal", total - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(total, 218);
}

/// Commands in an order of their own: kube-proxy visits Services in random order.
fn sorted(transaction: &str) -> String {
    let mut lines: Vec<&str> = transaction.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines.join("\n")
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
