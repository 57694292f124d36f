//! [`Entry`]: one tracked connection (`struct nf_conn`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::event::EventMask;
use super::tcp::Tcp;
use super::{Direction, L4Part, Tuple};
use crate::base::{Duration, Instant};
use crate::packet::DevId;

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

    /// Whether any bit of `bits` is set.
    pub const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 != 0
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn set(&mut self, bits: Self) {
        self.0 |= bits.0;
    }

    pub const fn clear(&mut self, bits: Self) {
        self.0 &= !bits.0;
    }
}

/// Packets and bytes of one direction (`nf_conntrack_acct`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acct {
    pub packets: u64,
    pub bytes: u64,
}

/// What the tracker of the protocol keeps (`union nf_conntrack_proto`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proto {
    /// ICMP, GRE and whatever the generic tracker handles: a timeout and nothing else.
    None,
    Tcp(Tcp),
    /// UDP: from when on an answered flow counts as a stream.
    Udp {
        stream_from: Instant,
    },
    Sctp(super::sctp::Sctp),
}

/// One tracked connection.
#[derive(Clone, Debug)]
pub struct Entry {
    pub original: Tuple,
    pub reply: Tuple,
    pub status: Status,
    pub zone: u16,
    pub mark: u32,
    /// Label bits (`nf_conn_labels`).
    pub labels: u128,
    /// When it expires; meaningless while unconfirmed, when `timeout` counts.
    pub expires: Instant,
    /// The timeout set last; it starts to run at confirm.
    pub timeout: Duration,
    pub created: Instant,
    /// Original and reply direction, when `nf_conntrack_acct` was on at its birth.
    pub acct: Option<[Acct; 2]>,
    /// When it was confirmed and when it died, with `nf_conntrack_timestamp`.
    pub confirmed_at: Option<Instant>,
    pub proto: Proto,
    /// Device that MASQUERADE mapped for (`nf_conn_nat.masq_index`).
    pub masq_dev: Option<DevId>,
    /// Events not yet delivered; none where nobody listened when it was born.
    pub(super) events: Option<EventMask>,
    /// The events it may announce (`ctmask`).
    pub(super) announced: EventMask,
    /// Packets that hold a reference.
    pub(super) holders: u32,
}

impl Entry {
    /// The template of a `CT` rule (`nf_ct_tmpl_alloc`): confirmed, and everything else zero. `family` is any
    /// address of the packet's.
    pub fn template(family: IpAddr, zone: u16) -> Self {
        let nowhere = match family {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let tuple = Tuple { src: nowhere, dst: nowhere, proto: 0, l4: L4Part::None };
        Self {
            original: tuple,
            reply: tuple,
            status: Status::CONFIRMED,
            zone,
            mark: 0,
            labels: 0,
            expires: Instant::ZERO,
            timeout: Duration::ZERO,
            created: Instant::ZERO,
            acct: None,
            confirmed_at: None,
            proto: Proto::None,
            masq_dev: None,
            events: None,
            announced: EventMask::ALL,
            holders: 0,
        }
    }

    pub const fn tuple(&self, dir: Direction) -> &Tuple {
        match dir {
            Direction::Original => &self.original,
            Direction::Reply => &self.reply,
        }
    }

    pub const fn is_confirmed(&self) -> bool {
        self.status.has(Status::CONFIRMED)
    }

    pub const fn is_dying(&self) -> bool {
        self.status.has(Status::DYING)
    }

    pub const fn is_expired(&self, now: Instant) -> bool {
        self.expires.0 <= now.0
    }

    /// Whether its protocol says that the connection is on its way out (`can_early_drop`).
    pub(super) const fn is_closing(&self) -> bool {
        match &self.proto {
            Proto::Tcp(tcp) => tcp.state.is_closing(),
            Proto::Sctp(sctp) => sctp.state.is_closing(),
            Proto::None | Proto::Udp { .. } => false,
        }
    }

    /// Time left (`nf_ct_expires`).
    pub const fn remaining(&self, now: Instant) -> Duration {
        self.expires.since(now)
    }

    /// Sets the timeout, as the tracker of a protocol does for a packet it accepts
    /// (`__nf_ct_refresh_acct`).
    pub(super) fn refresh(&mut self, now: Instant, timeout: Duration) {
        if self.status.has(Status::FIXED_TIMEOUT) {
            return;
        }
        self.timeout = timeout;
        if self.is_confirmed() {
            self.expires = now + timeout;
        }
    }

    /// Counts a packet (`nf_ct_acct_update`).
    pub(super) fn count(&mut self, dir: Direction, bytes: usize) {
        if let Some(acct) = &mut self.acct {
            let acct = &mut acct[dir as usize];
            acct.packets += 1;
            acct.bytes += bytes as u64;
        }
    }

    pub(super) fn note(&mut self, event: EventMask) {
        let announced = self.announced.has(event);
        if let Some(pending) = self.events.as_mut().filter(|_| announced) {
            pending.add(event);
        }
    }
}
