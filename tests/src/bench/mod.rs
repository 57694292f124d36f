//! The benchmarks behind `cargo xtask bench`: the budgets of the design, measured, beside the real kernel where
//! it can be asked.

pub mod dump;
pub mod row;
