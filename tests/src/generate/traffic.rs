//! Random traffic: a few flows whose two ends mostly behave, and sometimes do not.

use std::collections::VecDeque;

use super::listener::{self, Client};
use super::matches::{DRAWN_PORTS, PORTS};
use super::{Family, Rng, fragments, sctp};
use crate::case::{Answer, Link};
use crate::frame::{Seen, build};
use crate::replay::{Packet, address, text};
use crate::script::quoting_bytes;

/// The hardware address that `-m mac` rules name.
pub(super) const OTHER_MAC: &str = "02:00:00:00:99:99";

/// At most this many flows at once: later packets then belong to known ones.
const FLOWS: usize = 4;

/// Fragments of one case have identifications of their own: a lab keeps incomplete datagrams for half a minute.
const DATAGRAMS_A_CASE: u64 = 8;
/// One pause in this many packets: each costs two seconds of real time.
const PAUSE_EVERY: u64 = 2000;

/// Routers quote at least the header and eight bytes, hosts as much as fits; this much shows both.
const QUOTED_BYTES: usize = 128;

/// One conversation as its two ends see it.
#[derive(Debug, Clone)]
struct Flow {
    packet: Packet,
    /// What the far end received last, and by which packet of the case.
    received: Option<(usize, Seen)>,
    /// What the near end received last.
    answered: Option<Seen>,
    /// Next sequence number of each end.
    near: u32,
    far: u32,
    step: u32,
    /// It talks to a listening socket of the node.
    client: Option<Client>,
}

/// All flows of a case.
#[derive(Debug)]
pub(super) struct Traffic {
    family: Family,
    flows: Vec<Flow>,
    at_ms: u64,
    /// Which flow the last packet belonged to, and whether it came from the near end.
    last: Option<(usize, bool)>,
    /// Fragments that follow the last packet.
    pending: VecDeque<Packet>,
    /// Identification of the next datagram that is cut.
    datagram: u64,
}

impl Traffic {
    /// Traffic of case `index`.
    pub(super) fn new(family: Family, index: u64) -> Traffic {
        Traffic {
            family,
            flows: Vec::new(),
            at_ms: 0,
            last: None,
            pending: VecDeque::new(),
            datagram: index.wrapping_mul(DATAGRAMS_A_CASE),
        }
    }

    /// The next packet, number `index`, with the fields that must be taken from earlier answers.
    pub(super) fn next(&mut self, rng: &mut Rng, index: usize) -> (Packet, Vec<Link>) {
        // A pause past the two seconds of a UDP stream.
        // Not while a socket of the node would send its SYN-ACK again in that time.
        let waits = rng.one_in(PAUSE_EVERY);
        if index > 0 && waits && self.flows.iter().all(|flow| flow.client.is_none()) {
            self.at_ms += 2100;
        }
        if let Some(fragment) = self.pending.pop_front() {
            self.last = None;
            return (Packet { at_ms: self.at_ms, ..fragment }, Vec::new());
        }
        if self.flows.len() < FLOWS && (self.flows.is_empty() || rng.one_in(5)) {
            let flow = self.open(rng);
            self.flows.push(flow);
        }
        let number = rng.below(self.flows.len() as u64) as usize;
        let flow = &mut self.flows[number];
        let turn = if flow.is("sctp") { sctp::far_turn(flow.step) || rng.one_in(6) } else { rng.one_in(2) };
        let far_side = flow.received.is_some() && turn;
        self.last = Some((number, !far_side));
        let (mut packet, links) = if far_side { flow.far_end(rng, index) } else { flow.near_end(rng, index) };
        packet.at_ms = self.at_ms;
        if packet.raw_hex.is_none() && flow.client.is_none() {
            if rng.one_in(15) {
                packet.ttl = Some(*rng.pick(&[1, 2, 3, 255]));
            }
            if rng.one_in(10) {
                packet.tos = Some(*rng.pick(&[8, 0x10, 184, 3]));
            }
            let often = if flow.is("tcp") { 60 } else { 15 };
            let whole = packet.flags.as_ref().is_some_and(|flags| flags.contains('S'));
            if links.is_empty() && !whole && rng.one_in(often) {
                return (self.fragmented(rng, packet), links);
            }
        }
        (packet, links)
    }

