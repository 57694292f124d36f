//! Addresses, masks and interface names of `-s`, `-d`, `-i`, `-o` (`xtables_ipparse_multiple`,
//! `xtables_parse_interface`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::fault::{Fault, Span};
use crate::netfilter::xt::parse_number;
use crate::netfilter::{IfName, Net};
use crate::packet::Family;

/// Longest interface name (`IFNAMSIZ` less the terminator).
const IFNAME_LEN_MAX: usize = 15;

/// `address[/mask]`: the address with its host bits cleared.
pub(super) fn parse_net(text: &str, family: Family, span: Span) -> Result<Net, Fault> {
    let (addr, mask) = match text.split_once('/') {
        Some((addr, mask)) => (addr, Some(mask)),
        None => (text, None),
    };
    let addr = parse_addr(addr, family, span)?;
    match mask {
        None => Ok(Net::host(addr)),
        Some(mask) => masked(addr, mask, span),
    }
}

fn parse_addr(text: &str, family: Family, span: Span) -> Result<IpAddr, Fault> {
    let found = match family {
        Family::V4 => text.parse().ok().or_else(|| loose_v4(text)).map(IpAddr::V4),
        Family::V6 => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
    };
    if let Some(addr) = found {
        return Ok(addr);
    }
    if text == "localhost" {
        // Every /etc/hosts says so.
        return Ok(match family {
            Family::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Family::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    Err(Fault::parameter(span, format!("host/network `{text}' not found")).with_hint(hint(text, family)))
}

/// What is wrong with an address, for the reader. The tool's own words come first.
fn hint(text: &str, family: Family) -> &'static str {
    match family {
        Family::V4 if text.parse::<Ipv6Addr>().is_ok() => " (an IPv6 address in IPv4 rules)",
        Family::V6 if text.parse::<Ipv4Addr>().is_ok() => " (an IPv4 address in IPv6 rules)",
        Family::V4 | Family::V6
            if text.contains(|c: char| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit()) =>
        {
            " (host names are not looked up here: write the address)"
        }
        Family::V4 if text.split('.').any(|part| part.parse::<u32>().is_ok_and(|n| n > 255)) => {
            " (each of the four numbers is at most 255)"
        }
        Family::V4 | Family::V6 => "",
    }
}

/// The short and odd forms of IPv4 addresses: missing octets are zero (`10.1` is 10.1.0.0), numbers may be octal
/// or hexadecimal; failing that, what `inet_aton` makes of it.
fn loose_v4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> =
        text.split('.').map(|p| parse_number(p, u64::from(u32::MAX))).collect::<Option<_>>()?;
    if parts.is_empty() || parts.len() > 4 {
        return None;
    }
    if parts.iter().all(|&p| p <= 255) {
        let mut octets = [0; 4];
        for (octet, &part) in octets.iter_mut().zip(&parts) {
            *octet = part as u8;
        }
        return Some(Ipv4Addr::from(octets));
    }
    // inet_aton: the last number fills all the bytes that are left.
    let (&last, leading) = parts.split_last()?;
    let rest = 8 * (4 - leading.len() as u32);
    if leading.iter().any(|&p| p > 255) || (rest < 32 && last >> rest != 0) {
        return None;
    }
    let high = leading.iter().fold(0_u64, |sum, p| sum << 8 | p);
    Some(Ipv4Addr::from_bits((high.checked_shl(rest).unwrap_or(0) | last) as u32))
}

/// The mask in either form, applied.
fn masked(addr: IpAddr, mask: &str, span: Span) -> Result<Net, Fault> {
    let bad = || Fault::parameter(span, format!("invalid mask `{mask}' specified"));
    if let Some(len) = parse_number(mask, 128) {
        return Net::prefix(addr, len as u8).ok_or_else(bad);
    }
    match addr {
        IpAddr::V4(a) => {
            let m: Ipv4Addr = mask.parse().map_err(|_| bad())?;
            Ok(Net { addr: (a & m).into(), mask: m.into() })
        }
        IpAddr::V6(a) => {
            let m: Ipv6Addr = mask.parse().map_err(|_| bad())?;
            Ok(Net { addr: (a & m).into(), mask: m.into() })
        }
    }
}

/// An interface name or, with a `+` at its end, a prefix of names.
pub(super) fn parse_interface(text: &str, span: Span) -> Result<IfName, Fault> {
    if text.len() > IFNAME_LEN_MAX {
        return Err(Fault::parameter(
            span,
            format!("interface name `{text}' must be shorter than IFNAMSIZ ({IFNAME_LEN_MAX})"),
        ));
    }
    if text.is_empty() {
        return Err(Fault::parameter(span, "Empty interface is likely to be undesired"));
    }
    Ok(match text.strip_suffix('+') {
        Some(prefix) => IfName { name: prefix.into(), prefix: true },
        None => IfName { name: text.into(), prefix: false },
    })
}
