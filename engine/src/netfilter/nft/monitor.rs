//! [`Monitor`]: what a listener to traces hears of packets with `meta nftrace set 1` (`nf_tables_trace.c`). How it
//! prints is `text::nft::monitor`.

use super::state::NftState;
use super::table::TableFamily;
use crate::base::Rng;
use crate::packet::Packet;

/// Events kept; what comes behind them is not heard. A kernel's socket buffer holds fewer.
const EVENTS_MAX: usize = 20_000;

/// Everything heard so far.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    pub events: Vec<Heard>,
    /// State at the first event: the tool lists rules as they were when it began to listen.
    pub before: Option<Box<NftState>>,
    /// Events of a rule that just rejected.
    withheld: Vec<Heard>,
    /// Events of rules whose answers are on their way, the innermost last.
    answering: Vec<Vec<Heard>>,
    /// Packets heard of.
    packets: u32,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Names the packet: drawn, as the kernel's hash of an address in memory is.
    pub id: u32,
    pub family: TableFamily,
    pub table: Box<str>,
    pub chain: Box<str>,
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum What {
    /// The packet, before the first event of a base chain.
    Packet(Box<Dump>),
    /// A rule whose tests all held.
    Rule { handle: u64, verdict: String },
    /// A base chain ended with its policy.
    Policy { verdict: &'static str, mark: u32 },
}

/// A packet as it was.
#[derive(Clone, Debug)]
pub struct Dump {
    pub packet: Packet,
    pub iif: Option<String>,
    pub oif: Option<String>,
    /// Source and destination of its frame, if it came in one.
    pub ether: Option<[[u8; 6]; 2]>,
}

impl Monitor {
    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= EVENTS_MAX
    }

    /// Keeps back what was heard from event `from` on.
    pub(super) fn withhold(&mut self, from: usize) {
        self.withheld.extend(self.events.drain(from.min(self.events.len())..));
    }

    /// A rule's answer is about to be sent: `nft_reject` does so while the rule runs, which is told of when it has run.
    pub fn answer_begins(&mut self) {
        self.answering.push(std::mem::take(&mut self.withheld));
    }

    /// The answer is sent.
    pub fn answer_ends(&mut self) {
        self.events.extend(self.answering.pop().unwrap_or_default());
    }

    /// A packet comes in through the backlog: every rule has run.
    pub fn senders_let_go(&mut self) {
        while !self.answering.is_empty() {
            self.answer_ends();
        }
    }

    /// A name for the next packet.
    pub(super) fn next_id(&mut self, seed: u64) -> u32 {
        self.packets += 1;
        Rng::named(seed, &format!("nft trace id:{}", self.packets)).next_u32()
    }
}
