//! Elements as text: `10.0.0.1,tcp:80,10.0.0.0/8`.

use std::net::{IpAddr, Ipv4Addr};

use super::Fault;
use crate::netfilter::set::element::cut;
use crate::netfilter::set::{Element, Kind, Params, Service};
use crate::netfilter::xt::{parse_number, protocol_by_name, protocol_name, service_by_name};
use crate::packet::{Family, proto};

/// Elements one command may add: the kernel breaks longer ranges up, ipset refuses what is beyond.
const EXPANSION_MAX: u64 = 1 << 20;
/// Longest device name.
const DEVICE_MAX: usize = 15;

/// ICMP type and code by name, in the order `ipset` looks them up.
const ICMP: [(&str, u8, u8); 34] = [
    ("echo-reply", 0, 0),
    ("pong", 0, 0),
    ("network-unreachable", 3, 0),
    ("host-unreachable", 3, 1),
    ("protocol-unreachable", 3, 2),
    ("port-unreachable", 3, 3),
    ("fragmentation-needed", 3, 4),
    ("source-route-failed", 3, 5),
    ("network-unknown", 3, 6),
    ("host-unknown", 3, 7),
    ("network-prohibited", 3, 9),
    ("host-prohibited", 3, 10),
    ("TOS-network-unreachable", 3, 11),
    ("TOS-host-unreachable", 3, 12),
    ("communication-prohibited", 3, 13),
    ("host-precedence-violation", 3, 14),
    ("precedence-cutoff", 3, 15),
    ("source-quench", 4, 0),
    ("network-redirect", 5, 0),
    ("host-redirect", 5, 1),
    ("TOS-network-redirect", 5, 2),
    ("TOS-host-redirect", 5, 3),
    ("echo-request", 8, 0),
    ("ping", 8, 0),
    ("router-advertisement", 9, 0),
    ("router-solicitation", 10, 0),
    ("ttl-zero-during-transit", 11, 0),
    ("ttl-zero-during-reassembly", 11, 1),
    ("ip-header-bad", 12, 0),
    ("required-option-missing", 12, 1),
    ("timestamp-request", 13, 0),
    ("timestamp-reply", 14, 0),
    ("address-mask-request", 17, 0),
    ("address-mask-reply", 18, 0),
];

const ICMPV6: [(&str, u8, u8); 19] = [
    ("no-route", 1, 0),
    ("communication-prohibited", 1, 1),
    ("address-unreachable", 1, 3),
    ("port-unreachable", 1, 4),
    ("packet-too-big", 2, 0),
    ("ttl-zero-during-transit", 3, 0),
    ("ttl-zero-during-reassembly", 3, 1),
    ("bad-header", 4, 0),
    ("unknown-header-type", 4, 1),
    ("unknown-option", 4, 2),
    ("echo-request", 128, 0),
    ("ping", 128, 0),
    ("echo-reply", 129, 0),
    ("pong", 129, 0),
    ("router-solicitation", 133, 0),
    ("router-advertisement", 134, 0),
    ("neighbour-solicitation", 135, 0),
    ("neighbour-advertisement", 136, 0),
    ("redirect", 137, 0),
];

fn address(family: Family, text: &str) -> Result<IpAddr, Fault> {
    let parsed = match family {
        Family::V4 => text.parse().ok().map(IpAddr::V4),
        Family::V6 => text.parse().ok().map(IpAddr::V6),
    };
    parsed.ok_or_else(|| {
        let name = match family {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        };
        Fault::syntax(format!("cannot parse {text}: resolving to {name} address failed"))
    })
}

const fn full_len(family: Family) -> u8 {
    match family {
        Family::V4 => 32,
        Family::V6 => 128,
    }
}

/// `ADDR[/LEN]`, host bits cleared.
fn network(family: Family, text: &str) -> Result<(IpAddr, u8), Fault> {
    let full = full_len(family);
    match text.split_once('/') {
        None => Ok((address(family, text)?, full)),
        Some((addr, len)) => {
            let number = parse_number(len, u64::MAX)
                .ok_or_else(|| Fault::syntax(format!("'{len}' is invalid as number")))?;
            if number > u64::from(full) {
                return Err(Fault::syntax(format!("'{len}' is out of range 0-{full}")));
            }
            Ok((cut(address(family, addr)?, number as u8), number as u8))
        }
    }
}

/// `ADDR`, `ADDR/LEN` or `ADDR-ADDR` as first and last address.
pub(super) fn addresses(family: Family, text: &str) -> Result<(IpAddr, IpAddr), Fault> {
    if let Some((low, high)) = text.split_once('-') {
        let (low, high) = (address(family, low)?, address(family, high)?);
        return Ok(if low <= high { (low, high) } else { (high, low) });
    }
    let (low, len) = network(family, text)?;
    let high = match low {
        IpAddr::V4(a) => {
            let host = u32::MAX.checked_shr(u32::from(len)).unwrap_or(0);
            IpAddr::V4((a.to_bits() | host).into())
        }
        IpAddr::V6(a) => {
            let host = u128::MAX.checked_shr(u32::from(len)).unwrap_or(0);
            IpAddr::V6((a.to_bits() | host).into())
        }
    };
    Ok((low, high))
}

