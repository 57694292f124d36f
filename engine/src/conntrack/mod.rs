//! Connection tracking and NAT: `net/netfilter/nf_conntrack_*.c` and `nf_nat_*.c`.
//!
//! Owns entries, protocol trackers, timeouts, statistics and address mappings. Does not own rules: who asks
//! for a mapping and why is [`crate::netfilter`]'s business.

pub mod entry;
pub mod tuple;

pub use entry::{Entry, Status};
pub use tuple::{Direction, L4Part, Tuple};

mod nat_range;
mod table;

pub use nat_range::{Manip, NatFlags, NatRange};
pub use table::Conntrack;
