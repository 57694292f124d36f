//! `-m tcp`: ports, flags and options of the TCP header (`xt_tcpudp.c`).

use super::header;
use super::ports::PortTest;
use super::prelude::*;
use crate::packet::{Family, TcpFlags};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub sport: PortTest,
    pub dport: PortTest,
    /// Mask, wanted flags, inverted.
    pub flags: Option<(u8, u8, bool)>,
    /// Kind of an option that must be there (inverted: must not).
    pub option: Option<(u8, bool)>,
    /// Said by iptables-nft in expressions of its own (`add_nft_tcp`), which drop nothing.
    pub(crate) native: bool,
}

/// Flag names in the order they are printed.
const FLAGS: [(&str, TcpFlags); 6] = [
    ("FIN", TcpFlags::FIN),
    ("SYN", TcpFlags::SYN),
    ("RST", TcpFlags::RST),
    ("PSH", TcpFlags::PSH),
    ("ACK", TcpFlags::ACK),
    ("URG", TcpFlags::URG),
];

/// `--syn`: FIN, SYN, RST and ACK looked at, SYN alone set.
const SYN_ONLY: (u8, u8) = (0x17, 0x02);

fn parse_flags(at: usize, words: &str) -> Result<u8, ArgError> {
    let mut bits = 0;
    for word in words.split(',') {
        bits |= match FLAGS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            Some((_, flag)) => flag.0,
            None if word.eq_ignore_ascii_case("ALL") => 0x3f,
            None if word.eq_ignore_ascii_case("NONE") => 0,
            None => return Err(ArgError::at(at, format!("Unknown TCP flag `{word}'"))),
        };
    }
    Ok(bits)
}

fn flag_names(bits: u8) -> String {
    let names: Vec<_> = FLAGS.iter().filter(|(_, f)| bits & f.0 != 0).map(|(name, _)| *name).collect();
    if names.is_empty() { "NONE".to_owned() } else { names.join(",") }
}

/// `tcp_find_option`: whether the options hold one of this kind.
fn has_option(options: &[u8], kind: u8) -> bool {
    let mut i = 0;
    while let Some(&found) = options.get(i) {
        if found == kind {
            return true;
        }
        i += match options.get(i + 1) {
            _ if found < 2 => 1,
            None | Some(0) => 1,
            Some(&len) => usize::from(len),
        };
    }
    false
}

impl Tcp {
    fn eval_native(&self, packet: &Packet, why: &mut Why) -> MatchResult {
        let loaded = header::loaded(packet);
        let pass = self.sport.check_loaded(why, "--sport", loaded.sport)
            && self.dport.check_loaded(why, "--dport", loaded.dport)
            && self.flags.is_none_or(|(mask, wanted, inverted)| {
                why.check(
                    loaded.flags.is_some_and(|flags| (flags.0 & mask == wanted) != inverted),
                    "--tcp-flags",
                    || loaded.flags.map_or("no such byte".to_owned(), |flags| flag_names(flags.0 & mask)),
                    || format!("{}{} of {}", not(inverted), flag_names(wanted), flag_names(mask)),
                )
            });
        pass.into()
    }
}

