//! Compiled dispatch: skips rules that cannot match, with the same outcome as the linear walk.
//!
//! Each rule of a long chain is filed under one exact value it demands: its destination, its source, or its
//! destination port. For a packet only the rules filed under its own values, and those that demand none, can
//! match; [`ChainIndex::next`] names the first of them at or after a position. The evaluator then tests that
//! rule as it would in a linear walk and counts the skipped ones as evaluated.
//!
//! A rule is filed only by tests that the linear walk makes before anything with an effect (a draw, a token, a
//! list entry), so skipping it leaves the same state behind.

use std::net::IpAddr;

use super::rule::{Net, Not, Rule};
use super::xt::Match;
use crate::packet::{Packet, proto};

/// Chains shorter than this are walked; a lookup costs about as much as ten failing heads.
const RULES_MIN: usize = 16;

/// The dispatch of one chain. Each list is sorted, so "the next rule of this key at or after i" is one search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainIndex {
    by_dst: Vec<(u128, u32)>,
    by_src: Vec<(u128, u32)>,
    by_port: Vec<(PortKey, u32)>,
    /// Rules that demand no exact value.
    rest: Vec<u32>,
}

/// Protocol and destination port.
type PortKey = (u8, u16);

impl ChainIndex {
    /// None when the chain is too short, or too few of its rules demand an exact value, to gain anything.
    pub fn build(rules: &[Rule]) -> Option<Self> {
        if rules.len() < RULES_MIN {
            return None;
        }
        let mut index =
            Self { by_dst: Vec::new(), by_src: Vec::new(), by_port: Vec::new(), rest: Vec::new() };
        for (at, rule) in (0..).zip(rules) {
            if let Some(dst) = exact(&rule.head.dst) {
                index.by_dst.push((dst, at));
            } else if let Some(src) = exact(&rule.head.src) {
                index.by_src.push((src, at));
            } else if let Some(port) = exact_port(rule) {
                index.by_port.push((port, at));
            } else {
                index.rest.push(at);
            }
        }
        if index.rest.len() > rules.len() / 2 {
            return None;
        }
        index.by_dst.sort_unstable();
        index.by_src.sort_unstable();
        index.by_port.sort_unstable();
        Some(index)
    }

    /// The first rule at or after `from` that may match `packet`.
    pub fn next(&self, packet: &Packet, from: u32) -> Option<u32> {
        let ports = match packet.ports() {
            Some((_, port)) => first(&self.by_port, (packet.ip.proto, port), from),
            None if self.by_port.is_empty() => None,
            // Without a header to read, a port test may drop the packet: every rule must be met in order.
            None => return Some(from),
        };
        let rest = self.rest.get(self.rest.partition_point(|&at| at < from)).copied();
        [
            first(&self.by_dst, key(packet.ip.dst), from),
            first(&self.by_src, key(packet.ip.src), from),
            ports,
            rest,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

fn first<K: Copy + Ord>(list: &[(K, u32)], key: K, from: u32) -> Option<u32> {
    let at = list.partition_point(|&entry| entry < (key, from));
    list.get(at).filter(|(k, _)| *k == key).map(|&(_, rule)| rule)
}

/// An address as a number. A table holds rules of one family, so the families cannot be confused.
const fn key(addr: IpAddr) -> u128 {
    match addr {
        IpAddr::V4(a) => a.to_bits() as u128,
        IpAddr::V6(a) => a.to_bits(),
    }
}

fn exact(test: &Option<Not<Net>>) -> Option<u128> {
    let Not { value, inverted: false } = test.as_ref()? else { return None };
    (*value == Net::host(value.addr)).then(|| key(value.addr))
}

/// The destination port a rule demands, if nothing with an effect is tested before it.
fn exact_port(rule: &Rule) -> Option<PortKey> {
    for bound in &rule.matches {
        match &bound.m {
            // The kernel loads them only behind `-p` with their protocol.
            Match::Tcp(tcp) => return tcp.dport.exact().map(|port| (proto::TCP, port)),
            Match::Udp(udp) => return udp.dport.exact().map(|port| (proto::UDP, port)),
            Match::Comment(_) => {}
            _ => return None,
        }
    }
    None
}