    /// The first fragment of the packet; the others wait. The packet itself when it is too short.
    fn fragmented(&mut self, rng: &mut Rng, packet: Packet) -> Packet {
        let bytes = build(&packet).expect("the generator makes packets that can be built");
        let pieces = fragments::cut(&bytes, self.datagram as u16, rng);
        let mut pieces = pieces.into_iter().map(|piece| Packet {
            input: packet.input.clone(),
            mac: packet.mac.clone(),
            at_ms: packet.at_ms,
            raw_hex: Some(piece),
            ..Packet::default()
        });
        let Some(first) = pieces.next() else { return packet };
        self.datagram += 1;
        self.pending.extend(pieces);
        self.last = None;
        first
    }

    /// Remembers what came out.
    pub(super) fn learn(&mut self, sent: &Packet, answer: &Answer, index: usize) {
        let Some((number, near)) = self.last else { return };
        let flow = &mut self.flows[number];
        if let Some(client) = &mut flow.client {
            return client.learn(answer, index);
        }
        if flow.is("sctp") {
            let carried = answer.emitted.iter().find(|seen| seen.proto == "sctp" && !answer.delivered);
            if let Some(seen) = carried.filter(|seen| near && !flow.drawn(seen)) {
                flow.received = Some((index, seen.clone()));
            }
            return;
        }
        // What the node made itself (RST, ICMP error, echo reply, SYN-ACK) is no delivery to the other end.
        let carried = answer.emitted.iter().find(|seen| {
            !answer.delivered
                && seen.quoted.is_none()
                && Some(seen.len) == sent.len.or(Some(0))
                && seen.flags == sent.flags
        });
        let Some(seen) = carried else { return };
        if near {
            flow.received = Some((index, seen.clone()));
        } else {
            flow.answered = Some(seen.clone());
        }
    }

    fn open(&mut self, rng: &mut Rng) -> Flow {
        let four = self.family == Family::V4;
        let (clients, servers, own, remote) = if four {
            (
                ["10.1.0.2", "10.1.0.3"],
                ["10.2.0.2", "10.2.0.3"],
                ["10.1.0.1", "10.2.0.1"],
                ["10.96.0.1", "10.96.0.2", "203.0.113.9"],
            )
        } else {
            (
                ["fd00:1::2", "fd00:1::3"],
                ["fd00:2::2", "fd00:2::3"],
                ["fd00:1::1", "fd00:2::1"],
                ["fd96::1", "fd96::2", "2001:db8::9"],
            )
        };
        let mut packet = Packet {
            input: "c0".into(),
            src: Some(address(rng.pick::<&str>(&clients))),
            ..Packet::default()
        };
        match rng.below(10) {
            0 => {
                packet.input = "local".into();
                packet.src = Some(address(rng.pick::<&str>(&own)));
            }
            1 | 2 => {
                packet.input = "s0".into();
                packet.src = Some(address(rng.pick::<&str>(&servers)));
            }
            _ => {}
        }
        let to = *match rng.below(8) {
            0 | 1 if packet.input != "local" => rng.pick(&own),
            0..=3 => rng.pick(if packet.input == "s0" { &clients } else { &servers }),
            _ => rng.pick(&remote),
        };
        packet.dst = Some(address(to));
        let icmp = if four { "icmp" } else { "icmpv6" };
        let mut proto = *rng.pick(&[
            "tcp", "tcp", "tcp", "tcp", "tcp", "tcp", "tcp", "udp", "udp", "udp", "udp", icmp, icmp, "99",
            "sctp",
        ]);
        if packet.input != "local" && rng.one_in(20) {
            // To everybody on the link.
            let group = if four { *rng.pick(&["255.255.255.255", "224.0.0.1"]) } else { "ff02::1" };
            packet.dst = Some(address(group));
            proto = "udp";
        }
        packet.proto = Some(text(proto));
        packet.mac = (packet.input != "local" && rng.one_in(5)).then(|| OTHER_MAC.to_string());
        let near = *rng.pick(&[1000, 1000, 4_294_967_290, 2_147_483_640]);
        let mut client = None;
        match proto {
            "tcp" if own.contains(&to) && packet.input != "local" && rng.one_in(3) => {
                packet.sport = Some(*rng.pick(&[40000, 40001, 700]));
                packet.dport = Some(listener::PORT);
                client = Some(Client::new(near));
            }
            "tcp" | "udp" => {
                packet.sport = Some(*rng.pick(&[40000, 40000, 40001, 300, 700, 1023]));
                packet.dport = Some(*rng.pick(&PORTS));
            }
            "sctp" => {
                packet.sport = Some(*rng.pick(&[40000, 40001]));
                packet.dport = Some(*rng.pick(&PORTS));
            }
            "99" => packet.len = Some(20),
            _ => {
                packet.icmp_id = Some(*rng.pick(&[7, 7, 8]));
                packet.icmp_type =
                    Some(if !four { 128 } else { *rng.pick(&[8, 8, 8, 8, 8, 13, 15, 17, 10]) });
            }
        }
        Flow { packet, received: None, answered: None, near, far: 500_000, step: 0, client }
    }
}

