//! SCTP, simplified: an association is told apart by whether it was answered, not by its chunks.
//!
//! The kernel's tracker (`nf_conntrack_proto_sctp.c`) follows INIT, COOKIE, SHUTDOWN and HEARTBEAT chunks
//! and verification tags. That is not emulated: every packet with ports is accepted.

use super::Knob;
use super::entry::{Entry, Proto, Status};
use super::event::EventMask;
use super::explain::Explain;
use super::track::{Judgement, Packeted};

/// States that this tracker tells apart, by the kernel's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    CookieWait,
    Established,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            Self::CookieWait => "COOKIE_WAIT",
            Self::Established => "ESTABLISHED",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sctp {
    pub state: State,
}

pub(super) fn track(p: &Packeted<'_>, entry: &mut Entry, explain: &mut Explain) -> Judgement {
    let answered = entry.status.has(Status::SEEN_REPLY) || p.dir == super::Direction::Reply;
    let (state, knob) = if answered {
        (State::Established, Knob::SctpEstablished)
    } else {
        (State::CookieWait, Knob::SctpCookieWait)
    };
    let changed = entry.proto != Proto::Sctp(Sctp { state });
    entry.proto = Proto::Sctp(Sctp { state });
    if changed {
        entry.note(EventMask::PROTOINFO);
    }
    if answered && !entry.status.has(Status::ASSURED) {
        entry.status.set(Status::ASSURED);
        entry.note(EventMask::ASSURED);
    }
    entry.refresh(p.now, p.secs(knob));
    entry.count(p.dir, p.packet.len_bytes());
    explain.fact("state now", || state.name().to_owned(), "simplified SCTP tracker");
    Judgement::Accept
}
