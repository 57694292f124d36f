//! Syncs, differences and packets of the planes side by side.

use super::*;
use crate::cluster::manifest;

const SHOP: &str = include_str!("../../../../app/samples/planes/cluster-ip.yaml");

fn objects(text: &str) -> Objects {
    manifest::parse(text).expect("the manifest is right")
}

/// `+ - ~` of a plane.
fn counts(plane: &Plane) -> (usize, usize, usize) {
    let count =
        |is: fn(&Change) -> bool| plane.shown.iter().filter(|s| s.change.as_ref().is_some_and(is)).count();
    (
        count(|change| *change == Change::Added),
        count(|change| *change == Change::Removed),
        count(|change| matches!(change, Change::Changed { .. })),
    )
}

fn texts(plane: &Plane) -> Vec<String> {
    let held = plane.shown.iter().filter(|shown| shown.change != Some(Change::Removed));
    held.map(|shown| format!("{:?} {}", shown.row.holder, shown.row.text)).collect()
}

#[test]
fn edits_lead_to_what_a_fresh_node_holds() {
    let removed = SHOP.replace("  - addresses: [10.244.1.10]\n    nodeName: node-a\n", "");
    assert_ne!(removed, SHOP);
    let unready = SHOP.replacen("nodeName: node-b", "nodeName: node-b\n    conditions: {ready: false}", 1);
    let moved = SHOP.replace("clusterIP: 10.96.10.20", "clusterIP: 10.96.10.21");
    let gone = SHOP.split("---").next().unwrap_or_default().to_owned();
    for edited in [removed, unready, moved, gone] {
        let mut planes = Planes::default();
        planes.update(&objects(SHOP), "node-a");
        let synced = planes.update(&objects(&edited), "node-a");
        assert!(!synced.full && synced.services_changed == 1, "{synced:?}");
        let mut fresh = Planes::default();
        fresh.update(&objects(&edited), "node-a");
        for (edited, fresh) in planes.planes().iter().zip(fresh.planes()) {
            assert_eq!(texts(edited), texts(fresh), "{}", edited.mode.name());
            assert_ne!(counts(edited), (0, 0, 0), "{}", edited.mode.name());
        }
    }
}

#[test]
fn a_lost_endpoint_changes_the_shares_of_the_others() {
    let mut planes = Planes::default();
    planes.update(&objects(SHOP), "node-a");
    planes
        .update(&objects(&SHOP.replace("  - addresses: [10.244.2.9]\n    nodeName: node-b\n", "")), "node-a");
    let iptables = &planes.planes()[0];
    let was: Vec<_> = iptables
        .shown
        .iter()
        .filter_map(|shown| match &shown.change {
            Some(Change::Changed { was }) => Some((was.clone(), shown.row.text.clone())),
            _ => None,
        })
        .collect();
    assert!(was.iter().any(|(was, now)| was.contains("0.5") && !now.contains("statistic")), "{was:#?}");
    planes.settle();
    assert!(planes.planes().iter().all(|plane| counts(plane) == (0, 0, 0)));
}

#[test]
fn a_crowd_syncs_one_service_alone() {
    let with = |text: &str| {
        let mut all = objects(text);
        crate::cluster::crowd::add(&mut all, 1_000, &["node-a".to_owned(), "node-b".to_owned()]);
        all
    };
    let mut planes = Planes::default();
    planes.update(&with(SHOP), "node-a");
    assert!(planes.planes()[0].held() > 9_000, "{}", planes.planes()[0].held());
    let synced = planes.update(&with(&SHOP.replace("port: 80\n", "port: 81\n")), "node-a");
    assert_eq!((synced.full, synced.services_changed, synced.services), (false, 1, 1_001));
    let lit = counts(&planes.planes()[0]);
    assert!(lit.0 + lit.1 + lit.2 < 30, "{lit:?}");
}

#[test]
fn a_packet_reaches_an_endpoint() {
    let mut planes = Planes::default();
    planes.update(&objects(SHOP), "node-a");
    let line = "tcp 10.244.0.200:40000 > 10.96.10.20:80 in pod0";
    let spec = crate::replay::line::parse(line).expect("a packet line");
    for (at, mode) in Mode::ALL.into_iter().enumerate() {
        let session = match planes.start(at, &spec, 1) {
            Ok(session) => session,
            Err(NotRun::NotEmulated(why)) if mode == Mode::Nftables => {
                assert!(why.contains("nft"), "{why}");
                continue;
            }
            Err(other) => panic!("{}: {other:?}", mode.name()),
        };
        let out = session.sent()[0].ran.emitted[0].packet.ip.dst.to_string();
        assert!(out.starts_with("10.244."), "{}: {out}", mode.name());
        session.reply(Level::Full).expect("the endpoint answers");
    }
}

#[test]
fn an_agent_leaves_nothing_to_rules_and_connections() {
    let mut planes = Planes::default();
    planes.update(&objects(SHOP), "node-a");
    let at = planes.planes().iter().position(|plane| plane.mode == Mode::Ebpf).expect("a plane");
    let local = "tcp 192.168.10.11:40000 > 10.96.10.20:80 in local";
    let spec = crate::replay::line::parse(local).expect("a packet line");
    let mut met = std::collections::BTreeSet::new();
    for connection in 0..40 {
        let session = planes.start(at, &spec, connection).expect("it runs");
        let ran = &session.sent()[0].ran;
        assert_eq!(ran.trace.rules_evaluated, 0);
        let out = &ran.emitted[0].packet;
        met.insert(out.ip.dst);
        assert_eq!(out.ip.src.to_string(), "192.168.10.11");
    }
    assert!(met.len() > 1, "the draws of a connection choose: {met:?}");
}