impl Flow {
    fn is(&self, proto: &str) -> bool {
        self.packet.proto == Some(text(proto))
    }

    /// Whether NAT may have drawn a port or identifier of what was received.
    fn drawn(&self, seen: &Seen) -> bool {
        seen.sport != self.packet.sport
            || seen.icmp_id != self.packet.icmp_id
            || seen.dport.is_some_and(|port| DRAWN_PORTS.contains(&port))
    }

    /// The near end speaks.
    fn near_end(&mut self, rng: &mut Rng, index: usize) -> (Packet, Vec<Link>) {
        let mut packet = self.packet.clone();
        if let Some(client) = &mut self.client {
            let links = client.segment(rng, &mut packet, index);
            return (packet, links);
        }
        if self.is("sctp") {
            return (self.chunk(rng, packet, true), Vec::new());
        }
        if self.is("tcp") {
            let heard = self.answered.is_some();
            self.segment(rng, &mut packet, true, heard);
        } else if packet.icmp_type.is_some() {
            packet.icmp_seq = Some(self.step as u16);
            packet.len = Some(*rng.pick(&[0, 8, 56]));
        } else {
            packet.len = Some(*rng.pick(&[1, 4, 20, 500]));
        }
        self.step += 1;
        (packet, Vec::new())
    }

    /// An SCTP packet between the ends that `packet` names.
    fn chunk(&mut self, rng: &mut Rng, packet: Packet, near: bool) -> Packet {
        let ends = packet.src.zip(packet.dst).expect("a flow has two ends");
        let ports = packet.sport.zip(packet.dport).unwrap_or_default();
        let (raw_hex, went_on) = sctp::packet(rng, self.step, near, ends, ports);
        self.step += u32::from(went_on);
        Packet { input: packet.input, mac: packet.mac, raw_hex: Some(raw_hex), ..Packet::default() }
    }

    /// The far end speaks: it answers what it received.
    fn far_end(&mut self, rng: &mut Rng, index: usize) -> (Packet, Vec<Link>) {
        let (from, seen) = self.received.clone().expect("asked only then");
        let mut packet = Packet {
            input: seen.dev.clone(),
            src: seen.dst.parse().ok(),
            dst: seen.src.parse().ok(),
            proto: self.packet.proto.clone(),
            sport: seen.dport,
            dport: seen.sport,
            ..Packet::default()
        };
        let mut links = Vec::new();
        if self.is("sctp") {
            return (self.chunk(rng, packet, false), links);
        }
        let drawn = seen.sport != self.packet.sport || seen.icmp_id != self.packet.icmp_id;
        if rng.one_in(8)
            && !self.drawn(&seen)
            && let Some(error) = error(rng, &packet, &seen)
        {
            return (error, links);
        }
        if drawn && seen.sport.is_some() {
            packet.dport = Some(0);
            links.push(Link { packet: index, set: "dport".into(), from, field: "sport".into(), add: 0 });
        }
        // DNAT to a range may draw, too.
        if seen.dport != self.packet.dport && seen.dport.is_some() {
            packet.sport = Some(0);
            links.push(Link { packet: index, set: "sport".into(), from, field: "dport".into(), add: 0 });
        }
        if self.is("tcp") {
            self.segment(rng, &mut packet, false, true);
        } else if self.packet.icmp_type.is_some() {
            packet.icmp_type = Some(match self.packet.icmp_type {
                Some(128) => 129,
                Some(8) | None => 0,
                // TIMESTAMP, INFORMATION and ADDRESS MASK are answered by the next number.
                Some(asked) => asked + 1,
            });
            packet.icmp_id = seen.icmp_id;
            packet.icmp_seq = seen.icmp_seq;
            packet.len = Some(seen.len);
            if drawn {
                links.push(Link {
                    packet: index,
                    set: "icmp_id".into(),
                    from,
                    field: "icmp_id".into(),
                    add: 0,
                });
            }
        } else {
            packet.len = Some(*rng.pick(&[1, 30, 200]));
        }
        (packet, links)
    }

