//! The benchmarks behind `cargo xtask bench`: the budgets of the design, measured, beside the real kernel where
//! it can be asked. The engine's rows are in `chainwalk-portable`, so that WebAssembly runs them too.

pub mod kernel;
pub mod row;
