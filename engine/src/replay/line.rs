//! A packet in one line: `tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0 flags SA`.
//!
//! Protocol, source, `>`, destination, then words in any order. Owns the grammar and its messages; what a packet
//! becomes is [`super::build`]'s.
//!
//! | words | meaning |
//! |---|---|
//! | `in DEV`, `in local` | the device it arrives on, or a process of the node |
//! | `flags SA` | TCP flags, letters of `FSRPAUEC`; `-` for none |
//! | `seq N` `ack N` `win N` `mss N` `wscale N` `sack-ok` | TCP fields and options |
//! | `type N` `code N` `id N` `icmp-seq N` | ICMP; a type may be a name such as `echo-request` |
//! | `len N` | payload in bytes |
//! | `ttl N` `tos N` `df` `ip-id N` | IP header |
//! | `mark N` `uid N` `gid N` `mac M` | what the kernel knows beside the packet |
//! | `at N` | milliseconds since the start |

use std::fmt::Write as _;
use std::net::IpAddr;

use super::build::{read_flags, read_mac};
use super::case::{PacketSpec, Text};
use crate::text::diag::{Diag, Severity};

/// Source port of a TCP, UDP or SCTP packet that names none.
const SPORT_DEFAULT: u16 = 40000;

/// ICMP types by the names that iptables uses, IPv4 and IPv6 number.
const ICMP_NAMES: &[(&str, Option<u8>, Option<u8>)] = &[
    ("echo-request", Some(8), Some(128)),
    ("ping", Some(8), Some(128)),
    ("echo-reply", Some(0), Some(129)),
    ("pong", Some(0), Some(129)),
    ("destination-unreachable", Some(3), Some(1)),
    ("packet-too-big", None, Some(2)),
    ("redirect", Some(5), Some(137)),
    ("time-exceeded", Some(11), Some(3)),
    ("parameter-problem", Some(12), Some(4)),
    ("router-solicitation", Some(10), Some(133)),
    ("router-advertisement", Some(9), Some(134)),
    ("neighbour-solicitation", None, Some(135)),
    ("neighbour-advertisement", None, Some(136)),
    ("timestamp-request", Some(13), None),
    ("timestamp-reply", Some(14), None),
];

/// A word and where it begins, in characters from 1.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    column: u32,
}

impl Word<'_> {
    fn wrong(&self, message: impl Into<String>) -> Diag {
        Diag {
            severity: Severity::Error,
            line: 1,
            column: self.column,
            len: self.text.chars().count() as u32,
            message: message.into(),
        }
    }
}

struct Words<'a> {
    words: std::vec::IntoIter<Word<'a>>,
    /// Column behind the last word.
    end: u32,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        let mut words = Vec::new();
        let mut start = None;
        let mut column = 0;
        for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
            column += 1;
            match (c.is_whitespace(), start) {
                (false, None) => start = Some((at, column)),
                (true, Some((from, column))) => {
                    words.push(Word { text: &line[from..at], column });
                    start = None;
                }
                _ => {}
            }
        }
        Self { words: words.into_iter(), end: column }
    }

    fn next(&mut self, expected: &str) -> Result<Word<'a>, Diag> {
        let end = Word { text: "", column: self.end };
        self.words.next().ok_or_else(|| end.wrong(format!("the line ends where {expected} is expected")))
    }
}

