//! The table's limit and early drop.

use std::net::IpAddr;

use crate::conntrack::testing::{Lab, ip, udp};
use crate::conntrack::{CtVerdict, Status};
use crate::trace::DropReason;

fn flow(i: u16) -> crate::packet::Packet {
    udp(IpAddr::from([10, 0, 1, 1]), 1000 + i, ip("10.0.9.9"), 53, 0)
}

#[test]
fn a_full_table_drops_new_packets_and_counts_drop_not_insert_failed() {
    let mut lab = Lab::new();
    lab.set("max", 4);
    for i in 0..4 {
        assert_eq!(lab.forward(flow(i)).verdict, CtVerdict::Accept);
    }
    for at in lab.ct.refs(lab.now).collect::<Vec<_>>() {
        lab.ct.entry_mut(at).expect("an entry").status.set(Status::ASSURED);
    }
    let seen = lab.forward(flow(9));
    assert_eq!(seen.verdict, CtVerdict::Drop(DropReason::TableFull));
    assert!(seen.said()[0].contains("table full"));
    assert_eq!((lab.ct.stats.drop, lab.ct.stats.insert_failed, lab.ct.stats.early_drop), (1, 0, 0));
    // What is known passes.
    assert_eq!(lab.forward(flow(0)).verdict, CtVerdict::Accept);
    assert_eq!(lab.ct.count(), 4);
}

#[test]
fn under_pressure_the_worker_evicts_what_is_closing() {
    let mut lab = Lab::new();
    lab.handshake(&[]).client(crate::conntrack::testing::seg("FA", 1001, 5001));
    assert_eq!(lab.now_is(), "FIN_WAIT 120 assured");
    lab.set("max", 1);
    assert_eq!(lab.at(1500).forward(flow(1)).verdict, CtVerdict::Drop(DropReason::TableFull));
    // A second later it has been told, and has run.
    assert_eq!(lab.at(2600).forward(flow(1)).verdict, CtVerdict::Accept);
    assert_eq!(lab.now_is(), " 30 unreplied");
}

#[test]
fn early_drop_makes_room_among_those_not_assured_nearby() {
    let mut lab = Lab::new();
    // Eight buckets are all that early drop looks at: with eight in all, it sees every entry.
    lab.set("max", 16).set("buckets", 8);
    for i in 0..16 {
        lab.forward(flow(i));
    }
    let seen = lab.forward(flow(99));
    assert_eq!(seen.verdict, CtVerdict::Accept);
    assert!(lab.ct.stats.early_drop >= 1);
    assert_eq!(lab.lines().len() as u64, 17 - lab.ct.stats.early_drop);
}

#[test]
fn what_has_expired_makes_room_first() {
    let mut lab = Lab::new();
    lab.set("max", 4);
    for i in 0..4 {
        lab.forward(flow(i));
    }
    assert_eq!(lab.at(40_000).forward(flow(9)).verdict, CtVerdict::Accept);
    assert_eq!((lab.ct.stats.early_drop, lab.lines().len()), (0, 1));
}

#[test]
fn a_limit_of_zero_is_none() {
    let mut lab = Lab::new();
    lab.set("max", 0);
    for i in 0..50 {
        assert_eq!(lab.forward(flow(i)).verdict, CtVerdict::Accept);
    }
}

#[test]
fn a_chain_too_long_refuses_the_entry() {
    let mut lab = Lab::new();
    lab.set("buckets", 1);
    let refused = (0..60).filter(|i| lab.forward(flow(*i)).verdict != CtVerdict::Accept).count() as u64;
    // Each entry hangs twice in the one chain, whose limit lies in 50..79.
    assert!(refused > 0);
    assert_eq!((lab.ct.stats.chaintoolong, lab.ct.stats.insert_failed), (refused, refused));
}

#[test]
fn dead_entries_do_not_pile_up() {
    let mut lab = Lab::new();
    for round in 0..20_u64 {
        for i in 0..100 {
            lab.at(round * 31_000).forward(flow(i + 100 * (round as u16 % 7)));
        }
    }
    assert!(lab.ct.count() <= 300, "{}", lab.ct.count());
}
