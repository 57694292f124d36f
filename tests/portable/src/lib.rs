//! What runs natively and in WebAssembly alike, so that the two can be compared: digests of runs
//! ([`digests`]) and the rows of the budget table ([`rows`]), with the kube-proxy dumps they read ([`dump`]).
//!
//! No clock and no files of its own: a browser has neither.

pub mod digests;
pub mod dump;
mod proxy_rows;
pub mod rows;
