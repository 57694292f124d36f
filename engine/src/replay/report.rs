//! The output of a replay.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{Options, walk};
use crate::netns::{Emitted, End, Netns, Ran};
use crate::packet::wire::{WireError, is_icmp_error};
use crate::packet::{L4, Packet, TcpFlags, proto};
use crate::trace::Disposition;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub packets: Vec<PacketReport>,
    /// Commands and what they printed, in the order asked.
    #[serde(serialize_with = "as_map")]
    pub show: Vec<(String, String)>,
    /// Equal for equal runs, natively and in WebAssembly. Does not depend on [`Options`].
    pub digest: String,
}

fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (key, value) in pairs {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// What became of one packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketReport {
    /// `forwarded`, `delivered`, `dropped`, `rejected`, `stolen`, or `uncertain` when it depends on something
    /// that is not emulated. A local packet that left the node is `forwarded` too.
    pub verdict: &'static str,
    pub reason: String,
    /// As `--ctstate` names it; absent where connections are not tracked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctstate: Option<&'static str>,
    /// Every packet that left the node because of it, the node's own answers included, in order.
    pub emitted: Vec<EmittedReport>,
    pub walk: Vec<WalkEntry>,
    pub rules_evaluated: u64,
    /// What is not emulated and could have decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_emulated: Vec<String>,
    /// The ways an uncertain packet could go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<AlternativeReport>,
}

/// One of the ways an uncertain packet could go.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AlternativeReport {
    /// `-m bpf of filter FORWARD rule 3 matches`, joined by ` and `.
    pub when: String,
    pub verdict: &'static str,
    pub reason: String,
    pub emitted: Vec<EmittedReport>,
}

/// A rule that a packet met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WalkEntry {
    pub hook: &'static str,
    /// `filter`; of nftables with its family: `inet filter`.
    pub table: String,
    pub chain: String,
    /// From 1, as `iptables -L --line-numbers` counts.
    pub rule: u32,
    /// Absent when a part that is not emulated left it open.
    pub matched: Option<bool>,
    pub verdict: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<WhyEntry>,
}

/// One test of a rule: the packet's value beside the wanted one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhyEntry {
    #[serde(rename = "match")]
    pub field: String,
    pub have: String,
    pub want: String,
    pub pass: bool,
}

/// A packet that left the node, in the fields of the input.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EmittedReport {
    /// Absent in a quoted packet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dev: String,
    pub src: String,
    pub dst: String,
    pub proto: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sport: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dport: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win: Option<u16>,
    /// Bytes behind the transport header.
    pub len: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wscale: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_id: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_seq: Option<u16>,
    pub ttl: u8,
    #[serde(skip_serializing_if = "is_zero")]
    pub tos: u8,
    /// Offset of a fragment in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment: Option<u16>,
    /// The packet that an ICMP error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Box<EmittedReport>>,
}

fn is_zero(value: &u8) -> bool {
    *value == 0
}

impl PacketReport {
    pub(super) fn malformed(why: WireError) -> Self {
        Self {
            verdict: "dropped",
            reason: format!("malformed: {why}"),
            ctstate: None,
            emitted: Vec::new(),
            walk: Vec::new(),
            rules_evaluated: 0,
            not_emulated: Vec::new(),
            alternatives: Vec::new(),
        }
    }

    pub(super) fn of(netns: &Netns, ran: &Ran, options: &Options) -> Self {
        let mut not_emulated: Vec<String> = Vec::new();
        for unknown in &ran.unknowns {
            let text = walk::unknown(netns, unknown);
            if !not_emulated.contains(&text) {
                not_emulated.push(text);
            }
        }
        let mut alternatives = Vec::new();
        if !ran.certain() {
            alternatives.push(alternative(
                netns,
                String::from("none of them applies"),
                &ran.end,
                &ran.emitted,
            ));
        }
        for other in &ran.alternatives {
            let applies = other.unknowns.iter().filter(|u| u.assumed);
            let when: Vec<String> = applies.map(|u| format!("{} applies", walk::unknown(netns, u))).collect();
            alternatives.push(alternative(netns, when.join(" and "), &other.end, &other.emitted));
        }
        Self {
            verdict: if ran.certain() { verdict(&ran.end.disposition) } else { "uncertain" },
            reason: ran.end.because.to_string(),
            ctstate: ran.ct_info.map(|info| info.state_name()),
            emitted: emitted(netns, &ran.emitted),
            walk: walk::entries(netns, &ran.trace, options),
            rules_evaluated: ran.trace.rules_evaluated,
            not_emulated,
            alternatives,
        }
    }
}

