//! The SCTP tracker (`nf_conntrack_proto_sctp.c`): states by chunk, verification tags.
//!
//! The table is that of Linux 6.18, for every kernel version: earlier ones begin an association in
//! COOKIE_WAIT, not in CLOSED, know no COOKIE ECHO in the reply direction, and refresh for a repeated INIT.

use super::entry::{Entry, Proto, Status};
use super::event::EventMask;
use super::explain::Explain;
use super::track::{Judgement, Packeted};
use super::{Direction, Knob};
use crate::base::KernelVersion;
use crate::packet::L4;

/// State of an association, seen from the middle (`enum sctp_conntrack`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    #[default]
    None,
    Closed,
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownSent,
    ShutdownRecd,
    ShutdownAckSent,
    HeartbeatSent,
}

impl State {
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Closed,
        Self::CookieWait,
        Self::CookieEchoed,
        Self::Established,
        Self::ShutdownSent,
        Self::ShutdownRecd,
        Self::ShutdownAckSent,
        Self::HeartbeatSent,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Closed => "CLOSED",
            Self::CookieWait => "COOKIE_WAIT",
            Self::CookieEchoed => "COOKIE_ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownSent => "SHUTDOWN_SENT",
            Self::ShutdownRecd => "SHUTDOWN_RECD",
            Self::ShutdownAckSent => "SHUTDOWN_ACK_SENT",
            Self::HeartbeatSent => "HEARTBEAT_SENT",
        }
    }

    /// Whether a full table may evict the association even if it is ASSURED (`sctp_can_early_drop`).
    pub(super) const fn is_closing(self) -> bool {
        matches!(self, Self::ShutdownSent | Self::ShutdownRecd | Self::ShutdownAckSent)
    }

    const fn knob(self) -> Knob {
        match self {
            Self::None | Self::Closed => Knob::SctpClosed,
            Self::CookieWait => Knob::SctpCookieWait,
            Self::CookieEchoed => Knob::SctpCookieEchoed,
            Self::Established => Knob::SctpEstablished,
            Self::ShutdownSent => Knob::SctpShutdownSent,
            Self::ShutdownRecd => Knob::SctpShutdownRecd,
            Self::ShutdownAckSent => Knob::SctpShutdownAckSent,
            Self::HeartbeatSent => Knob::SctpHeartbeatSent,
        }
    }
}

/// Chunk types that mean something to the tracker (RFC 9260 3.2).
mod chunk {
    pub(super) const DATA: u8 = 0;
    pub(super) const INIT: u8 = 1;
    pub(super) const INIT_ACK: u8 = 2;
    pub(super) const HEARTBEAT: u8 = 4;
    pub(super) const HEARTBEAT_ACK: u8 = 5;
    pub(super) const ABORT: u8 = 6;
    pub(super) const SHUTDOWN: u8 = 7;
    pub(super) const SHUTDOWN_ACK: u8 = 8;
    pub(super) const ERROR: u8 = 9;
    pub(super) const COOKIE_ECHO: u8 = 10;
    pub(super) const COOKIE_ACK: u8 = 11;
    pub(super) const SHUTDOWN_COMPLETE: u8 = 14;
}

/// ABORT and SHUTDOWN COMPLETE may carry the receiver's own tag with this flag (RFC 9260 8.5.1).
const FLAG_T: u8 = 1;

const NO: Option<State> = Some(State::None);
const CL: Option<State> = Some(State::Closed);
const CW: Option<State> = Some(State::CookieWait);
const CE: Option<State> = Some(State::CookieEchoed);
const ES: Option<State> = Some(State::Established);
const SS: Option<State> = Some(State::ShutdownSent);
const SR: Option<State> = Some(State::ShutdownRecd);
const SA: Option<State> = Some(State::ShutdownAckSent);
const HS: Option<State> = Some(State::HeartbeatSent);
const IV: Option<State> = None;

