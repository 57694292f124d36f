//! Maglev: a look-up table that every node computes alike, and that changes little when a backend goes (Eisenbud and
//! others, NSDI 2016; `pkg/maglev` of Cilium, with its hash, its seeds and its weights).

use std::net::{IpAddr, SocketAddr};

use super::maps::{Backend, BackendId, proto_name};
use super::murmur::murmur3_128;
use crate::base::jhash::{jhash, last, mix};

/// Sizes that Cilium takes (`--bpf-lb-maglev-table-size`): primes. A size should be a hundred times the number of
/// backends or more.
pub const TABLE_SIZES: [u32; 10] = [251, 509, 1021, 2039, 4093, 8191, 16381, 32749, 65521, 131_071];
/// The default of them.
pub const TABLE_SIZE: u32 = 16381;

/// The three numbers of `--bpf-lb-maglev-hash-seed`, which is 12 bytes in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// For the tables.
    pub murmur: u32,
    /// For packets of either family.
    pub jhash: [u32; 2],
}

/// `JLfvgnHc2kaSUFaI`.
impl Default for Seed {
    fn default() -> Self {
        Self { murmur: 0x24b7_ef82, jhash: [0x71dc_da46, 0x9250_5688] }
    }
}

/// The text that stands for a backend, for sorting and hashing.
fn name(backend: &Backend) -> String {
    format!("[{}/{},State:active]", SocketAddr::new(backend.addr, backend.port), proto_name(backend.proto))
}

/// Fills a table of `size` slots. Every backend claims its next free slot in turn; a heavier one has more turns. An
/// empty list gives an empty table.
pub fn table(backends: &[(BackendId, Backend)], size: u32, seed: Seed) -> Vec<BackendId> {
    if backends.is_empty() {
        return Vec::new();
    }
    let mut named: Vec<(String, &(BackendId, Backend))> = backends.iter().map(|b| (name(&b.1), b)).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let count = named.len();
    let weight = |at: usize| u64::from(named[at].1.1.weight);
    let sum: u64 = (0..count).map(weight).sum();
    let weighted = sum / count as u64 > 1;
    let mut counters: Vec<f64> = (0..count).map(|at| weight(at) as f64 / count as f64).collect();
    let mut turns: Vec<Turn> = named.iter().map(|(name, _)| Turn::new(name, size, seed.murmur)).collect();
    let mut filled: Vec<Option<BackendId>> = vec![None; size as usize];
    for turn in 0..u64::from(size) {
        let mut at = (turn % count as u64) as usize;
        if weighted {
            // The counter is cut to a whole number before it is compared.
            while (turn + 1) * weight(at) < counters[at] as u64 {
                at = (at + 1) % count;
            }
            counters[at] += sum as f64;
        }
        let slot = turns[at].find(|slot| filled[*slot].is_none());
        if let Some(slot) = slot {
            filled[slot] = Some(named[at].1.0);
        }
    }
    filled.into_iter().flatten().collect()
}

/// The slots a backend would like, in its own order: a permutation, since the size is prime.
struct Turn {
    next: u64,
    skip: u64,
    size: u64,
}

impl Turn {
    fn new(name: &str, size: u32, seed: u32) -> Self {
        let size = u64::from(size);
        let (first, second) = murmur3_128(name.as_bytes(), seed);
        Self { next: first % size, skip: second % (size - 1) + 1, size }
    }
}

impl Iterator for Turn {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let slot = self.next as usize;
        self.next = (self.next + self.skip) % self.size;
        Some(slot)
    }
}

/// What the table is asked with: a client, its port, the frontend's port and the protocol. The frontend's address is
/// left out, so that a client reaches one backend by whichever address it dials (`hash_from_tuple_v4`,
/// `hash_from_tuple_v6`).
pub fn packet_hash(src: IpAddr, sport: u16, dport: u16, proto: u8, seed: Seed) -> u32 {
    // As a little-endian machine reads the packet: the destination port in the higher half.
    let ports = u32::from(dport.swap_bytes()) << 16 | u32::from(sport.swap_bytes());
    let proto = u32::from(proto);
    match src {
        IpAddr::V4(src) => {
            let words = [u32::from_le_bytes(src.octets()), ports, proto];
            jhash(&words.map(u32::to_le_bytes).concat(), seed.jhash[0])
        }
        IpAddr::V6(src) => {
            let bits = src.to_bits();
            let [p1, p2, p3, p4] = [96, 64, 32, 0].map(|shift| ((bits >> shift) as u32).swap_bytes());
            let [a, b, c] = mix([p1, p2, p3]);
            let [a, b, c] = mix([a.wrapping_add(p4), b.wrapping_add(ports), c.wrapping_add(proto)]);
            last([a.wrapping_add(seed.jhash[1]), b, c])
        }
    }
}

#[cfg(test)]
mod tests;
