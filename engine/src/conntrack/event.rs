//! Events: what `conntrack -E` hears (`nf_conntrack_ecache.c`).

use super::Entry;
use crate::base::Instant;

/// What changed since an entry's last event (`enum ip_conntrack_events`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventMask(u16);

impl EventMask {
    pub const ALL: Self = Self(u16::MAX);
    pub const NEW: Self = Self(1 << 0);
    pub const DESTROY: Self = Self(1 << 2);
    pub const REPLY: Self = Self(1 << 3);
    pub const ASSURED: Self = Self(1 << 4);
    pub const PROTOINFO: Self = Self(1 << 5);
    pub const MARK: Self = Self(1 << 7);

    /// From bits as `CT --ctevents` gives them.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub const fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    New,
    Update,
    Destroy,
}

impl EventKind {
    /// As `conntrack -E` prints it, right-aligned in nine columns.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::New => "    [NEW]",
            Self::Update => " [UPDATE]",
            Self::Destroy => "[DESTROY]",
        }
    }
}

/// One event: the entry as it was at that moment.
#[derive(Clone, Debug)]
pub struct CtEvent {
    pub at: Instant,
    pub kind: EventKind,
    pub entry: Entry,
}
