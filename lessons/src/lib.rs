//! Lessons that run on the engine.
//!
//! What the browser needs is small: [`model`] (a compiled lesson), [`facts`] (running a scenario),
//! [`expr`] (conditions over what a run produced), [`spread`] and [`chi_square`] (many connections through
//! one chain). Everything that reads `content/` is native and lives in [`build`]: source to blocks, checks,
//! compiled lessons and static pages. How to write a lesson: `lessons/README.md`.
//!
//! No outcome is written into a lesson. A number is an input of a scenario or a reference to a run.

pub mod chi_square;
pub mod expr;
pub mod facts;
pub mod model;
pub mod spread;

#[cfg(feature = "build")]
pub mod build;
