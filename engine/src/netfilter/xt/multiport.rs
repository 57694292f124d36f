//! `-m multiport`: up to fifteen ports or ranges (`xt_multiport.c`).

use super::header;
use super::prelude::*;

/// Slots of the kernel's array; a range takes two (`XT_MULTI_PORTS`).
const SLOTS: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multiport {
    side: Side,
    /// Both ends included.
    ranges: Box<[(u16, u16)]>,
    inverted: bool,
}

impl Multiport {
    const fn option(&self) -> &'static str {
        match self.side {
            Side::Source => "--sports",
            Side::Destination => "--dports",
            Side::Either => "--ports",
        }
    }

    fn text(&self) -> String {
        let port = |&(low, high): &(u16, u16)| {
            if low == high { low.to_string() } else { format!("{low}:{high}") }
        };
        self.ranges.iter().map(port).collect::<Vec<_>>().join(",")
    }
}

impl MatchExt for Multiport {
    const SPEC: ExtSpec = ExtSpec::new("multiport", BOTH, "net/netfilter/xt_multiport.c").options(&[
        OptSpec::new("--sports", Values::One)
            .negatable()
            .alias(&["--source-ports"])
            .excludes(&["--dports", "--ports"]),
        OptSpec::new("--dports", Values::One)
            .negatable()
            .alias(&["--destination-ports"])
            .excludes(&["--sports", "--ports"]),
        OptSpec::new("--ports", Values::One).negatable().excludes(&["--sports", "--dports"]),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let Some(opt) = args.opts.first() else {
            return Err(ArgError::whole("multiport expection an option"));
        };
        const PROTOS: [u8; 5] = [proto::TCP, proto::UDP, proto::UDPLITE, proto::SCTP, proto::DCCP];
        match args.proto {
            Some(p) if !p.inverted && PROTOS.contains(&p.value) => {}
            None => {
                return Err(ArgError::whole(
                    "multiport needs `-p tcp', `-p udp', `-p udplite', `-p sctp' or `-p dccp'",
                ));
            }
            Some(_) => {
                return Err(ArgError::whole("multiport only works with TCP, UDP, UDPLITE, SCTP and DCCP"));
            }
        }
        let mut ranges = Vec::new();
        let mut slots = 0;
        for word in opt.values[0].split(',') {
            if slots >= SLOTS {
                return Err(ArgError::at(0, "too many ports specified"));
            }
            let (low, high) = match word.split_once(':') {
                None => {
                    let port = port_old(0, word)?;
                    slots += 1;
                    (port, port)
                }
                Some((low, high)) => {
                    slots += 2;
                    if slots > SLOTS {
                        return Err(ArgError::at(0, "too many ports specified"));
                    }
                    let (low, high) = (port_old(0, low)?, port_old(0, high)?);
                    if low >= high {
                        return Err(ArgError::at(0, "invalid portrange specified"));
                    }
                    (low, high)
                }
            };
            ranges.push((low, high));
        }
        let side = match opt.name {
            "--sports" => Side::Source,
            "--dports" => Side::Destination,
            _ => Side::Either,
        };
        Ok(Self { side, ranges: ranges.into(), inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} {} {}", bang(self.inverted), self.option(), self.text());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let not = if self.inverted { " !" } else { "" };
        let _ = write!(out, " multiport {} {not}{}", &self.option()[2..], self.text());
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let packet = &skb.packet;
        if packet.is_later_fragment() {
            let have = || "a later fragment, no ports".to_owned();
            return why.check(false, self.option(), have, || self.text()).into();
        }
        let Some((sport, dport)) = header::ports(packet) else {
            why.check(false, self.option(), || "no ports in the bytes".to_owned(), || self.text());
            return MatchResult::Hotdrop;
        };
        let within = |port: u16| self.ranges.iter().any(|&(low, high)| low <= port && port <= high);
        let found = match self.side {
            Side::Source => within(sport),
            Side::Destination => within(dport),
            Side::Either => within(sport) || within(dport),
        };
        why.check(
            found != self.inverted,
            self.option(),
            || match self.side {
                Side::Source => sport.to_string(),
                Side::Destination => dport.to_string(),
                Side::Either => format!("{sport}, {dport}"),
            },
            || format!("{}{}", not(self.inverted), self.text()),
        )
        .into()
    }
}
