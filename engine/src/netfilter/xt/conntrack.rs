//! `-m conntrack`: the packet's connection, its state, tuples and lifetime (`xt_conntrack.c`, revision 3).

use std::net::IpAddr;

use super::ctstate::States;
use super::names::protocol;
use super::prelude::*;
use crate::conntrack::{Entry, L4Part, Status, Tuple};
use crate::netfilter::rule::{Net, Not};

/// Options in the order they are saved. The wide ones are boxed, so that the common `--ctstate` stays small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conntrack {
    states: Option<Not<States>>,
    rest: Option<Box<Rest>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rest {
    proto: Option<Not<u8>>,
    /// Original source and destination, reply source and destination.
    addrs: [Option<Not<Net>>; 4],
    /// The same for ports, both ends included and not ordered.
    ports: [Option<Not<(u16, u16)>>; 4],
    status: Option<Not<u32>>,
    /// Seconds left.
    expire: Option<Not<(u32, u32)>>,
    reply: Option<bool>,
}

const ADDRS: [&str; 4] = ["--ctorigsrc", "--ctorigdst", "--ctreplsrc", "--ctrepldst"];
const PORTS: [&str; 4] = ["--ctorigsrcport", "--ctorigdstport", "--ctreplsrcport", "--ctrepldstport"];

/// In the order they are printed.
const STATUS: [(&str, Status); 4] = [
    ("EXPECTED", Status::EXPECTED),
    ("SEEN_REPLY", Status::SEEN_REPLY),
    ("ASSURED", Status::ASSURED),
    ("CONFIRMED", Status::CONFIRMED),
];

fn parse_status(at: usize, text: &str) -> Result<u32, ArgError> {
    let mut bits = 0;
    for word in text.split(',') {
        let found = STATUS.iter().find(|(name, _)| !word.is_empty() && abbreviates(word, name));
        bits |= match found {
            Some((_, status)) => status.0,
            None if !word.is_empty() && abbreviates(word, "NONE") => 0,
            None => return Err(ArgError::at(at, format!("Bad ctstatus \"{word}\""))),
        };
    }
    Ok(bits)
}

fn status_text(bits: u32) -> String {
    let names: Vec<_> = STATUS.iter().filter(|(_, s)| bits & s.0 != 0).map(|(name, _)| *name).collect();
    if names.is_empty() { "NONE".to_owned() } else { names.join(",") }
}

/// As the tool prints it: a mask with holes is not shown.
fn net_text(net: &Net) -> String {
    let full = if net.addr.is_ipv4() { 32 } else { 128 };
    match net.prefix_len() {
        Some(len) if len != full => format!("{}/{len}", net.addr),
        Some(_) | None => net.addr.to_string(),
    }
}

/// The two 16-bit halves of the protocol part (`src.u.all`, `dst.u.all`).
const fn l4_words(tuple: &Tuple) -> (u16, u16) {
    match tuple.l4 {
        L4Part::Ports { src, dst } => (src, dst),
        L4Part::Icmp { id, kind, code } => (id, u16::from_be_bytes([kind, code])),
        L4Part::Gre { src_key, dst_key } => (src_key, dst_key),
        L4Part::None => (0, 0),
    }
}

