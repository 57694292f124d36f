//! The engine's own types of the replay contract, under the names that the tests use, and small helpers to write
//! them.

use std::net::IpAddr;

pub use chainwalk_engine::replay::case::Text;
pub use chainwalk_engine::replay::{
    Case, InterfaceSpec as Interface, NodeSpec as Node, PacketSpec as Packet, RouteSpec as Route,
    SetupSpec as Setup,
};

/// A protocol or value given as a word or as digits.
pub fn text(word: &str) -> Text {
    word.parse().map_or_else(|_| Text::Word(word.into()), Text::Number)
}

/// An address that the tests write themselves.
///
/// # Panics
/// On anything else.
pub fn address(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not an address"))
}

/// Sysctls as a case holds them: values are words.
pub fn sysctls<'a>(
    pairs: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
) -> std::collections::BTreeMap<String, Text> {
    pairs.into_iter().map(|(name, value)| (name.to_string(), Text::Word(value.to_string()))).collect()
}

/// The IP protocol number of a packet's `proto`.
pub fn proto_number(packet: &Packet) -> Option<u8> {
    match packet.proto.as_ref()? {
        Text::Number(number) => u8::try_from(*number).ok(),
        Text::Word(name) => match name.as_str() {
            "icmp" => Some(1),
            "tcp" => Some(6),
            "udp" => Some(17),
            "icmpv6" => Some(58),
            "sctp" => Some(132),
            other => other.parse().ok(),
        },
    }
}