/// Every address of an IPv4 range; IPv6 takes single addresses only.
fn each_address(family: Family, text: &str) -> Result<Vec<IpAddr>, Fault> {
    if family == Family::V6 && text.contains(['-', '/']) {
        return Err(Fault::syntax(format!("plain IP address must be supplied: {text}")));
    }
    match addresses(family, text)? {
        (IpAddr::V4(low), IpAddr::V4(high)) => {
            let (low, high) = (low.to_bits(), high.to_bits());
            if u64::from(high - low) >= EXPANSION_MAX {
                return Err(Fault::Refused("too many elements in one command".to_owned()));
            }
            Ok((low..=high).map(|a| IpAddr::V4(a.into())).collect())
        }
        (addr, _) => Ok(vec![addr]),
    }
}

/// The networks of `ADDR[/LEN]`, or those that cover an IPv4 range exactly (`ip_set_range_to_cidr`).
fn networks(family: Family, text: &str) -> Result<Vec<(IpAddr, u8)>, Fault> {
    if !text.contains('-') {
        return network(family, text).map(|n| vec![n]);
    }
    if family == Family::V6 {
        return Err(Fault::syntax(format!("IP address range is not supported: {text}")));
    }
    let (IpAddr::V4(low), IpAddr::V4(high)) = addresses(family, text)? else { return Ok(Vec::new()) };
    let (mut from, to) = (u64::from(low.to_bits()), u64::from(high.to_bits()));
    let mut nets = Vec::new();
    while from <= to {
        let aligned = if from == 0 { 32 } else { from.trailing_zeros().min(32) };
        let fits = (to - from + 1).ilog2();
        let bits = aligned.min(fits);
        nets.push((IpAddr::V4(Ipv4Addr::from_bits(from as u32)), (32 - bits) as u8));
        from += 1 << bits;
    }
    Ok(nets)
}

/// A port by number or by the name of a service.
fn port(text: &str, protocol: &str) -> Result<u16, Fault> {
    if let Some(port) = service_by_name(text) {
        return Ok(port);
    }
    let wrong = match parse_number(text, u64::MAX) {
        Some(n) if n <= 65_535 => return Ok(n as u16),
        Some(_) => format!("'{text}' is out of range 0-65535"),
        None => format!("'{text}' is invalid as number"),
    };
    Err(Fault::syntax(format!(
        "{wrong}\nSyntax error: '{protocol}' is invalid as number\ncannot parse '{text}' as a {protocol} port"
    )))
}

/// `[PROTO:]PORT[-PORT]`, the protocol TCP unless named, as first and last port.
pub(super) fn ports(text: &str) -> Result<(u16, u16), Fault> {
    let text = text.split_once(':').map_or(text, |(_, ports)| ports);
    match text.split_once('-') {
        None => port(text, "tcp").map(|p| (p, p)),
        Some((low, high)) => {
            let (low, high) = (port(low, "tcp")?, port(high, "tcp")?);
            Ok((low.min(high), low.max(high)))
        }
    }
}

fn services(text: &str) -> Result<Vec<Service>, Fault> {
    let Some((name, what)) = text.split_once(':') else {
        let (low, high) = ports(text)?;
        return Ok((low..=high).map(|port| Service { proto: proto::TCP, port }).collect());
    };
    let number = parse_number(name, 255).map(|n| n as u8).or_else(|| protocol_by_name(name));
    let proto = number.ok_or_else(|| Fault::syntax(format!("cannot parse '{name}' as a protocol")))?;
    let (table, what_kind): (&[(&str, u8, u8)], _) = match proto {
        proto::TCP | proto::UDP | proto::SCTP | proto::UDPLITE => {
            let (low, high) = ports(what)?;
            return Ok((low..=high).map(|port| Service { proto, port }).collect());
        }
        proto::ICMP => (&ICMP, "ICMP"),
        proto::ICMPV6 => (&ICMPV6, "ICMPv6"),
        _ => {
            if parse_number(what, 65_535) != Some(0) {
                let name = protocol_name(proto).map_or_else(|| proto.to_string(), str::to_owned);
                return Err(Fault::syntax(format!(
                    "Protocol {name} can be used with pseudo port value 0 only."
                )));
            }
            return Ok(vec![Service { proto, port: 0 }]);
        }
    };
    let named = table.iter().find(|t| t.0.eq_ignore_ascii_case(what)).map(|t| (t.1, t.2));
    let pair = named.or_else(|| {
        let (kind, code) = what.split_once('/')?;
        Some((parse_number(kind, 255)? as u8, parse_number(code, 255)? as u8))
    });
    let (kind, code) =
        pair.ok_or_else(|| Fault::Refused(format!("Cannot parse {what} as an {what_kind} type/code.")))?;
    Ok(vec![Service { proto, port: u16::from_be_bytes([kind, code]) }])
}

