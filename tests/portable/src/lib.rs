//! What runs natively and in WebAssembly alike, so that the two can be compared: digests of runs ([`digests`]).
//!
//! No clock and no files of its own: a browser has neither.

pub mod digests;
