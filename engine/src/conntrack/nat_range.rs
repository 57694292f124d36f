//! What a NAT rule asks for (`struct nf_nat_range2`).

use std::net::IpAddr;

/// Which half of the header a mapping rewrites (`enum nf_nat_manip_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manip {
    /// SNAT, MASQUERADE: the source, at POSTROUTING and INPUT.
    Src,
    /// DNAT, REDIRECT: the destination, at PREROUTING and OUTPUT.
    Dst,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NatFlags {
    pub random: bool,
    pub random_fully: bool,
    pub persistent: bool,
    /// `--to-destination A:P-Q/B`: shift ports by the distance from base B (`NF_NAT_RANGE_PROTO_OFFSET`).
    pub port_base: Option<u16>,
    /// NETMAP (nft `prefix`): keep the host bits.
    pub netmap: bool,
}

/// Addresses and ports a mapping may use, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NatRange {
    pub addrs: Option<(IpAddr, IpAddr)>,
    /// Ports, or ICMP identifiers.
    pub ports: Option<(u16, u16)>,
    pub flags: NatFlags,
}
