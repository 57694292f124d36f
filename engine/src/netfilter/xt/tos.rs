//! `-m tos` and `-j TOS`: the whole type-of-service byte under a mask (`xt_dscp.c`, `xt_DSCP.c`).

use super::prelude::*;

/// Names of RFC 1349; with a name the mask leaves the two uppermost bits alone.
const NAMES: [(&str, u8); 5] = [
    ("Minimize-Delay", 0x10),
    ("Maximize-Throughput", 0x08),
    ("Maximize-Reliability", 0x04),
    ("Minimize-Cost", 0x02),
    ("Normal-Service", 0x00),
];
const NAME_MASK: u8 = 0x3f;

/// `VALUE[/MASK]` or a name (`xtopt_parse_tosmask`).
fn parse(at: usize, text: &str) -> Result<(u8, u8), ArgError> {
    let byte = |t| parse_number(t, 255).map(|n| n as u8);
    let numbers = match text.split_once('/') {
        None => byte(text).map(|value| (value, 0xff)),
        Some((value, mask)) => byte(value).zip(byte(mask)),
    };
    numbers
        .or_else(|| NAMES.iter().find(|n| n.0.eq_ignore_ascii_case(text)).map(|n| (n.1, NAME_MASK)))
        .ok_or_else(|| ArgError::at(at, format!("Symbolic name \"{text}\" is unknown")))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tos {
    value: u8,
    mask: u8,
    inverted: bool,
}

impl MatchExt for Tos {
    const SPEC: ExtSpec =
        ExtSpec::new("tos", BOTH, "net/netfilter/xt_dscp.c")
            .options(&[OptSpec::new("--tos", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--tos")?;
        let (value, mask) = parse(at, opt.values[0])?;
        Ok(Self { value, mask, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --tos 0x{:02x}/0x{:02x}", bang(self.inverted), self.value, self.mask);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        // The tool prints no blank here.
        let bang = if self.inverted { "!" } else { "" };
        let _ = write!(out, " tos match{bang}0x{:02x}/0x{:02x}", self.value, self.mask);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let have = skb.packet.ip.tos;
        why.check(
            (have & self.mask == self.value) != self.inverted,
            "--tos",
            || format!("0x{have:02x}"),
            || format!("{}0x{:02x}/0x{:02x}", not(self.inverted), self.value, self.mask),
        )
        .into()
    }
}

/// `tos = (tos & ~mask) ^ value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TosTarget {
    value: u8,
    mask: u8,
}

const OPERATIONS: [&str; 4] = ["--set-tos", "--and-tos", "--or-tos", "--xor-tos"];

impl TargetExt for TosTarget {
    const SPEC: ExtSpec =
        ExtSpec::new("TOS", BOTH, "net/netfilter/xt_DSCP.c").tables(&["mangle"]).options(&[
            OptSpec::new("--set-tos", Values::One).excludes(&OPERATIONS),
            OptSpec::new("--and-tos", Values::One).excludes(&OPERATIONS),
            OptSpec::new("--or-tos", Values::One).excludes(&OPERATIONS),
            OptSpec::new("--xor-tos", Values::One).excludes(&OPERATIONS),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let Some(opt) = args.opts.first() else {
            return Err(ArgError::whole("TOS: An action is required"));
        };
        if opt.name == "--set-tos" {
            let (value, mask) = parse(0, opt.values[0])?;
            return Ok(Self { value, mask });
        }
        let value = number("TOS", 0, opt, 0, 255)? as u8;
        let (value, mask) = match opt.name {
            "--and-tos" => (0, !value),
            "--or-tos" => (value, value),
            _ => (value, 0),
        };
        Ok(Self { value, mask })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --set-tos 0x{:02x}/0x{:02x}", self.value, self.mask);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " TOS set 0x{:02x}/0x{:02x}", self.value, self.mask);
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let before = skb.packet.ip.tos;
        skb.packet.ip.tos = (before & !self.mask) ^ self.value;
        cx.rewrote("TOS", "tos", format_args!("0x{before:02x}"), format_args!("0x{:02x}", skb.packet.ip.tos));
        Next::Continue
    }
}
