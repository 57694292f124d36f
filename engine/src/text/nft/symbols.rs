//! Values of the types as text: symbols, numbers, addresses, spans of time; read and printed.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::lex::{self, Kind, Token};
use crate::netfilter::nft::Type;
use crate::netfilter::nft::types::{name_value, value_name};

type Symbols = &'static [(&'static str, u128)];

const NF_PROTO: Symbols = &[("ipv4", 2), ("ipv6", 10)];
const ETHER_TYPE: Symbols = &[
    ("ip", 0x800),
    ("arp", 0x806),
    ("ip6", 0x86dd),
    ("8021q", 0x8100),
    ("8021ad", 0x88a8),
    ("vlan", 0x8100),
];
const ARP_OP: Symbols = &[
    ("request", 1),
    ("reply", 2),
    ("rrequest", 3),
    ("rreply", 4),
    ("inrequest", 8),
    ("inreply", 9),
    ("nak", 10),
];
const ICMP_TYPE: Symbols = &[
    ("echo-reply", 0),
    ("destination-unreachable", 3),
    ("source-quench", 4),
    ("redirect", 5),
    ("echo-request", 8),
    ("router-advertisement", 9),
    ("router-solicitation", 10),
    ("time-exceeded", 11),
    ("parameter-problem", 12),
    ("timestamp-request", 13),
    ("timestamp-reply", 14),
    ("info-request", 15),
    ("info-reply", 16),
    ("address-mask-request", 17),
    ("address-mask-reply", 18),
];
const ICMP_CODE: Symbols = &[
    ("net-unreachable", 0),
    ("host-unreachable", 1),
    ("prot-unreachable", 2),
    ("port-unreachable", 3),
    ("net-prohibited", 9),
    ("host-prohibited", 10),
    ("admin-prohibited", 13),
    ("frag-needed", 4),
];
const ICMPV6_TYPE: Symbols = &[
    ("destination-unreachable", 1),
    ("packet-too-big", 2),
    ("time-exceeded", 3),
    ("parameter-problem", 4),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("mld-listener-query", 130),
    ("mld-listener-report", 131),
    ("mld-listener-done", 132),
    ("mld-listener-reduction", 132),
    ("nd-router-solicit", 133),
    ("nd-router-advert", 134),
    ("nd-neighbor-solicit", 135),
    ("nd-neighbor-advert", 136),
    ("nd-redirect", 137),
    ("router-renumbering", 138),
    ("ind-neighbor-solicit", 141),
    ("ind-neighbor-advert", 142),
    ("mld2-listener-report", 143),
];
const ICMPV6_CODE: Symbols = &[
    ("no-route", 0),
    ("admin-prohibited", 1),
    ("addr-unreachable", 3),
    ("port-unreachable", 4),
    ("policy-fail", 5),
    ("reject-route", 6),
];
const ICMPX_CODE: Symbols =
    &[("port-unreachable", 1), ("admin-prohibited", 3), ("no-route", 0), ("host-unreachable", 2)];
const IGMP_TYPE: Symbols = &[
    ("membership-query", 17),
    ("membership-report-v1", 18),
    ("membership-report-v2", 22),
    ("membership-report-v3", 34),
    ("leave-group", 23),
];
const TCP_FLAG: Symbols =
    &[("fin", 1), ("syn", 2), ("rst", 4), ("psh", 8), ("ack", 16), ("urg", 32), ("ecn", 64), ("cwr", 128)];
