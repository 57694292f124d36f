//! The line LOG writes (`nf_log_ip_packet`, `nf_log_ip6_packet`).

use std::net::{IpAddr, Ipv6Addr};

use super::super::prelude::*;
use crate::packet::{Icmp, Tcp, TcpFlags};

/// `XT_LOG_TCPSEQ`, `XT_LOG_TCPOPT`, `XT_LOG_IPOPT`, `XT_LOG_UID`.
const TCP_SEQUENCE: u8 = 0x01;
const TCP_OPTIONS: u8 = 0x02;
const IP_OPTIONS: u8 = 0x04;
const UID: u8 = 0x08;

/// The line, without level and time.
pub(in crate::netfilter) fn packet_line(cx: &Cx<'_>, skb: &Skb, prefix: &str, flags: u8) -> String {
    let name = |dev: Option<crate::netfilter::DevRef<'_>>| dev.map_or(String::new(), |d| d.name.to_owned());
    let mut out = format!("{prefix}IN={} OUT={} ", name(cx.indev), name(cx.outdev));
    if cx.indev.is_some() {
        out.push_str("MAC= ");
    }
    ip_header(&mut out, &skb.packet, flags);
    transport(&mut out, &skb.packet, flags);
    if let Some(owner) = skb.owner.filter(|_| flags & UID != 0) {
        let _ = write!(out, "UID={} GID={} ", owner.uid, owner.gid);
    }
    if skb.mark != 0 {
        let _ = write!(out, "MARK={:#x} ", skb.mark);
    }
    out
}

/// All eight groups with leading zeros, as the kernel's `%pI6`.
fn full(addr: Ipv6Addr) -> String {
    addr.segments().map(|s| format!("{s:04x}")).join(":")
}

fn ip_header(out: &mut String, packet: &Packet, flags: u8) {
    let ip = &packet.ip;
    match (ip.src, ip.dst) {
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let _ = write!(out, "SRC={} DST={} LEN={} ", full(src), full(dst), packet.len_bytes());
            let _ = write!(out, "TC={} HOPLIMIT={} FLOWLBL={} ", ip.tos, ip.ttl, ip.flow_label);
            if ip.more_fragments || ip.frag_offset != 0 {
                let _ = write!(out, "FRAG:{} ", ip.frag_offset);
                let _ =
                    write!(out, "{}ID:{:08x} ", if ip.more_fragments { "INCOMPLETE " } else { "" }, ip.id);
            }
        }
        (src, dst) => {
            let _ = write!(out, "SRC={src} DST={dst} LEN={} ", packet.len_bytes());
            let _ = write!(out, "TOS=0x{:02X} PREC=0x{:02X} ", ip.tos & 0x1e, ip.tos & 0xe0);
            let _ = write!(out, "TTL={} ID={} ", ip.ttl, ip.id);
            out.push_str(if ip.dont_fragment { "DF " } else { "" });
            out.push_str(if ip.more_fragments { "MF " } else { "" });
            if ip.frag_offset != 0 {
                let _ = write!(out, "FRAG:{} ", ip.frag_offset / 8);
            }
            if flags & IP_OPTIONS != 0 && !ip.options.is_empty() {
                hex(out, &ip.options);
            }
        }
    }
}

fn hex(out: &mut String, bytes: &[u8]) {
    out.push_str("OPT (");
    for byte in bytes {
        let _ = write!(out, "{byte:02X}");
    }
    out.push_str(") ");
}

fn transport(out: &mut String, packet: &Packet, flags: u8) {
    match &packet.l4 {
        L4::Tcp(tcp) => tcp_header(out, tcp, flags),
        L4::Udp(udp) => {
            let _ = write!(out, "PROTO=UDP SPT={} DPT={} LEN={} ", udp.sport, udp.dport, udp.length);
        }
        L4::Icmp(icmp) => icmp_header(out, packet.family(), icmp),
        L4::Sctp(_) | L4::Raw(_) => {
            let _ = match packet.ip.proto {
                proto::TCP => write!(out, "PROTO=TCP "),
                proto::UDP => write!(out, "PROTO=UDP "),
                proto::ESP => write!(out, "PROTO=ESP "),
                proto::AH => write!(out, "PROTO=AH "),
                other => write!(out, "PROTO={other} "),
            };
        }
        L4::Truncated(bytes) => {
            let _ = write!(out, "INCOMPLETE [{} bytes] ", bytes.len());
        }
    }
}

fn tcp_header(out: &mut String, tcp: &Tcp, flags: u8) {
    let _ = write!(out, "PROTO=TCP SPT={} DPT={} ", tcp.sport, tcp.dport);
    if flags & TCP_SEQUENCE != 0 {
        let _ = write!(out, "SEQ={} ACK={} ", tcp.seq, tcp.ack);
    }
    let _ = write!(out, "WINDOW={} RES=0x00 ", tcp.window);
    for (flag, name) in [
        (TcpFlags::CWR, "CWR"),
        (TcpFlags::ECE, "ECE"),
        (TcpFlags::URG, "URG"),
        (TcpFlags::ACK, "ACK"),
        (TcpFlags::PSH, "PSH"),
        (TcpFlags::RST, "RST"),
        (TcpFlags::SYN, "SYN"),
        (TcpFlags::FIN, "FIN"),
    ] {
        if tcp.flags.has(flag) {
            let _ = write!(out, "{name} ");
        }
    }
    let _ = write!(out, "URGP={} ", tcp.urgent);
    if flags & TCP_OPTIONS != 0 && !tcp.options.is_empty() {
        hex(out, &tcp.options);
    }
}

fn icmp_header(out: &mut String, family: Family, icmp: &Icmp) {
    let name = match family {
        Family::V4 => "ICMP",
        Family::V6 => "ICMPv6",
    };
    let _ = write!(out, "PROTO={name} TYPE={} CODE={} ", icmp.kind, icmp.code);
    let echo = match family {
        Family::V4 => matches!(icmp.kind, 0 | 8),
        Family::V6 => matches!(icmp.kind, 128 | 129),
    };
    if echo {
        let _ = write!(out, "ID={} SEQ={} ", icmp.id(), icmp.seq());
    }
}
