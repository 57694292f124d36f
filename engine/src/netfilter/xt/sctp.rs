//! `-m sctp`: ports of the SCTP header (`xt_sctp.c`). Chunk types are not emulated.

use super::header;
use super::ports::PortTest;
use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sctp {
    sport: Option<PortTest>,
    dport: Option<PortTest>,
}

impl MatchExt for Sctp {
    const SPEC: ExtSpec =
        ExtSpec::new("sctp", BOTH, "net/netfilter/xt_sctp.c").protos(&[proto::SCTP]).unguided().options(&[
            OptSpec::new("--sport", Values::One).negatable().alias(&["--source-port"]),
            OptSpec::new("--dport", Values::One).negatable().alias(&["--destination-port"]),
            OptSpec::new("--chunk-types", Values::Two).negatable().absent("chunks are not parsed"),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        for (at, opt) in args.opts.iter().enumerate() {
            if args.opts[..at].iter().any(|o| o.name == opt.name) {
                let name = match opt.name {
                    "--sport" => "--source-port",
                    "--dport" => "--destination-port",
                    other => other,
                };
                return Err(ArgError::at(at, format!("Only one `{name}' allowed")));
            }
        }
        let port = |option| -> Result<Option<PortTest>, ArgError> {
            if args.has(option) { PortTest::by_hand(args, option).map(Some) } else { Ok(None) }
        };
        let ports = Self { sport: port("--sport")?, dport: port("--dport")? };
        match args.get("--chunk-types") {
            Some((at, _)) => Err(ArgError::not_emulated(at)),
            None => Ok(ports),
        }
    }

    fn save(&self, out: &mut String) {
        for (option, port) in [("--sport", self.sport), ("--dport", self.dport)] {
            if let Some(port) = port {
                port.save_always(out, option);
            }
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" sctp");
        for (name, port) in [("spt", self.sport), ("dpt", self.dport)] {
            if let Some(port) = port {
                port.list(out, name);
            }
        }
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        eval_ports(&skb.packet, self.sport, self.dport, "-m sctp", why)
    }
}

/// `-m dccp`: ports of the DCCP header (`xt_dccp.c`). Packet types and options are not emulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dccp {
    sport: Option<PortTest>,
    dport: Option<PortTest>,
}

impl MatchExt for Dccp {
    const SPEC: ExtSpec =
        ExtSpec::new("dccp", BOTH, "net/netfilter/xt_dccp.c").protos(&[proto::DCCP]).options(&[
            OptSpec::new("--sport", Values::One).negatable().alias(&["--source-port"]),
            OptSpec::new("--dport", Values::One).negatable().alias(&["--destination-port"]),
            OptSpec::new("--dccp-types", Values::One).negatable().absent("DCCP is known by its ports only"),
            OptSpec::new("--dccp-option", Values::One).negatable().absent("DCCP is known by its ports only"),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let port = |option| -> Result<Option<PortTest>, ArgError> {
            if args.has(option) { PortTest::guided(args, option).map(Some) } else { Ok(None) }
        };
        let ports = Self { sport: port("--sport")?, dport: port("--dport")? };
        match args.get("--dccp-types").or_else(|| args.get("--dccp-option")) {
            Some((at, _)) => Err(ArgError::not_emulated(at)),
            None => Ok(ports),
        }
    }

    fn save(&self, out: &mut String) {
        for (option, port) in [("--sport", self.sport), ("--dport", self.dport)] {
            if let Some(port) = port {
                port.save_always(out, option);
            }
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" dccp");
        for (name, port) in [("spt", self.sport), ("dpt", self.dport)] {
            if let Some(port) = port {
                port.list(out, name);
            }
        }
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        eval_ports(&skb.packet, self.sport, self.dport, "-m dccp", why)
    }
}

/// Both headers have twelve bytes, ports first.
fn eval_ports(
    packet: &Packet,
    sport: Option<PortTest>,
    dport: Option<PortTest>,
    name: &'static str,
    why: &mut Why,
) -> MatchResult {
    if packet.is_later_fragment() {
        return why.check(false, name, || "a later fragment".to_owned(), || "a header".to_owned()).into();
    }
    let Some((src, dst)) = header::ports_within(packet, 12) else {
        why.check(false, name, || format!("{} bytes", packet.l4.len_bytes()), || "a header".to_owned());
        return MatchResult::Hotdrop;
    };
    let pass = sport.is_none_or(|p| p.check(why, "--sport", src))
        && dport.is_none_or(|p| p.check(why, "--dport", dst));
    pass.into()
}
