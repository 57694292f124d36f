//! Lessons that run on the engine.
//!
//! What the browser needs is small: [`model`] (a compiled lesson), [`facts`] (running a scenario),
//! [`expr`] (conditions over what a run produced), and a module for each kind of scenario beside packets: [`spread`]
//! and [`chi_square`] (many connections through one chain), [`picks`] (every IPVS scheduler on the same arrivals),
//! [`queue`] (requests that wait), [`lookups`] (how much is read to find one Service),
//! [`leaving`] (who loses their server when one leaves). Everything that reads `content/` is native and lives in [`build`]: source to blocks, checks,
//! compiled lessons and static pages. How to write a lesson: `lessons/README.md`.
//!
//! No outcome is written into a lesson. A number is an input of a scenario or a reference to a run.

pub mod chi_square;
pub mod expr;
pub mod facts;
pub mod leaving;
pub mod lookups;
pub mod model;
pub mod picks;
pub mod queue;
pub mod spread;

#[cfg(feature = "build")]
pub mod build;
