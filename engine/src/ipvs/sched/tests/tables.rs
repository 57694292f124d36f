//! The tables of `sh`, `dh` and `mh` for three sets of parameters, computed a second time in a plainer way: slots by
//! arithmetic, SipHash byte by byte, Maglev by whole permutations as in the paper's pseudo-code. Then how evenly they
//! spread, and how many slots move when a server goes.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::ipvs::dest::DestId;
use crate::ipvs::testing::{Bench, at};

/// Weights, in the kernel's order.
const SETS: [&[u32]; 3] = [&[1, 1, 1], &[1, 3, 2], &[10, 250, 40, 0, 5]];

/// The server of each slot, by its place in the kernel's order.
fn slots_of(bench: &Bench) -> Vec<usize> {
    let service = bench.ipvs.service(&bench.key).expect("the service");
    let order: Vec<DestId> = service.dests.clone();
    service
        .scheduler
        .slots()
        .iter()
        .map(|id| order.iter().position(|o| o == id).expect("of the service"))
        .collect()
}

fn servers(count: usize) -> Vec<SocketAddr> {
    (1..=count).map(|host| at(&format!("10.0.0.{host}:80"))).collect()
}

/// SipHash-1-3 over bytes (Aumasson and Bernstein), cut to 32 bits: what `hsiphash` is on a 64-bit machine.
fn siphash_1_3(bytes: &[u8], key: u64) -> u32 {
    let (mut a, mut b) = (key ^ u64::from_be_bytes(*b"somepseu"), key ^ u64::from_be_bytes(*b"dorandom"));
    let (mut c, mut d) = (key ^ u64::from_be_bytes(*b"lygenera"), key ^ u64::from_be_bytes(*b"tedbytes"));
    let mut round = |block: Option<u64>, finish: bool| {
        if let Some(block) = block {
            d ^= block;
        }
        if finish {
            c ^= 0xff;
        }
        for _ in 0..if finish { 3 } else { 1 } {
            a = a.wrapping_add(b);
            c = c.wrapping_add(d);
            b = b.rotate_left(13);
            d = d.rotate_left(16);
            b ^= a;
            d ^= c;
            a = a.rotate_left(32);
            c = c.wrapping_add(b);
            a = a.wrapping_add(d);
            b = b.rotate_left(17);
            d = d.rotate_left(21);
            b ^= c;
            d ^= a;
            c = c.rotate_left(32);
        }
        if let Some(block) = block {
            a ^= block;
        }
        a ^ b ^ c ^ d
    };
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        round(Some(u64::from_le_bytes(chunk.try_into().expect("eight bytes"))), false);
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    last[7] = bytes.len() as u8;
    round(Some(u64::from_le_bytes(last)), false);
    round(None, true) as u32
}

/// Host-order sum of address and port, as little-endian bytes.
fn hashed(addr: SocketAddr, key: u64) -> u64 {
    let IpAddr::V4(v4) = addr.ip() else { panic!("an IPv4 address") };
    let sum = u32::from(v4).wrapping_add(u32::from(addr.port()));
    u64::from(siphash_1_3(&sum.to_le_bytes(), key))
}

/// Populate of the Maglev paper, 3.4: every backend has the whole permutation of the table written down, and takes its
/// turns until no entry is free. Weights by turns, as the kernel scales them.
fn maglev(servers: &[SocketAddr], weights: &[u32]) -> Vec<usize> {
    const M: u64 = 4093;
    let permutation = |server: &SocketAddr| -> Vec<usize> {
        let offset = hashed(*server, 2_654_435_761) % M;
        let skip = hashed(*server, 2_654_446_892) % (M - 1) + 1;
        (0..M).map(|j| ((offset + j * skip) % M) as usize).collect()
    };
    let divisor = (1..=weights.iter().copied().max().expect("weights"))
        .rev()
        .find(|d| weights.iter().all(|w| w % d == 0))
        .expect("one divides all");
    let largest = weights.iter().max().expect("weights") / divisor;
    // Turns have at most six bits.
    let halvings = (0..32).find(|h| largest >> h < 64).expect("32 bits");
    let turns: Vec<u32> =
        weights.iter().map(|w| if *w == 0 { 0 } else { ((w / divisor) >> halvings).max(1) }).collect();
    let mut waiting: Vec<std::vec::IntoIter<usize>> =
        servers.iter().map(|server| permutation(server).into_iter()).collect();
    let mut entry: BTreeMap<usize, usize> = BTreeMap::new();
    'done: loop {
        for (index, next) in waiting.iter_mut().enumerate() {
            for _ in 0..turns[index] {
                let free = next.find(|slot| !entry.contains_key(slot)).expect("a permutation meets all");
                entry.insert(free, index);
                if entry.len() == M as usize {
                    break 'done;
                }
            }
        }
    }
    entry.into_values().collect()
}

