//! What runs natively and in WebAssembly alike, so that the two can be compared: digests of runs ([`digests`]), and
//! rulesets of a stated size to measure with ([`dump`]).
//!
//! No clock and no files of its own: a browser has neither.

pub mod digests;
pub mod dump;
