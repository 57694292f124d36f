//! Values of options, read as the tools read them: numbers, ports, hosts, masks, with their error words.
//!
//! The guided parser of iptables (`xtoptions.c`) and the older helpers (`xtables.c`) differ in what they take
//! and say; each function names the one it mirrors.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::ext::{ArgError, Opt, Parsed};
use super::names::service;
use crate::netfilter::rule::Net;
use crate::packet::Family;

/// A number as `xtables_strtoul` reads it: decimal, `0x` hexadecimal or `0` octal; none if malformed or above
/// `max`.
pub fn parse_number(text: &str, max: u64) -> Option<u64> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok()?,
        None if text.starts_with('+') => return None,
        None => text.parse().ok()?,
    };
    (value <= max).then_some(value)
}

/// `value[/mask]`, the mask all ones when absent (`XTTYPE_MARKMASK32`).
pub(super) fn mark_mask(ext: &str, at: usize, opt: &Opt<'_>) -> Result<(u32, u32), ArgError> {
    let (value, mask) = opt.values[0].split_once('/').unwrap_or((opt.values[0], "0xffffffff"));
    let number = |t| parse_number(t, u64::from(u32::MAX)).map(|n| n as u32);
    number(value).zip(number(mask)).ok_or_else(|| {
        ArgError::at(at, format!("{ext}: bad integer value for option \"{}\", or out of range.", opt.name))
    })
}

/// One number between `min` and `max` (`XTTYPE_UINT8` to `XTTYPE_UINT64`).
pub(super) fn number(ext: &str, at: usize, opt: &Opt<'_>, min: u64, max: u64) -> Result<u64, ArgError> {
    parse_number(opt.values[0], max).filter(|&n| n >= min).ok_or_else(|| {
        ArgError::at(
            at,
            format!("{ext}: bad value for option \"{}\", or out of range ({min}-{max}).", opt.name),
        )
    })
}

/// The option's number if it was given.
pub(super) fn optional(
    ext: &str,
    args: &Parsed<'_>,
    name: &str,
    min: u64,
    max: u64,
) -> Result<Option<u64>, ArgError> {
    args.get(name).map(|(at, opt)| number(ext, at, opt, min, max)).transpose()
}

/// `N`, `N:M`, `N:` or `:M` (`XTTYPE_UINT32RC` and its kin). The bounds are not ordered.
pub(super) fn number_range(ext: &str, at: usize, opt: &Opt<'_>, max: u64) -> Result<(u64, u64), ArgError> {
    let text = opt.values[0];
    let bound = |text: &str, near: &str| {
        let used = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (number, rest) = text.split_at(used);
        let value = parse_number(number, max).ok_or_else(|| {
            let name = opt.name;
            let why =
                format!("{ext}: bad value for option \"{name}\" near \"{near}\", or out of range (0-{max}).");
            ArgError::at(at, why)
        })?;
        if !rest.is_empty() {
            let why =
                format!("{ext}: Argument to \"{}\" has unexpected characters near \"{rest}\".", opt.name);
            return Err(ArgError::at(at, why));
        }
        Ok(value)
    };
    match text.split_once(':') {
        None => bound(text, text).map(|n| (n, n)),
        Some((low, high)) => Ok((
            if low.is_empty() { 0 } else { bound(low, text)? },
            if high.is_empty() { max } else { bound(high, high)? },
        )),
    }
}

/// A port by number or service name (`xtables_parse_port`, `xtables_service_to_port`).
pub(super) fn port_old(at: usize, text: &str) -> Result<u16, ArgError> {
    parse_number(text, 65535)
        .map(|n| n as u16)
        .or_else(|| service(text))
        .ok_or_else(|| ArgError::at(at, format!("invalid port/service `{text}' specified")))
}

/// A port as the guided parser reads it (`XTTYPE_PORT`, through getaddrinfo): decimal only, and a number too
/// large loses its upper bits.
pub(super) fn port_guided(at: usize, text: &str) -> Result<u16, ArgError> {
    let decimal = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value = if decimal { text.parse::<u64>().ok().map(|n| n as u16) } else { service(text) };
    value.ok_or_else(|| ArgError::at(at, format!("Port \"{text}\" does not resolve to anything.")))
}

