//! `nft monitor trace`: the traces of packets as nft 1.0.6 prints them.
//!
//! Simplified: counters in rules stand as they did at the first event.

use std::fmt::Write as _;

use super::print::rule_text;
use super::symbols::{self, Radix};
use crate::netfilter::nft::monitor::{Dump, Heard, What};
use crate::netfilter::nft::{Proto, Ruleset, TableFamily, Type};
use crate::packet::{Family, L4, proto};

/// Bytes of the transport header that the kernel tells (`NFT_TRACETYPE_TRANSPORT_HSIZE`).
const TRANSPORT_BYTES: usize = 20;

/// Everything heard so far.
pub fn trace(ruleset: &Ruleset) -> String {
    let mut out = String::new();
    for heard in &ruleset.state.monitor.events {
        event(&mut out, ruleset, heard);
    }
    out
}

fn event(out: &mut String, ruleset: &Ruleset, heard: &Heard) {
    let Heard { id, family, table, chain, what } = heard;
    let _ = write!(out, "trace id {id:08x} {} {table} {chain} ", family.name());
    match what {
        What::Packet(dump) => {
            out.push_str("packet: ");
            packet(out, dump, matches!(family, TableFamily::Ip | TableFamily::Ip6));
        }
        What::Rule { handle, verdict } => {
            let known = ruleset.table(*family, table);
            let rule = known
                .and_then(|table| table.chains.get(&**chain)?.rules.iter().find(|r| r.handle == *handle));
            let state = ruleset.state.monitor.before.as_deref().unwrap_or(&ruleset.state);
            match known.zip(rule) {
                Some((table, rule)) => {
                    let _ = write!(out, "rule {} (verdict {verdict})", rule_text(table, rule, state));
                }
                None => {
                    let _ = write!(out, "unknown rule handle {handle} (verdict {verdict})");
                }
            }
        }
        What::Policy { verdict, mark } => {
            let _ = write!(out, "policy {verdict} ");
            if *mark != 0 {
                let _ = write!(out, "meta mark 0x{mark:08x} ");
            }
        }
    }
    out.push('\n');
}

/// `one_family`: a table of one family, where the protocol goes without saying if its header follows.
fn packet(out: &mut String, dump: &Dump, one_family: bool) {
    for (name, device) in [("iif", &dump.iif), ("oif", &dump.oif)] {
        if let Some(device) = device {
            let _ = write!(out, "{name} \"{device}\" ");
        }
    }
    if let Some([source, destination]) = dump.ether {
        for (name, mac) in [("saddr", source), ("daddr", destination)] {
            let [a, b, c, d, e, f] = mac;
            let _ = write!(out, "ether {name} {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x} ");
        }
    }
    if dump.iif.as_deref() == Some("lo") {
        // A header that nobody filled in but for the protocol.
        let _ =
            write!(out, "@ll,0,112 0x{:x} ", if dump.packet.family() == Family::V4 { 0x800 } else { 0x86dd });
    }
    let packet = &dump.packet;
    let ip = &packet.ip;
    let bytes = packet.to_bytes();
    let v4 = packet.family() == Family::V4;
    // What the header itself names: of IPv6 it may be an extension, behind which the tool does not look.
    let protocol = if v4 { ip.proto } else { bytes.get(6).copied().unwrap_or(ip.proto) };
    let header = match packet.l4 {
        L4::Raw(_) | L4::Truncated(_) => None,
        _ => Proto::ALL.into_iter().find(|p| p.l4proto() == Some(protocol)),
    };
    let says_protocol = !one_family || header.is_none();
    let symbol = |out: &mut String, name: &str, ty, value: u128| {
        let _ = write!(out, "{name} ");
        symbols::print(out, ty, value, Radix::Decimal);
        out.push(' ');
    };
    let name = if v4 { "ip" } else { "ip6" };
    let _ = write!(out, "{name} saddr {} {name} daddr {} ", ip.src, ip.dst);
    symbol(out, &format!("{name} dscp"), Type::Dscp, u128::from(ip.tos >> 2));
    symbol(out, &format!("{name} ecn"), Type::Ecn, u128::from(ip.tos & 3));
    if v4 {
        let _ = write!(out, "ip ttl {} ip id {} ", ip.ttl, ip.id);
    } else {
        let _ = write!(out, "ip6 hoplimit {} ip6 flowlabel {} ", ip.ttl, ip.flow_label);
    }
    if says_protocol {
        let field = if v4 { "ip protocol" } else { "ip6 nexthdr" };
        symbol(out, field, Type::InetProto, protocol.into());
    }
    let len = packet.len_bytes();
    let _ = write!(out, "{name} length {} ", if v4 { len } else { len.saturating_sub(40) });
    let bytes = &bytes[bytes.len().saturating_sub(packet.l4.len_bytes())..];
    transport(out, protocol, header.is_some(), &bytes[..bytes.len().min(TRANSPORT_BYTES)]);
}

/// The fields of a known header, and the bytes behind it.
fn transport(out: &mut String, number: u8, known: bool, bytes: &[u8]) {
    let word = |at: usize| bytes.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
    let ports = |out: &mut String, name: &str| {
        let _ = write!(out, "{name} sport {} {name} dport {} ", word(0), word(2));
    };
    let code = |out: &mut String, name: &str, kind: Type, code: Type| {
        for (field, ty, at) in [("type", kind, 0), ("code", code, 1)] {
            let _ = write!(out, "{name} {field} ");
            symbols::print(out, ty, bytes.get(at).copied().unwrap_or(0).into(), Radix::Decimal);
            out.push(' ');
        }
    };
    let told = match number {
        _ if !known => 0,
        proto::TCP => {
            ports(out, "tcp");
            let flags = bytes.get(13).copied().unwrap_or(0);
            out.push_str("tcp flags == ");
            if flags.count_ones() == 1 {
                symbols::print(out, Type::TcpFlag, flags.into(), Radix::Decimal);
            } else {
                let _ = write!(out, "0x{flags:x}");
            }
            let _ = write!(out, " tcp window {} ", word(14));
            20
        }
        proto::UDP => {
            ports(out, "udp");
            let _ = write!(out, "udp length {} ", word(4));
            8
        }
        proto::ICMP => {
            code(out, "icmp", Type::IcmpType, Type::IcmpCode);
            let _ = write!(out, "icmp id {} icmp sequence {} ", word(4), word(6));
            8
        }
        proto::ICMPV6 => {
            code(out, "icmpv6", Type::Icmpv6Type, Type::Icmpv6Code);
            let _ = write!(out, "icmpv6 parameter-problem {} ", long(4));
            8
        }
        proto::SCTP => {
            ports(out, "sctp");
            let _ = write!(out, "sctp vtag {} ", long(4));
            12
        }
        _ => 0,
    };
    let rest = bytes.get(told..).unwrap_or_default();
    if !rest.is_empty() {
        let digits: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        let _ = write!(out, "@th,{},{} 0x{digits} ", told * 8, rest.len() * 8);
    }
}
