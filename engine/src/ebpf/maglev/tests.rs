//! Tables against Cilium's published ones, and how little they change.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::*;
use crate::base::Fnv;
use crate::ebpf::maps::BackendState;
use crate::packet::proto;

/// Backend 0.0.0.N, port N, as Cilium's own tests make them.
fn backend(number: u8, weight: u16, id: u32) -> (BackendId, Backend) {
    let addr = IpAddr::V4(Ipv4Addr::new(0, 0, 0, number));
    let port = u16::from(number);
    (BackendId(id), Backend { addr, port, proto: proto::TCP, state: BackendState::Active, weight })
}

fn shares(table: &[BackendId]) -> Vec<(u32, usize)> {
    let mut counts = BTreeMap::new();
    for id in table {
        *counts.entry(id.0).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// Slots of surviving backends that changed hands.
fn moved(before: &[BackendId], after: &[BackendId], gone: u32) -> usize {
    before.iter().zip(after).filter(|(old, new)| old.0 != gone && old != new).count()
}

/// `TestReproducible` of Cilium's pkg/maglev publishes this table in run-length form, `2(5),3(1),...`.
#[test]
fn a_weighted_table_of_251_slots_is_the_published_one() {
    let backends = [backend(1, 2, 0), backend(3, 13, 1), backend(4, 111, 2), backend(5, 10, 3)];
    let table = table(&backends, 251, Seed::default());
    let mut runs: Vec<(u32, usize)> = Vec::new();
    for id in &table {
        match runs.last_mut() {
            Some(run) if run.0 == id.0 => run.1 += 1,
            _ => runs.push((id.0, 1)),
        }
    }
    let text: Vec<String> = runs.iter().map(|(id, len)| format!("{id}({len})")).collect();
    assert!(text.join(",").starts_with("2(5),3(1),2(3),1(1),2(2),0(1),"), "{text:?}");
    assert_eq!(Fnv::of(text.join(",").as_bytes()), 0x24e1_84bc_2b6c_8d8a);
    assert_eq!(shares(&table), [(0, 4), (1, 24), (2, 204), (3, 19)]);
}

/// `TestWeightedBackendWithRemoval`, same source: 16, 98, 832 and 75 of 1021 slots.
#[test]
fn shares_follow_the_weights() {
    let backends = [backend(1, 2, 1), backend(2, 13, 2), backend(3, 111, 3), backend(4, 10, 4)];
    let before = table(&backends, 1021, Seed::default());
    assert_eq!(shares(&before), [(1, 16), (2, 98), (3, 832), (4, 75)]);
    let after = table(&backends[1..], 1021, Seed::default());
    assert!(moved(&before, &after, 1) * 100 < 1021);
}

#[test]
fn a_backend_that_goes_moves_few_of_the_others() {
    let backends: Vec<_> = (1..=20).map(|n| backend(n, 1, u32::from(n))).collect();
    let before = table(&backends, TABLE_SIZE, Seed::default());
    for (_, slots) in shares(&before) {
        assert!((819..=820).contains(&slots), "equal weights, equal shares: {slots}");
    }
    let after = table(&backends[..19], TABLE_SIZE, Seed::default());
    let others = before.iter().filter(|id| id.0 != 20).count();
    let share = moved(&before, &after, 20) as f64 / others as f64;
    assert!(share > 0.0 && share < 0.05, "{share}");
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let mut backends: Vec<_> = (1..=5).map(|n| backend(n, 1, u32::from(n))).collect();
    let first = table(&backends, 251, Seed::default());
    backends.reverse();
    assert_eq!(table(&backends, 251, Seed::default()), first);
    assert!(table(&[], 251, Seed::default()).is_empty());
}

#[test]
fn a_client_keeps_its_backend_across_frontends_and_ports_matter() {
    let hash = |src: &str, sport, dport| {
        packet_hash(src.parse().expect("an address"), sport, dport, proto::TCP, Seed::default())
    };
    for src in ["10.0.0.1", "fd00::1"] {
        assert_ne!(hash(src, 40000, 80), hash(src, 40001, 80));
        assert_ne!(hash(src, 40000, 80), hash(src, 40000, 81));
    }
}
