//! Schedulers: which destination a new connection gets. One file each; [`SPECS`] is the registry.
//!
//! A scheduler walks the kernel's list of destinations, in which **the newest stands first**. It skips those of
//! weight zero and the overloaded ones unless its file says otherwise, and explains itself: a score for every
//! destination it looked at, and a sentence.

mod dh;
mod fo;
pub mod hash;
mod lblc;
mod lblcr;
mod lc;
mod least;
mod mh;
mod nq;
mod ovf;
mod rr;
mod sed;
mod sh;
mod table;
mod twos;
mod wlc;
mod wrr;

use std::collections::BTreeMap;
use std::net::IpAddr;

pub use dh::Dh;
pub use lblc::Lblc;
pub use lblcr::Lblcr;
pub use mh::Mh;
pub use rr::Rr;
pub use sh::Sh;
pub use wrr::Wrr;

use super::config::Config;
use super::dest::{Dest, DestId};
use crate::base::{Instant, KernelVersion, Rng};

/// Flags of a service that its scheduler reads (`IP_VS_SVC_F_SCHED1` to `3`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedFlags(pub u8);

impl SchedFlags {
    /// `sh-fallback`, `mh-fallback`.
    pub const FALLBACK: Self = Self(1);
    /// `sh-port`, `mh-port`.
    pub const PORT: Self = Self(2);
    pub const THIRD: Self = Self(4);

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The part of a packet that schedulers look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub src: IpAddr,
    pub sport: u16,
    pub dst: IpAddr,
}

/// What a scheduler may look at.
#[derive(Debug)]
pub struct SchedCx<'a> {
    pub kernel: KernelVersion,
    pub now: Instant,
    pub config: &'a Config,
    pub flags: SchedFlags,
    pub client: Client,
    pub draws: &'a mut Rng,
    pub why: &'a mut Why,
    pub list: List<'a>,
}

/// The destinations of a service in the kernel's order.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    pub order: &'a [DestId],
    pub all: &'a BTreeMap<DestId, Dest>,
}

impl<'a> List<'a> {
    pub fn iter(self) -> impl Iterator<Item = &'a Dest> {
        self.order.iter().filter_map(move |id| self.all.get(id))
    }

    pub fn get(self, id: DestId) -> Option<&'a Dest> {
        self.all.get(&id)
    }
}

/// The reasons of a choice, collected when somebody wants them.
#[derive(Clone, Debug, Default)]
pub struct Why {
    pub on: bool,
    pub scores: Vec<(DestId, String)>,
    pub because: String,
}

impl Why {
    pub fn score(&mut self, dest: DestId, text: impl FnOnce() -> String) {
        if self.on {
            let text = text();
            match self.scores.iter_mut().find(|(known, _)| *known == dest) {
                Some(old) => old.1 = text,
                None => self.scores.push((dest, text)),
            }
        }
    }

    pub fn say(&mut self, text: impl FnOnce() -> String) {
        if self.on {
            self.because = text();
        }
    }

    /// Notes why a destination is out; tells whether it is.
    pub fn skips(&mut self, dest: &Dest) -> bool {
        let reason = if dest.weight == 0 {
            "weight 0: quiesced"
        } else if dest.overloaded {
            "overloaded: at its upper threshold"
        } else {
            return false;
        };
        self.score(dest.id, || reason.to_owned());
        true
    }
}

/// A scheduler with what it remembers (`svc->sched_data`).
#[derive(Clone, Debug)]
pub enum Scheduler {
    Rr(Rr),
    Wrr(Wrr),
    Lc,
    Wlc,
    Lblc(Lblc),
    Lblcr(Lblcr),
    Dh(Dh),
    Sh(Sh),
    Sed,
    Nq,
    Fo,
    Ovf,
    Mh(Box<Mh>),
    Twos,
}

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// As after `ipvsadm -s`.
    pub name: &'static str,
    /// In words.
    pub title: &'static str,
    /// The rule in one sentence, for figures and the ledger.
    pub rule: &'static str,
    pub kernel: &'static str,
    /// Names of its flags beside `flag-1` and `flag-2`.
    pub flags: &'static [(&'static str, SchedFlags)],
    make: fn() -> Scheduler,
}