    /// Fills in a TCP segment: mostly the next one of a well-behaved connection.
    fn segment(&mut self, rng: &mut Rng, packet: &mut Packet, near: bool, heard: bool) {
        let (own, peer) = if near { (self.near, self.far) } else { (self.far, self.near) };
        let opened = if near { self.step > 0 && heard } else { self.far != 500_000 };
        let flags = if !opened {
            if near { "S" } else { "SA" }
        } else {
            *rng.pick(&["A", "A", "A", "PA", "PA", "PA", "FA", "FA", "R", "RA"])
        };
        let mut seq = own;
        let mut ack = if flags.contains('A') { peer } else { 0 };
        let mut flags = flags.to_string();
        let length: u16 = if flags == "PA" { *rng.pick(&[1, 10, 500, 1400]) } else { 0 };
        let mut odd = false;
        if rng.one_in(6) {
            odd = true;
            match rng.below(8) {
                0 => {
                    flags = rng
                        .pick(&["", "F", "SF", "SR", "S", "SA", "R", "RA", "FPU", "U", "AU", "SP", "SEC"])
                        .to_string()
                }
                1 => seq = seq.wrapping_sub(*rng.pick(&[1, 10, 1000, 70_000, 200_000])),
                2 => seq = seq.wrapping_add(*rng.pick(&[1, 10, 1000, 30_000, 66_000, 10_000_000])),
                3 => ack = ack.wrapping_add(*rng.pick(&[1, 100, 66_000, 500_000])),
                4 => ack = ack.wrapping_sub(*rng.pick(&[1, 100, 66_000, 100_000])),
                5 => flags = "S".into(),
                6 => flags = "A".into(),
                _ => seq = 0,
            }
        }
        packet.win = Some(*rng.pick(&[64240, 64240, 64240, 502, 502, 0, 100]));
        if flags.contains('S') {
            packet.win = Some(64240);
            packet.mss = rng.pick(&[Some(1460), Some(536), None]).to_owned();
            packet.wscale = rng.pick(&[Some(7), Some(0), None]).to_owned();
            packet.sack_ok = rng.one_in(2).then_some(true);
        }
        if !odd {
            let syn_fin = u32::from(flags.contains('S')) + u32::from(flags.contains('F'));
            let next = own.wrapping_add(u32::from(length) + syn_fin);
            // A repeated packet now and then.
            if !rng.one_in(8) || flags.contains('S') {
                if near { self.near = next } else { self.far = next }
            }
        }
        if near && flags == "S" && !odd && self.step > 0 && rng.one_in(2) {
            // Sent again unchanged.
            self.near = own;
        }
        packet.flags = Some(flags);
        packet.seq = Some(seq);
        packet.ack = Some(ack);
        packet.len = Some(length);
    }
}

/// An ICMP error about what was received, from the host that received it.
fn error(rng: &mut Rng, packet: &Packet, seen: &Seen) -> Option<Packet> {
    let inner = Packet {
        src: seen.src.parse().ok(),
        dst: seen.dst.parse().ok(),
        proto: Some(text(&seen.proto)),
        sport: seen.sport,
        dport: seen.dport,
        flags: seen.flags.clone(),
        seq: seen.seq,
        ack: seen.ack,
        win: seen.win,
        len: Some(seen.len),
        ttl: Some(seen.ttl),
        icmp_type: seen.icmp_type,
        icmp_code: seen.icmp_code,
        icmp_id: seen.icmp_id,
        icmp_seq: seen.icmp_seq,
        ..Packet::default()
    };
    let six = seen.src.contains(':');
    let kinds: &[(u8, u8)] = if six {
        &[(1, 4), (1, 0), (3, 0), (2, 0)]
    } else {
        &[(3, 3), (3, 1), (3, 0), (11, 0), (3, 4), (12, 0), (4, 0)]
    };
    let (kind, code) = *rng.pick(kinds);
    let outer = Packet { icmp_type: Some(kind), icmp_code: Some(code), ..packet.clone() };
    let mut inner = build(&inner).ok()?;
    inner.truncate(QUOTED_BYTES);
    quoting_bytes(outer, &inner).ok()
}
