//! The TCP tracker (`nf_conntrack_tcp_packet`): states, window, RST rules, timeouts.

pub mod states;
pub mod window;

mod options;
mod reset;
mod resync;

pub use states::{Kind, State, Step};
pub use window::{Side, SideFlags};

use super::entry::{Entry, Proto, Status};
use super::event::EventMask;
use super::explain::Explain;
use super::track::{Judgement, Packeted};
use super::{Direction, Knob};
use crate::base::{Duration, Instant, KernelVersion};
use crate::packet::{L4, TcpFlags};
use reset::{Reset, reset};
use resync::{ignore, is_challenge};
use window::{Fit, segment_end};

/// A FIN or RST outside the window shortens a connection's life only if it had longer than this to live.
const LONG_LIFE: Duration = Duration::from_secs(120);

/// What the tracker keeps of a connection (`struct ip_ct_tcp`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    pub state: State,
    /// Original and reply direction.
    pub seen: [Side; 2],
    pub last: Last,
    /// Times the last ACK was sent again.
    pub retrans: u8,
}

/// The last segment, in part the last ignored one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Last {
    pub kind: Kind,
    pub dir: Option<Direction>,
    pub seq: u32,
    pub ack: u32,
    pub end: u32,
    pub window: u16,
    /// Options of an ignored SYN.
    scale: u8,
    window_scale: bool,
    sack_permitted: bool,
    /// An ignored SYN in LAST_ACK may draw a challenge ACK.
    expects_challenge: bool,
    /// SYNs crossed.
    simultaneous: bool,
}

impl Last {
    /// Counts how often one and the same ACK came.
    fn note_ack(&mut self, dir: Direction, [seq, ack, end]: [u32; 3], window: u16, retrans: &mut u8) {
        if self.is_dir(dir) && (self.seq, self.ack, self.end, self.window) == (seq, ack, end, window) {
            *retrans = retrans.wrapping_add(1);
        } else {
            self.dir = Some(dir);
            (self.seq, self.ack, self.end, self.window) = (seq, ack, end, window);
            *retrans = 0;
        }
    }

    /// Whether the last segment went this way. The kernel's zeroed record says "original".
    fn is_dir(&self, dir: Direction) -> bool {
        self.dir.unwrap_or(Direction::Original) == dir
    }
}

type Segment = crate::packet::Tcp;

/// Judges a segment and updates its connection.
pub(super) fn track(p: &Packeted<'_>, entry: &mut Entry, explain: &mut Explain) -> Judgement {
    let L4::Tcp(segment) = &p.packet.l4 else {
        explain.say(|| "INVALID: truncated TCP header".to_owned());
        return Judgement::Invalid;
    };
    if p.verify && !explain.checksum(segment.checksum_ok) {
        explain.say(|| "INVALID: bad TCP checksum".to_owned());
        return Judgement::Invalid;
    }
    if !states::flags_valid(segment.flags) {
        explain.say(|| "INVALID: no TCP sends this combination of flags".to_owned());
        return Judgement::Invalid;
    }
    if !entry.is_confirmed() && !begin(p, entry, segment, explain) {
        return Judgement::Invalid;
    }
    let Proto::Tcp(tcp) = &mut entry.proto else { return Judgement::Invalid };
    match decide(p, tcp, entry.status, segment, explain) {
        Decision::Pass => Judgement::Accept,
        Decision::Invalid => Judgement::Invalid,
        Decision::OutOfWindow(kind) => {
            remember_invalid(p, entry, kind, explain);
            Judgement::Invalid
        }
        Decision::Reopen => Judgement::Reopen,
        Decision::Go { from, to, kind } => conclude(p, entry, from, to, kind, segment, explain),
    }
}

/// The first segment of a connection (`tcp_new`): a SYN, or with `tcp_loose` an ACK from the middle.
fn begin(p: &Packeted<'_>, entry: &mut Entry, segment: &Segment, explain: &mut Explain) -> bool {
    let kind = Kind::of(segment.flags);
    let mut tcp = Tcp::default();
    let end = segment_end(segment);
    let side = &mut tcp.seen[0];
    side.end = end;
    side.max_window = u32::from(segment.window).max(1);
    match states::step(Direction::Original, kind, State::None) {
        Step::To(State::SynSent) => {
            side.max_end = end;
            side.read_options(&segment.options);
        }
        Step::To(_) if p.config.on(Knob::TcpLoose) => {
            side.max_end = end.wrapping_add(side.max_window);
            // Nobody saw the window scale.
            for side in &mut tcp.seen {
                side.flags.sack_permitted = true;
                side.flags.liberal = true;
            }
            explain.fact("tcp_loose", || "1".to_owned(), "a connection may be joined midway");
        }
        Step::To(_) => {
            explain.say(|| "INVALID: the middle of a connection nobody saw begin (tcp_loose=0)".to_owned());
            return false;
        }
        Step::Ignore | Step::Invalid => {
            let have = || format!("{} in the original direction, {}", kind.name(), State::None.name());
            explain.check(false, "state", have, || "invalid".to_owned());
            explain.say(|| format!("INVALID: no connection, and a {} begins none", kind.name()));
            return false;
        }
    }
    entry.proto = Proto::Tcp(tcp);
    true
}

