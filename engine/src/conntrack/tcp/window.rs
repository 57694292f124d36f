//! Window tracking (`tcp_in_window`): does this segment fit what both sides agreed on?
//!
//! Guido van Rooij, "Real Stateful TCP Packet Filtering in IP Filter", with the kernel's third answer:
//! segments under the lower bounds are old news, not forgeries.

use super::options::{highest_sack, offers};
use super::{Kind, State, Tcp};
use crate::base::KernelVersion;
use crate::conntrack::explain::Explain;
use crate::conntrack::track::Packeted;
use crate::conntrack::{Direction, Knob};
use crate::packet::TcpFlags;

/// Least tolerance for late acknowledgements (`MAXACKWINCONST`).
const MAX_ACK_WINDOW: u32 = 66_000;

/// Flags of one side (`IP_CT_TCP_FLAG_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideFlags {
    pub window_scale: bool,
    pub sack_permitted: bool,
    /// This side sent the first FIN.
    pub close_init: bool,
    /// Windows of this side are not judged: the connection was joined midway.
    pub liberal: bool,
    /// It sent data that was not acknowledged yet.
    pub unacknowledged: bool,
    /// `max_ack` is set.
    pub has_max_ack: bool,
}

/// What is known of one side (`struct ip_ct_tcp_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Highest sequence number it sent, plus one (`td_end`).
    pub end: u32,
    /// End of the window it was offered (`td_maxend`).
    pub max_end: u32,
    /// Largest window it offered (`td_maxwin`); zero while nothing is known.
    pub max_window: u32,
    /// Highest acknowledgement it sent (`td_maxack`).
    pub max_ack: u32,
    pub scale: u8,
    pub flags: SideFlags,
}

/// The window's answer (`enum nf_ct_tcp_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Accept,
    /// Out of the window, but nobody is to mind: pass, and learn nothing from it.
    Liberal,
    /// Pass and translate, change nothing.
    Ignore,
    Invalid,
}

pub(super) const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

pub(super) const fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

/// Sequence number after the segment: payload, SYN and FIN each count (`segment_seq_plus_len`).
pub(super) fn segment_end(tcp: &crate::packet::Tcp) -> u32 {
    tcp.seq
        .wrapping_add(tcp.payload.len() as u32)
        .wrapping_add(u32::from(tcp.flags.has(TcpFlags::SYN)))
        .wrapping_add(u32::from(tcp.flags.has(TcpFlags::FIN)))
}

impl Side {
    /// Takes over what a SYN's options offer.
    pub(super) fn read_options(&mut self, bytes: &[u8]) {
        let Some(offers) = offers(bytes) else { return };
        let liberal = self.flags.liberal;
        self.flags = SideFlags {
            liberal,
            window_scale: offers.scale.is_some(),
            sack_permitted: offers.sack,
            ..SideFlags::default()
        };
        self.scale = offers.scale.unwrap_or(0);
    }
}

/// Starts a side's record from its SYN or SYN+ACK (`tcp_init_sender`).
fn init_sender(side: [&mut Side; 2], segment: &crate::packet::Tcp, end: u32, dir: Direction) {
    let [sender, receiver] = side;
    sender.end = end;
    sender.max_end = end;
    sender.max_window = u32::from(segment.window).max(1);
    sender.read_options(&segment.options);
    // RFC 7323 2.2: both sides must send the option for scaling to be in force in either direction.
    if dir == Direction::Reply && !(sender.flags.window_scale && receiver.flags.window_scale) {
        sender.scale = 0;
        receiver.scale = 0;
    }
}