/// Rows as listed in [`row_of`], columns in the order of [`State::ALL`].
#[rustfmt::skip]
const ORIGINAL: [[Option<State>; 9]; 11] = [
    /*init*/          [CL, CL, CW, CE, ES, CL, CL, SA, CW],
    /*init ack*/      [CL, CL, CW, CE, ES, SS, SR, SA, CL],
    /*abort*/         [CL, CL, CL, CL, CL, CL, CL, CL, CL],
    /*shutdown*/      [CL, CL, CW, CE, SS, SS, SR, SA, CL],
    /*shutdown ack*/  [SA, CL, CW, CE, ES, SA, SA, SA, SA],
    /*error*/         [CL, CL, CW, CE, ES, SS, SR, SA, CL],
    /*cookie echo*/   [CL, CL, CE, CE, ES, SS, SR, SA, CL],
    /*cookie ack*/    [CL, CL, CW, ES, ES, SS, SR, SA, CL],
    /*complete*/      [CL, CL, CW, CE, ES, SS, SR, CL, CL],
    /*heartbeat*/     [HS, CL, CW, CE, ES, SS, SR, SA, HS],
    /*heartbeat ack*/ [CL, CL, CW, CE, ES, SS, SR, SA, HS],
];

#[rustfmt::skip]
const REPLY: [[Option<State>; 9]; 11] = [
    /*init*/          [IV, CL, CW, CE, ES, SS, SR, SA, IV],
    /*init ack*/      [IV, CW, CW, CE, ES, SS, SR, SA, IV],
    /*abort*/         [IV, CL, CL, CL, CL, CL, CL, CL, IV],
    /*shutdown*/      [IV, CL, CW, CE, SR, SS, SR, SA, IV],
    /*shutdown ack*/  [IV, CL, CW, CE, ES, SA, SA, SA, IV],
    /*error*/         [IV, CL, CW, CL, ES, SS, SR, SA, IV],
    /*cookie echo*/   [IV, CL, CE, CE, ES, SS, SR, SA, IV],
    /*cookie ack*/    [IV, CL, CW, ES, ES, SS, SR, SA, IV],
    /*complete*/      [IV, CL, CW, CE, ES, SS, SR, CL, IV],
    /*heartbeat*/     [IV, CL, CW, CE, ES, SS, SR, SA, HS],
    /*heartbeat ack*/ [IV, CL, CW, CE, ES, SS, SR, SA, ES],
];

const fn row_of(kind: u8) -> Option<usize> {
    Some(match kind {
        chunk::INIT => 0,
        chunk::INIT_ACK => 1,
        chunk::ABORT => 2,
        chunk::SHUTDOWN => 3,
        chunk::SHUTDOWN_ACK => 4,
        chunk::ERROR => 5,
        chunk::COOKIE_ECHO => 6,
        chunk::COOKIE_ACK => 7,
        chunk::SHUTDOWN_COMPLETE => 8,
        chunk::HEARTBEAT => 9,
        chunk::HEARTBEAT_ACK => 10,
        _ => return None,
    })
}

/// State after a chunk; none when the chunk is invalid there. DATA, SACK and unknown chunks change nothing.
pub const fn step(dir: Direction, kind: u8, state: State) -> Option<State> {
    match (row_of(kind), dir) {
        (None, _) => Some(state),
        (Some(row), Direction::Original) => ORIGINAL[row][state as usize],
        (Some(row), Direction::Reply) => REPLY[row][state as usize],
    }
}

/// What the tracker keeps of an association (`struct ip_ct_sctp`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sctp {
    pub state: State,
    /// Tags that packets of the original and of the reply direction must carry.
    pub tags: [u32; 2],
    /// Direction of a HEARTBEAT with a tag that did not fit: a peer may have restarted.
    odd_heartbeat: Option<Direction>,
    /// Which direction an INIT went last; both where they crossed.
    inits: [bool; 2],
}

/// One chunk of a packet.
struct Chunk<'a> {
    kind: u8,
    flags: u8,
    len: u16,
    body: &'a [u8],
}

impl Chunk<'_> {
    /// Tag in an INIT or INIT ACK, if the fixed part is there.
    fn init_tag(&self) -> Option<u32> {
        let fixed = self.body.get(..16)?;
        Some(u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]))
    }
}