const DCCP_PKTTYPE: Symbols = &[
    ("request", 0),
    ("response", 1),
    ("data", 2),
    ("ack", 3),
    ("dataack", 4),
    ("closereq", 5),
    ("close", 6),
    ("reset", 7),
    ("sync", 8),
    ("syncack", 9),
];
const MH_TYPE: Symbols = &[
    ("binding-refresh-request", 0),
    ("home-test-init", 1),
    ("careof-test-init", 2),
    ("home-test", 3),
    ("careof-test", 4),
    ("binding-update", 5),
    ("binding-acknowledgement", 6),
    ("binding-error", 7),
    ("fast-binding-update", 8),
    ("fast-binding-acknowledgement", 9),
    ("fast-binding-advertisement", 10),
    ("experimental-mobility-header", 11),
    ("home-agent-switch-message", 12),
];
const IFACE_TYPE: Symbols = &[
    ("ether", 1),
    ("ppp", 512),
    ("ipip", 768),
    ("ipip6", 769),
    ("loopback", 772),
    ("sit", 776),
    ("ipgre", 778),
];
const CT_STATE: Symbols =
    &[("invalid", 1), ("new", 8), ("established", 2), ("related", 4), ("untracked", 64)];
const CT_DIR: Symbols = &[("original", 0), ("reply", 1)];
const CT_STATUS: Symbols = &[
    ("expected", 1),
    ("seen-reply", 2),
    ("assured", 4),
    ("confirmed", 8),
    ("snat", 16),
    ("dnat", 32),
    ("dying", 512),
];
const CT_EVENT: Symbols = &[
    ("new", 1),
    ("related", 2),
    ("destroy", 4),
    ("reply", 8),
    ("assured", 16),
    ("protoinfo", 32),
    ("helper", 64),
    ("mark", 128),
    ("seqadj", 256),
    ("secmark", 512),
    ("label", 1024),
];
const PKT_TYPE: Symbols = &[("host", 0), ("unicast", 0), ("broadcast", 1), ("multicast", 2), ("other", 3)];
const DSCP: Symbols = &[
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("df", 0),
    ("be", 0),
    ("lephb", 1),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("va", 44),
    ("ef", 46),
];
const ECN: Symbols = &[("not-ect", 0), ("ect1", 1), ("ect0", 2), ("ce", 3)];
const FIB_ADDR: Symbols = &[
    ("unspec", 0),
    ("unicast", 1),
    ("local", 2),
    ("broadcast", 3),
    ("anycast", 4),
    ("multicast", 5),
    ("blackhole", 6),
    ("unreachable", 7),
    ("prohibit", 8),
];
const BOOLEAN: Symbols = &[("exists", 1), ("missing", 0)];
const DAY: Symbols = &[
    ("Sunday", 0),
    ("Monday", 1),
    ("Tuesday", 2),
    ("Wednesday", 3),
    ("Thursday", 4),
    ("Friday", 5),
    ("Saturday", 6),
];
/// `/etc/protocols` of Debian, first names, as listings print them.
const INET_PROTO: Symbols = &[
    ("ip", 0),
    ("icmp", 1),
    ("igmp", 2),
    ("ggp", 3),
    ("ipencap", 4),
    ("st", 5),
    ("tcp", 6),
    ("egp", 8),
    ("igp", 9),
    ("pup", 12),
    ("udp", 17),
    ("hmp", 20),
    ("xns-idp", 22),
    ("rdp", 27),
    ("iso-tp4", 29),
    ("dccp", 33),
    ("xtp", 36),
    ("ddp", 37),
    ("idpr-cmtp", 38),
    ("ipv6", 41),
    ("ipv6-route", 43),
    ("ipv6-frag", 44),
    ("idrp", 45),
    ("rsvp", 46),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("skip", 57),
    ("ipv6-icmp", 58),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("rspf", 73),
    ("vmtp", 81),
    ("eigrp", 88),
    ("ospf", 89),
    ("ax.25", 93),
    ("ipip", 94),
    ("etherip", 97),
    ("encap", 98),
    ("pim", 103),
    ("ipcomp", 108),
    ("vrrp", 112),
    ("l2tp", 115),
    ("isis", 124),
    ("sctp", 132),
    ("fc", 133),
    ("mobility-header", 135),
    ("udplite", 136),
    ("mpls-in-ip", 137),
    ("manet", 138),
    ("hip", 139),
    ("shim6", 140),
    ("wesp", 141),
    ("rohc", 142),
    ("ethernet", 143),
];

