//! Compares emitted packets field by field.

use std::collections::BTreeMap;

use super::{Difference, differ};
use crate::case::Answer;
use crate::frame::{Seen, build, decode};
use crate::generate::DRAWN_PORTS;
use crate::replay::{Packet, proto_number};

/// Numbers that each arm drew for itself: the kernel's by the emulator's.
#[derive(Debug, Clone, Default)]
pub struct Ports {
    /// Ports of NAT, per protocol and address.
    drawn: BTreeMap<(String, String, u16), u16>,
    /// How far the node's sequence numbers are apart, by the node's address and the peer's address and port.
    sequences: BTreeMap<(String, String, Option<u16>), u32>,
}

impl Ports {
    /// Whether no port was drawn.
    pub fn is_empty(&self) -> bool {
        self.drawn.is_empty()
    }

    /// Whether this port of the kernel's is a draw that was seen on a packet.
    pub fn seen(&self, kernel: u16) -> bool {
        self.drawn.values().any(|port| *port == kernel)
    }

    /// The kernel's port for a port the emulator drew; for this address, or for any where a later rule changed
    /// the address only.
    pub fn of_kernel(&self, proto: &str, address: &str, emulator: u16) -> Option<u16> {
        let of_address = self.drawn.get(&(proto.to_string(), address.to_string(), emulator));
        let any = || self.drawn.iter().find(|((name, _, port), _)| name == proto && *port == emulator);
        of_address.or_else(|| any().map(|(_, port)| port)).copied()
    }

    /// Whether the two ports of this address are the same draw.
    fn same(&self, proto: &str, address: &str, kernel: Option<u16>, emulator: Option<u16>) -> bool {
        match (kernel, emulator) {
            (Some(theirs), Some(ours)) => {
                theirs == ours || self.of_kernel(proto, address, ours) == Some(theirs)
            }
            (theirs, ours) => theirs == ours,
        }
    }

    /// Learns a draw: both arms changed the port that was sent, and both stayed in its class.
    fn learn(&mut self, sent: Option<&Packet>, kernel: &Seen, emulator: &Seen) {
        self.learn_destination(sent, kernel, emulator);
        // A fragment that completes a datagram has no ports of its own; what left then has.
        let original = sent.and_then(|packet| match &packet.raw_hex {
            Some(_) => build(packet).ok().and_then(|bytes| decode(&bytes)).as_ref().and_then(source),
            None if kernel.icmp_id.is_some() => packet.icmp_id,
            None => packet.sport,
        });
        self.learn_source(original, kernel, emulator);
        // A RST of the node to the port that SNAT in INPUT drew for its peer.
        if kernel.flags.as_deref().is_some_and(|flags| flags.contains('R'))
            && let (Some(theirs), Some(ours)) = (kernel.dport, emulator.dport)
            && theirs != ours
            && original.is_none_or(|port| theirs != port && ours != port)
            && class(theirs) == class(ours)
            && kernel.dst == emulator.dst
        {
            self.drawn.insert((kernel.proto.clone(), kernel.dst.clone(), ours), theirs);
        }
        // A port that shows only in the error about its packet.
        if let (Some(theirs), Some(ours)) = (&kernel.quoted, &emulator.quoted) {
            self.learn_source(original, theirs, ours);
        }
    }

    fn learn_source(&mut self, original: Option<u16>, kernel: &Seen, emulator: &Seen) {
        let (Some(theirs), Some(ours)) = (source(kernel), source(emulator)) else { return };
        let drawn = theirs != ours && original.is_none_or(|port| theirs != port && ours != port);
        let ranges = kernel.icmp_id.is_some() || class(theirs) == class(ours);
        if drawn && ranges && kernel.src == emulator.src {
            // A closed connection frees its port, so a later draw may replace this one.
            self.drawn.insert((kernel.proto.clone(), kernel.src.clone(), ours), theirs);
        }
    }
}

