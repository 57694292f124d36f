//! The Trace page: a ruleset, a packet, and the way it takes.
//!
//! Reading order: `state` (what the page knows), `moves` (transport), `controller` (talks to the engine), then
//! the left side from `describe` down and the right side from `see` down. Lessons reuse the right side.

mod controller;
mod moves;
mod packet_line;
mod state;

#[cfg(test)]
pub(crate) mod fixture;

mod page;

mod assumptions;
mod describe;
mod held_rules;
mod intake;
mod node_panel;
mod offer;
mod outline;
mod packet_panel;
mod problems;
mod rules_panel;
mod samples;
mod share;
mod working;

mod candidates;
mod chain_panel;
mod now;
mod row_pages;
mod rule_list;
mod rule_row;
mod see;
mod step_list;
mod transport;
mod verdict;
mod why;

pub use chain_panel::ChainPanel;
pub use moves::{Move, target, visit_at};
pub use now::Now;
pub(crate) use outline::grouped;
pub use page::TracePage;
pub(crate) use problems::Problems;
pub(crate) use rule_row::brief;
pub use transport::Transport;