/// Every scheduler of the kernel.
#[rustfmt::skip]
pub const SPECS: &[Spec] = &[
    Spec { name: "rr", title: "round robin", rule: "the next in the list after the last one chosen",
           kernel: "ip_vs_rr.c", flags: &[], make: || Scheduler::Rr(Rr::default()) },
    Spec { name: "wrr", title: "weighted round robin", rule: "round robin over those whose weight reaches a bar that sinks from pass to pass",
           kernel: "ip_vs_wrr.c", flags: &[], make: || Scheduler::Wrr(Wrr::default()) },
    Spec { name: "lc", title: "least connections", rule: "the smallest overhead, whatever the weight",
           kernel: "ip_vs_lc.c", flags: &[], make: || Scheduler::Lc },
    Spec { name: "wlc", title: "weighted least connections", rule: "the smallest overhead by weight",
           kernel: "ip_vs_wlc.c", flags: &[], make: || Scheduler::Wlc },
    Spec { name: "lblc", title: "locality-based least connections", rule: "the server remembered for the destination address, or the smallest overhead by weight",
           kernel: "ip_vs_lblc.c", flags: &[], make: || Scheduler::Lblc(Lblc::default()) },
    Spec { name: "lblcr", title: "locality-based least connections with replication", rule: "the least loaded of a set remembered for the destination address; the set grows under load",
           kernel: "ip_vs_lblcr.c", flags: &[], make: || Scheduler::Lblcr(Lblcr::default()) },
    Spec { name: "dh", title: "destination hashing", rule: "the slot of the destination address in a table of 256",
           kernel: "ip_vs_dh.c", flags: &[], make: || Scheduler::Dh(Dh::default()) },
    Spec { name: "sh", title: "source hashing", rule: "the slot of the source address in a table of 256, filled by weight",
           kernel: "ip_vs_sh.c", flags: &[("sh-fallback", SchedFlags::FALLBACK), ("sh-port", SchedFlags::PORT)],
           make: || Scheduler::Sh(Sh::default()) },
    Spec { name: "sed", title: "shortest expected delay", rule: "the smallest (active + 1) by weight",
           kernel: "ip_vs_sed.c", flags: &[], make: || Scheduler::Sed },
    Spec { name: "nq", title: "never queue", rule: "the first without an active connection, otherwise as sed",
           kernel: "ip_vs_nq.c", flags: &[], make: || Scheduler::Nq },
    Spec { name: "fo", title: "weighted failover", rule: "the highest weight",
           kernel: "ip_vs_fo.c", flags: &[], make: || Scheduler::Fo },
    Spec { name: "ovf", title: "weighted overflow", rule: "the highest weight among those with no more active connections than their weight",
           kernel: "ip_vs_ovf.c", flags: &[], make: || Scheduler::Ovf },
    Spec { name: "mh", title: "Maglev hashing", rule: "the slot of the source address in a table of 4093 that changes little when servers do",
           kernel: "ip_vs_mh.c", flags: &[("mh-fallback", SchedFlags::FALLBACK), ("mh-port", SchedFlags::PORT)],
           make: || Scheduler::Mh(Box::default()) },
    Spec { name: "twos", title: "power of two choices", rule: "two draws in proportion to weight, then the smaller overhead by weight",
           kernel: "ip_vs_twos.c", flags: &[], make: || Scheduler::Twos },
];

/// The scheduler of `ipvsadm -A` without `-s`.
pub const DEFAULT: &str = "wlc";

/// What happened to a service's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListChange {
    Added(DestId),
    Updated(DestId),
    /// The destination, and the one that stood before it.
    Removed(DestId, Option<DestId>),
}

impl Scheduler {
    /// A fresh one by its name.
    pub fn named(name: &str) -> Option<Self> {
        SPECS.iter().find(|spec| spec.name == name).map(|spec| (spec.make)())
    }

    pub fn spec(&self) -> &'static Spec {
        let at = match self {
            Self::Rr(_) => 0,
            Self::Wrr(_) => 1,
            Self::Lc => 2,
            Self::Wlc => 3,
            Self::Lblc(_) => 4,
            Self::Lblcr(_) => 5,
            Self::Dh(_) => 6,
            Self::Sh(_) => 7,
            Self::Sed => 8,
            Self::Nq => 9,
            Self::Fo => 10,
            Self::Ovf => 11,
            Self::Mh(_) => 12,
            Self::Twos => 13,
        };
        &SPECS[at]
    }

    pub fn name(&self) -> &'static str {
        self.spec().name
    }

    /// Its table of slots, for figures; empty for one that has none.
    pub fn slots(&self) -> &[DestId] {
        match self {
            Self::Dh(state) => state.slots(),
            Self::Sh(state) => state.slots(),
            Self::Mh(state) => state.slots(),
            Self::Rr(_)
            | Self::Wrr(_)
            | Self::Lc
            | Self::Wlc
            | Self::Lblc(_)
            | Self::Lblcr(_)
            | Self::Sed
            | Self::Nq
            | Self::Fo
            | Self::Ovf
            | Self::Twos => &[],
        }
    }

    /// The destination for a new connection, or none.
    pub fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        let chosen = match self {
            Self::Rr(state) => state.schedule(cx),
            Self::Wrr(state) => state.schedule(cx),
            Self::Lc => lc::schedule(cx),
            Self::Wlc => wlc::schedule(cx),
            Self::Lblc(state) => state.schedule(cx),
            Self::Lblcr(state) => state.schedule(cx),
            Self::Dh(state) => state.schedule(cx),
            Self::Sh(state) => state.schedule(cx),
            Self::Sed => sed::schedule(cx),
            Self::Nq => nq::schedule(cx),
            Self::Fo => fo::schedule(cx),
            Self::Ovf => ovf::schedule(cx),
            Self::Mh(state) => state.schedule(cx),
            Self::Twos => twos::schedule(cx),
        };
        debug_assert!(chosen.is_none_or(|id| cx.list.order.contains(&id)), "it chooses from its list");
        chosen
    }

    /// Tells it that the list changed (`add_dest`, `upd_dest`, `del_dest`).
    pub fn changed(&mut self, list: List<'_>, change: ListChange) {
        match self {
            Self::Rr(state) => state.changed(change),
            Self::Wrr(state) => state.changed(list),
            Self::Dh(state) => state.assign(list),
            Self::Sh(state) => state.assign(list),
            Self::Mh(state) => state.assign(list),
            Self::Lc
            | Self::Wlc
            | Self::Lblc(_)
            | Self::Lblcr(_)
            | Self::Sed
            | Self::Nq
            | Self::Fo
            | Self::Ovf
            | Self::Twos => {}
        }
    }

    /// Starts with a service's list (`init_service`).
    pub fn begin(&mut self, list: List<'_>) {
        match self {
            Self::Wrr(state) => state.begin(list),
            Self::Dh(state) => state.assign(list),
            Self::Sh(state) => state.assign(list),
            Self::Mh(state) => state.assign(list),
            Self::Rr(_)
            | Self::Lc
            | Self::Wlc
            | Self::Lblc(_)
            | Self::Lblcr(_)
            | Self::Sed
            | Self::Nq
            | Self::Fo
            | Self::Ovf
            | Self::Twos => {}
        }
    }
}

#[cfg(test)]
mod tests;
