//! The ground every layer stands on: virtual time, seeded randomness, kernel versions, hooks and limits.

pub mod fnv;
pub mod hook;
pub mod jhash;
pub mod kernel;
pub mod limits;
pub mod rng;
pub mod time;

pub use fnv::Fnv;
pub use hook::Hook;
pub use kernel::KernelVersion;
pub use rng::{Draws, Rng};
pub use time::{Duration, Instant};
