//! Fragments: putting datagrams together (`ip_fragment.c`, `reassembly.c`, `nf_conntrack_reasm.c`) and taking
//! them apart again (`ip_do_fragment`).
//!
//! Omitted: the ICMP "reassembly time exceeded" after the timeout; the limit is a number of datagrams instead of
//! bytes of memory.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Netns;
use super::answer::Trouble;
use super::path::{End, Run};
use crate::base::{Duration, Instant};
use crate::conntrack::Knob;
use crate::packet::{CtInfo, Family, L4, Packet, Skb};
use crate::trace::{Disposition, DropReason, TraceKind};

/// Defaults of `net.ipv4.ipfrag_time` and `net.ipv6.ip6frag_time`.
const TIMEOUT_V4: Duration = Duration::from_secs(30);
const TIMEOUT_V6: Duration = Duration::from_secs(60);
/// Datagrams held at once; `ipfrag_high_thresh` (4 MiB) holds about as many.
const HELD_MAX: usize = 1024;
/// Longest IPv4 datagram with its header, and longest IPv6 payload, in bytes.
const DATAGRAM_MAX: usize = 65_535;
const DUPLICATE: &str = "a duplicate fragment";
const TOO_LONG: &str = "the datagram would be longer than 65535 bytes";

/// What fragments of one datagram have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    src: IpAddr,
    dst: IpAddr,
    id: u32,
    proto: u8,
}

#[derive(Clone, Debug)]
struct Held {
    /// When its timer fires, which its first fragment started.
    until: Instant,
    /// By offset; they never overlap.
    parts: BTreeMap<u16, Packet>,
    /// Length of the payload, once the last fragment came.
    total: Option<usize>,
    /// Longest fragment, in bytes.
    longest: u32,
}

/// A datagram, its longest fragment and the payload of each fragment, in bytes.
type Whole = (Packet, u32, Vec<u16>);

/// The datagrams that wait for the rest of themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    held: BTreeMap<Key, Held>,
}

impl Netns {
    /// `ipv4_conntrack_defrag`, `ipv6_defrag`: a fragment waits until its datagram is whole; the packet that
    /// completes it goes on as the datagram.
    pub(super) fn defrag(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        // Seen on its way out already. IPv4 gathers again what has a connection, since the kernel has NAT.
        let untracked = skb.ct_info == CtInfo::Untracked;
        if untracked || (skb.family() == Family::V6 && skb.ct.is_some()) {
            return Ok(());
        }
        let timeout = self.defrag_timeout(skb.family());
        if skb.family() == Family::V6 && lacks_headers(&skb.packet) {
            // `nf_ct_frag6_gather` leaves it alone; the tracker then calls it invalid.
            return Ok(());
        }
        let family = skb.family();
        self.reassemble(run, skb, timeout).map_err(|end| match end.disposition {
            // `ipv4_conntrack_defrag` tells a sender of no failure, `ipv6_defrag` not of a duplicate.
            Disposition::Dropped(_) if family == Family::V4 || end.because == DUPLICATE => {
                End { disposition: Disposition::Stolen, ..end }
            }
            _ => end,
        })
    }

    fn defrag_timeout(&self, family: Family) -> Duration {
        match family {
            Family::V4 => TIMEOUT_V4,
            Family::V6 => Duration::from_secs(self.ct.config.value(Knob::Frag6Timeout).into()),
        }
    }

    /// The IP layer itself reassembles what it delivers, tracked or not.
    pub(super) fn defrag_local(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        let timeout = match skb.family() {
            Family::V4 => TIMEOUT_V4,
            Family::V6 => TIMEOUT_V6,
        };
        if skb.family() == Family::V6 && lacks_headers(&skb.packet) {
            self.icmp_error(run, skb, Trouble::HeaderIncomplete);
            return Err(End::dropped(DropReason::Fragment, "a first fragment without the transport header"));
        }
        self.reassemble(run, skb, timeout)
    }

    fn reassemble(&mut self, run: &mut Run<'_>, skb: &mut Skb, timeout: Duration) -> Result<(), End> {
        let ip = &skb.packet.ip;
        if !ip.more_fragments && ip.frag_offset == 0 {
            return Ok(());
        }
        match self.fragments.add(&skb.packet, self.now, timeout) {
            Ok(Some((packet, longest, parts))) => {
                run.trace.record(self.now, || TraceKind::Note {
                    text: format!("the last fragment: reassembled into {} bytes", packet.len_bytes()),
                });
                skb.packet = packet;
                (skb.frag_max, skb.frag_parts) = (Some(longest), parts);
                Ok(())
            }
            Ok(None) => Err(End {
                disposition: Disposition::Stolen,
                because: "held until the rest of its fragments arrives".into(),
            }),
            Err(why) => Err(End::dropped(DropReason::Fragment, why)),
        }
    }
}

