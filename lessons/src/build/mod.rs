//! From `content/` to what is served: read, check, compile, write. Native only.
//!
//! [`build`] is the one way in: it reads every lesson below a folder, runs every block on the engine and
//! returns compiled lessons together with every problem found. A lesson with a problem is not written.

mod blocks;
mod check;
mod compile;
mod console;
mod html;
mod numbers;
mod page;
mod problem;
mod reference;
mod scenario;
mod source;
mod tables;
mod transcript;
mod write;

pub use compile::{Built, build};
pub use problem::{Class, Problem};
pub use write::{update_transcripts, write};

#[cfg(test)]
mod tests;