#[test]
fn maglev_tables_agree_with_the_papers_pseudo_code() {
    for weights in SETS {
        let bench = Bench::new("mh", weights);
        assert_eq!(slots_of(&bench), maglev(&servers(weights.len()), weights), "{weights:?}");
    }
}

#[test]
fn source_tables_are_runs_of_weight_slots() {
    for weights in SETS {
        let runs: Vec<usize> =
            weights.iter().enumerate().flat_map(|(index, w)| vec![index; (*w).max(1) as usize]).collect();
        let expected: Vec<usize> = (0..256).map(|slot| runs[slot % runs.len()]).collect();
        assert_eq!(slots_of(&Bench::new("sh", weights)), expected, "{weights:?}");
    }
}

#[test]
fn destination_tables_take_turns() {
    for weights in SETS {
        let expected: Vec<usize> = (0..256).map(|slot| slot % weights.len()).collect();
        assert_eq!(slots_of(&Bench::new("dh", weights)), expected, "{weights:?}");
    }
}

/// The top eight bits of address times golden ratio, computed in 64 bits here.
#[test]
fn clients_go_to_the_slot_that_the_product_names() {
    for weights in SETS {
        let mut bench = Bench::new("sh", weights);
        let slots = slots_of(&bench);
        for host in 1..=200_u32 {
            let address = 0x0a01_0000 + host;
            let product = u64::from(address) * 0x61c8_8647 % (1 << 32);
            let server = slots[(product / (1 << 24)) as usize];
            let expected = match weights[server] {
                0 => "(Refuse)".to_owned(),
                _ => format!("10.0.0.{}:80", server + 1),
            };
            let got = bench.syn(&format!("10.1.0.{host}:7"));
            let got = if got == "(NoDest)" { "(Refuse)".to_owned() } else { got };
            assert_eq!(got, expected, "{weights:?} client 10.1.0.{host}");
        }
    }
}

fn count(slots: &[usize], servers: usize) -> Vec<usize> {
    (0..servers).map(|server| slots.iter().filter(|s| **s == server).count()).collect()
}

/// Distribution: with equal weights no server has more than one slot above another; turns by weight share in proportion.
#[test]
fn maglev_spreads_by_weight() {
    assert_eq!(count(&slots_of(&Bench::new("mh", &[1, 1, 1])), 3), [1365, 1364, 1364]);
    let shares = count(&slots_of(&Bench::new("mh", &[1, 3, 2])), 3);
    assert_eq!(shares.iter().sum::<usize>(), 4093);
    for (share, weight) in shares.into_iter().zip([1, 3, 2]) {
        assert!(share.abs_diff(4093 * weight / 6) <= 6, "{share} slots for weight {weight} of 6");
    }
}

/// Disruption: when one of ten servers goes, its own slots must move; of the others, `sh` moves most and Maglev few.
#[test]
fn a_removed_server_moves_few_slots_of_maglev_and_most_of_sh() {
    let moved = |scheduler: &str| {
        let mut bench = Bench::new(scheduler, &[1; 10]);
        let service = |bench: &Bench| bench.ipvs.service(&bench.key).expect("the service").dests.clone();
        let named = |bench: &Bench| -> Vec<DestId> {
            let order = service(bench);
            slots_of(bench).into_iter().map(|at| order[at]).collect()
        };
        let before = named(&bench);
        let gone = service(&bench)[4];
        let key = bench.key;
        bench.ipvs.delete_dest(&key, at("10.0.0.5:80").ip(), 80, bench.now).expect("it is there");
        let after = named(&bench);
        let kept = before.iter().filter(|id| **id != gone).count();
        let moved = before.iter().zip(&after).filter(|(old, new)| **old != gone && old != new).count();
        moved * 100 / kept
    };
    let (mh, sh, dh) = (moved("mh"), moved("sh"), moved("dh"));
    assert!(mh <= 5, "{mh} % of the slots of servers that stayed moved");
    assert!(sh >= 80 && dh >= 80, "sh {sh} %, dh {dh} %");
}

/// Quiescing does not rebuild the table: the weight it is built on is the last one above zero.
#[test]
fn maglev_keeps_its_table_when_a_server_is_quiesced() {
    let mut bench = Bench::new("mh", &[1, 3, 2]);
    let before = slots_of(&bench);
    bench.weight("10.0.0.2:80", 0);
    assert_eq!(slots_of(&bench), before);
}
