//! Many connections through one Service chain: who gets them, how many rules they read, and whether the counts fit.
//!
//! Each connection is a SYN from its own source port through the node's whole packet path, so the draws, the
//! counters and the rules evaluated are the engine's. Owns the bookkeeping around it and the edits of a chain.

mod chain;
mod run;

use chainwalk_engine::base::Fnv;
use serde::{Deserialize, Serialize};

use crate::chi_square::ChiSquare;

pub use chain::{edit, rules_of};
pub use run::{run, run_with};

/// Most connections of one spread: the connection table holds 262,144 entries by default, and each keeps its own.
pub const CONNECTIONS_MAX: u32 = 200_000;

/// What a spread showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub connections: u32,
    /// The chain whose endpoint rules are counted.
    pub chain: String,
    /// Thresholds are out of this many: 2^31.
    pub scale: u64,
    pub endpoints: Vec<Endpoint>,
    /// Connections that reached none of the endpoints.
    pub unmatched: u64,
    /// Against the shares that the chain's own numbers give.
    pub expected: ChiSquare,
    /// Against equal shares.
    pub uniform: ChiSquare,
    /// Rules evaluated for a connection's first packet, on its whole way.
    pub rules: Range,
    /// Endpoint rules read for it.
    pub endpoint_rules: Range,
    /// Where the first connections went.
    pub first: Vec<String>,
    pub batches: Batches,
}

/// One endpoint rule and what it got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Address and port that DNAT writes.
    pub to: String,
    /// Position in the chain, from 1.
    pub rule: u32,
    /// As `iptables-save` prints it; empty for a rule that always matches.
    pub probability: String,
    /// The rule matches when 31 random bits are below it.
    pub threshold: Option<u32>,
    /// Endpoint rules read by a connection that ends here.
    pub endpoint_rules: u32,
    pub share_expected: f64,
    pub expected: f64,
    pub observed: u64,
    pub share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    pub min: u64,
    pub mean: f64,
    pub max: u64,
}

/// The connections cut into groups of `size`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batches {
    pub size: u32,
    pub count: u32,
    /// Groups in which every endpoint got the same number.
    pub even: u32,
    pub even_share: f64,
    /// Most connections that one endpoint got in any group.
    pub worst: u32,
    /// The first group, by endpoint.
    pub first: Vec<u32>,
}

impl Spread {
    /// Equal for equal runs. Only counts enter, so that builds whose last bit of a logarithm differs agree.
    pub fn digest(&self) -> String {
        let mut hash = Fnv::default();
        let counts = self.endpoints.iter().map(|endpoint| endpoint.observed);
        let numbers =
            counts.chain([self.unmatched, self.rules.min, self.rules.max, u64::from(self.batches.even)]);
        let words = numbers.map(|number| number.to_string()).chain(self.first.iter().cloned());
        for word in words {
            hash.write(word.as_bytes());
            hash.write(&[0]);
        }
        format!("{:016x}", hash.finish())
    }
}

#[cfg(test)]
mod tests;
