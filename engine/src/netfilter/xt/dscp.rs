//! `-m dscp` and `-j DSCP`: the differentiated services field (`xt_dscp.c`, `xt_DSCP.c`).

use super::prelude::*;

/// Class names (RFC 2474, 2597, 3246).
const CLASSES: [(&str, u8); 22] = [
    ("CS0", 0x00),
    ("CS1", 0x08),
    ("CS2", 0x10),
    ("CS3", 0x18),
    ("CS4", 0x20),
    ("CS5", 0x28),
    ("CS6", 0x30),
    ("CS7", 0x38),
    ("BE", 0x00),
    ("AF11", 0x0a),
    ("AF12", 0x0c),
    ("AF13", 0x0e),
    ("AF21", 0x12),
    ("AF22", 0x14),
    ("AF23", 0x16),
    ("AF31", 0x1a),
    ("AF32", 0x1c),
    ("AF33", 0x1e),
    ("AF41", 0x22),
    ("AF42", 0x24),
    ("AF43", 0x26),
    ("EF", 0x2e),
];

/// The value of `--dscp N` or `--dscp-class NAME`, whichever is given first.
fn parse(args: &Parsed<'_>, ext: &str, missing: &str) -> Result<(u8, bool), ArgError> {
    let Some(opt) = args.opts.first() else { return Err(ArgError::whole(missing)) };
    let value = if opt.name.ends_with("-class") {
        let text = opt.values[0];
        let class = CLASSES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        class.ok_or_else(|| ArgError::at(0, format!("Invalid DSCP value `{text}'")))?.1
    } else {
        number(ext, 0, opt, 0, 63)? as u8
    };
    Ok((value, opt.inverted))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dscp {
    value: u8,
    inverted: bool,
}

impl MatchExt for Dscp {
    const SPEC: ExtSpec = ExtSpec::new("dscp", BOTH, "net/netfilter/xt_dscp.c").options(&[
        OptSpec::new("--dscp", Values::One).negatable().excludes(&["--dscp-class"]),
        OptSpec::new("--dscp-class", Values::One).negatable().excludes(&["--dscp"]),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (value, inverted) = parse(args, "dscp", "DSCP match: Parameter --dscp is required")?;
        Ok(Self { value, inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --dscp 0x{:02x}", bang(self.inverted), self.value);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " DSCP match {}0x{:02x}", if self.inverted { "!" } else { "" }, self.value);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let have = skb.packet.ip.tos >> 2;
        why.check(
            (have == self.value) != self.inverted,
            "--dscp",
            || format!("0x{have:02x}"),
            || format!("{}0x{:02x}", not(self.inverted), self.value),
        )
        .into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DscpTarget {
    value: u8,
}

impl TargetExt for DscpTarget {
    const SPEC: ExtSpec =
        ExtSpec::new("DSCP", BOTH, "net/netfilter/xt_DSCP.c").tables(&["mangle"]).options(&[
            OptSpec::new("--set-dscp", Values::One).excludes(&["--set-dscp-class"]),
            OptSpec::new("--set-dscp-class", Values::One).excludes(&["--set-dscp"]),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (value, _) = parse(args, "DSCP", "DSCP target: Parameter --set-dscp is required")?;
        Ok(Self { value })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --set-dscp 0x{:02x}", self.value);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " DSCP set 0x{:02x}", self.value);
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let before = skb.packet.ip.tos;
        // The two ECN bits stay.
        skb.packet.ip.tos = (before & 0x03) | (self.value << 2);
        cx.rewrote(
            "DSCP",
            "tos",
            format_args!("0x{before:02x}"),
            format_args!("0x{:02x}", skb.packet.ip.tos),
        );
        Next::Continue
    }
}