/// Reads a packet line. Without `in` the device stays empty.
pub fn parse(line: &str) -> Result<PacketSpec, Diag> {
    let mut words = Words::of(line);
    let proto = words.next("a protocol")?;
    let name = proto.text.to_ascii_lowercase();
    let (icmp, ported) = match name.as_str() {
        "tcp" | "udp" | "sctp" => (false, true),
        "icmp" | "icmpv6" => (true, false),
        "icmp6" | "ipv6-icmp" => (true, false),
        number if number.parse::<u8>().is_ok() => {
            let number: u8 = number.parse().unwrap_or(0);
            (matches!(number, 1 | 58), matches!(number, 6 | 17 | 132))
        }
        _ => {
            return Err(
                proto.wrong("expected a protocol: tcp, udp, icmp, icmpv6, sctp or a number up to 255")
            );
        }
    };
    let source = words.next("a source address")?;
    let (src, sport) = end_point(source)?;
    let arrow = words.next("`>`")?;
    if !matches!(arrow.text, ">" | "->" | "→") {
        return Err(arrow.wrong("expected `>` between source and destination"));
    }
    let destination = words.next("a destination address")?;
    let (dst, dport) = end_point(destination)?;
    if src.is_ipv4() != dst.is_ipv4() {
        return Err(destination.wrong("source and destination are of different address families"));
    }
    let name = match name.as_str() {
        "icmp6" | "ipv6-icmp" => "icmpv6".to_owned(),
        "icmp" if dst.is_ipv6() => "icmpv6".to_owned(),
        _ => name,
    };
    if name == "icmpv6" && dst.is_ipv4() {
        return Err(proto.wrong("icmpv6 does not travel in IPv4: write icmp"));
    }
    for (word, port) in [(source, sport), (destination, dport)] {
        if port.is_some() && !ported {
            return Err(word.wrong(format!("{name} has no ports")));
        }
    }
    if ported && dport.is_none() {
        return Err(
            destination.wrong(format!("a {name} packet needs a destination port: {}", with_port(dst)))
        );
    }
    let mut spec = PacketSpec {
        src: Some(src),
        dst: Some(dst),
        sport: ported.then_some(sport.unwrap_or(SPORT_DEFAULT)),
        dport,
        proto: Some(name.parse().map_or(Text::Word(name.clone()), Text::Number)),
        ..PacketSpec::default()
    };
    while let Some(word) = words.words.next() {
        option(&mut spec, word, &mut words, icmp)?;
    }
    Ok(spec)
}

/// `10.1.0.2:80`, `10.1.0.2`, `[fd00::1]:80`, `[fd00::1]`, `fd00::1`.
fn end_point(word: Word<'_>) -> Result<(IpAddr, Option<u16>), Diag> {
    let port = |text: &str| {
        text.parse::<u16>().map(Some).map_err(|_| match text.parse::<u64>() {
            Ok(number) => word.wrong(format!("port {number} is above 65535")),
            Err(_) => word.wrong(format!("{text:?} is not a port")),
        })
    };
    let addr =
        |text: &str| text.parse::<IpAddr>().map_err(|_| word.wrong(format!("{text:?} is not an IP address")));
    if let Some((inner, rest)) = word.text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        let number = match rest.strip_prefix(':') {
            Some(text) => port(text)?,
            None if rest.is_empty() => None,
            None => return Err(word.wrong("expected `:` and a port behind `]`")),
        };
        return Ok((addr(inner)?, number));
    }
    match word.text.split_once(':') {
        Some((host, text)) if !text.contains(':') => Ok((addr(host)?, port(text)?)),
        _ => Ok((addr(word.text)?, None)),
    }
}

