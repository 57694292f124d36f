//! Reads what `iptables -L` prints, by turning it into the lines that iptables-save would print.
//!
//! A listing tells less: without `-v` it hides devices, and some extensions print in words that cannot be read
//! back. The first is warned about, the second an error that names the words.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::netfilter::xt::ext::save_string;

/// A line of iptables-save text and the line of the listing it was made of.
#[derive(Debug)]
pub(super) struct Made {
    pub number: u32,
    /// The line, or the words of the listing that could not be read.
    pub line: Result<String, String>,
}

/// A listing, translated.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Chains first.
    pub lines: Vec<Made>,
    /// Line of the first header without `in` and `out`.
    pub without_devices: Option<u32>,
}

/// Whether a text is a listing: its first line that says something is a chain's.
pub(super) fn is_listing(text: &str) -> bool {
    let chain = |line: &str| line.starts_with("Chain ") && line.contains(" (");
    text.lines().map(str::trim).filter(|l| !l.is_empty()).take(3).any(chain)
}

pub(super) fn translate(text: &str) -> Listing {
    let mut listing = Listing::default();
    let mut rules = Vec::new();
    let (mut chain, mut columns) = ("", Columns::default());
    for (number, line) in (1_u32..).zip(text.lines()) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["Chain", name, rest @ ..] => {
                chain = name;
                listing.lines.push(Made { number, line: Ok(chain_line(name, rest)) });
            }
            words if words.contains(&"target") && words.contains(&"prot") => {
                columns = Columns::of(words);
                if !columns.devices {
                    listing.without_devices.get_or_insert(number);
                }
            }
            [] => {}
            _ if chain.is_empty() => {}
            words => rules.push(Made { number, line: rule(chain, columns, words, line) }),
        }
    }
    listing.lines.append(&mut rules);
    listing
}

/// Which columns the header names, besides those that are always there.
#[derive(Clone, Copy, Default)]
struct Columns {
    number: bool,
    counters: bool,
    devices: bool,
}

impl Columns {
    fn of(header: &[&str]) -> Self {
        let has = |name| header.contains(&name);
        Self { number: has("num"), counters: has("pkts"), devices: has("in") }
    }
}

/// `(policy DROP 5 packets, 300 bytes)` or `(2 references)`.
fn chain_line(name: &str, rest: &[&str]) -> String {
    match rest {
        ["(policy", policy] => format!(":{name} {} [0:0]", policy.trim_end_matches(')')),
        ["(policy", policy, packets, "packets,", bytes, ..] => {
            format!(":{name} {policy} [{}:{}]", count(packets), count(bytes))
        }
        _ => format!(":{name} - [0:0]"),
    }
}

/// `35G` is 35,000,000,000, more or less.
fn count(text: &str) -> u64 {
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        Some(b'T') => (&text[..text.len() - 1], 1_000_000_000_000),
        _ => (text, 1),
    };
    digits.parse().map_or(0, |n: u64| n.saturating_mul(scale))
}

