//! The benchmarks behind `cargo xtask bench`: the budgets of the design, measured, beside the real kernel where
//! it can be asked, and beside what a browser measured. The engine's rows are in `chainwalk-portable`, so that
//! WebAssembly runs them too.

pub mod browser;
pub mod kernel;
pub mod row;