fn alternative(netns: &Netns, when: String, end: &End, out: &[Emitted]) -> AlternativeReport {
    AlternativeReport {
        when,
        verdict: verdict(&end.disposition),
        reason: end.because.to_string(),
        emitted: emitted(netns, out),
    }
}

fn emitted(netns: &Netns, out: &[Emitted]) -> Vec<EmittedReport> {
    out.iter()
        .map(|e| EmittedReport {
            dev: netns.inet.device(e.dev).name.to_string(),
            ..EmittedReport::of(&e.packet)
        })
        .collect()
}

/// The contract's word for an end.
pub const fn verdict(disposition: &Disposition) -> &'static str {
    match disposition {
        Disposition::Forwarded | Disposition::Sent => "forwarded",
        Disposition::Delivered => "delivered",
        Disposition::Dropped(_) => "dropped",
        Disposition::Rejected => "rejected",
        Disposition::Stolen => "stolen",
    }
}

/// A protocol as the contract names it.
pub fn proto_name(number: u8) -> String {
    match number {
        proto::TCP => "tcp".to_owned(),
        proto::UDP => "udp".to_owned(),
        proto::ICMP => "icmp".to_owned(),
        proto::ICMPV6 => "icmpv6".to_owned(),
        proto::SCTP => "sctp".to_owned(),
        other => other.to_string(),
    }
}

/// Letters of a TCP flag byte, in the order of `FSRPAUEC`.
pub fn flag_letters(flags: TcpFlags) -> String {
    TcpFlags::LETTERS.iter().filter(|(_, bit)| flags.has(*bit)).map(|(letter, _)| letter).collect()
}

impl EmittedReport {
    /// The fields of a packet; `dev` stays empty.
    pub fn of(packet: &Packet) -> Self {
        Self::at_depth(packet, 0)
    }

    fn at_depth(packet: &Packet, depth: u8) -> Self {
        let ip = &packet.ip;
        let fragment = (ip.frag_offset != 0 || ip.more_fragments).then_some(ip.frag_offset);
        let base = Self {
            src: ip.src.to_string(),
            dst: ip.dst.to_string(),
            proto: proto_name(ip.proto),
            ttl: ip.ttl,
            tos: ip.tos,
            fragment,
            sport: packet.ports().map(|p| p.0),
            dport: packet.ports().map(|p| p.1),
            ..Self::default()
        };
        match &packet.l4 {
            L4::Tcp(tcp) => Self {
                flags: Some(flag_letters(tcp.flags)),
                seq: Some(tcp.seq),
                ack: Some(tcp.ack),
                win: Some(tcp.window),
                len: tcp.payload.len(),
                ..tcp_options(&tcp.options, base)
            },
            L4::Udp(udp) => Self { len: udp.payload.len(), ..base },
            L4::Sctp(sctp) => Self { len: sctp.payload.len() + 12, ..base },
            L4::Icmp(icmp) => {
                let base = Self {
                    icmp_type: Some(icmp.kind),
                    icmp_code: Some(icmp.code),
                    len: icmp.payload.len(),
                    ..base
                };
                if is_icmp_error(ip.src.is_ipv6(), icmp.kind) && depth == 0 {
                    let quoted = Packet::parse_quoted(&icmp.payload);
                    return Self { quoted: quoted.map(|q| Box::new(Self::at_depth(&q, 1))), ..base };
                }
                Self { icmp_id: Some(icmp.id()), icmp_seq: Some(icmp.seq()), ..base }
            }
            L4::Raw(bytes) | L4::Truncated(bytes) => Self { len: bytes.len(), ..base },
        }
    }
}

/// Reads maximum segment size, window scale and SACK permission out of TCP options.
fn tcp_options(mut options: &[u8], mut into: EmittedReport) -> EmittedReport {
    while let [kind, rest @ ..] = options {
        match (kind, rest) {
            (0, _) => break,
            (1, _) => options = rest,
            (kind, [len, ..]) if usize::from(*len) >= 2 && usize::from(*len) <= options.len() => {
                match (kind, &options[2..usize::from(*len)]) {
                    (2, [high, low]) => into.mss = Some(u16::from_be_bytes([*high, *low])),
                    (3, [scale]) => into.wscale = Some(*scale),
                    (4, []) => into.sack_ok = Some(true),
                    _ => {}
                }
                options = &options[usize::from(*len)..];
            }
            _ => break,
        }
    }
    into
}
