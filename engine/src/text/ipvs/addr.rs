//! Addresses and ports as `ipvsadm` reads them (`parse_service`).

use std::net::{IpAddr, Ipv4Addr};

use crate::netfilter::xt::service_by_name;

/// An address, and a port if one was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostPort {
    pub(super) addr: IpAddr,
    pub(super) port: Option<u16>,
}

/// `10.0.0.1:80`, `10.0.0.1`, `10.0.0.1:http`, `[fd00::1]:80`, `fd00::1`. Host names are not resolved.
pub(super) fn host_port(text: &str) -> Option<HostPort> {
    if let Some(rest) = text.strip_prefix('[') {
        let (addr, port) = rest.split_once("]:")?;
        let addr = IpAddr::V6(addr.parse().ok()?);
        return Some(HostPort { addr, port: Some(read_port(port)?) });
    }
    if let Ok(addr) = text.parse() {
        return Some(HostPort { addr: IpAddr::V6(addr), port: None });
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(read_port(port)?)),
        None => (text, None),
    };
    Some(HostPort { addr: inet_aton(host)?.into(), port })
}

/// A decimal number, a sign and leading zeros allowed, or a service's name.
fn read_port(text: &str) -> Option<u16> {
    match number(text) {
        Some(port) => u16::try_from(port).ok(),
        None => service_by_name(text),
    }
}

/// `string_to_number`: strtol in base ten over the whole text.
pub(super) fn number(text: &str) -> Option<i64> {
    text.strip_prefix('+').unwrap_or(text).parse().ok().filter(|_| !text.starts_with("+-"))
}

/// `inet_aton`: one to four parts in decimal, octal or hexadecimal; the last one fills what is left.
pub(super) fn inet_aton(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = text.split('.').map(part).collect::<Option<_>>()?;
    let (last, front) = parts.split_last().filter(|(_, front)| front.len() <= 3)?;
    let room = 8 * (4 - front.len() as u32);
    if front.iter().any(|p| *p > 255) || (room < 32 && *last >> room != 0) {
        return None;
    }
    let high = front.iter().enumerate().fold(0, |bits, (at, p)| bits | p << (24 - 8 * at));
    Some(Ipv4Addr::from_bits(high | last))
}

fn part(text: &str) -> Option<u32> {
    let digits = |text: &str, radix| {
        let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
        plain.then(|| u32::from_str_radix(text, radix).ok()).flatten()
    };
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => digits(hex, 16),
        None if text.len() > 1 && text.starts_with('0') => digits(text, 8),
        None => digits(text, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_the_c_library_reads_them() {
        for (text, expected) in [
            ("10.0.0.1", Some("10.0.0.1")),
            ("10.1", Some("10.0.0.1")),
            ("010.0.0.13", Some("8.0.0.13")),
            ("24", Some("0.0.0.24")),
            ("0x7f.1", Some("127.0.0.1")),
            ("4294967295", Some("255.255.255.255")),
            ("10.0.0.256", None),
            ("1.2.3.4.5", None),
            ("08.1.1.1", None),
            ("foo", None),
            ("", None),
            ("1..2", None),
        ] {
            assert_eq!(inet_aton(text).map(|a| a.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn ports() {
        let port = |text: &str| host_port(text).map(|h| h.port);
        assert_eq!(port("10.0.0.1:+80"), Some(Some(80)));
        assert_eq!(port("10.0.0.1:080"), Some(Some(80)));
        assert_eq!(port("10.0.0.1:http"), Some(Some(80)));
        assert_eq!(port("fd00::1:80"), Some(None));
        for bad in ["10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:0x50", "[fd00::1]", "[fd00::1:80", "10.0.0.1:-1"]
        {
            assert_eq!(port(bad), None, "{bad}");
        }
    }
}
