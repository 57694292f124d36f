//! Turns the events of one packet into a [`TraceView`].
//!
//! Owns: which event belongs to which station, stop and visit, and the sentence of each step. Reads
//! [`crate::trace`] only: what is not in the events is not shown. Needs a trace of [`crate::trace::Level::Full`]:
//! rules that did not match are counted from their events.

mod entry;
mod packet;
mod rows;
mod sent;
mod sentence;
mod teller;
mod walk;

pub use entry::entry_view;
pub use packet::packet_view;
pub use rows::{ChainAt, Rules, chain_rows, find_chain, visit_rows};
pub(crate) use rows::{nft_not_emulated, not_emulated};
pub use sent::{node_view, sent_view};

use super::packet::EntryView;
use super::trace::{EmittedView, TraceView, UncertainView};
use crate::netfilter::{Table, nft};
use crate::packet::CtInfo;
use crate::trace::{Disposition, Trace};

/// What became of a packet, and the tables it went through.
#[derive(Debug)]
pub struct Told<'a> {
    pub trace: &'a Trace,
    /// By their number in the namespace.
    pub tables: &'a [&'a Table],
    /// The nftables ruleset of the namespace.
    pub nft: &'a nft::Ruleset,
    pub disposition: &'a Disposition,
    /// Why it ended so, in a few words.
    pub because: &'a str,
    /// The packet's relation to its connection; none where nothing is tracked.
    pub ct_info: Option<CtInfo>,
    pub emitted: Vec<EmittedView>,
    pub uncertain: Option<UncertainView>,
    /// The connection table afterwards.
    pub table: Vec<EntryView>,
    /// The line that would send the answer; empty when nothing can be answered.
    pub reply_line: String,
}

/// Tells the packet's way.
pub fn tell(told: Told<'_>) -> TraceView {
    teller::Teller::new(&told).tell(told)
}

/// Where the rule events of each visit stand: made once, asked for every window of rows.
#[derive(Clone, Debug, Default)]
pub struct VisitIndex {
    /// By visit: positions of its rule events.
    events: Vec<Vec<u32>>,
    /// By visit: table number and chain.
    chains: Vec<(u16, u32)>,
}

impl VisitIndex {
    /// Indexes the events of a trace. Visits are numbered as in its [`TraceView`].
    pub fn of(trace: &Trace) -> Self {
        let mut index = Self::default();
        let mut walker = walk::Walk::default();
        for (at, event) in trace.events.iter().enumerate() {
            match walker.hear(&event.kind) {
                walk::Heard::Entered { table, chain } => {
                    index.chains.push((table, chain));
                    index.events.push(Vec::new());
                }
                walk::Heard::Rule { visit } => index.events[visit].push(at as u32),
                walk::Heard::Other => {}
            }
        }
        index
    }
}

#[cfg(test)]
mod tests;
