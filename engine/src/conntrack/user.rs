//! Entries made from user space (`ctnetlink_create_conntrack`): `conntrack -I`, conntrackd.

use super::entry::{Acct, Entry, Proto, Status};
use super::event::EventMask;
use super::tcp::{State, Tcp};
use super::{Conntrack, Direction, Knob, Tuple};
use crate::base::{Duration, Instant};
use crate::packet::proto;

/// An entry to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry {
    pub original: Tuple,
    pub reply: Tuple,
    pub timeout: Duration,
    /// Of these bits, SEEN_REPLY and ASSURED count.
    pub status: Status,
    pub mark: u32,
    pub zone: u16,
    pub tcp_state: Option<State>,
}

impl Conntrack {
    /// Puts an entry into the table. False when one of its tuples is taken.
    ///
    /// A TCP entry made like this is liberal in both directions: nobody saw its window
    /// (`nf_ct_set_tcp_be_liberal` of the tool's default attributes).
    pub fn insert_entry(&mut self, new: NewEntry, now: Instant) -> bool {
        let taken = [&new.original, &new.reply].into_iter().any(|t| self.find(t, new.zone, now).is_some());
        if taken {
            return false;
        }
        let mut status = Status::CONFIRMED.with(Status::SRC_NAT_DONE).with(Status::DST_NAT_DONE);
        for bit in [Status::SEEN_REPLY, Status::ASSURED] {
            if new.status.has(bit) {
                status.set(bit);
            }
        }
        if let Some(plain) = new.original.invert() {
            let end = |t: &Tuple, src: bool| if src { (t.src, t.l4.src()) } else { (t.dst, t.l4.dst()) };
            if end(&plain, true) != end(&new.reply, true) {
                status.set(Status::DST_NAT);
            }
            if end(&plain, false) != end(&new.reply, false) {
                status.set(Status::SRC_NAT);
            }
        }
        let proto = match new.original.proto {
            proto::TCP => {
                let mut tcp = Tcp { state: new.tcp_state.unwrap_or_default(), ..Tcp::default() };
                for side in &mut tcp.seen {
                    side.flags.liberal = true;
                    side.flags.sack_permitted = true;
                }
                Proto::Tcp(tcp)
            }
            proto::UDP => Proto::Udp { stream_from: now },
            proto::SCTP => Proto::Sctp(super::sctp::Sctp::default()),
            _ => Proto::None,
        };
        let events = self.wants_events().then(EventMask::default);
        let at = self.allocate(Entry {
            original: new.original,
            reply: new.reply,
            status,
            zone: new.zone,
            mark: new.mark,
            labels: 0,
            expires: now + new.timeout,
            timeout: new.timeout,
            created: now,
            acct: self.config.on(Knob::Acct).then(|| [Acct::default(); 2]),
            confirmed_at: self.config.on(Knob::Timestamp).then_some(now),
            proto,
            masq_dev: None,
            events,
            announced: EventMask::ALL,
            holders: 0,
        });
        let hash = new.original.source_hash(new.zone, self.hash_seed);
        self.sources.insert(at.slot, hash);
        self.hash_entry(at, now, &[Direction::Original, Direction::Reply]);
        self.stats.insert += 1;
        if let Some(entry) = self.entry_mut(at) {
            entry.note(EventMask::NEW);
        }
        self.deliver(at, now);
        true
    }
}
