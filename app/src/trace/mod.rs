//! The Trace page: a ruleset, a packet, and the way it takes.

mod page;

pub use page::TracePage;