impl Rest {
    /// Every option given, as `(name, inverted, value)`, in the order they are saved.
    fn each(&self, mut show: impl FnMut(&'static str, bool, String)) {
        if let Some(p) = self.proto {
            show("--ctproto", p.inverted, p.value.to_string());
        }
        for (name, addr) in ADDRS.iter().zip(&self.addrs) {
            if let Some(a) = addr {
                show(name, a.inverted, net_text(&a.value));
            }
        }
        for (name, ports) in PORTS.iter().zip(self.ports) {
            if let Some(p) = ports {
                show(name, p.inverted, range_text(p.value));
            }
        }
        if let Some(s) = self.status {
            show("--ctstatus", s.inverted, status_text(s.value));
        }
        if let Some(e) = self.expire {
            show("--ctexpire", e.inverted, range_text(e.value));
        }
        if let Some(reply) = self.reply {
            show("--ctdir", false, if reply { "REPLY" } else { "ORIGINAL" }.to_owned());
        }
    }

    fn eval(&self, cx: &Cx<'_>, skb: &Skb, entry: &Entry, why: &mut Why) -> bool {
        let direction = |reply: bool| if reply { "REPLY" } else { "ORIGINAL" }.to_owned();
        let (orig, reply) = (&entry.original, &entry.reply);
        let addrs: [IpAddr; 4] = [orig.src, orig.dst, reply.src, reply.dst];
        let ((a, b), (c, d)) = (l4_words(orig), l4_words(reply));
        let words = [a, b, c, d];
        self.reply.is_none_or(|want| {
            let is = skb.ct_info.is_reply();
            why.check(is == want, "--ctdir", || direction(is), || direction(want))
        }) && ADDRS.iter().zip(&self.addrs).zip(addrs).all(|((name, test), have)| {
            test.is_none_or(|test| {
                let inside = masked(have, test.value.mask) == masked(test.value.addr, test.value.mask);
                why.check(
                    inside != test.inverted,
                    name,
                    || have.to_string(),
                    || format!("{}{}", not(test.inverted), net_text(&test.value)),
                )
            })
        }) && self.proto.is_none_or(|test| {
            why.check(
                (orig.proto == test.value) != test.inverted,
                "--ctproto",
                || orig.proto.to_string(),
                || format!("{}{}", not(test.inverted), test.value),
            )
        }) && PORTS.iter().zip(self.ports).zip(words).all(|((name, test), have)| {
            test.is_none_or(|test| {
                let (low, high) = test.value;
                why.check(
                    (low <= have && have <= high) != test.inverted,
                    name,
                    || have.to_string(),
                    || format!("{}{}", not(test.inverted), range_text(test.value)),
                )
            })
        }) && self.status.is_none_or(|test| {
            why.check(
                (entry.status.0 & test.value != 0) != test.inverted,
                "--ctstatus",
                || status_text(entry.status.0),
                || format!("{}{}", not(test.inverted), status_text(test.value)),
            )
        }) && self.expire.is_none_or(|test| {
            // An unconfirmed entry's timer does not run: the kernel reckons nothing left.
            let left = if entry.is_confirmed() { entry.remaining(cx.now).as_secs() } else { 0 };
            let (low, high) = (u64::from(test.value.0), u64::from(test.value.1));
            why.check(
                (low <= left && left <= high) != test.inverted,
                "--ctexpire",
                || left.to_string(),
                || format!("{}{}", not(test.inverted), range_text(test.value)),
            )
        })
    }
}

impl MatchExt for Conntrack {
    const SPEC: ExtSpec = ExtSpec::new("conntrack", BOTH, "net/netfilter/xt_conntrack.c").options(&[
        OptSpec::new("--ctstate", Values::One).negatable(),
        OptSpec::new("--ctproto", Values::One).negatable(),
        OptSpec::new("--ctorigsrc", Values::One).negatable(),
        OptSpec::new("--ctorigdst", Values::One).negatable(),
        OptSpec::new("--ctreplsrc", Values::One).negatable(),
        OptSpec::new("--ctrepldst", Values::One).negatable(),
        OptSpec::new("--ctorigsrcport", Values::One).negatable(),
        OptSpec::new("--ctorigdstport", Values::One).negatable(),
        OptSpec::new("--ctreplsrcport", Values::One).negatable(),
        OptSpec::new("--ctrepldstport", Values::One).negatable(),
        OptSpec::new("--ctstatus", Values::One).negatable(),
        OptSpec::new("--ctexpire", Values::One).negatable(),
        OptSpec::new("--ctdir", Values::One),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        if args.opts.is_empty() {
            return Err(ArgError::whole("conntrack: At least one option is required"));
        }
        let mut states = None;
        let mut rest = Rest::default();
        for (at, opt) in args.opts.iter().enumerate() {
            let (text, inverted) = (opt.values[0], opt.inverted);
            if let Some(i) = ADDRS.iter().position(|n| *n == opt.name) {
                let value = host_mask("conntrack", args.family, at, opt)?;
                rest.addrs[i] = Some(Not { value, inverted });
            } else if let Some(i) = PORTS.iter().position(|n| *n == opt.name) {
                rest.ports[i] = Some(Not { value: port_range_guided(at, text)?, inverted });
            } else {
                match opt.name {
                    "--ctstate" => {
                        let value = States::parse(at, text, true, "ctstate")?;
                        states = Some(Not { value, inverted });
                    }
                    "--ctproto" => {
                        let value = parse_number(text, 255).map(|n| n as u8).or_else(|| protocol(text));
                        let value = value.ok_or_else(|| {
                            ArgError::at(at, format!("unknown protocol \"{text}\" specified"))
                        })?;
                        rest.proto = Some(Not { value, inverted });
                    }
                    "--ctstatus" => {
                        rest.status = Some(Not { value: parse_status(at, text)?, inverted });
                    }
                    "--ctexpire" => {
                        let (low, high) = number_range("conntrack", at, opt, u64::from(u32::MAX))?;
                        rest.expire = Some(Not { value: (low as u32, high as u32), inverted });
                    }
                    _ => {
                        rest.reply = Some(match () {
                            () if text.eq_ignore_ascii_case("ORIGINAL") => false,
                            () if text.eq_ignore_ascii_case("REPLY") => true,
                            () => {
                                let why = format!("conntrack: Bad value for \"--ctdir\" option: \"{text}\"");
                                return Err(ArgError::at(at, why));
                            }
                        });
                    }
                }
            }
        }
        Ok(Self { states, rest: (rest != Rest::default()).then(|| Box::new(rest)) })
    }

    fn save(&self, out: &mut String) {
        if let Some(states) = self.states {
            let _ = write!(out, "{} --ctstate {}", bang(states.inverted), states.value.text());
        }
        if let Some(rest) = &self.rest {
            rest.each(|name, inverted, value| {
                let _ = write!(out, "{} {name} {value}", bang(inverted));
            });
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        if let Some(states) = self.states {
            let _ = write!(out, "{} ctstate {}", bang(states.inverted), states.value.text());
        }
        if let Some(rest) = &self.rest {
            rest.each(|name, inverted, value| {
                let _ = write!(out, "{} {} {value}", bang(inverted), &name[2..]);
            });
        }
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let entry = connection(cx, skb);
        let entry = entry.as_deref();
        if let Some(states) = self.states {
            let have = States::of(skb, entry);
            let pass = why.check(
                have.meets(states.value) != states.inverted,
                "--ctstate",
                || have.text(),
                || format!("{}{}", not(states.inverted), states.value.text()),
            );
            if !pass {
                return MatchResult::No;
            }
        }
        let Some(rest) = &self.rest else { return MatchResult::Yes };
        let Some(entry) = entry else {
            // Without a connection only the state is looked at; without that either, nothing matches.
            let have = || "no connection".to_owned();
            return why
                .check(self.states.is_some(), "-m conntrack", have, || "a connection".to_owned())
                .into();
        };
        rest.eval(cx, skb, entry, why).into()
    }
}
