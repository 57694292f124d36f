//! Connection tracking and NAT: `net/netfilter/nf_conntrack_*.c` and `nf_nat_*.c`.
//!
//! Owns entries, protocol trackers, timeouts, statistics, events and address mappings. Does not own rules:
//! who asks for a mapping and why is [`crate::netfilter`]'s business. Helpers (FTP, SIP, PPTP, ...) and
//! therefore expectations and sequence adjustment are not emulated; hardware and software flow offload
//! neither.
//!
//! The life of a packet here: [`Conntrack::track`] at -200, [`Conntrack::nat_pending`], `nat_setup` or
//! `nat_null_binding`, and `nat_apply` at the nat hooks, [`Conntrack::confirm`] last, and
//! [`Conntrack::release`] when the packet is gone.

pub mod config;
pub mod entry;
pub mod event;
pub mod line;
pub mod sctp;
pub mod stats;
pub mod tcp;
pub mod tuple;

mod alter;
mod clash;
mod confirm;
mod explain;
mod icmp;
mod index;
mod mangle;
mod nat;
mod nat_address;
mod nat_range;
pub(crate) mod quoted;
mod table;
mod track;
mod udp;
mod user;

pub use config::{Config, Knob, SysctlError};
pub use entry::{Acct, Entry, Proto, Status};
pub use event::{CtEvent, EventKind};
pub use nat_range::{Manip, NatFlags, NatRange};
pub use stats::Stats;
pub use table::Conntrack;
pub use tuple::{Direction, L4Part, Tuple};
pub use user::NewEntry;

use crate::base::{Hook, Instant};
use crate::trace::{DropReason, Trace};

/// Context of one call.
#[derive(Debug)]
pub struct CtCx<'a> {
    pub hook: Hook,
    pub now: Instant,
    pub trace: &'a mut Trace,
}

/// What becomes of the packet at this hook function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum CtVerdict {
    Accept,
    Drop(DropReason),
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
