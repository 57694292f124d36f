//! Test harnesses: benchmarks, kernel differential tests, peers.

pub mod bench;
