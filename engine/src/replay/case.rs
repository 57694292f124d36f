//! The input of a replay, as it stands in the file. Unknown fields are refused by name.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub format: String,
    #[serde(default)]
    pub seed: u64,
    pub node: NodeSpec,
    #[serde(default)]
    pub packets: Vec<PacketSpec>,
    /// Uniform draws in `0.0..1.0` that random matches consume first, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws: Vec<f64>,
    /// Commands whose output is wanted after the last packet.
    #[serde(default)]
    pub show: Vec<String>,
}

/// The node before the first packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Kernel version to imitate; the newest known when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(default)]
    pub interfaces: Vec<InterfaceSpec>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteSpec>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, Text>,
    /// `tcp/80`, `udp/53`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<SetupSpec>,
    /// Seconds since the epoch at `at_ms` 0, for `-m time`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch_secs: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A word, or a number that is meant as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Word(String),
    Number(i64),
}

impl Case {
    /// Whether it takes a build with [`crate::base::PLANES`] to run it.
    pub fn needs_planes(&self) -> bool {
        let setup = self.node.setup.iter().map(|step| step.run.as_str());
        setup.chain(self.show.iter().map(String::as_str)).any(super::setup::needs_planes)
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceSpec {
    pub name: String,
    /// `02:00:00:00:01:01`. With one, the device has a link-local IPv6 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// `10.1.0.1/24`; without a length, a single address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// `dummy` or `bridge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// `10.0.0.0/8`, an address, or `default`.
    pub to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<IpAddr>,
    /// When absent, the device whose subnet holds `via`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<IpAddr>,
    /// `unicast` (the default), `local`, `blackhole`, `unreachable`, `prohibit`, `throw`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

/// A command of the set-up, as a shell line, and what it reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupSpec {
    pub run: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdin: String,
}

/// A packet by its fields, or by its bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PacketSpec {
    pub at_ms: u64,
    /// The device it arrives on; `local` for one that a local process sends.
    #[serde(rename = "in")]
    pub input: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst: Option<IpAddr>,
    /// `tcp`, `udp`, `icmp`, `icmpv6`, `sctp` or a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proto: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sport: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dport: Option<u16>,
    /// Letters of `FSRPAUEC`; `S` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win: Option<u16>,
    /// Payload in bytes, all zero.
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
    /// IPv4 identification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u16>,
    /// IPv4 "don't fragment".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub df: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_id: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_seq: Option<u16>,
    /// Payload bytes, in place of `len`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_hex: Option<String>,
    /// A whole IP packet, in place of all header fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_hex: Option<String>,
    /// `SO_MARK` of a local sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<u32>,
    /// Owner of a local sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
    /// Source MAC of the frame it arrived in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
}