/// One of the words behind the end points, with its value.
fn option(spec: &mut PacketSpec, word: Word<'_>, words: &mut Words<'_>, icmp: bool) -> Result<(), Diag> {
    // `flags=SA` is as good as `flags SA`.
    let (name, inline) = match word.text.split_once('=') {
        Some((name, value)) => {
            let column = word.column + name.chars().count() as u32 + 1;
            (name, Some(Word { text: value, column }))
        }
        None => (word.text, None),
    };
    match name {
        "df" => spec.df = Some(true),
        "sack-ok" | "sack_ok" => spec.sack_ok = Some(true),
        "in" | "flags" | "seq" | "ack" | "win" | "mss" | "wscale" | "type" | "code" | "id" | "icmp-seq"
        | "len" | "ttl" | "hl" | "tos" | "ip-id" | "mark" | "uid" | "gid" | "mac" | "at" => {
            let value = match inline {
                Some(value) => value,
                None => words.next(&format!("the value of `{name}`"))?,
            };
            let max = match name {
                "wscale" => 14,
                "code" | "ttl" | "hl" | "tos" => 0xff,
                "win" | "mss" | "id" | "icmp-seq" | "len" | "ip-id" => 0xffff,
                "at" => u64::MAX,
                _ => 0xffff_ffff,
            };
            let number = || number(value, name, max);
            match name {
                "in" => value.text.clone_into(&mut spec.input),
                "flags" => {
                    let letters = value.text.trim_matches('-');
                    read_flags(letters).map_err(|message| value.wrong(message))?;
                    spec.flags = Some(letters.to_owned());
                }
                "seq" => spec.seq = Some(number()? as u32),
                "ack" => spec.ack = Some(number()? as u32),
                "win" => spec.win = Some(number()? as u16),
                "mss" => spec.mss = Some(number()? as u16),
                "wscale" => spec.wscale = Some(number()? as u8),
                "type" if icmp => spec.icmp_type = Some(icmp_type(spec, value)?),
                "type" => return Err(word.wrong("only ICMP has a type")),
                "code" => spec.icmp_code = Some(number()? as u8),
                "id" => spec.icmp_id = Some(number()? as u16),
                "icmp-seq" => spec.icmp_seq = Some(number()? as u16),
                // No payload is what an absent length means, too.
                "len" => spec.len = Some(number()? as u16).filter(|len| *len != 0),
                "ttl" | "hl" => spec.ttl = Some(number()? as u8),
                "tos" => spec.tos = Some(number()? as u8),
                "ip-id" => spec.id = Some(number()? as u16),
                "mark" => spec.mark = Some(number()? as u32),
                "uid" => spec.uid = Some(number()? as u32),
                "gid" => spec.gid = Some(number()? as u32),
                "at" => spec.at_ms = number()?,
                _ => {
                    read_mac(value.text).map_err(|message| value.wrong(message))?;
                    spec.mac = Some(value.text.to_owned());
                }
            }
        }
        _ => {
            return Err(word.wrong(format!(
                "{:?} is not known here; expected in, flags, seq, ack, win, len, ttl, tos, mark, type, code, \
                 id, mss, wscale, sack-ok, df, uid, gid, mac or at",
                word.text
            )));
        }
    }
    Ok(())
}

/// Decimal, or hexadecimal behind `0x`.
fn number(word: Word<'_>, name: &str, max: u64) -> Result<u64, Diag> {
    let value = match word.text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => word.text.parse().ok(),
    };
    value
        .filter(|v| *v <= max)
        .ok_or_else(|| word.wrong(format!("{:?} is not a number up to {max} for `{name}`", word.text)))
}

fn icmp_type(spec: &PacketSpec, word: Word<'_>) -> Result<u8, Diag> {
    let v6 = spec.dst.is_some_and(|d| d.is_ipv6());
    let named = ICMP_NAMES.iter().find(|(name, ..)| *name == word.text);
    match named {
        Some((_, four, six)) => {
            let family = if v6 { "ICMPv6" } else { "ICMP" };
            (if v6 { *six } else { *four })
                .ok_or_else(|| word.wrong(format!("{family} has no type {:?}", word.text)))
        }
        None => number(word, "type", 255).map(|n| n as u8),
    }
}

fn with_port(addr: IpAddr) -> String {
    if addr.is_ipv6() { format!("[{addr}]:80") } else { format!("{addr}:80") }
}