/// Every element that `text` names, in a set like this.
pub(super) fn parse(params: &Params, text: &str) -> Result<Vec<Element>, Fault> {
    let family = params.family.unwrap_or(Family::V4);
    let kind = params.kind;
    let parts: Vec<&str> = text.split(',').collect();
    let wanted = kind.dimensions();
    if parts.len() > wanted {
        let name = kind.name();
        return Err(Fault::syntax(match wanted {
            1 => format!("Elem separator in {text}, but settype {name} supports none."),
            2 => format!("Two elem separators in {text}, but settype {name} supports one."),
            _ => format!("Three elem separators in {text}, but settype {name} supports two."),
        }));
    }
    if parts.len() < wanted {
        let which = if parts.len() == 1 { "Second" } else { "Third" };
        return Err(Fault::syntax(format!("{which} element is missing from {text}.")));
    }
    let plain = |text: &str| {
        if text.contains(['-', '/']) {
            return Err(Fault::syntax(format!("plain IP address must be supplied: {text}")));
        }
        address(family, text)
    };
    let pairs = |text: &str| -> Result<Vec<(IpAddr, Service)>, Fault> {
        let services = services(text)?;
        let addrs = each_address(family, parts[0])?;
        if addrs.len() as u64 * services.len() as u64 > EXPANSION_MAX {
            return Err(Fault::Refused("too many elements in one command".to_owned()));
        }
        Ok(addrs.iter().flat_map(|a| services.iter().map(|s| (*a, *s))).collect())
    };
    Ok(match kind {
        Kind::HashIp | Kind::BitmapIp => each_address(family, text)?.into_iter().map(Element::Ip).collect(),
        Kind::HashNet => networks(family, text)?.into_iter().map(|(a, len)| Element::Net(a, len)).collect(),
        Kind::BitmapPort => {
            let (low, high) = ports(text)?;
            (low..=high).map(Element::Port).collect()
        }
        Kind::HashIpPort => pairs(parts[1])?.into_iter().map(|(a, s)| Element::IpPort(a, s)).collect(),
        Kind::HashIpPortIp => {
            let third = plain(parts[2])?;
            pairs(parts[1])?.into_iter().map(|(a, s)| Element::IpPortIp(a, s, third)).collect()
        }
        Kind::HashIpPortNet => {
            let nets = networks(family, parts[2])?;
            let pairs = pairs(parts[1])?;
            let all = pairs
                .iter()
                .flat_map(|(a, s)| nets.iter().map(|(net, len)| Element::IpPortNet(*a, *s, *net, *len)));
            all.collect()
        }
        Kind::HashNetPort => {
            let services = services(parts[1])?;
            let nets = networks(family, parts[0])?;
            nets.iter().flat_map(|(a, len)| services.iter().map(|s| Element::NetPort(*a, *len, *s))).collect()
        }
        Kind::HashNetIface => {
            let (name, port) = match parts[1].strip_prefix("physdev:") {
                Some(name) => (name, true),
                None => (parts[1], false),
            };
            if name.len() > DEVICE_MAX {
                return Err(Fault::syntax(format!(
                    "interface name '{name}' is longer than {DEVICE_MAX} characters"
                )));
            }
            let nets = networks(family, parts[0])?;
            nets.into_iter().map(|(a, len)| Element::NetIface(a, len, name.into(), port)).collect()
        }
        Kind::ListSet => Vec::new(),
    })
}

fn service_text(service: Service) -> String {
    let name = protocol_name(service.proto).map_or_else(|| service.proto.to_string(), str::to_owned);
    let [kind, code] = service.port.to_be_bytes();
    let table: &[(&str, u8, u8)] = match service.proto {
        proto::ICMP => &ICMP,
        proto::ICMPV6 => &ICMPV6,
        _ => return format!("{name}:{}", service.port),
    };
    match table.iter().find(|t| (t.1, t.2) == (kind, code)) {
        Some((icmp, _, _)) => format!("{name}:{icmp}"),
        None => format!("{name}:{kind}/{code}"),
    }
}

fn net_text(addr: IpAddr, len: u8) -> String {
    if len == full_len(Family::of(&addr)) { addr.to_string() } else { format!("{addr}/{len}") }
}

/// As `ipset save` prints it.
pub(super) fn text(element: &Element) -> String {
    match element {
        Element::Ip(a) => a.to_string(),
        Element::Net(a, len) => net_text(*a, *len),
        Element::IpPort(a, s) => format!("{a},{}", service_text(*s)),
        Element::IpPortIp(a, s, b) => format!("{a},{},{b}", service_text(*s)),
        Element::IpPortNet(a, s, b, len) => format!("{a},{},{}", service_text(*s), net_text(*b, *len)),
        Element::NetPort(a, len, s) => format!("{},{}", net_text(*a, *len), service_text(*s)),
        Element::NetIface(a, len, dev, port) => {
            format!("{},{}{dev}", net_text(*a, *len), if *port { "physdev:" } else { "" })
        }
        Element::Port(port) => port.to_string(),
    }
}
