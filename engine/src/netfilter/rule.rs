//! What a rule is: the tests of the IP header, the matches, the target.

use std::net::IpAddr;

use super::ChainId;
use super::state::StateId;
use super::xt::{Match, RejectWith, TargetExt};
use crate::trace::DropReason;

/// A rule, lowered from iptables or nftables text. For iptables it is its own syntax tree: printing it gives
/// the line that `iptables-save` prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub head: IpMatch,
    pub matches: Vec<BoundMatch>,
    pub target: Target,
    /// Line of the text it was read from, from 1; zero when made otherwise.
    pub line: u32,
}

/// A match and where its per-rule state lives, if it keeps any.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundMatch {
    pub m: Match,
    pub state: Option<StateId>,
}

/// An address and a mask. iptables masks may have holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    pub addr: IpAddr,
    pub mask: IpAddr,
}

/// An interface name, or a prefix of names (`eth+`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IfName {
    pub name: Box<str>,
    pub prefix: bool,
}

impl IfName {
    /// No device matches the empty name, as in the kernel, where it is compared with "".
    pub fn matches(&self, device: Option<&str>) -> bool {
        let device = device.unwrap_or("");
        if self.prefix { device.starts_with(&*self.name) } else { device == &*self.name }
    }
}

/// A value and whether the test is inverted with `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Not<T> {
    pub value: T,
    pub inverted: bool,
}

/// The tests every rule can make on the IP header (`struct ipt_ip`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IpMatch {
    pub src: Option<Not<Net>>,
    pub dst: Option<Not<Net>>,
    pub in_dev: Option<Not<IfName>>,
    pub out_dev: Option<Not<IfName>>,
    /// Protocol number.
    pub proto: Option<Not<u8>>,
    /// `-f`: a fragment other than the first; inverted: a whole packet or a first fragment.
    pub fragment: Option<bool>,
}

/// What a rule does when all its tests pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// No `-j`: count and go on.
    None,
    Accept,
    Drop,
    Return,
    /// `-j QUEUE`.
    Queue,
    Jump(ChainId),
    Goto(ChainId),
    Ext(TargetExt),
}

/// Final word of a table on a packet at one hook.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Go on with the next function of the hook.
    Accept,
    Drop(DropReason),
    /// Send this error, then drop.
    Reject(RejectWith),
    /// Handed to user space.
    Queue,
    Stolen,
}

/// Packets and bytes that a rule or policy saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets: u64,
    pub bytes: u64,
}

impl Counters {
    pub fn add(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

impl Net {
    /// A single address.
    pub const fn host(addr: IpAddr) -> Self {
        let mask = match addr {
            IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::BROADCAST),
            IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::from_bits(u128::MAX)),
        };
        Self { addr, mask }
    }

    /// `addr/len`, host bits cleared; none when `len` is longer than the address.
    pub fn prefix(addr: IpAddr, len: u8) -> Option<Self> {
        let (mask, addr) = match addr {
            IpAddr::V4(a) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
                (len <= 32).then(|| (IpAddr::V4(mask.into()), IpAddr::V4((a.to_bits() & mask).into())))?
            }
            IpAddr::V6(a) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(len.min(128))).unwrap_or(0);
                (len <= 128).then(|| (IpAddr::V6(mask.into()), IpAddr::V6((a.to_bits() & mask).into())))?
            }
        };
        Some(Self { addr, mask })
    }

    /// `(candidate & mask) == addr`; false across families.
    pub const fn contains(&self, candidate: IpAddr) -> bool {
        match (self.addr, self.mask, candidate) {
            (IpAddr::V4(a), IpAddr::V4(m), IpAddr::V4(c)) => c.to_bits() & m.to_bits() == a.to_bits(),
            (IpAddr::V6(a), IpAddr::V6(m), IpAddr::V6(c)) => c.to_bits() & m.to_bits() == a.to_bits(),
            _ => false,
        }
    }

    /// Prefix length, unless the mask has holes.
    pub const fn prefix_len(&self) -> Option<u8> {
        let (ones, rest) = match self.mask {
            IpAddr::V4(m) => (m.to_bits().leading_ones(), m.to_bits().count_ones()),
            IpAddr::V6(m) => (m.to_bits().leading_ones(), m.to_bits().count_ones()),
        };
        if ones == rest { Some(ones as u8) } else { None }
    }
}

/// As iptables-save prints it: `10.0.0.0/8`, or `10.0.0.0/255.0.255.0` for a mask with holes.
impl std::fmt::Display for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.prefix_len() {
            Some(len) => write!(f, "{}/{len}", self.addr),
            None => write!(f, "{}/{}", self.addr, self.mask),
        }
    }
}

/// As iptables-save prints it: `eth0`, `eth+`.
impl std::fmt::Display for IfName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.name, if self.prefix { "+" } else { "" })
    }
}