impl Ports {
    /// A client of a listening socket acknowledges what that socket sent.
    fn same_ack(&self, kernel: &Seen, emulator: &Seen) -> bool {
        let apart = kernel.ack.unwrap_or(0).wrapping_sub(emulator.ack.unwrap_or(0));
        kernel.ack.is_some() == emulator.ack.is_some()
            && (apart == 0 || self.sequences.values().any(|known| *known == apart))
    }

    /// The same for a destination port, which only `--random` draws.
    fn learn_destination(&mut self, sent: Option<&Packet>, kernel: &Seen, emulator: &Seen) {
        let original = sent.and_then(|packet| packet.dport);
        if let (Some(theirs), Some(ours)) = (kernel.dport, emulator.dport)
            && DRAWN_PORTS.contains(&theirs)
            && DRAWN_PORTS.contains(&ours)
            && original.is_none_or(|port| !DRAWN_PORTS.contains(&port))
            && kernel.dst == emulator.dst
        {
            self.drawn.insert((kernel.proto.clone(), kernel.dst.clone(), ours), theirs);
        }
    }

    /// Whether a segment of the node's own TCP has the same place in its stream on both arms; a SYN-ACK tells
    /// how far the initial numbers are apart. A RST repeats what the peer acknowledged, be that of the stream or
    /// not.
    fn same_sequence(&mut self, kernel: &Seen, emulator: &Seen) -> bool {
        let apart = kernel.seq.unwrap_or(0).wrapping_sub(emulator.seq.unwrap_or(0));
        let key = (kernel.src.clone(), kernel.dst.clone(), kernel.dport);
        if kernel.flags.as_deref() == Some("SA") {
            self.sequences.insert(key, apart);
            return true;
        }
        // NAT may tell the same peer by another address now.
        apart == 0 || self.sequences.values().any(|known| *known == apart)
    }
}

/// The port range that NAT stays in (nf_nat_core.c: below 512, 512-1023, above).
pub(super) fn class(port: u16) -> u8 {
    match port {
        0..=511 => 0,
        512..=1023 => 1,
        _ => 2,
    }
}

fn source(packet: &Seen) -> Option<u16> {
    packet.icmp_id.or(packet.sport)
}

/// Whether the node's stack has somebody for the protocol.
fn known(proto: &str) -> bool {
    matches!(proto, "tcp" | "udp" | "icmp" | "icmpv6")
}

/// Compares what one packet caused.
pub(super) fn answers(
    at: &str,
    sent: Option<&Packet>,
    kernel: &Answer,
    emulator: &Answer,
    ports: &mut Ports,
    found: &mut Vec<Difference>,
) {
    let local = sent.is_some_and(|packet| packet.input == "local");
    // A local packet may meet the node's own stack again over `lo`, which InDelivers also counts.
    // It counts only what a protocol takes: not the packets answered by "protocol unreachable".
    // The error that a rejected answer of the node's own is told by, which goes to the node itself, counts too.
    let rejected = emulator.rejected && kernel.delivered;
    let unknown = sent.is_some_and(|packet| match &packet.raw_hex {
        Some(_) => {
            build(packet).ok().and_then(|bytes| decode(&bytes)).is_some_and(|seen| !known(&seen.proto))
        }
        None => proto_number(packet).is_some_and(|proto| !matches!(proto, 1 | 6 | 17 | 58)),
    });
    if !local && !unknown && !rejected && kernel.delivered != emulator.delivered {
        differ(found, format!("{at}: delivered"), kernel.delivered, emulator.delivered);
    }
    if local && kernel.error.is_some() != emulator.error.is_some() {
        let name = |answer: &Answer| answer.error.clone().unwrap_or_else(|| "sent".into());
        differ(found, format!("{at}: sender"), name(kernel), name(emulator));
    }
    if kernel.emitted.len() != emulator.emitted.len() {
        let list = |answer: &Answer| match answer.emitted.as_slice() {
            [] => "nothing".to_string(),
            packets => packets.iter().map(brief).collect::<Vec<_>>().join(" | "),
        };
        differ(found, format!("{at}: emitted"), list(kernel), list(emulator));
        return;
    }
    for (theirs, ours) in kernel.emitted.iter().zip(&emulator.emitted) {
        ports.learn(sent, theirs, ours);
        let own_stack = match theirs.flags.as_deref() {
            Some("SA" | "A") => kernel.delivered,
            // REJECT's RST repeats a number, too.
            flags => flags == Some("R"),
        };
        let mut fields = fields(theirs, ours, ports, own_stack);
        if own_stack && !ports.same_sequence(theirs, ours) {
            fields.push("seq");
        }
        if !fields.is_empty() {
            differ(found, format!("{at}: {}", fields.join(", ")), brief(theirs), brief(ours));
        }
    }
}

