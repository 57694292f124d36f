//! Addresses as kube-proxy reads them from objects (`netutils.ParseIPSloppy`): leading zeros are decimal.

use std::net::{IpAddr, Ipv4Addr};

use crate::packet::Family;

/// An address; octets may carry leading zeros (`192.168.099.022`).
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse().ok().map(IpAddr::V6);
    }
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = parse_decimal(parts.next()?)?;
    }
    parts.next().is_none().then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

/// `address/length`, blanks around it trimmed, host bits cleared.
pub fn parse_cidr(text: &str) -> Option<Cidr> {
    let (addr, len) = text.trim().split_once('/')?;
    let addr = parse_ip(addr)?;
    let len = parse_decimal(len)?;
    let addr = match addr {
        IpAddr::V4(a) if len <= 32 => {
            IpAddr::V4((a.to_bits() & u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0)).into())
        }
        IpAddr::V6(a) if len <= 128 => {
            IpAddr::V6((a.to_bits() & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)).into())
        }
        IpAddr::V4(_) | IpAddr::V6(_) => return None,
    };
    Some(Cidr { addr, len })
}

fn parse_decimal(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse::<u16>().ok().and_then(|n| u8::try_from(n).ok()))?
}

/// A network; `len` is at most 32 or 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    pub addr: IpAddr,
    pub len: u8,
}

impl Cidr {
    pub const fn family(&self) -> Family {
        Family::of(&self.addr)
    }

    pub fn contains(&self, candidate: IpAddr) -> bool {
        parse_cidr(&format!("{candidate}/{}", self.len)).is_some_and(|c| c == *self)
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_are_decimal() {
        assert_eq!(parse_ip("192.168.099.022"), "192.168.99.22".parse().ok());
        assert_eq!(
            parse_cidr(" 203.0.113.000/025").map(|c| c.to_string()).as_deref(),
            Some("203.0.113.0/25")
        );
        assert_eq!(parse_ip("1.2.3"), None);
        assert_eq!(parse_ip("1.2.3.256"), None);
        assert_eq!(parse_cidr("10.0.0.0/33"), None);
    }

    #[test]
    fn a_network_contains_its_addresses_only() {
        let net = parse_cidr("172.18.0.0/16").expect("a network");
        assert!(net.contains("172.18.0.2".parse().expect("an address")));
        assert!(!net.contains("172.19.0.2".parse().expect("an address")));
        assert!(!net.contains("fd00::1".parse().expect("an address")));
    }
}
