//! [`Entry`]: one tracked connection (`struct nf_conn`).

use super::{Direction, Tuple};
use crate::base::Instant;

/// Status bits (`enum ip_conntrack_status`), by their kernel positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    pub const EXPECTED: Self = Self(1 << 0);
    pub const SEEN_REPLY: Self = Self(1 << 1);
    pub const ASSURED: Self = Self(1 << 2);
    pub const CONFIRMED: Self = Self(1 << 3);
    pub const SRC_NAT: Self = Self(1 << 4);
    pub const DST_NAT: Self = Self(1 << 5);
    pub const SRC_NAT_DONE: Self = Self(1 << 7);
    pub const DST_NAT_DONE: Self = Self(1 << 8);
    pub const DYING: Self = Self(1 << 9);
    pub const FIXED_TIMEOUT: Self = Self(1 << 10);
    pub const NAT_CLASH: Self = Self(1 << 12);

    pub const fn has(self, bit: Self) -> bool {
        self.0 & bit.0 != 0
    }

    pub fn set(&mut self, bit: Self) {
        self.0 |= bit.0;
    }
}

/// Packets and bytes of one direction (`nf_conntrack_acct`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acct {
    pub packets: u64,
    pub bytes: u64,
}

/// One tracked connection.
#[derive(Clone, Debug)]
pub struct Entry {
    pub original: Tuple,
    pub reply: Tuple,
    pub status: Status,
    pub zone: u16,
    pub mark: u32,
    /// When it expires; meaningless while unconfirmed.
    pub expires: Instant,
    pub created: Instant,
    /// Original and reply direction.
    pub acct: [Acct; 2],
}

impl Entry {
    pub const fn tuple(&self, dir: Direction) -> &Tuple {
        match dir {
            Direction::Original => &self.original,
            Direction::Reply => &self.reply,
        }
    }
}