/// Judges `segment`, and updates both sides' records when it fits.
pub(super) fn fits(
    p: &Packeted<'_>,
    tcp: &mut Tcp,
    kind: Kind,
    segment: &crate::packet::Tcp,
    explain: &mut Explain,
) -> Fit {
    let state = tcp.state;
    let [original, reply] = &mut tcp.seen;
    let (sender, receiver) = match p.dir {
        Direction::Original => (original, reply),
        Direction::Reply => (reply, original),
    };
    let has_ack = segment.flags.has(TcpFlags::ACK);
    let syn = segment.flags.has(TcpFlags::SYN);
    let rst = segment.flags.has(TcpFlags::RST);
    let mut seq = segment.seq;
    let mut ack = segment.ack;
    let mut end = segment_end(segment);
    let mut window = u32::from(segment.window);
    let mut sack = if receiver.flags.sack_permitted { highest_sack(&segment.options, ack) } else { ack };

    if sender.max_window == 0 {
        if syn {
            init_sender([sender, receiver], segment, end, p.dir);
            if !has_ack {
                explain.fact("window", || "starts with this SYN".to_owned(), "simultaneous open");
                return Fit::Accept;
            }
        } else {
            join_midway(sender, receiver, end, window, sack);
        }
    } else if syn && after(end, sender.end) && restarts(p, state) {
        // RFC 793 3.3: an attempt on the same ports with higher sequence numbers starts over.
        init_sender([sender, receiver], segment, end, p.dir);
        if p.dir == Direction::Reply && !has_ack {
            return Fit::Accept;
        }
    }

    let acknowledges = has_ack && !(rst && ack == 0);
    if !acknowledges {
        // No acknowledgement, or a broken stack's RST with a zero one: take it as right.
        ack = receiver.end;
        sack = ack;
    }
    if rst && seq == 0 && state == State::SynSent {
        // A RST that answers a SYN.
        seq = sender.end;
        end = sender.end;
    }

    let fit = judge(p, sender, receiver, Numbers { seq, end, sack, acknowledges }, explain);
    if fit != Fit::Accept {
        return fit;
    }

    if !syn {
        window <<= sender.scale;
    }
    let offered = window.wrapping_add(sack.wrapping_sub(ack));
    sender.max_window = sender.max_window.max(offered);
    if after(end, sender.end) {
        sender.end = end;
        sender.flags.unacknowledged = true;
    }
    if has_ack && (!sender.flags.has_max_ack || after(ack, sender.max_ack)) {
        sender.max_ack = ack;
        sender.flags.has_max_ack = true;
    }
    if receiver.max_window != 0 && after(end, sender.max_end) {
        receiver.max_window = receiver.max_window.wrapping_add(end.wrapping_sub(sender.max_end));
    }
    let edge = sack.wrapping_add(window);
    if after(edge, receiver.max_end.wrapping_sub(1)) {
        // A zero window still lets one byte through, to probe it.
        receiver.max_end = edge.wrapping_add(u32::from(window == 0));
    }
    if ack == receiver.end {
        receiver.flags.unacknowledged = false;
    }
    if kind == Kind::Ack {
        tcp.last.note_ack(p.dir, [seq, ack, end], segment.window, &mut tcp.retrans);
    }
    Fit::Accept
}

/// Whether a SYN in this state may start its side's record over. Before 5.17 only the side whose turn it was.
fn restarts(p: &Packeted<'_>, state: State) -> bool {
    match (state, p.dir) {
        (State::SynSent, Direction::Original) | (State::SynRecv, Direction::Reply) => true,
        (State::SynSent | State::SynRecv, _) => p.kernel >= KernelVersion::V6_1,
        _ => false,
    }
}

/// The connection was joined midway: what is not known is taken from the segment.
fn join_midway(sender: &mut Side, receiver: &mut Side, end: u32, window: u32, sack: u32) {
    sender.end = end;
    sender.max_window = (window << sender.scale).max(1);
    sender.max_end = end.wrapping_add(sender.max_window);
    if receiver.max_window == 0 {
        receiver.end = sack;
        receiver.max_end = sack;
    } else if sack == receiver.end.wrapping_add(1) {
        // Probably the answer to a keepalive.
        receiver.end = receiver.end.wrapping_add(1);
    }
}

/// Sequence numbers of a segment, as they are judged.
#[derive(Clone, Copy)]
struct Numbers {
    seq: u32,
    end: u32,
    /// Highest number acknowledged, SACK blocks included.
    sack: u32,
    /// Whether it acknowledges anything; if not, `sack` is what fits.
    acknowledges: bool,
}