/// The line that [`parse`] reads back. Bytes given as hexadecimal have no line.
pub fn print(spec: &PacketSpec) -> String {
    let mut out = spec.proto.as_ref().map_or_else(|| "tcp".to_owned(), ToString::to_string);
    let point = |addr: Option<IpAddr>, port: Option<u16>| match (addr, port) {
        (Some(IpAddr::V6(a)), Some(port)) => format!("[{a}]:{port}"),
        (Some(a), Some(port)) => format!("{a}:{port}"),
        (Some(a), None) => a.to_string(),
        (None, _) => "?".to_owned(),
    };
    let _ = write!(out, " {} > {}", point(spec.src, spec.sport), point(spec.dst, spec.dport));
    if !spec.input.is_empty() {
        let _ = write!(out, " in {}", spec.input);
    }
    let mut word = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            let _ = write!(out, " {name} {value}");
        }
    };
    word("type", spec.icmp_type.map(Into::into));
    word("code", spec.icmp_code.filter(|c| *c != 0).map(Into::into));
    word("id", spec.icmp_id.map(Into::into));
    word("icmp-seq", spec.icmp_seq.map(Into::into));
    if let Some(flags) = &spec.flags {
        let _ = write!(out, " flags {}", if flags.is_empty() { "-" } else { flags });
    }
    let mut word = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            let _ = write!(out, " {name} {value}");
        }
    };
    word("seq", spec.seq.map(Into::into));
    word("ack", spec.ack.map(Into::into));
    word("win", spec.win.map(Into::into));
    word("len", spec.len.filter(|l| *l != 0).map(Into::into));
    word("mss", spec.mss.map(Into::into));
    word("wscale", spec.wscale.map(Into::into));
    word("ttl", spec.ttl.map(Into::into));
    word("tos", spec.tos.filter(|t| *t != 0).map(Into::into));
    word("ip-id", spec.id.map(Into::into));
    word("uid", spec.uid.map(Into::into));
    word("gid", spec.gid.map(Into::into));
    word("at", Some(spec.at_ms).filter(|at| *at != 0));
    if let Some(mark) = spec.mark {
        let _ = write!(out, " mark {mark:#x}");
    }
    for (given, name) in [(spec.sack_ok, " sack-ok"), (spec.df, " df")] {
        if given == Some(true) {
            out.push_str(name);
        }
    }
    if let Some(mac) = &spec.mac {
        let _ = write!(out, " mac {mac}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_printed_as_they_are_read() {
        for line in [
            "tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0",
            "tcp 10.1.0.2:40000 > 10.96.0.1:80 in local flags SA seq 1 ack 2 mark 0x4000",
            "udp [fd00::2]:5353 > [fd00::1]:53 in eth0 len 12",
            "icmp 10.1.0.2 > 10.96.0.1 in eth0 type 8 id 7 icmp-seq 1",
            "icmpv6 fd00::2 > fd00::1 in eth0 type 128",
            "47 10.1.0.2 > 10.1.0.1 in eth0 ttl 3 df",
            "tcp 10.1.0.2:1 > 10.1.0.1:2 flags - at 5 mac 02:00:00:00:00:01",
        ] {
            assert_eq!(print(&parse(line).unwrap()), line);
        }
    }

    #[test]
    fn the_lazy_forms_are_read_too() {
        let spec = parse("TCP 10.1.0.2 -> 10.96.0.1:80 flags=S mark=0x10").unwrap();
        assert_eq!((spec.sport, spec.mark), (Some(40000), Some(16)));
        assert_eq!(parse("icmp fd00::1 > fd00::2 type echo-request").unwrap().icmp_type, Some(128));
    }

    #[test]
    fn mistakes_are_named_at_their_place() {
        for (line, column, message) in [
            ("", 1, "the line ends where a protocol is expected"),
            (
                "tpc 10.1.0.2 > 10.1.0.1",
                1,
                "expected a protocol: tcp, udp, icmp, icmpv6, sctp or a number up to 255",
            ),
            ("tcp 10.1.0.2222:1 > 10.1.0.1:80", 5, "\"10.1.0.2222\" is not an IP address"),
            ("tcp 10.1.0.2:1 > 10.1.0.1:70000", 18, "port 70000 is above 65535"),
            ("tcp 10.1.0.2:1 10.1.0.1:70", 16, "expected `>` between source and destination"),
            ("tcp 10.1.0.2:1 > 10.1.0.1", 18, "a tcp packet needs a destination port: 10.1.0.1:80"),
            ("icmp 10.1.0.2:1 > 10.1.0.1", 6, "icmp has no ports"),
            ("udp 10.1.0.2:1 > [fd00::1]:2", 18, "source and destination are of different address families"),
            ("udp 10.1.0.2:1 > 10.1.0.1:2 ttl 300", 33, "\"300\" is not a number up to 255 for `ttl`"),
            ("udp 10.1.0.2:1 > 10.1.0.1:2 flags=SX", 35, "'X' is not a TCP flag of FSRPAUEC"),
            ("udp 10.1.0.2:1 > 10.1.0.1:2 in", 31, "the line ends where the value of `in` is expected"),
        ] {
            let diag = parse(line).unwrap_err();
            assert_eq!((diag.column, diag.message.as_str()), (column, message), "{line}");
        }
        assert!(
            parse("udp 10.1.0.2:1 > 10.1.0.1:2 frob")
                .unwrap_err()
                .message
                .starts_with("\"frob\" is not known")
        );
    }
}
