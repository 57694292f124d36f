//! The input of `chainwalk replay` (DESIGN section 4) as the tests build it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One node, its packets, and the commands whose output is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub format: String,
    #[serde(default)]
    pub seed: u64,
    pub node: Node,
    #[serde(default)]
    pub packets: Vec<Packet>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws: Vec<f64>,
    #[serde(default)]
    pub show: Vec<String>,
}

/// The node before the first packet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub interfaces: Vec<Interface>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Setup>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub run: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdin: String,
}

/// A protocol by name or number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Protocol {
    Number(u8),
    Name(String),
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol::Name("tcp".into())
    }
}

impl Protocol {
    /// The IP protocol number.
    pub fn number(&self) -> Option<u8> {
        match self {
            Protocol::Number(number) => Some(*number),
            Protocol::Name(name) => match name.as_str() {
                "icmp" => Some(1),
                "tcp" => Some(6),
                "udp" => Some(17),
                "icmpv6" => Some(58),
                "sctp" => Some(132),
                other => other.parse().ok(),
            },
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Packet {
    pub at_ms: u64,
    #[serde(rename = "in")]
    pub input: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub src: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dst: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proto: Option<Protocol>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub len: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wscale: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_id: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_seq: Option<u16>,
    /// Source MAC of the frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_hex: Option<String>,
}
