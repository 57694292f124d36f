//! The rules for RST: which close the connection, which are forged, and which leave it to a challenge ACK.

use super::window::before;
use super::{Kind, Segment, State, Tcp};
use crate::base::KernelVersion;
use crate::conntrack::entry::Status;
use crate::conntrack::explain::Explain;
use crate::conntrack::track::Packeted;
use crate::conntrack::{Direction, Knob};

/// What a RST that the table lets through meets next.
pub(super) enum Reset {
    Invalid,
    /// Accepted without looking at the window.
    InWindow,
    /// The window decides.
    Check,
    /// The window decides; the state stays, for the endpoint will answer with a challenge ACK.
    Inexact,
}

/// The RST rules, in the kernel's order.
pub(super) fn reset(
    p: &Packeted<'_>,
    tcp: &Tcp,
    status: Status,
    from: State,
    segment: &Segment,
    explain: &mut Explain,
) -> Reset {
    if from.is_closing() && p.kernel >= KernelVersion::V6_1 {
        explain.fact("RST", || format!("in {}", from.name()), "no sequence check while closing");
        return Reset::InWindow;
    }
    let other = &tcp.seen[p.dir.other() as usize];
    let seq = segment.seq;
    let established = from == State::Established && status.has(Status::ASSURED);
    if other.flags.has_max_ack && tcp.last.kind != Kind::Syn {
        if seq == 0 && !established {
            return Reset::Check;
        }
        // The sysctl came with 5.14.
        let lenient = p.config.on(Knob::TcpIgnoreInvalidRst) && p.kernel >= KernelVersion::V6_1;
        let fresh = explain.check(
            !before(seq, other.max_ack) || lenient,
            "RST seq",
            || seq.to_string(),
            || format!(">= {}, the highest ack of the other side", other.max_ack),
        );
        if !fresh {
            explain.say(|| "INVALID: RST with a sequence number already acknowledged".to_owned());
            return Reset::Invalid;
        }
        if !established || seq == other.max_ack {
            return Reset::Check;
        }
        if tcp.last.kind == Kind::Ack && tcp.last.is_dir(p.dir) && seq == tcp.last.end {
            // Data, then RST, back to back.
            return Reset::Check;
        }
        explain.say(|| {
            format!(
                "RST {} beyond the exact sequence number {}: passed, {} stays",
                seq.wrapping_sub(other.max_ack),
                other.max_ack,
                from.name()
            )
        });
        return Reset::Inexact;
    }
    // A RST for a SYN or a half-open connection's ACK that was let through.
    let answers_ignored = match tcp.last.kind {
        // 6.18.44 wants it from the side the SYN went to.
        Kind::Syn => status.has(Status::SEEN_REPLY) && !tcp.last.is_dir(p.dir),
        Kind::Ack => !status.has(Status::ASSURED),
        Kind::SynAck | Kind::Fin | Kind::Rst | Kind::None => false,
    };
    let answers_challenge = from == State::SynSent
        && tcp.last.kind == Kind::Ack
        && tcp.last.dir == Some(Direction::Reply)
        && seq == tcp.last.ack
        && p.kernel >= KernelVersion::V6_12;
    if (answers_ignored && segment.ack == tcp.last.end) || answers_challenge {
        Reset::InWindow
    } else {
        Reset::Check
    }
}