impl Fragments {
    /// Takes a fragment; when it was the missing one, gives back the datagram, its longest fragment and the
    /// payload of each.
    fn add(
        &mut self,
        fragment: &Packet,
        now: Instant,
        timeout: Duration,
    ) -> Result<Option<Whole>, &'static str> {
        let (ip, v4) = (&fragment.ip, fragment.ip.src.is_ipv4());
        self.held.retain(|_, h| now < h.until);
        // IPv6 tells datagrams apart by identification alone (RFC 8200 4.5).
        let proto = if v4 { ip.proto } else { 0 };
        let key = Key { src: ip.src, dst: ip.dst, id: ip.id, proto };
        if !self.held.contains_key(&key) && self.held.len() >= HELD_MAX {
            return Err("too many datagrams wait for reassembly");
        }
        let held = self.held.entry(key).or_insert_with(|| Held {
            until: now + timeout,
            parts: BTreeMap::new(),
            total: None,
            longest: 0,
        });
        let mut part = fragment.clone();
        if v4 && ip.more_fragments && !part.l4.len_bytes().is_multiple_of(8) {
            let mut bytes = body(fragment);
            bytes.truncate(bytes.len() / 8 * 8);
            part.l4 = first_piece(&part.l4, &bytes);
        }
        let (start, len) = (usize::from(ip.frag_offset), part.l4.len_bytes());
        let end = start + len;
        let reach = held.parts.last_key_value().map_or(0, |(&at, p)| usize::from(at) + p.l4.len_bytes());
        let bad = if ip.more_fragments && !len.is_multiple_of(8) {
            Some("a fragment's length is no multiple of 8")
        } else if !v4 && end > DATAGRAM_MAX {
            Some(TOO_LONG)
        } else if held.total.is_some_and(|t| end > t) {
            Some("a fragment lies behind the last one")
        } else if !ip.more_fragments && end < held.total.unwrap_or(reach) {
            Some("the last fragment ends before another one")
        } else if len == 0 {
            Some("an empty fragment")
        } else {
            None
        };
        if let Some(why) = bad {
            self.held.remove(&key);
            return Err(why);
        }
        // An exact duplicate is ignored; any other overlap ends the datagram (RFC 5722, IPv4 since 5.0).
        if held.parts.get(&ip.frag_offset).is_some_and(|p| p.l4.len_bytes() == len) {
            return Err(DUPLICATE);
        }
        let overlaps = held.parts.iter().any(|(&at, part)| {
            let at = usize::from(at);
            at < end && start < at + part.l4.len_bytes()
        });
        if overlaps {
            self.held.remove(&key);
            return Err("fragments overlap");
        }
        if !ip.more_fragments {
            held.total = Some(end);
        }
        held.longest = held.longest.max(part.len_bytes() as u32);
        held.parts.insert(ip.frag_offset, part);
        let have: usize = held.parts.values().map(|p| p.l4.len_bytes()).sum();
        if held.total != Some(have) {
            return Ok(None);
        }
        let longest = held.longest;
        let lengths = held.parts.values().map(|p| p.l4.len_bytes() as u16).collect();
        let Some(whole) = self.held.remove(&key).and_then(|h| join(h.parts)) else { return Ok(None) };
        if v4 && whole.len_bytes() > DATAGRAM_MAX {
            return Err(TOO_LONG);
        }
        // A header that was cut in two shows only now. IPv6 wants it whole in the first fragment (RFC 8200 4.5).
        let whole = match whole.l4 {
            L4::Truncated(_) if v4 => Packet::parse(&whole.to_bytes()).unwrap_or(whole),
            _ => whole,
        };
        Ok(Some((whole, longest, lengths)))
    }
}

