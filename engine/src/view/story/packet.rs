//! A packet as a [`PacketView`].

use crate::packet::{Family, Icmp, L4, Packet, TcpFlags, proto};
use crate::view::packet::PacketView;

/// Reads the headers.
pub fn packet_view(packet: &Packet) -> PacketView {
    let ports = packet.ports();
    let mut view = PacketView {
        proto: proto_name(packet.ip.proto),
        src: packet.ip.src.to_string(),
        dst: packet.ip.dst.to_string(),
        sport: ports.map(|(source, _)| source),
        dport: ports.map(|(_, destination)| destination),
        detail: detail(packet),
        ttl: packet.ip.ttl,
        len_bytes: packet.len_bytes() as u32,
        ..PacketView::default()
    };
    view.line = line(&view);
    view
}

/// The one-line form, without what is not the packet's own.
pub(super) fn line(view: &PacketView) -> String {
    let device = if view.in_dev.is_empty() { String::new() } else { format!(" in {}", view.in_dev) };
    format!("{} {} > {}{device}", view.proto, view.source(), view.destination())
}

/// As the replay contract names protocols.
pub(super) fn proto_name(number: u8) -> String {
    match number {
        proto::ICMP => "icmp".to_owned(),
        proto::TCP => "tcp".to_owned(),
        proto::UDP => "udp".to_owned(),
        proto::ICMPV6 => "icmpv6".to_owned(),
        proto::SCTP => "sctp".to_owned(),
        other => other.to_string(),
    }
}

fn detail(packet: &Packet) -> String {
    match &packet.l4 {
        L4::Tcp(tcp) => flags(tcp.flags),
        L4::Icmp(icmp) => icmp_words(packet.family(), icmp),
        L4::Udp(_) | L4::Sctp(_) | L4::Raw(_) | L4::Truncated(_) => String::new(),
    }
}

fn flags(flags: TcpFlags) -> String {
    const NAMES: [(TcpFlags, &str); 8] = [
        (TcpFlags::SYN, "SYN"),
        (TcpFlags::FIN, "FIN"),
        (TcpFlags::RST, "RST"),
        (TcpFlags::PSH, "PSH"),
        (TcpFlags::ACK, "ACK"),
        (TcpFlags::URG, "URG"),
        (TcpFlags::ECE, "ECE"),
        (TcpFlags::CWR, "CWR"),
    ];
    let set: Vec<_> = NAMES.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| *name).collect();
    if set.is_empty() { "no flags".to_owned() } else { set.join(", ") }
}

fn icmp_words(family: Family, icmp: &Icmp) -> String {
    let words = match (family, icmp.kind, icmp.code) {
        (Family::V4, 0, _) | (Family::V6, 129, _) => "echo reply",
        (Family::V4, 8, _) | (Family::V6, 128, _) => "echo request",
        (Family::V4, 3, 0) | (Family::V6, 1, 0) => "no route",
        (Family::V4, 3, 1) | (Family::V6, 1, 3) => "host unreachable",
        (Family::V4, 3, 3) | (Family::V6, 1, 4) => "port unreachable",
        (Family::V4, 3, 4) | (Family::V6, 2, _) => "packet too big",
        (Family::V4, 3, 9 | 10 | 13) | (Family::V6, 1, 1) => "administratively prohibited",
        (Family::V4, 11, _) | (Family::V6, 3, _) => "time exceeded",
        (_, kind, code) => return format!("type {kind} code {code}"),
    };
    words.to_owned()
}
