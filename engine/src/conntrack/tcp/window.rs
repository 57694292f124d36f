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
    } else if syn
        && after(end, sender.end)
        && matches!(state, State::SynSent | State::SynRecv)
        && (p.kernel >= KernelVersion::V6_1 || p.dir == Direction::Original)
    {
        // RFC 793 3.3: an attempt on the same ports with higher sequence numbers starts over.
        init_sender([sender, receiver], segment, end, p.dir);
        if p.dir == Direction::Reply && !has_ack {
            return Fit::Accept;
        }
    }

    if !has_ack || (rst && ack == 0) {
        // No acknowledgement, or a broken stack's RST with a zero one: take it as right.
        ack = receiver.end;
        sack = ack;
    }
    if rst && seq == 0 && state == State::SynSent {
        // A RST that answers a SYN.
        seq = sender.end;
        end = sender.end;
    }

    let fit = judge(p, sender, receiver, seq, end, sack, explain);
    if fit != Fit::Accept {
        return fit;
    }
    if !bounds_hold(sender, receiver, seq, end, sack) {
        // Liberal: it passes, and nothing is learned from it.
        return Fit::Accept;
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

/// Lower bounds of sequence and acknowledgement: one below the least value that is fresh.
const fn lower_bounds(sender: &Side, receiver: &Side) -> (u32, u32) {
    let tolerance = if sender.max_window > MAX_ACK_WINDOW { sender.max_window } else { MAX_ACK_WINDOW };
    let seq = sender.end.wrapping_sub(receiver.max_window).wrapping_sub(1);
    let ack = receiver.end.wrapping_sub(tolerance).wrapping_sub(1);
    (seq, ack)
}

fn bounds_hold(sender: &Side, receiver: &Side, seq: u32, end: u32, sack: u32) -> bool {
    let (seq_low, ack_low) = lower_bounds(sender, receiver);
    before(seq, sender.max_end.wrapping_add(1))
        && before(sack, receiver.end.wrapping_add(1))
        && (receiver.max_window == 0 || after(end, seq_low))
        && after(sack, ack_low)
}

/// The four conditions; the first that fails decides.
fn judge(
    p: &Packeted<'_>,
    sender: &mut Side,
    receiver: &Side,
    seq: u32,
    end: u32,
    sack: u32,
    explain: &mut Explain,
) -> Fit {
    let (seq_low, ack_low) = lower_bounds(sender, receiver);
    let seq_max = sender.max_end;
    let not_beyond = explain.check(
        before(seq, seq_max.wrapping_add(1)),
        "I seq",
        || seq.to_string(),
        || format!("<= {seq_max}, the end of the window that was offered"),
    );
    let acks_seen = explain.check(
        before(sack, receiver.end.wrapping_add(1)),
        "III ack",
        || sack.to_string(),
        || format!("<= {}, the end of what the other side sent", receiver.end),
    );
    let not_old = explain.check(
        receiver.max_window == 0 || after(end, seq_low),
        "II end",
        || end.to_string(),
        || format!(">= {}, one window behind the newest data", seq_low.wrapping_add(1)),
    );
    let ack_fresh = explain.check(
        after(sack, ack_low),
        "IV ack",
        || sack.to_string(),
        || format!(">= {}, not absurdly late", ack_low.wrapping_add(1)),
    );
    let three_answers = p.kernel >= KernelVersion::V6_1;
    let fit = if !not_beyond {
        let overshoot = end.wrapping_sub(seq_max).wrapping_add(1);
        let moderate = receiver.max_window != 0 && overshoot <= receiver.max_window;
        if three_answers && not_old && acks_seen && ack_fresh && moderate {
            // Should the other side acknowledge it, that acknowledgement must not look like one of data
            // never seen.
            sender.end = end;
            sender.flags.unacknowledged = true;
            explain.say(|| format!("IGNORED: {overshoot} bytes more than expected"));
            Fit::Ignore
        } else {
            explain.say(|| {
                format!(
                    "INVALID: SEQ is over upper bound {} (over the window of the receiver)",
                    seq_max.wrapping_add(1)
                )
            });
            Fit::Invalid
        }
    } else if !acks_seen {
        explain.say(|| {
            format!(
                "INVALID: ACK is over upper bound {} (ACKed data not seen yet)",
                receiver.end.wrapping_add(1)
            )
        });
        Fit::Invalid
    } else if !not_old {
        explain.say(|| {
            format!("IGNORED: SEQ is under lower bound {seq_low} (already ACKed data retransmitted)")
        });
        if three_answers { Fit::Ignore } else { Fit::Invalid }
    } else if !ack_fresh {
        explain.say(|| format!("IGNORED: ACK is under lower bound {ack_low} (possibly overly delayed)"));
        if three_answers { Fit::Ignore } else { Fit::Invalid }
    } else {
        return Fit::Accept;
    };
    let liberal = sender.flags.liberal || p.config.on(Knob::TcpBeLiberal);
    if liberal {
        explain.say(|| "out of window, accepted: liberal".to_owned());
        return Fit::Accept;
    }
    if fit == Fit::Invalid && explain.why.on && explain.summary.starts_with("IGNORED") {
        explain.summary = explain.summary.replacen("IGNORED", "INVALID", 1);
    }
    fit
}