/// The four conditions, in arithmetic modulo 2^32; the first that fails decides.
fn judge(p: &Packeted<'_>, sender: &mut Side, receiver: &Side, n: Numbers, explain: &mut Explain) -> Fit {
    // The lower bounds are one below the least value that is fresh.
    let seq_low = sender.end.wrapping_sub(receiver.max_window).wrapping_sub(1);
    let ack_low = receiver.end.wrapping_sub(sender.max_window.max(MAX_ACK_WINDOW)).wrapping_sub(1);
    let seq_high = sender.max_end.wrapping_add(1);
    let ack_high = receiver.end.wrapping_add(1);
    let not_beyond = explain.check(
        before(n.seq, seq_high),
        "I seq",
        || n.seq.to_string(),
        || at_most(n.seq, sender.max_end, "the end of the window that was offered"),
    );
    let not_old = explain.check(
        receiver.max_window == 0 || after(n.end, seq_low),
        "II end",
        || n.end.to_string(),
        || at_least(n.end, seq_low.wrapping_add(1), "one window behind the newest data"),
    );
    let (ack_seen, ack_fresh) = (before(n.sack, ack_high), after(n.sack, ack_low));
    if n.acknowledges {
        explain.check(
            ack_seen,
            "III ack",
            || n.sack.to_string(),
            || at_most(n.sack, receiver.end, "the end of what the other side sent"),
        );
        explain.check(
            ack_fresh,
            "IV ack",
            || n.sack.to_string(),
            || at_least(n.sack, ack_low.wrapping_add(1), "not absurdly late"),
        );
    }
    let overshoot = n.end.wrapping_sub(sender.max_end).wrapping_add(1);
    // Before 6.1 there were two answers: what is ignored now was invalid.
    let lenient = p.kernel >= KernelVersion::V6_1;
    let (fit, why) = if !not_beyond {
        let moderate = receiver.max_window != 0 && overshoot <= receiver.max_window;
        if not_old && ack_seen && ack_fresh && moderate && lenient {
            // Should the other side acknowledge it, that must not look like an ACK of data never seen.
            sender.end = n.end;
            sender.flags.unacknowledged = true;
            (Fit::Ignore, Why::Overshoot(overshoot))
        } else {
            (Fit::Invalid, Why::SeqOver(seq_high))
        }
    } else if !ack_seen {
        (Fit::Invalid, Why::AckOver(ack_high))
    } else if !not_old {
        (if lenient { Fit::Ignore } else { Fit::Invalid }, Why::SeqUnder(seq_low))
    } else if !ack_fresh {
        (if lenient { Fit::Ignore } else { Fit::Invalid }, Why::AckUnder(ack_low))
    } else {
        return Fit::Accept;
    };
    let fit = if sender.flags.liberal || p.config.on(Knob::TcpBeLiberal) { Fit::Liberal } else { fit };
    explain.say(|| why.sentence(fit));
    fit
}

/// The bound as words; where the numbers have wrapped around, it says so.
fn at_most(have: u32, bound: u32, why: &str) -> String {
    let wrapped = before(have, bound.wrapping_add(1)) != (have <= bound);
    format!("<= {bound}{}, {why}", if wrapped { " (modulo 2^32)" } else { "" })
}

fn at_least(have: u32, bound: u32, why: &str) -> String {
    let wrapped = before(have, bound) != (have < bound);
    format!(">= {bound}{}, {why}", if wrapped { " (modulo 2^32)" } else { "" })
}

/// Which condition failed, in the kernel's words of `nf_conntrack_log_invalid`.
#[derive(Clone, Copy)]
enum Why {
    Overshoot(u32),
    SeqOver(u32),
    AckOver(u32),
    SeqUnder(u32),
    AckUnder(u32),
}

impl Why {
    fn sentence(self, fit: Fit) -> String {
        let verdict = match fit {
            Fit::Accept | Fit::Liberal => "accepted, though (liberal)",
            Fit::Ignore => "ignored: passed and translated, nothing changes",
            Fit::Invalid => "INVALID",
        };
        match self {
            Self::Overshoot(bytes) => format!("{verdict}: {bytes} bytes more than expected"),
            Self::SeqOver(bound) => {
                format!("{verdict}: SEQ is over upper bound {bound} (over the window of the receiver)")
            }
            Self::AckOver(bound) => {
                format!("{verdict}: ACK is over upper bound {bound} (ACKed data not seen yet)")
            }
            Self::SeqUnder(bound) => {
                format!("{verdict}: SEQ is under lower bound {bound} (already ACKed data retransmitted)")
            }
            Self::AckUnder(bound) => {
                format!("{verdict}: ACK is under lower bound {bound} (possibly overly delayed)")
            }
        }
    }
}
