//! What is exact, what is simplified, what is not emulated: the ledger, as `FIDELITY.md` has it.
//!
//! `FIDELITY.md` is written from the engine's registry by a test, which fails when they differ. The engine's worker
//! carries that file; the page draws its tables, so both say the same.

pub mod ledger;
mod page;

pub use page::FidelityPage;
