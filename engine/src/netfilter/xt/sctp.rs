//! `-m sctp` and `-m dccp`: the ports of either header. Chunk and packet types are not emulated.

use super::header;
use super::ports::PortTest;
use super::prelude::*;

/// The tests of both headers: each has twelve bytes, ports first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ports {
    sport: Option<PortTest>,
    dport: Option<PortTest>,
}

impl Ports {
    /// `one` reads the test of an option that is there.
    fn parse(
        args: &Parsed<'_>,
        one: impl Fn(&Parsed<'_>, &'static str) -> Result<PortTest, ArgError>,
    ) -> Result<Self, ArgError> {
        let port = |option| args.has(option).then(|| one(args, option)).transpose();
        Ok(Self { sport: port("--sport")?, dport: port("--dport")? })
    }

    fn save(&self, out: &mut String) {
        for (option, port) in [("--sport", self.sport), ("--dport", self.dport)] {
            if let Some(port) = port {
                port.save_always(out, option);
            }
        }
    }

    fn list(&self, out: &mut String, name: &str) {
        let _ = write!(out, " {name}");
        for (name, port) in [("spt", self.sport), ("dpt", self.dport)] {
            if let Some(port) = port {
                port.list(out, name);
            }
        }
    }

    fn eval(&self, packet: &Packet, name: &'static str, why: &mut Why) -> MatchResult {
        if packet.is_later_fragment() {
            return why.check(false, name, || "a later fragment".to_owned(), || "a header".to_owned()).into();
        }
        let Some((src, dst)) = header::ports_within(packet, 12) else {
            why.check(false, name, || format!("{} bytes", packet.l4.len_bytes()), || "a header".to_owned());
            return MatchResult::Hotdrop;
        };
        let pass = self.sport.is_none_or(|p| p.check(why, "--sport", src))
            && self.dport.is_none_or(|p| p.check(why, "--dport", dst));
        pass.into()
    }
}

/// `-m sctp` (`xt_sctp.c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sctp(Ports);

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
        let ports = Ports::parse(args, PortTest::by_hand)?;
        match args.get("--chunk-types") {
            Some((at, _)) => Err(ArgError::not_emulated(at)),
            None => Ok(Self(ports)),
        }
    }

    fn save(&self, out: &mut String) {
        self.0.save(out);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.0.list(out, "sctp");
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        self.0.eval(&skb.packet, "-m sctp", why)
    }
}

/// `-m dccp` (`xt_dccp.c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dccp(Ports);

impl MatchExt for Dccp {
    const SPEC: ExtSpec =
        ExtSpec::new("dccp", BOTH, "net/netfilter/xt_dccp.c").protos(&[proto::DCCP]).options(&[
            OptSpec::new("--sport", Values::One).negatable().alias(&["--source-port"]),
            OptSpec::new("--dport", Values::One).negatable().alias(&["--destination-port"]),
            OptSpec::new("--dccp-types", Values::One).negatable().absent("DCCP is known by its ports only"),
            OptSpec::new("--dccp-option", Values::One).negatable().absent("DCCP is known by its ports only"),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let ports = Ports::parse(args, PortTest::guided)?;
        match args.get("--dccp-types").or_else(|| args.get("--dccp-option")) {
            Some((at, _)) => Err(ArgError::not_emulated(at)),
            None => Ok(Self(ports)),
        }
    }

    fn save(&self, out: &mut String) {
        self.0.save(out);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.0.list(out, "dccp");
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        self.0.eval(&skb.packet, "-m dccp", why)
    }
}
