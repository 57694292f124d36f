//! A client of a socket that listens on the node: handshake, data in order, an end. Well-behaved, because the
//! node's TCP is not what is compared; what conntrack and NAT make of its answers is.

use super::Rng;
use crate::case::{Answer, Link};
use crate::replay::Packet;

/// The port; no rule names it, so nothing else is led there.
pub(super) const PORT: u16 = 30081;

/// How far the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was answered yet.
    Closed,
    /// The node answered the SYN in this packet of the case.
    Answered(usize),
    Open(usize),
    Over,
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    stage: Stage,
    seq: u32,
    /// Segments with data so far.
    sent: u32,
}

/// Segments with data that a connection sends at most.
const QUICK: u32 = 6;

impl Client {
    pub(super) const fn new(seq: u32) -> Client {
        Client { stage: Stage::Closed, seq, sent: 0 }
    }

    /// Fills in the next segment of packet number `index`.
    pub(super) fn segment(&mut self, rng: &mut Rng, packet: &mut Packet, index: usize) -> Vec<Link> {
        packet.win = Some(64240);
        packet.len = Some(0);
        let (flags, length, from) = match self.stage {
            Stage::Closed => {
                packet.mss = Some(1460);
                ("S", 0, None)
            }
            // One in a few answers with something that was never sent: the node resets.
            Stage::Answered(from) => match rng.below(8) {
                0 => ("R", 0, None),
                1 => ("A", 0, Some((from, 1000))),
                2 => ("PA", 9, Some((from, 1))),
                _ => ("A", 0, Some((from, 1))),
            },
            // No FIN: the node acknowledges it with a delay, in real time.
            Stage::Open(from) => match rng.below(6) {
                0 => ("R", 0, None),
                // Each is acknowledged at once only at the beginning (`tcp_enter_quickack_mode`).
                _ if self.sent >= QUICK => ("R", 0, None),
                _ => ("PA", *rng.pick(&[1, 100]), Some((from, 1))),
            },
            Stage::Over => ("R", 0, None),
        };
        packet.flags = Some(flags.into());
        packet.seq = Some(self.seq);
        packet.ack = Some(0);
        packet.len = Some(length);
        self.sent += u32::from(length > 0);
        match (self.stage, flags) {
            // A SYN that is answered counts one; it stays where it is until then.
            (Stage::Closed, _) => {}
            (_, "A") if from.is_some_and(|(_, add)| add != 1) => self.stage = Stage::Over,
            (Stage::Answered(from) | Stage::Open(from), "A" | "PA") => {
                self.stage = Stage::Open(from);
                self.seq = self.seq.wrapping_add(u32::from(length));
            }
            _ => self.stage = Stage::Over,
        }
        from.map(|(from, add)| Link { packet: index, set: "ack".into(), from, field: "seq".into(), add })
            .into_iter()
            .collect()
    }

    /// Remembers a SYN-ACK that reached the client.
    pub(super) fn learn(&mut self, answer: &Answer, index: usize) {
        let answered = answer.delivered
            && answer.emitted.first().is_some_and(|seen| seen.flags.as_deref() == Some("SA"));
        if self.stage == Stage::Closed && answered {
            self.stage = Stage::Answered(index);
            self.seq = self.seq.wrapping_add(1);
        }
    }
}
