//! The ground every layer stands on: virtual time, seeded randomness, kernel versions, hooks and limits.

/// Whether this build holds more than iptables: nftables, IPVS, eBPF and kube-proxy. Where it is false, what would lead
/// to them is refused by name, so that the linker finds nothing that needs them.
pub const PLANES: bool = cfg!(feature = "planes");

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