/// Names of the fields that differ. `own_stack`: a SYN-ACK or ACK of the node itself, whose sequence number and window
/// are the node's TCP stack's, not netfilter's.
fn fields(kernel: &Seen, emulator: &Seen, ports: &Ports, own_stack: bool) -> Vec<&'static str> {
    let same = |address: &str, theirs, ours| ports.same(&kernel.proto, address, theirs, ours);
    let checks = [
        ("dev", kernel.dev == emulator.dev),
        ("src", kernel.src == emulator.src),
        ("dst", kernel.dst == emulator.dst),
        ("proto", kernel.proto == emulator.proto),
        ("ttl", kernel.ttl == emulator.ttl),
        ("tos", kernel.tos == emulator.tos),
        ("sport", same(&kernel.src, kernel.sport, emulator.sport)),
        ("dport", same(&kernel.dst, kernel.dport, emulator.dport)),
        ("flags", kernel.flags == emulator.flags),
        ("seq", own_stack || kernel.seq == emulator.seq),
        ("ack", ports.same_ack(kernel, emulator)),
        ("win", own_stack || kernel.win == emulator.win),
        ("len", kernel.len == emulator.len),
        ("mss", own_stack || kernel.mss == emulator.mss),
        ("icmp_type", kernel.icmp_type == emulator.icmp_type),
        ("icmp_code", kernel.icmp_code == emulator.icmp_code),
        // An answer carries the id of the request, so it belongs to the other address.
        (
            "icmp_id",
            [&kernel.src, &kernel.dst].iter().any(|host| same(host, kernel.icmp_id, emulator.icmp_id)),
        ),
        ("icmp_seq", kernel.icmp_seq == emulator.icmp_seq),
        ("fragment", kernel.fragment == emulator.fragment),
        (
            "quoted",
            match (&kernel.quoted, &emulator.quoted) {
                (Some(theirs), Some(ours)) => fields(theirs, ours, ports, false).is_empty(),
                (theirs, ours) => theirs.is_none() == ours.is_none(),
            },
        ),
    ];
    checks.into_iter().filter(|(_, equal)| !equal).map(|(name, _)| name).collect()
}

/// One line for one packet.
fn brief(packet: &Seen) -> String {
    let mut text = format!("{} {} {}", packet.dev, packet.proto, packet.src);
    let port = |port: Option<u16>| port.map(|port| format!(":{port}")).unwrap_or_default();
    text += &format!("{} > {}{}", port(packet.sport), packet.dst, port(packet.dport));
    if let Some(flags) = &packet.flags {
        let number = |value: Option<u32>| value.unwrap_or_default();
        text += &format!(" [{flags}] seq={} ack={}", number(packet.seq), number(packet.ack));
        text += &format!(" win={}", packet.win.unwrap_or_default());
    }
    if let (Some(kind), Some(code)) = (packet.icmp_type, packet.icmp_code) {
        text += &format!(" {kind}/{code}");
    }
    if let Some(id) = packet.icmp_id {
        text += &format!(" id={id} seq={}", packet.icmp_seq.unwrap_or_default());
    }
    text += &format!(" len={} ttl={} tos={}", packet.len, packet.ttl, packet.tos);
    if let Some(mss) = packet.mss {
        text += &format!(" mss={mss}");
    }
    if let Some(quoted) = &packet.quoted {
        text += &format!(" quoting ({})", brief(quoted).trim());
    }
    text
}