/// Symbols of a type; of two for one value the first prints.
pub(super) const fn of(ty: Type) -> Symbols {
    match ty {
        Type::NfProto => NF_PROTO,
        Type::EtherType => ETHER_TYPE,
        Type::ArpOp => ARP_OP,
        Type::InetProto => INET_PROTO,
        Type::IcmpType => ICMP_TYPE,
        Type::IcmpCode => ICMP_CODE,
        Type::Icmpv6Type => ICMPV6_TYPE,
        Type::Icmpv6Code => ICMPV6_CODE,
        Type::IcmpxCode => ICMPX_CODE,
        Type::IgmpType => IGMP_TYPE,
        Type::TcpFlag => TCP_FLAG,
        Type::DccpPkttype => DCCP_PKTTYPE,
        Type::MhType => MH_TYPE,
        Type::IfaceType => IFACE_TYPE,
        Type::CtState => CT_STATE,
        Type::CtDir => CT_DIR,
        Type::CtStatus => CT_STATUS,
        Type::CtEvent => CT_EVENT,
        Type::PktType => PKT_TYPE,
        Type::Dscp => DSCP,
        Type::Ecn => ECN,
        Type::FibAddr => FIB_ADDR,
        Type::Boolean => BOOLEAN,
        Type::Day => DAY,
        Type::DevGroup => &[("default", 0)],
        Type::Realm => &[("cosmos", 0)],
        Type::Integer(_)
        | Type::Str
        | Type::LlAddr
        | Type::Ipv4Addr
        | Type::Ipv6Addr
        | Type::EtherAddr
        | Type::InetService
        | Type::Time
        | Type::Mark
        | Type::IfIndex
        | Type::IfName
        | Type::Classid
        | Type::Uid
        | Type::Gid
        | Type::CtLabel
        | Type::Date
        | Type::Hour
        | Type::CgroupV2 => &[],
    }
}

/// What the tool calls a type in messages.
pub(super) fn title(ty: Type) -> &'static str {
    match ty {
        Type::Integer(_) => "integer",
        Type::Str => "string",
        Type::NfProto => "netfilter protocol",
        Type::LlAddr => "link layer address",
        Type::Ipv4Addr => "IPv4 address",
        Type::Ipv6Addr => "IPv6 address",
        Type::EtherAddr => "Ethernet address",
        Type::EtherType => "Ethernet protocol",
        Type::ArpOp => "ARP operation",
        Type::InetProto => "Internet protocol",
        Type::InetService => "internet network service",
        Type::IcmpType => "ICMP type",
        Type::IcmpCode => "icmp code",
        Type::Icmpv6Type => "ICMPv6 type",
        Type::Icmpv6Code => "icmpv6 code",
        Type::IcmpxCode => "icmpx code",
        Type::IgmpType => "IGMP type",
        Type::TcpFlag => "TCP flag",
        Type::DccpPkttype => "DCCP packet type",
        Type::MhType => "Mobility Header Type",
        Type::Time => "relative time",
        Type::Mark => "packet mark",
        Type::IfIndex => "network interface index",
        Type::IfaceType => "network interface type",
        Type::IfName => "network interface name",
        Type::Realm => "routing realm",
        Type::Classid => "TC classid",
        Type::Uid => "user ID",
        Type::Gid => "group ID",
        Type::CtState => "conntrack state",
        Type::CtDir => "conntrack direction",
        Type::CtStatus => "conntrack status",
        Type::CtEvent => "conntrack event bits",
        Type::CtLabel => "conntrack label",
        Type::PktType => "packet type",
        Type::DevGroup => "devgroup name",
        Type::Dscp => "Differentiated Services Code Point",
        Type::Ecn => "Explicit Congestion Notification",
        Type::FibAddr => "fib address type",
        Type::Boolean => "boolean type",
        Type::Date => "Date and time of packet reception",
        Type::Hour => "Hour of day of packet reception",
        Type::Day => "Day of week of packet reception",
        Type::CgroupV2 => "cgroupsv2 path",
    }
}

/// A number as the tool reads it: decimal, `0x`, or octal after a zero.
pub(super) fn parse_number(text: &str) -> Option<u128> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u128::from_str_radix(hex, 16).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return u128::from_str_radix(text, 8).ok();
    }
    text.parse().ok()
}

