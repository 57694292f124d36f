//! Segments that the table ignores: what is noted of them, and how a SYN+ACK proves that the tracker was the
//! one out of step.

use super::window::segment_end;
use super::{Kind, Segment, Side, SideFlags, State, Tcp};
use crate::base::KernelVersion;
use crate::conntrack::Direction;
use crate::conntrack::explain::Explain;
use crate::conntrack::track::Packeted;

/// A segment the table ignores. None: remembered and passed. Otherwise it proves that our view was stale,
/// and the states to go on with are given.
pub(super) fn ignore(
    p: &Packeted<'_>,
    tcp: &mut Tcp,
    kind: Kind,
    segment: &Segment,
    explain: &mut Explain,
) -> Option<(State, State)> {
    let last = tcp.last;
    if kind == Kind::SynAck && last.kind == Kind::Syn && !last.is_dir(p.dir) && segment.ack == last.end {
        // The SYN we ignored was right: get in step from what was noted of it.
        let asker = p.dir.other() as usize;
        tcp.seen[asker] = Side {
            end: last.end,
            max_end: last.end,
            max_window: u32::from(last.window).max(1),
            max_ack: tcp.seen[asker].max_ack,
            scale: last.scale,
            flags: SideFlags {
                window_scale: last.window_scale,
                sack_permitted: last.sack_permitted,
                ..SideFlags::default()
            },
        };
        // Liberal stays: the connection may have been joined midway.
        let liberal = tcp.seen[p.dir as usize].flags.liberal;
        tcp.seen[p.dir as usize] =
            Side { flags: SideFlags { liberal, ..SideFlags::default() }, ..Side::default() };
        tcp.last.expects_challenge = false;
        explain.say(|| "the SYN+ACK answers a SYN that was ignored: back in step, SYN_RECV".to_owned());
        return Some((State::SynSent, State::SynRecv));
    }
    let from = tcp.state;
    tcp.last.kind = kind;
    tcp.last.dir = Some(p.dir);
    tcp.last.seq = segment.seq;
    tcp.last.end = segment_end(segment);
    tcp.last.window = segment.window;
    if kind == Kind::Syn && p.dir == Direction::Original {
        let mut offered = Side::default();
        offered.read_options(&segment.options);
        tcp.last.window_scale = offered.flags.window_scale;
        tcp.last.scale = offered.scale;
        tcp.last.sack_permitted = offered.flags.sack_permitted;
        tcp.last.simultaneous = false;
        // RFC 5961 4.2: the server may answer with a challenge ACK, which would look like the last ACK.
        tcp.last.expects_challenge = from == State::LastAck;
    }
    if from == State::SynSent
        && kind == Kind::Ack
        && p.dir == Direction::Reply
        && p.kernel >= KernelVersion::V6_12
    {
        tcp.last.ack = segment.ack;
    }
    explain.say(|| {
        format!(
            "ignored: {} in the {} direction in {}, passed as it is",
            kind.name(),
            p.dir.name(),
            from.name()
        )
    });
    None
}

pub(super) fn is_challenge(p: &Packeted<'_>, tcp: &Tcp, from: State, kind: Kind) -> bool {
    from == State::LastAck
        && kind == Kind::Ack
        && !tcp.last.is_dir(p.dir)
        && tcp.last.kind == Kind::Syn
        && tcp.last.expects_challenge
}
