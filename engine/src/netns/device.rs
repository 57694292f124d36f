//! [`Device`]: a network device of the namespace and its addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::sysctl::DeviceConf;
use crate::netfilter::Net;

/// What a device is, as far as the packet path cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceKind {
    /// Something with a wire behind it: a NIC, one end of a veth pair, a tunnel.
    #[default]
    Wire,
    Loopback,
    /// `ip link add type dummy`: what is sent into it is gone.
    Dummy,
    /// A bridge seen from its own address; its ports are not modelled.
    Bridge,
}

/// How far an address is valid (`RT_SCOPE_*`); smaller is wider, as in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    #[default]
    Global,
    Link,
    Host,
}

/// One address of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub addr: IpAddr,
    pub prefix_len: u8,
    pub scope: Scope,
    /// Another address of the same subnet was there first (`IFA_F_SECONDARY`); never chosen as a source.
    pub secondary: bool,
}

impl Address {
    pub fn new(addr: IpAddr, prefix_len: u8) -> Self {
        let scope = match addr {
            IpAddr::V4(v4) if v4.is_loopback() => Scope::Host,
            IpAddr::V4(_) => Scope::Global,
            IpAddr::V6(v6) if v6.is_loopback() => Scope::Host,
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Scope::Link,
            IpAddr::V6(_) => Scope::Global,
        };
        Self { addr, prefix_len, scope, secondary: false }
    }

    /// The subnet; none when the prefix is longer than the address.
    pub fn subnet(&self) -> Option<Net> {
        Net::prefix(self.addr, self.prefix_len)
    }

    /// `inet_ifa_match`: whether `other` lies in this address's subnet.
    pub fn covers(&self, other: IpAddr) -> bool {
        self.subnet().is_some_and(|net| net.contains(other))
    }

    /// Directed broadcast address of an IPv4 subnet up to /30.
    pub fn broadcast(&self) -> Option<Ipv4Addr> {
        match self.addr {
            IpAddr::V4(v4) if self.prefix_len <= 30 => {
                let host = u32::MAX.checked_shr(self.prefix_len.into()).unwrap_or(0);
                Some(Ipv4Addr::from_bits(v4.to_bits() | host))
            }
            IpAddr::V4(_) | IpAddr::V6(_) => None,
        }
    }
}

/// Largest packet of a device when nothing says otherwise: Ethernet's.
pub const MTU_DEFAULT: u32 = 1500;
/// `lo` carries 64 KiB.
pub const MTU_LOOPBACK: u32 = 65536;

/// One network device.
#[derive(Clone, Debug)]
pub struct Device {
    pub name: Box<str>,
    pub kind: DeviceKind,
    pub mac: Option<[u8; 6]>,
    /// Bytes of the largest IP packet it carries.
    pub mtu: u32,
    pub up: bool,
    pub addresses: Vec<Address>,
    pub conf: DeviceConf,
}

impl Device {
    pub fn new(name: &str, kind: DeviceKind, conf: DeviceConf) -> Self {
        let mtu = if kind == DeviceKind::Loopback { MTU_LOOPBACK } else { MTU_DEFAULT };
        Self { name: name.into(), kind, mac: None, mtu, up: true, addresses: Vec::new(), conf }
    }

    pub fn is_loopback(&self) -> bool {
        self.kind == DeviceKind::Loopback
    }

    /// Addresses of the family of `like`.
    pub fn of_family(&self, like: IpAddr) -> impl Iterator<Item = &Address> {
        self.addresses.iter().filter(move |a| a.addr.is_ipv4() == like.is_ipv4())
    }
}

/// `fe80::` address built from a MAC (EUI-64, RFC 4291 appendix A), which the kernel adds to each device.
pub fn link_local(mac: [u8; 6]) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.map(u16::from);
    Ipv6Addr::new(0xfe80, 0, 0, 0, (a ^ 2) << 8 | b, c << 8 | 0xff, 0xfe00 | d, e << 8 | f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_have_broadcast_addresses_up_to_30() {
        let at = |text: &str, len| Address::new(text.parse().unwrap(), len).broadcast();
        assert_eq!(at("10.1.0.1", 24), Some(Ipv4Addr::new(10, 1, 0, 255)));
        assert_eq!(at("10.1.0.1", 0), Some(Ipv4Addr::BROADCAST));
        assert_eq!(at("10.1.0.1", 31), None);
        assert_eq!(at("fd00::1", 64), None);
    }

    #[test]
    fn link_local_addresses_flip_the_local_bit() {
        assert_eq!(link_local([2, 0, 0, 0, 1, 1]).to_string(), "fe80::ff:fe00:101");
    }
}