/// `1d2h3m4s5ms` or seconds, in milliseconds.
pub(super) fn parse_span(text: &str) -> Option<u64> {
    if let Ok(seconds) = text.parse::<u64>() {
        return seconds.checked_mul(1000);
    }
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, len) = match rest {
            r if r.starts_with("ms") => (1, 2),
            r if r.starts_with('d') => (86_400_000, 1),
            r if r.starts_with('h') => (3_600_000, 1),
            r if r.starts_with('m') => (60_000, 1),
            r if r.starts_with('s') => (1000, 1),
            _ => return None,
        };
        rest = &rest[len..];
        total = total.checked_add(number.checked_mul(unit)?)?;
    }
    Some(total)
}

/// Milliseconds as the tool prints them: `1d2h3m4s5ms`.
pub(super) fn print_span(out: &mut String, ms: u64) {
    if ms == 0 {
        out.push_str("0s");
        return;
    }
    for (unit, name, modulus) in [
        (86_400_000, "d", u64::MAX),
        (3_600_000, "h", 24),
        (60_000, "m", 60),
        (1000, "s", 60),
        (1, "ms", 1000),
    ] {
        let count = ms / unit % modulus;
        if count > 0 {
            let _ = write!(out, "{count}{name}");
        }
    }
}

/// Names of services, `/etc/services` as far as rules use it; the tool resolves them when it reads.
fn service(name: &str) -> Option<u128> {
    crate::netfilter::xt::service_by_name(name).map(u128::from)
}

/// The value of a word of a type, or the tool's complaint. Flags joined by `|` or `,` are the caller's.
pub(super) fn parse(ty: Type, token: &Token<'_>) -> Result<u128, String> {
    let text = token.text;
    if token.kind == Kind::Number {
        match ty {
            Type::Ipv4Addr | Type::Ipv6Addr | Type::EtherAddr | Type::LlAddr => {}
            Type::Time => {
                return parse_span(text).map(u128::from).ok_or_else(|| "Could not parse time".to_owned());
            }
            Type::Hour => return hour(text),
            Type::Date => {
                let seconds = parse_number(text).ok_or("Error parsing time")?;
                return Ok(seconds.saturating_mul(1_000_000_000));
            }
            Type::IfName | Type::Str | Type::IfIndex => return string(ty, token),
            Type::CtLabel => {
                let bit = parse_number(text).filter(|bit| *bit < 128);
                return bit
                    .map(|bit| 1 << bit)
                    .ok_or_else(|| format!("Value {text} exceeds valid range 0-127"));
            }
            _ => {
                let value = parse_number(text).ok_or("Could not parse integer")?;
                if value > ty.max() {
                    if ty == Type::InetService {
                        return Err("Service out of range".to_owned());
                    }
                    return Err(format!("Value {value} exceeds valid range 0-{}", ty.max()));
                }
                return Ok(value);
            }
        }
    }
    match ty {
        Type::Ipv4Addr => match text {
            "localhost" => Ok(Ipv4Addr::LOCALHOST.to_bits().into()),
            _ => lex::parse_v4(text)
                .map(|a| a.to_bits().into())
                .ok_or_else(|| "Could not resolve hostname: Name or service not known".to_owned()),
        },
        Type::Ipv6Addr => match text {
            "localhost" | "ip6-localhost" => Ok(Ipv6Addr::LOCALHOST.to_bits()),
            _ => text.parse::<Ipv6Addr>().map(|a| a.to_bits()).map_err(|_| {
                let known = lex::parse_v4(text).is_some();
                let why = if known {
                    "Address family for hostname not supported"
                } else {
                    "Name or service not known"
                };
                format!("Could not resolve hostname: {why}")
            }),
        },
        Type::EtherAddr | Type::LlAddr => {
            ether(text).ok_or_else(|| "Could not parse link layer address".to_owned())
        }
        Type::InetService => service(text)
            .ok_or_else(|| "Could not resolve service: Servname not supported for ai_socktype".to_owned()),
        Type::InetProto => symbol(ty, text)
            .or_else(|| other_protocol_name(text))
            .ok_or_else(|| "Could not resolve protocol name".to_owned()),
        Type::IfName | Type::IfIndex | Type::Str => string(ty, token),
        Type::Time => parse_span(text).map(u128::from).ok_or_else(|| "Could not parse time".to_owned()),
        Type::Uid | Type::Gid if text == "root" => Ok(0),
        Type::Uid => Err("User does not exist".to_owned()),
        Type::Gid => Err("Group does not exist".to_owned()),
        Type::Classid => classid(text).ok_or_else(|| "Invalid priority".to_owned()),
        Type::Hour => hour(text),
        Type::Date => date(text).ok_or_else(|| "Error parsing time".to_owned()),
        Type::Integer(_) => Err("Could not parse integer".to_owned()),
        _ => symbol(ty, text).ok_or_else(|| format!("Could not parse {}", title(ty))),
    }
}

