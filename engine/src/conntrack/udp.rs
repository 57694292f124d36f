//! UDP, UDP-Lite and GRE: a timeout without an answer, another with (`nf_conntrack_proto_udp.c`,
//! `nf_conntrack_proto_gre.c`).

use super::Knob;
use super::entry::{Entry, Proto, Status};
use super::event::EventMask;
use super::explain::Explain;
use super::track::{Judgement, Packeted};
use crate::base::Duration;
use crate::packet::L4;

/// Age from which an answered flow counts as a stream: 120 s instead of 30 s, and ASSURED.
pub(super) const STREAM_AFTER: Duration = Duration::from_secs(2);

pub(super) fn track(p: &Packeted<'_>, entry: &mut Entry, explain: &mut Explain) -> Judgement {
    if let L4::Udp(udp) = &p.packet.l4
        && (!udp.fits() || (p.verify && !explain.checksum(udp.netfilter_takes_sum())))
    {
        explain.say(|| "INVALID: bad UDP checksum or length".to_owned());
        return Judgement::Invalid;
    }
    if !entry.is_confirmed() {
        entry.proto = Proto::Udp { stream_from: p.now + STREAM_AFTER };
    }
    let Proto::Udp { stream_from } = entry.proto else { return Judgement::Invalid };
    let answered = entry.status.has(Status::SEEN_REPLY);
    let stream = answered && p.now > stream_from;
    let timeout = p.secs(if stream { Knob::UdpTimeoutStream } else { Knob::UdpTimeout });
    explain.fact("answer seen", || answered.to_string(), "a stream needs one");
    let age = p.now.since(entry.created).as_millis();
    explain.fact("age", || format!("{age} ms"), "a stream is more than 2000 ms old");
    entry.refresh(p.now, timeout);
    entry.count(p.dir, p.packet.len_bytes());
    explain.fact("timeout", || format!("{} s", timeout.as_secs()), "udp_timeout or udp_timeout_stream");
    if stream && !entry.status.has(Status::NAT_CLASH) {
        assure(entry);
    }
    Judgement::Accept
}

/// UDP-Lite: as UDP, but any answer makes it a stream at once. A checksum is compulsory (RFC 3828 3.1); of
/// its value only "none" is looked at.
pub(super) fn track_lite(p: &Packeted<'_>, entry: &mut Entry, explain: &mut Explain) -> Judgement {
    let L4::Raw(bytes) = &p.packet.l4 else { return Judgement::Invalid };
    let word = |at: usize| bytes.get(at..at + 2).map(|b| usize::from(u16::from_be_bytes([b[0], b[1]])));
    let coverage_fits = word(4).is_some_and(|cover| cover == 0 || (8..=bytes.len()).contains(&cover));
    if !coverage_fits || word(6).is_none_or(|sum| sum == 0) {
        explain.say(|| "INVALID: UDP-Lite without a checksum, or with an impossible coverage".to_owned());
        return Judgement::Invalid;
    }
    track_answered(p, entry, explain, Knob::UdpTimeout, Knob::UdpTimeoutStream)
}

/// GRE.
pub(super) fn track_gre(p: &Packeted<'_>, entry: &mut Entry, explain: &mut Explain) -> Judgement {
    track_answered(p, entry, explain, Knob::GreTimeout, Knob::GreTimeoutStream)
}

fn track_answered(
    p: &Packeted<'_>,
    entry: &mut Entry,
    explain: &mut Explain,
    unanswered: Knob,
    stream: Knob,
) -> Judgement {
    let answered = entry.status.has(Status::SEEN_REPLY);
    let timeout = p.secs(if answered { stream } else { unanswered });
    entry.refresh(p.now, timeout);
    entry.count(p.dir, p.packet.len_bytes());
    explain.fact("timeout", || format!("{} s", timeout.as_secs()), "longer once an answer was seen");
    if answered && !entry.status.has(Status::NAT_CLASH) {
        assure(entry);
    }
    Judgement::Accept
}

fn assure(entry: &mut Entry) {
    if !entry.status.has(Status::ASSURED) {
        entry.status.set(Status::ASSURED);
        entry.note(EventMask::ASSURED);
    }
}