/// The chunks, as far as their headers are there.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let head = bytes.get(at..at + 4)?;
        let len = u16::from_be_bytes([head[2], head[3]]);
        let chunk = Chunk { kind: head[0], flags: head[1], len, body: &bytes[at + 4..] };
        at += usize::from(len).div_ceil(4) * 4;
        // A length of zero would stand still; the caller refuses it.
        if len == 0 {
            at = bytes.len();
        }
        Some(chunk)
    })
}

/// INIT, INIT ACK and SHUTDOWN COMPLETE must be alone, COOKIE chunks first, no length zero.
fn well_formed(bytes: &[u8]) -> bool {
    let (mut count, mut alone) = (0, false);
    for c in chunks(bytes) {
        alone |= matches!(c.kind, chunk::INIT | chunk::INIT_ACK | chunk::SHUTDOWN_COMPLETE);
        let first = alone || matches!(c.kind, chunk::COOKIE_ACK | chunk::COOKIE_ECHO);
        if (first && count != 0) || c.len == 0 {
            return false;
        }
        count += 1;
    }
    count != 0
}

pub(super) fn track(p: &Packeted<'_>, entry: &mut Entry, explain: &mut Explain) -> Judgement {
    let L4::Sctp(packet) = &p.packet.l4 else { return Judgement::Invalid };
    if p.verify && !explain.checksum(packet.checksum_ok) {
        explain.say(|| "INVALID: bad SCTP CRC".to_owned());
        return Judgement::Invalid;
    }
    if !well_formed(&packet.payload) {
        explain.say(|| "INVALID: chunks that may not stand together, or a length of zero".to_owned());
        return Judgement::Invalid;
    }
    let has = |kinds: &[u8]| chunks(&packet.payload).any(|c| kinds.contains(&c.kind));
    if !entry.is_confirmed() {
        // RFC 9260 8.4: out of the blue.
        let stray = has(&[chunk::ABORT, chunk::SHUTDOWN_COMPLETE, chunk::COOKIE_ACK]);
        let begun = if stray { None } else { begin(packet) };
        let Some(sctp) = begun else {
            explain.say(|| "INVALID: no association, and these chunks begin none".to_owned());
            return Judgement::Invalid;
        };
        entry.proto = Proto::Sctp(sctp);
    }
    let Proto::Sctp(sctp) = &mut entry.proto else { return Judgement::Invalid };
    let own_rules = [
        chunk::INIT,
        chunk::SHUTDOWN_COMPLETE,
        chunk::COOKIE_ECHO,
        chunk::ABORT,
        chunk::SHUTDOWN_ACK,
        chunk::HEARTBEAT,
        chunk::HEARTBEAT_ACK,
    ];
    let tag = sctp.tags[p.dir as usize];
    if !has(&own_rules)
        && !explain.check(packet.vtag == tag, "tag", || packet.vtag.to_string(), || tag.to_string())
    {
        explain.say(|| "INVALID: wrong verification tag".to_owned());
        return Judgement::Invalid;
    }
    let before = sctp.state;
    let outcome = walk(p, sctp, entry.status, packet, explain);
    let after = sctp.state;
    if before != after {
        entry.note(EventMask::PROTOINFO);
        if after == State::Established && !entry.status.has(Status::ASSURED) {
            entry.status.set(Status::ASSURED);
            entry.note(EventMask::ASSURED);
        }
        explain.moved(before.name(), after.name());
    }
    match outcome {
        Outcome::Invalid => {
            explain.say(|| "INVALID: a chunk that does not fit the association".to_owned());
            Judgement::Invalid
        }
        Outcome::Keep => Judgement::Accept,
        Outcome::Refresh => {
            let timeout = p.secs(after.knob());
            entry.refresh(p.now, timeout);
            entry.count(p.dir, p.packet.len_bytes());
            explain.fact("timeout", || format!("{} s", timeout.as_secs()), "the timeout of the state");
            Judgement::Accept
        }
    }
}

/// The first packet of an association (`sctp_new`).
fn begin(packet: &crate::packet::Sctp) -> Option<Sctp> {
    let mut sctp = Sctp::default();
    for c in chunks(&packet.payload) {
        match step(Direction::Original, c.kind, State::None) {
            None | NO => return None,
            Some(_) => {}
        }
        match c.kind {
            chunk::INIT if packet.vtag != 0 => return None,
            chunk::INIT => sctp.tags[1] = c.init_tag()?,
            chunk::HEARTBEAT | chunk::HEARTBEAT_ACK => sctp.tags[0] = packet.vtag,
            _ => sctp.tags[1] = packet.vtag,
        }
    }
    Some(sctp)
}