/// One line under a header. `raw` is the line itself, for texts in quotes.
fn rule(chain: &str, columns: Columns, words: &[&str], raw: &str) -> Result<String, String> {
    let unread = || Err(raw.trim().to_owned());
    let mut words = &words[usize::from(columns.number).min(words.len())..];
    let mut out = String::new();
    if columns.counters {
        let [packets, bytes, rest @ ..] = words else { return unread() };
        let _ = write!(out, "[{}:{}] ", count(packets), count(bytes));
        words = rest;
    }
    let _ = write!(out, "-A {chain}");
    // The column `opt` tells whether the target's is empty.
    let opt = |at: usize| words.get(at).is_some_and(|w| matches!(*w, "--" | "-f" | "!f"));
    let (target, rest) = match words {
        [_, ..] if opt(1) => ("", words),
        [target, rest @ ..] if opt(2) => (*target, rest),
        _ => return unread(),
    };
    let [proto, fragment, rest @ ..] = rest else { return unread() };
    let (devices, rest) = match rest {
        [input, output, rest @ ..] if columns.devices => (Some((*input, *output)), rest),
        rest => (None, rest),
    };
    let [source, destination, extra @ ..] = rest else { return unread() };
    for (option, value) in [("-s", source), ("-d", destination)] {
        test(&mut out, option, value, &["anywhere", "0.0.0.0/0", "::/0"]);
    }
    if let Some((input, output)) = devices {
        test(&mut out, "-i", input, &["*", "any"]);
        test(&mut out, "-o", output, &["*", "any"]);
    }
    test(&mut out, "-p", proto, &["all", "0"]);
    match *fragment {
        "-f" => out.push_str(" -f"),
        "!f" => out.push_str(" ! -f"),
        _ => {}
    }
    let goto = extra.first() == Some(&"[goto]");
    let extra = &extra[usize::from(goto)..];
    let mut options = String::new();
    extras(&mut out, &mut options, target, extra, raw)?;
    if !target.is_empty() {
        let _ = write!(out, " {} {target}{options}", if goto { "-g" } else { "-j" });
    }
    Ok(out)
}

fn test(out: &mut String, option: &str, value: &str, any: &[&str]) {
    let (not, value) = match value.strip_prefix('!') {
        Some(value) => (" !", value),
        None => ("", value),
    };
    if not.is_empty() && any.contains(&value) {
        return;
    }
    let _ = write!(out, "{not} {option} {value}");
}

/// What stands behind the addresses: matches go to `out`, the target's options to `options`.
fn extras(
    out: &mut String,
    options: &mut String,
    target: &str,
    mut words: &[&str],
    raw: &str,
) -> Result<(), String> {
    // What stands behind the last comment.
    let mut tail = raw;
    while let [first, after @ ..] = words {
        words = match (*first, after) {
            ("/*", _) => {
                let end = after.iter().position(|w| *w == "*/").ok_or_else(|| words.join(" "))?;
                let comment = tail.split_once("/* ").and_then(|(_, rest)| rest.split_once(" */"));
                let (text, behind) = comment.unwrap_or_default();
                tail = behind;
                out.push_str(" -m comment --comment ");
                save_string(out, text);
                &after[end + 1..]
            }
            ("tcp" | "udp" | "sctp" | "udplite" | "dccp", _) => ports(out, first, after),
            ("state", [states, rest @ ..]) => {
                let _ = write!(out, " -m state --state {states}");
                rest
            }
            ("ctstate", [states, rest @ ..]) => {
                let _ = write!(out, " -m conntrack --ctstate {states}");
                rest
            }
            ("!", ["ctstate", states, rest @ ..]) => {
                let _ = write!(out, " -m conntrack ! --ctstate {states}");
                rest
            }
            ("icmptype", [kind, "code", code, rest @ ..]) => {
                let _ = write!(out, " -m icmp --icmp-type {kind}/{code}");
                rest
            }
            ("icmptype", [kind, rest @ ..]) => {
                let _ = write!(out, " -m icmp --icmp-type {kind}");
                rest
            }
            ("ipv6-icmptype", [kind, rest @ ..]) => {
                let _ = write!(out, " -m icmp6 --icmpv6-type {kind}");
                rest
            }
            ("limit:", ["avg", rate, "burst", burst, rest @ ..]) => {
                let _ = write!(out, " -m limit --limit {rate} --limit-burst {burst}");
                rest
            }
            ("multiport", [side @ ("dports" | "sports" | "ports"), ports, rest @ ..]) => {
                let _ = write!(out, " -m multiport --{side} {ports}");
                rest
            }
            ("mark", ["match", value, rest @ ..]) => {
                let _ = write!(out, " -m mark --mark {value}");
                rest
            }
            ("ADDRTYPE", ["match", rest @ ..]) => address_types(out, rest),
            ("owner", [what @ ("UID" | "GID"), "match", id, rest @ ..]) => {
                let _ = write!(out, " -m owner --{}-owner {id}", what.to_ascii_lowercase());
                rest
            }
            ("MARK", [how @ ("set" | "or" | "and" | "xor" | "xset"), value, rest @ ..]) => {
                let how = if *how == "xset" { "set-xmark".to_owned() } else { format!("{how}-mark") };
                let _ = write!(options, " --{how} {value}");
                rest
            }
            ("LOG", ["flags", flags, "level", level, rest @ ..]) => log(options, flags, level, rest, tail),
            ("reject-with", [kind, rest @ ..]) => {
                let _ = write!(options, " --reject-with {kind}");
                rest
            }
            ("redir", ["ports", ports, rest @ ..]) | ("masq", ["ports:", ports, rest @ ..]) => {
                let _ = write!(options, " --to-ports {ports}");
                rest
            }
            (to, rest) if to.starts_with("to:") => {
                let option = match target {
                    "DNAT" => "--to-destination",
                    "SNAT" => "--to-source",
                    _ => "--to",
                };
                let _ = write!(options, " {option} {}", &to[3..]);
                rest
            }
            _ => return Err(words.join(" ")),
        };
    }
    Ok(())
}