fn symbol(ty: Type, text: &str) -> Option<u128> {
    of(ty).iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

/// Names of `/etc/protocols` other than the first, and those in capitals.
fn other_protocol_name(text: &str) -> Option<u128> {
    Some(match text {
        "icmpv6" | "IPv6-ICMP" => 58,
        "hopopt" => 0,
        "comp" => 108,
        _ => {
            let lower = text.to_ascii_lowercase();
            return if lower == text { None } else { symbol(Type::InetProto, &lower) };
        }
    })
}

fn string(ty: Type, token: &Token<'_>) -> Result<u128, String> {
    // `eth\*` is a name with a star.
    let text = token.text.replace("\\*", "*");
    if text.len() >= 16 {
        return Err("String exceeds maximum length of 16".to_owned());
    }
    if text.is_empty() || (ty == Type::IfIndex && text == "*") {
        return Err("String is empty".to_owned());
    }
    // The loopback device is the first of every namespace.
    if ty == Type::IfIndex && text == "1" {
        return Ok(name_value("lo"));
    }
    if ty == Type::IfIndex && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse::<u32>().map(u128::from).map_err(|_| "Interface does not exist".to_owned());
    }
    Ok(name_value(&text))
}

fn ether(text: &str) -> Option<u128> {
    let mut value = 0;
    let mut parts = 0;
    for part in text.split(':') {
        value = value << 8 | u128::from(u8::from_str_radix(part, 16).ok()?);
        parts += 1;
    }
    (parts == 6).then_some(value)
}

fn classid(text: &str) -> Option<u128> {
    match text {
        "root" => Some(u32::MAX.into()),
        "none" => Some(0),
        _ => {
            let (major, minor) = text.split_once(':')?;
            let part = |t: &str| u16::from_str_radix(t, 16).ok();
            Some(u128::from(part(major)?) << 16 | u128::from(part(minor)?))
        }
    }
}

/// `17:30`, `17:30:05` or a second of the day.
fn hour(text: &str) -> Result<u128, String> {
    const DAY_SECONDS: u128 = 86_400;
    let bad = || "Can't parse hour input".to_owned();
    let mut parts = text.split(':');
    let mut seconds = 0;
    let mut count = 0;
    for part in parts.by_ref() {
        let number: u128 = part.parse().map_err(|_| bad())?;
        if count > 0 && number > 59 {
            return Err(bad());
        }
        seconds = seconds * 60 + number;
        count += 1;
        if count == 3 {
            break;
        }
    }
    if count == 2 {
        seconds *= 60;
    }
    if parts.next().is_some() || seconds > DAY_SECONDS { Err(bad()) } else { Ok(seconds) }
}

