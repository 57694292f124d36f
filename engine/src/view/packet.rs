//! A packet and a connection entry as a reader sees them.
//!
//! Owns: the text forms and the list of fields that can change on the way. Does NOT own parsing: the one-line
//! form is read by `replay::line`.

use serde::{Deserialize, Serialize};

/// A header field, or a mark the kernel keeps beside the packet, that a hook can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Field {
    Source,
    SourcePort,
    Destination,
    DestinationPort,
    /// TTL in IPv4, hop limit in IPv6.
    Ttl,
    /// DSCP and ECN bits.
    Tos,
    /// `skb->mark`.
    Mark,
    /// `nf_conn->mark`.
    ConnMark,
    /// The device the routing decision chose.
    OutDevice,
    /// TCP options such as the maximum segment size.
    TcpOption,
    /// The identifier of an ICMP echo.
    IcmpId,
}

impl Field {
    /// The name to print beside a value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::SourcePort => "source port",
            Self::Destination => "destination",
            Self::DestinationPort => "destination port",
            Self::Ttl => "TTL",
            Self::Tos => "TOS",
            Self::Mark => "mark",
            Self::ConnMark => "connection mark",
            Self::OutDevice => "out device",
            Self::TcpOption => "TCP option",
            Self::IcmpId => "ICMP id",
        }
    }

    /// True for the fields that NAT rewrites: shown with the colour and the word of a rewrite.
    pub fn is_nat(self) -> bool {
        match self {
            Self::Source | Self::SourcePort | Self::Destination | Self::DestinationPort | Self::IcmpId => {
                true
            }
            Self::Ttl | Self::Tos | Self::Mark | Self::ConnMark | Self::OutDevice | Self::TcpOption => false,
        }
    }
}

/// One field that a step changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeView {
    pub field: Field,
    pub was: String,
    pub now: String,
}

/// A packet at one moment of its way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PacketView {
    /// `tcp`, `udp`, `icmp`, `icmpv6`, `sctp` or the protocol's number.
    pub proto: String,
    pub src: String,
    pub dst: String,
    /// Absent for protocols without ports.
    pub sport: Option<u16>,
    pub dport: Option<u16>,
    /// TCP flags as words (`SYN, ACK`), or the ICMP type and code as words; empty elsewhere.
    pub detail: String,
    pub ttl: u8,
    /// Total length in bytes, IP header included.
    pub len_bytes: u32,
    /// `skb->mark`; 0 when no rule set it.
    pub mark: u32,
    /// Empty for a packet that a local process sends.
    pub in_dev: String,
    /// Empty before the routing decision.
    pub out_dev: String,
    /// `NEW`, `ESTABLISHED`, `RELATED`, `INVALID`, `UNTRACKED`; empty before conntrack has seen it.
    pub ct_state: String,
    /// True when the packet travels in the reply direction of its connection.
    pub is_reply: bool,
    /// The whole packet in the one-line form of `chainwalk trace --packet`.
    pub line: String,
}

/// One direction's end points, as text: `10.1.0.2:40000`, `[fd00::2]:80`, or the bare address without a port.
pub fn end_point(address: &str, port: Option<u16>) -> String {
    match port {
        None => address.to_owned(),
        Some(port) if address.contains(':') => format!("[{address}]:{port}"),
        Some(port) => format!("{address}:{port}"),
    }
}

impl PacketView {
    /// Source address and port as one text.
    pub fn source(&self) -> String {
        end_point(&self.src, self.sport)
    }

    /// Destination address and port as one text.
    pub fn destination(&self) -> String {
        end_point(&self.dst, self.dport)
    }
}

/// One entry of the connection table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EntryView {
    /// The line `conntrack -L` prints.
    pub line: String,
    pub proto: String,
    /// `10.1.0.2:40000 → 10.96.0.1:80`.
    pub original: String,
    /// The tuple replies are recognised by.
    pub reply: String,
    /// `SYN_SENT`, `ESTABLISHED`, ...; empty for protocols without states.
    pub state: String,
    /// `[UNREPLIED]`, `[ASSURED]`, ... without the brackets.
    pub flags: Vec<String>,
    /// Seconds until the entry is forgotten.
    pub timeout_s: u64,
    /// False until the first packet has left the last hook.
    pub confirmed: bool,
}

/// What a step did to the packet's connection entry. Both absent never occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryChangeView {
    pub before: Option<EntryView>,
    pub after: Option<EntryView>,
}

#[cfg(test)]
mod tests {
    use super::end_point;

    #[test]
    fn end_points_are_bracketed_only_for_ipv6() {
        assert_eq!(end_point("10.0.0.1", Some(80)), "10.0.0.1:80");
        assert_eq!(end_point("fd00::1", Some(80)), "[fd00::1]:80");
        assert_eq!(end_point("fd00::1", None), "fd00::1");
    }
}