/// `tcp dpt:22 spts:1024:65535 flags:0x17/0x02`
fn ports<'a, 'w>(out: &mut String, name: &str, mut words: &'a [&'w str]) -> &'a [&'w str] {
    let _ = write!(out, " -m {name}");
    while let [first, rest @ ..] = words {
        let Some((key, value)) = first.split_once(':') else { break };
        let (not, value) = match value.strip_prefix('!') {
            Some(value) => (" !", value),
            None => ("", value),
        };
        let value = match key {
            "dpt" | "dpts" => format!("--dport {value}"),
            "spt" | "spts" => format!("--sport {value}"),
            "flags" => match value.split_once('/').and_then(|(m, s)| Some((flags(m)?, flags(s)?))) {
                Some((mask, set)) => format!("--tcp-flags {mask} {set}"),
                None => break,
            },
            _ => break,
        };
        let _ = write!(out, "{not} {value}");
        words = rest;
    }
    words
}

/// `0x17` as `FIN,SYN,RST,ACK`, in the tool's order.
fn flags(text: &str) -> Option<String> {
    let bits = u8::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG"];
    let set: Vec<&str> =
        names.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0).map(|(_, n)| *n).collect();
    Some(if set.is_empty() { "NONE".to_owned() } else { set.join(",") })
}

fn address_types<'a, 'w>(out: &mut String, mut words: &'a [&'w str]) -> &'a [&'w str] {
    out.push_str(" -m addrtype");
    while let [side @ ("src-type" | "dst-type"), kind, rest @ ..] = words {
        let (not, kind) = match kind.strip_prefix('!') {
            Some(kind) => (" !", kind),
            None => ("", *kind),
        };
        let _ = write!(out, "{not} --{side} {kind}");
        words = rest;
    }
    words
}

/// The rest of a LOG line; its prefix is in quotes and may hold blanks, as they stand in `tail`.
fn log<'a, 'w>(out: &mut String, flags: &str, level: &str, rest: &'a [&'w str], tail: &str) -> &'a [&'w str] {
    let bits: u8 = flags.parse().unwrap_or(0);
    for (bit, option) in
        [(1, "--log-tcp-sequence"), (2, "--log-tcp-options"), (4, "--log-ip-options"), (8, "--log-uid")]
    {
        if bits & bit != 0 {
            let _ = write!(out, " {option}");
        }
    }
    let _ = write!(out, " --log-level {level}");
    let ["prefix", ..] = rest else { return rest };
    let quoted = tail.split_once(" prefix ").map_or("", |(_, quoted)| quoted.trim_end());
    let inner = quoted.strip_prefix(['"', '`']).unwrap_or(quoted);
    let inner: Cow<'_, str> = inner.strip_suffix(['"', '\'']).unwrap_or(inner).into();
    out.push_str(" --log-prefix ");
    save_string(out, &inner);
    &[]
}