/// The datagram of all its parts, which start at zero and leave no gap.
fn join(parts: BTreeMap<u16, Packet>) -> Option<Packet> {
    let mut parts = parts.into_values();
    let mut whole = parts.next()?;
    (whole.ip.more_fragments, whole.ip.frag_offset) = (false, 0);
    if whole.ip.src.is_ipv6() {
        whole.ip.id = 0;
    }
    let mut bytes = Vec::new();
    for part in parts {
        if let L4::Raw(rest) = part.l4 {
            bytes.extend_from_slice(&rest);
        }
    }
    match &mut whole.l4 {
        L4::Tcp(tcp) => tcp.payload.extend(bytes),
        L4::Udp(udp) => udp.payload.extend(bytes),
        L4::Icmp(icmp) => icmp.payload.extend(bytes),
        L4::Sctp(sctp) => sctp.payload.extend(bytes),
        L4::Raw(all) | L4::Truncated(all) => all.extend(bytes),
    }
    Some(whole)
}

/// `ipv6frag_thdr_truncated`: a first fragment that ends within the transport header (RFC 8200 4.5).
fn lacks_headers(packet: &Packet) -> bool {
    packet.ip.more_fragments && packet.ip.frag_offset == 0 && matches!(packet.l4, L4::Truncated(_))
}

/// Cuts a reassembled packet into the pieces it came in, if they fit `mtu` and make it up.
pub(super) fn split_as_it_came(packet: &Packet, parts: &[u16], mtu: usize, id: u32) -> Option<Vec<Packet>> {
    let v6 = packet.ip.src.is_ipv6();
    let header = packet.len_bytes() - packet.l4.len_bytes() + if v6 { 8 } else { 0 };
    let body = body(packet);
    let total: usize = parts.iter().map(|p| usize::from(*p)).sum();
    if parts.is_empty() || total != body.len() || parts.iter().any(|p| header + usize::from(*p) > mtu) {
        return None;
    }
    let mut out = Vec::new();
    let mut at = 0;
    for len in parts {
        let chunk = &body[at..at + usize::from(*len)];
        let mut piece = packet.clone();
        piece.ip.frag_offset = at as u16;
        piece.ip.more_fragments = at + chunk.len() < body.len();
        if v6 {
            piece.ip.id = id;
        }
        piece.l4 = if at == 0 { first_piece(&packet.l4, chunk) } else { L4::Raw(chunk.to_vec()) };
        at += chunk.len();
        out.push(piece);
    }
    Some(out)
}

/// Cuts a packet into fragments of at most `mtu` bytes; a packet that fits stays whole. `id` is the
/// identification of IPv6 fragments.
pub(super) fn split(packet: &Packet, mtu: usize, id: u32) -> Vec<Packet> {
    let v6 = packet.ip.src.is_ipv6();
    let already = packet.ip.more_fragments || packet.ip.frag_offset != 0;
    let header = packet.len_bytes() - packet.l4.len_bytes() + if v6 && !already { 8 } else { 0 };
    let room = mtu.saturating_sub(header);
    if packet.len_bytes() <= mtu || room < 8 {
        return vec![packet.clone()];
    }
    let body = body(packet);
    let mut out = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let left = body.len() - at;
        // Only the last piece may be of any length.
        let len = if left <= room { left } else { room / 8 * 8 };
        let chunk = &body[at..at + len];
        let mut piece = packet.clone();
        // The field wraps, as the kernel's does.
        piece.ip.frag_offset = packet.ip.frag_offset.wrapping_add(at as u16);
        piece.ip.more_fragments = len < left || packet.ip.more_fragments;
        if v6 && !already {
            piece.ip.id = id;
        }
        piece.l4 = if at == 0 { first_piece(&packet.l4, chunk) } else { L4::Raw(chunk.to_vec()) };
        at += len;
        out.push(piece);
    }
    out
}

/// What follows the IP header, as on the wire.
fn body(packet: &Packet) -> Vec<u8> {
    packet.to_bytes().split_off(packet.len_bytes() - packet.l4.len_bytes())
}

/// `l4` cut to its first `bytes`: the header with what of the payload fits behind it, or `bytes` alone where
/// the header does not fit.
fn first_piece(l4: &L4, bytes: &[u8]) -> L4 {
    let mut piece = l4.clone();
    let over = l4.len_bytes().saturating_sub(bytes.len());
    let payload = match &mut piece {
        L4::Tcp(tcp) => &mut tcp.payload,
        L4::Udp(udp) => &mut udp.payload,
        L4::Icmp(icmp) => &mut icmp.payload,
        L4::Sctp(sctp) => &mut sctp.payload,
        L4::Raw(bytes) | L4::Truncated(bytes) => bytes,
    };
    payload.truncate(payload.len().saturating_sub(over));
    if piece.len_bytes() > bytes.len() { L4::Truncated(bytes.to_vec()) } else { piece }
}

#[cfg(test)]
mod tests;