/// `2020-01-01 12:00:00`, the time optional, UTC; nanoseconds since 1970.
fn date(text: &str) -> Option<u128> {
    let (day, time) = text.split_once(' ').unwrap_or((text, "00:00"));
    let mut parts = day.split('-').map(|p| p.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some()
        || !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
    {
        return None;
    }
    let seconds = hour(time).ok()?;
    let days = u128::try_from(days_from_civil(year, month, day)).ok()?;
    Some((days * 86_400 + seconds) * 1_000_000_000)
}

/// Days since 1970-01-01 in the Gregorian calendar.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`].
const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let mp = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (year_of_era + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

/// How integers print: header fields in decimal, raw bytes in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Radix {
    Decimal,
    Hex,
}

/// A value of a type, as listings print it outside ranges.
pub(super) fn print(out: &mut String, ty: Type, value: u128, radix: Radix) {
    let symbol = of(ty).iter().find(|(_, v)| *v == value).map(|(name, _)| *name);
    let _ = match ty {
        Type::Ipv4Addr => write!(out, "{}", Ipv4Addr::from_bits(value as u32)),
        Type::Ipv6Addr => write!(out, "{}", Ipv6Addr::from_bits(value)),
        Type::EtherAddr | Type::LlAddr => {
            let bytes: Vec<String> = value.to_be_bytes()[10..].iter().map(|b| format!("{b:02x}")).collect();
            write!(out, "{}", bytes.join(":"))
        }
        Type::Mark => write!(out, "0x{value:08x}"),
        Type::IfIndex if value <= u32::MAX.into() => write!(out, "{value}"),
        Type::IfName | Type::Str | Type::IfIndex => {
            let name = value_name(value);
            match name.strip_suffix('*') {
                Some(stem) if ty == Type::IfName => write!(out, "\"{stem}\\*\""),
                _ => write!(out, "\"{name}\""),
            }
        }
        Type::Time => {
            print_span(out, u64::try_from(value).unwrap_or(u64::MAX));
            Ok(())
        }
        Type::Classid => match value {
            0 => write!(out, "none"),
            0xffff_ffff => write!(out, "root"),
            _ => write!(out, "{:x}:{:x}", value >> 16 & 0xffff, value & 0xffff),
        },
        Type::CtLabel => write!(out, "{}", value.trailing_zeros()),
        Type::Hour => {
            let (hours, minutes, seconds) = (value / 3600, value / 60 % 60, value % 60);
            let _ = write!(out, "\"{hours:02}:{minutes:02}");
            if seconds > 0 {
                let _ = write!(out, ":{seconds:02}");
            }
            write!(out, "\"")
        }
        Type::Date => {
            let seconds = value / 1_000_000_000;
            let (year, month, day) = civil_from_days((seconds / 86_400) as i64);
            let second = seconds % 86_400;
            let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
            write!(out, "\"{year}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}\"")
        }
        Type::Day | Type::DevGroup => match symbol {
            Some(name) => write!(out, "\"{name}\""),
            None => write!(out, "{value}"),
        },
        _ => match symbol {
            Some(name) => write!(out, "{name}"),
            None if ty.is_bitmask() => {
                bits(out, ty, value, " | ");
                Ok(())
            }
            None => match ty {
                Type::Dscp | Type::Ecn => write!(out, "0x{value:02x}"),
                Type::EtherType | Type::ArpOp | Type::IfaceType => write!(out, "0x{value:04x}"),
                _ if radix == Radix::Hex => write!(out, "0x{value:x}"),
                _ => write!(out, "{value}"),
            },
        },
    };
}

/// The bits of a bitmask by name, lowest first; one that has no name, or none at all, in hexadecimal.
pub(super) fn bits(out: &mut String, ty: Type, value: u128, separator: &str) {
    if value == 0 {
        out.push_str(if ty == Type::CtLabel { "0" } else { "0x0" });
        return;
    }
    let mut first = true;
    for bit in 0..ty.bits() {
        let mask = 1_u128 << bit;
        if value & mask == 0 {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push_str(separator);
        }
        let named = of(ty).iter().find(|(_, v)| *v == mask).map(|(name, _)| *name);
        let _ = match named {
            Some(name) => write!(out, "{name}"),
            None if ty == Type::CtLabel => write!(out, "{bit}"),
            None => write!(out, "0x{mask:x}"),
        };
    }
}