/// `P`, `P:Q`, `P:` or `:Q` (`XTTYPE_PORTRC`). The bounds are not ordered.
pub(super) fn port_range_guided(at: usize, text: &str) -> Result<(u16, u16), ArgError> {
    let Some((low, high)) = text.split_once(':') else {
        let port = port_guided(at, text)?;
        return Ok((port, port));
    };
    Ok((
        if low.is_empty() { 0 } else { port_guided(at, low)? },
        if high.is_empty() { u16::MAX } else { port_guided(at, high)? },
    ))
}

/// An address of the family, without name resolution.
pub(super) fn address(family: Family, text: &str) -> Option<IpAddr> {
    match family {
        Family::V4 => text.parse().ok().map(IpAddr::V4),
        Family::V6 => text.parse().ok().map(IpAddr::V6),
    }
}

/// One host (`XTTYPE_HOST`).
pub(super) fn host(family: Family, at: usize, text: &str) -> Result<IpAddr, ArgError> {
    address(family, text).ok_or_else(|| {
        let other = match family {
            Family::V4 => text.parse::<Ipv6Addr>().is_ok(),
            Family::V6 => text.parse::<Ipv4Addr>().is_ok(),
        };
        let why =
            if other { "Address family for hostname not supported" } else { "Name or service not known" };
        ArgError::at(at, format!("getaddrinfo: {why}"))
    })
}

/// `HOST[/MASK]` (`XTTYPE_HOSTMASK`): the host bits are kept.
pub(super) fn host_mask(ext: &str, family: Family, at: usize, opt: &Opt<'_>) -> Result<Net, ArgError> {
    let Some((addr, mask)) = opt.values[0].split_once('/') else {
        return Ok(Net::host(host(family, at, opt.values[0])?));
    };
    let addr = host(family, at, addr)?;
    let max = match family {
        Family::V4 => 32,
        Family::V6 => 128,
    };
    let mask = match address(family, mask) {
        Some(mask) => mask,
        None => {
            let len = parse_number(mask, max).ok_or_else(|| {
                ArgError::at(
                    at,
                    format!("{ext}: bad value for option \"{}\", or out of range (0-{max}).", opt.name),
                )
            })?;
            prefix_mask(family, len as u8)
        }
    };
    Ok(Net { addr, mask })
}

/// The mask of a prefix length, at most that of the family.
pub(super) fn prefix_mask(family: Family, len: u8) -> IpAddr {
    match family {
        Family::V4 => {
            Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0)).into()
        }
        Family::V6 => {
            Ipv6Addr::from_bits(u128::MAX.checked_shl(128 - u32::from(len.min(128))).unwrap_or(0)).into()
        }
    }
}

/// `addr & mask`; the address itself when the families differ.
pub(super) const fn masked(addr: IpAddr, mask: IpAddr) -> IpAddr {
    match (addr, mask) {
        (IpAddr::V4(a), IpAddr::V4(m)) => IpAddr::V4(Ipv4Addr::from_bits(a.to_bits() & m.to_bits())),
        (IpAddr::V6(a), IpAddr::V6(m)) => IpAddr::V6(Ipv6Addr::from_bits(a.to_bits() & m.to_bits())),
        _ => addr,
    }
}

/// Whether the tool would take `word` for `name`: a beginning of it, case aside (`strncasecmp` with the length
/// of the word).
pub(super) fn abbreviates(word: &str, name: &str) -> bool {
    name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// `N`, or `N:M` when they differ.
pub(super) fn range_text<N: PartialEq + std::fmt::Display>((low, high): (N, N)) -> String {
    if low == high { low.to_string() } else { format!("{low}:{high}") }
}

/// `!` before a word of `iptables-save`, with its leading space.
pub(super) const fn bang(inverted: bool) -> &'static str {
    if inverted { " !" } else { "" }
}

/// `! ` before a wanted value in an explanation.
pub(super) const fn not(inverted: bool) -> &'static str {
    if inverted { "! " } else { "" }
}