impl MatchExt for Tcp {
    const SPEC: ExtSpec =
        ExtSpec::new("tcp", BOTH, "net/netfilter/xt_tcpudp.c").protos(&[proto::TCP]).unguided().options(&[
            OptSpec::new("--sport", Values::One).negatable().alias(&["--source-port"]),
            OptSpec::new("--dport", Values::One).negatable().alias(&["--destination-port"]),
            OptSpec::new("--tcp-flags", Values::Two).negatable(),
            OptSpec::new("--syn", Values::None).negatable(),
            OptSpec::new("--tcp-option", Values::One).negatable(),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        for (at, opt) in args.opts.iter().enumerate() {
            let twice = args.opts[..at].iter().any(|o| match opt.name {
                "--syn" | "--tcp-flags" => matches!(o.name, "--syn" | "--tcp-flags"),
                name => o.name == name,
            });
            if twice {
                let only = match opt.name {
                    "--sport" => "Only one `--source-port' allowed",
                    "--dport" => "Only one `--destination-port' allowed",
                    "--tcp-option" => "Only one `--tcp-option' allowed",
                    _ => "Only one of `--syn' or `--tcp-flags'  allowed",
                };
                return Err(ArgError::at(at, only));
            }
        }
        let flags = match (args.get("--tcp-flags"), args.get("--syn")) {
            (Some((at, opt)), _) => {
                Some((parse_flags(at, opt.values[0])?, parse_flags(at, opt.values[1])?, opt.inverted))
            }
            (None, Some((_, opt))) => Some((SYN_ONLY.0, SYN_ONLY.1, opt.inverted)),
            (None, None) => None,
        };
        let option = match args.get("--tcp-option") {
            None => None,
            Some((at, opt)) => {
                let kind = parse_number(opt.values[0], 255)
                    .filter(|&n| n > 0)
                    .ok_or_else(|| ArgError::at(at, format!("Bad TCP option \"{}\"", opt.values[0])))?;
                Some((kind as u8, opt.inverted))
            }
        };
        Ok(Self {
            sport: PortTest::by_hand(args, "--sport")?,
            dport: PortTest::by_hand(args, "--dport")?,
            // A mask of nothing tests nothing and is not printed, unless it is inverted.
            flags: flags.filter(|&(mask, _, inverted)| mask != 0 || inverted),
            option,
            native: false,
        })
    }

    fn save(&self, out: &mut String) {
        self.sport.save(out, "--sport");
        self.dport.save(out, "--dport");
        if let Some((kind, inverted)) = self.option {
            let _ = write!(out, "{} --tcp-option {kind}", bang(inverted));
        }
        if let Some((mask, wanted, inverted)) = self.flags {
            let (mask, wanted) = (flag_names(mask), flag_names(wanted));
            let _ = write!(out, "{} --tcp-flags {mask} {wanted}", bang(inverted));
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" tcp");
        self.sport.list(out, "spt");
        self.dport.list(out, "dpt");
        if let Some((kind, inverted)) = self.option {
            let _ = write!(out, " option={}{kind}", if inverted { "!" } else { "" });
        }
        if let Some((mask, wanted, inverted)) = self.flags {
            let _ = write!(out, " flags:{}0x{mask:02X}/0x{wanted:02X}", if inverted { "!" } else { "" });
        }
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let packet = &skb.packet;
        if self.native {
            return self.eval_native(packet, why);
        }
        if packet.is_later_fragment() {
            why.check(
                false,
                "-m tcp",
                || "a later fragment, no ports".to_owned(),
                || "a TCP header".to_owned(),
            );
            // A fragment at offset 8 could overwrite the flags of the first: dropped (RFC 1858). For IPv6 the test
            // compares bytes with units of eight, so that it never holds.
            let overwrites = packet.ip.frag_offset == 8 && packet.family() == Family::V4;
            return if overwrites { MatchResult::Hotdrop } else { MatchResult::No };
        }
        let Some(tcp) = header::tcp(packet) else {
            // `-p tcp` holds, so the header is cut short.
            let have = || format!("{} bytes", header::raw(packet).map_or(0, <[u8]>::len));
            why.check(false, "-m tcp", have, || "a TCP header".to_owned());
            return MatchResult::Hotdrop;
        };
        let pass = self.sport.check(why, "--sport", tcp.sport)
            && self.dport.check(why, "--dport", tcp.dport)
            && self.flags.is_none_or(|(mask, wanted, inverted)| {
                why.check(
                    (tcp.flags.0 & mask == wanted) != inverted,
                    "--tcp-flags",
                    || flag_names(tcp.flags.0 & mask),
                    || format!("{}{} of {}", not(inverted), flag_names(wanted), flag_names(mask)),
                )
            });
        let Some((kind, inverted)) = self.option.filter(|_| pass) else { return pass.into() };
        let Some(options) = tcp.options else {
            why.check(false, "--tcp-option", || "options cut short".to_owned(), || kind.to_string());
            return MatchResult::Hotdrop;
        };
        let found = has_option(options, kind);
        why.check(
            found != inverted,
            "--tcp-option",
            || if found { format!("has option {kind}") } else { format!("no option {kind}") },
            || format!("{}{kind}", not(inverted)),
        )
        .into()
    }
}