enum Decision {
    /// It passes with its connection, nothing changes.
    Pass,
    Invalid,
    OutOfWindow(Kind),
    Reopen,
    /// From here on it is in the window.
    Go {
        from: State,
        to: State,
        kind: Kind,
    },
}

fn decide(
    p: &Packeted<'_>,
    tcp: &mut Tcp,
    status: Status,
    segment: &Segment,
    explain: &mut Explain,
) -> Decision {
    let kind = Kind::of(segment.flags);
    let mut from = tcp.state;
    let step = states::step(p.dir, kind, from);
    explain.check(
        !matches!(step, Step::Invalid),
        "state",
        || format!("{} in the {} direction, {}", kind.name(), p.dir.name(), from.name()),
        || match step {
            Step::To(to) => to.name().to_owned(),
            Step::Ignore => "ignore".to_owned(),
            Step::Invalid => "invalid".to_owned(),
        },
    );
    let mut to = match step {
        Step::To(to) => to,
        Step::Ignore => State::None,
        Step::Invalid => {
            explain.say(|| {
                format!(
                    "INVALID: {} in the {} direction does not fit {}",
                    kind.name(),
                    p.dir.name(),
                    from.name()
                )
            });
            return Decision::Invalid;
        }
    };
    let reopens = to == State::SynSent && from >= State::TimeWait;
    if reopens {
        let closed = tcp.seen.iter().any(|s| s.flags.close_init);
        let reset = tcp.last.is_dir(p.dir) && tcp.last.kind == Kind::Rst;
        if closed || reset {
            explain.say(|| format!("a SYN after {}: the old entry goes, a new one is made", from.name()));
            return Decision::Reopen;
        }
    }
    if reopens || step == Step::Ignore {
        match ignore(p, tcp, kind, segment, explain) {
            None => return Decision::Pass,
            Some(states) => (from, to) = states,
        }
    }
    let mut skip_window = false;
    match to {
        State::TimeWait if is_challenge(p, tcp, from, kind) => {
            tcp.last.expects_challenge = false;
            explain.say(|| "challenge ACK ignored: it answers a stray SYN, not the last FIN".to_owned());
            return Decision::Pass;
        }
        State::SynSent2 => tcp.last.simultaneous = true,
        State::SynRecv if p.dir == Direction::Reply && kind == Kind::Ack && tcp.last.simultaneous => {
            to = State::Established;
        }
        State::Close if kind == Kind::Rst => match reset(p, tcp, status, from, segment, explain) {
            Reset::Invalid => return Decision::Invalid,
            Reset::InWindow => skip_window = true,
            Reset::Check => {}
            Reset::Inexact => to = from,
        },
        State::None
        | State::SynSent
        | State::SynRecv
        | State::Established
        | State::FinWait
        | State::CloseWait
        | State::LastAck
        | State::TimeWait
        | State::Close => {}
    }
    if !skip_window {
        match window::fits(p, tcp, kind, segment, explain) {
            Fit::Accept | Fit::Liberal => {}
            Fit::Ignore => return Decision::Pass,
            Fit::Invalid => return Decision::OutOfWindow(kind),
        }
    }
    Decision::Go { from, to, kind }
}