enum Outcome {
    Invalid,
    /// Accepted, the timeout stays.
    Keep,
    Refresh,
}

/// Goes through the chunks; what earlier ones changed stays even if a later one is invalid.
fn walk(
    p: &Packeted<'_>,
    sctp: &mut Sctp,
    status: Status,
    packet: &crate::packet::Sctp,
    explain: &mut Explain,
) -> Outcome {
    let (own, other) = (p.dir as usize, p.dir.other() as usize);
    let carries_data = chunks(&packet.payload).any(|c| c.kind == chunk::DATA);
    let mut keep = false;
    for c in chunks(&packet.payload) {
        let fits = match c.kind {
            chunk::INIT => packet.vtag == 0,
            chunk::ABORT | chunk::SHUTDOWN_COMPLETE => {
                packet.vtag == sctp.tags[if c.flags & FLAG_T == 0 { own } else { other }]
            }
            chunk::COOKIE_ECHO => packet.vtag == sctp.tags[own],
            chunk::HEARTBEAT | chunk::HEARTBEAT_ACK if sctp.tags[own] == 0 => {
                sctp.tags[own] = packet.vtag;
                true
            }
            chunk::HEARTBEAT | chunk::HEARTBEAT_ACK if packet.vtag == sctp.tags[own] => {
                sctp.odd_heartbeat = None;
                true
            }
            chunk::HEARTBEAT if carries_data || keep => false,
            chunk::HEARTBEAT => {
                sctp.odd_heartbeat = Some(p.dir);
                keep = true;
                continue;
            }
            // The answer to an odd HEARTBEAT: the peers agree on new tags.
            chunk::HEARTBEAT_ACK => {
                let answers = sctp.odd_heartbeat == Some(p.dir.other());
                if answers && !carries_data && !keep {
                    sctp.odd_heartbeat = None;
                    sctp.tags[own] = packet.vtag;
                    sctp.tags[other] = 0;
                    true
                } else {
                    false
                }
            }
            _ => true,
        };
        let from = sctp.state;
        let to = if fits { step(p.dir, c.kind, from) } else { None };
        explain.check(
            to.is_some(),
            "chunk",
            || format!("type {} in the {} direction, {}", c.kind, p.dir.name(), from.name()),
            || to.map_or("invalid", State::name).to_owned(),
        );
        let Some(to) = to else { return Outcome::Invalid };
        if matches!(c.kind, chunk::INIT | chunk::INIT_ACK) {
            let Some(tag) = c.init_tag() else { return Outcome::Invalid };
            let known = sctp.tags[other];
            if c.kind == chunk::INIT {
                // An INIT with the tag that is known already is none (asked of 6.18), but for the first of all.
                if known != tag || !status.has(Status::CONFIRMED) {
                    sctp.inits[other] &= !sctp.inits[own];
                    sctp.inits[own] = true;
                }
            } else if p.kernel >= KernelVersion::V6_12
                && (!sctp.inits[other] && known != 0 && known != tag
                    || sctp.inits == [true, true] && known != tag)
            {
                // Since 6.6 an INIT ACK may not replace a tag that no INIT of the other side asked for.
                return Outcome::Invalid;
            }
            sctp.tags[other] = tag;
            // An INIT sent again cannot keep an entry alive.
            let still_closed = (from, to) == (State::Closed, State::Closed);
            keep |= c.kind == chunk::INIT && still_closed && status.has(Status::CONFIRMED);
        }
        sctp.state = to;
    }
    if keep { Outcome::Keep } else { Outcome::Refresh }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conntrack::testing::{Lab, packet};
    use crate::packet::{Sctp as Packet, proto};

    fn chunk(kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
        let len = (4 + body.len()) as u16;
        [&[kind, flags][..], &len.to_be_bytes(), body].concat()
    }

    fn init(kind: u8, tag: u32) -> Vec<u8> {
        chunk(kind, 0, &[&tag.to_be_bytes()[..], &[0; 12]].concat())
    }

    fn send(lab: &mut Lab, reply: bool, vtag: u32, payload: Vec<u8>) -> &'static str {
        let (src, dst, sport, dport) =
            if reply { (lab.server, lab.client, 9, 7) } else { (lab.client, lab.server, 7, 9) };
        let sctp = Packet { sport, dport, vtag, payload, checksum_ok: true };
        lab.forward(packet(src, dst, proto::SCTP, L4::Sctp(sctp))).state()
    }

    #[test]
    fn an_association_from_init_to_shutdown_complete() {
        let mut lab = Lab::new();
        for (reply, vtag, payload, wanted) in [
            (false, 0, init(chunk::INIT, 11), "CLOSED 10 unreplied"),
            (true, 11, init(chunk::INIT_ACK, 22), "COOKIE_WAIT 3"),
            (false, 22, chunk(chunk::COOKIE_ECHO, 0, &[1; 8]), "COOKIE_ECHOED 3"),
            (true, 11, chunk(chunk::COOKIE_ACK, 0, &[]), "ESTABLISHED 210 assured"),
            (false, 22, chunk(chunk::DATA, 3, &[0; 16]), "ESTABLISHED 210 assured"),
            (false, 22, chunk(chunk::SHUTDOWN, 0, &[0; 4]), "SHUTDOWN_SENT 3 assured"),
            (true, 11, chunk(chunk::SHUTDOWN_ACK, 0, &[]), "SHUTDOWN_ACK_SENT 3 assured"),
            (false, 22, chunk(chunk::SHUTDOWN_COMPLETE, 0, &[]), "CLOSED 10 assured"),
        ] {
            assert_ne!(send(&mut lab, reply, vtag, payload), "INVALID", "{wanted}");
            assert_eq!(lab.now_is(), wanted);
        }
    }

    #[test]
    fn a_wrong_tag_is_invalid() {
        let mut lab = Lab::new();
        send(&mut lab, false, 0, init(chunk::INIT, 11));
        assert_eq!(send(&mut lab, true, 12, init(chunk::INIT_ACK, 22)), "INVALID");
        assert_eq!(send(&mut lab, false, 1, init(chunk::INIT, 11)), "INVALID");
        assert_eq!(lab.now_is(), "CLOSED 10 unreplied");
    }

    #[test]
    fn nothing_begins_with_data_or_an_abort() {
        let mut lab = Lab::new();
        for kind in [chunk::DATA, chunk::ABORT, chunk::COOKIE_ACK, chunk::SHUTDOWN_COMPLETE] {
            assert_eq!(send(&mut lab, false, 5, chunk(kind, 0, &[0; 16])), "INVALID", "{kind}");
        }
        assert_eq!(send(&mut lab, false, 5, vec![]), "INVALID");
        assert_eq!(send(&mut lab, false, 5, vec![4, 0, 0, 0]), "INVALID");
        assert_eq!(send(&mut lab, false, 5, chunk(chunk::HEARTBEAT, 0, &[0; 8])), "NEW");
        assert_eq!(lab.now_is(), "HEARTBEAT_SENT 30 unreplied");
    }

    #[test]
    fn an_init_with_the_known_tag_asks_for_no_new_one() {
        for (tag, wanted) in [(11, "INVALID"), (12, "ESTABLISHED")] {
            let mut lab = Lab::new();
            send(&mut lab, false, 7, chunk(chunk::HEARTBEAT_ACK, 0, &[0; 8]));
            send(&mut lab, true, 11, chunk(chunk::HEARTBEAT_ACK, 0, &[0; 8]));
            send(&mut lab, false, 0, init(chunk::INIT, tag));
            assert_eq!(send(&mut lab, true, tag, init(chunk::INIT_ACK, 22)), wanted);
        }
    }

    #[test]
    fn an_init_sent_again_does_not_refresh() {
        let mut lab = Lab::new();
        lab.at(0);
        send(&mut lab, false, 0, init(chunk::INIT, 11));
        lab.at(4000);
        assert_eq!(send(&mut lab, false, 0, init(chunk::INIT, 11)), "NEW");
        assert_eq!(lab.now_is(), "CLOSED 6 unreplied");
    }
}