/// The segment is part of the connection: new state, timeout, flags.
fn conclude(
    p: &Packeted<'_>,
    entry: &mut Entry,
    from: State,
    to: State,
    kind: Kind,
    segment: &Segment,
    explain: &mut Explain,
) -> Judgement {
    let Proto::Tcp(tcp) = &mut entry.proto else { return Judgement::Invalid };
    tcp.last.kind = kind;
    tcp.last.dir = Some(p.dir);
    tcp.state = to;
    if from != to && to == State::FinWait {
        tcp.seen[p.dir as usize].flags.close_init = true;
    }
    let (mut timeout, why) = timeout(p, tcp, to, kind);
    if from != to {
        entry.note(EventMask::PROTOINFO);
        explain.moved(from.name(), to.name());
    }
    if !entry.status.has(Status::SEEN_REPLY) {
        if segment.flags.has(TcpFlags::RST) {
            explain.say(|| "RST before any answer: the entry is removed".to_owned());
            return Judgement::AcceptAndKill;
        }
        if kind == Kind::Syn && from == State::SynSent {
            explain.fact("timeout", || "kept".to_owned(), "a SYN sent again cannot keep an entry alive");
            return Judgement::Accept;
        }
        if to == State::Established {
            timeout = timeout.min(p.secs(Knob::TcpUnacknowledged));
        }
    } else if !entry.status.has(Status::ASSURED)
        && matches!(from, State::SynRecv | State::Established)
        && to == State::Established
    {
        entry.status.set(Status::ASSURED);
        entry.note(EventMask::ASSURED);
        explain.fact("ASSURED", || "set".to_owned(), "an ACK in ESTABLISHED with traffic both ways");
    }
    entry.refresh(p.now, timeout);
    entry.count(p.dir, p.packet.len_bytes());
    explain.fact("timeout", || format!("{} s", timeout.as_secs()), why);
    Judgement::Accept
}

/// Timeout after an accepted segment, with the sysctl it comes from.
fn timeout(p: &Packeted<'_>, tcp: &Tcp, to: State, kind: Kind) -> (Duration, &'static str) {
    let of_state = p.secs(to.knob());
    let max_retrans = p.secs(Knob::TcpMaxRetransTimeout);
    let unacknowledged = p.secs(Knob::TcpUnacknowledged);
    if u32::from(tcp.retrans) >= p.config.value(Knob::TcpMaxRetrans) && of_state > max_retrans {
        (max_retrans, "tcp_timeout_max_retrans: sent again and again")
    } else if kind == Kind::Rst {
        if p.kernel == KernelVersion::V6_12 && to == State::Established {
            (of_state.min(unacknowledged), "tcp_timeout_unacknowledged: inexact RST (6.12)")
        } else {
            (p.secs(Knob::TcpClose), "tcp_timeout_close: RST")
        }
    } else if tcp.seen.iter().any(|s| s.flags.unacknowledged) && of_state > unacknowledged {
        (unacknowledged, "tcp_timeout_unacknowledged: data in flight")
    } else if tcp.last.window == 0 && of_state > max_retrans {
        (max_retrans, "tcp_timeout_max_retrans: zero window")
    } else {
        (of_state, "the timeout of the state")
    }
}

/// A FIN or RST outside the window of an ASSURED connection: the first is remembered, and if the other side
/// sends one too the connection is as good as dead (`nf_tcp_handle_invalid`).
fn remember_invalid(p: &Packeted<'_>, entry: &mut Entry, kind: Kind, explain: &mut Explain) {
    let ends = |kind| matches!(kind, Kind::Fin | Kind::Rst);
    let eligible = entry.status.has(Status::ASSURED) && !entry.status.has(Status::FIXED_TIMEOUT);
    if p.kernel < KernelVersion::V6_1 || !eligible || !ends(kind) {
        return;
    }
    let remaining = entry.remaining(p.now);
    let Proto::Tcp(tcp) = &mut entry.proto else { return };
    if tcp.last.is_dir(p.dir) || !ends(tcp.last.kind) {
        tcp.last.kind = kind;
        tcp.last.dir = Some(p.dir);
        return;
    }
    let shorter = p.secs(Knob::TcpUnacknowledged);
    if remaining >= LONG_LIFE && remaining > shorter {
        entry.expires = p.now + shorter;
        explain.fact("timeout", || format!("{} s", shorter.as_secs()), "both sides ended out of window");
    }
}

/// A RST that REJECT sends moves a confirmed connection to CLOSE (`nf_ct_set_closing`).
pub(super) fn set_closing(entry: &mut Entry, now: Instant, timeout: Duration) {
    if !entry.is_confirmed() {
        return;
    }
    let fixed = entry.status.has(Status::FIXED_TIMEOUT);
    let Proto::Tcp(tcp) = &mut entry.proto else { return };
    if std::mem::replace(&mut tcp.state, State::Close) == State::Close || fixed {
        return;
    }
    entry.expires = now + timeout;
    entry.timeout = timeout;
    entry.note(EventMask::PROTOINFO);
}

#[cfg(test)]
mod tests;
