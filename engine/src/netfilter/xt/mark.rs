//! `-m mark` and `-j MARK`: the packet mark (`xt_mark.c`).

use std::fmt::Write as _;

use super::ext::{
    ArgError, BOTH, ExtSpec, Fidelity, ListFlags, MatchExt, MatchResult, Next, OptSpec, Parsed, TargetExt,
    Values, parse_number,
};
use crate::netfilter::{Cx, RuleState};
use crate::packet::Skb;
use crate::trace::Why;

/// `value[/mask]`, the mask all ones when absent.
fn parse_masked(text: &str) -> Option<(u32, u32)> {
    let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
    let number = |t| parse_number(t, u64::from(u32::MAX)).map(|n| n as u32);
    Some((number(value)?, number(mask)?))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkMatch {
    value: u32,
    mask: u32,
    inverted: bool,
}

impl MarkMatch {
    fn wanted(&self) -> String {
        if self.mask == u32::MAX {
            format!("{:#x}", self.value)
        } else {
            format!("{:#x}/{:#x}", self.value, self.mask)
        }
    }
}

impl MatchExt for MarkMatch {
    const SPEC: ExtSpec = ExtSpec {
        name: "mark",
        families: BOTH,
        options: &[OptSpec::new("--mark", Values::One).negatable()],
        kernel: "net/netfilter/xt_mark.c",
        fidelity: Fidelity::Exact,
    };

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let Some((at, opt)) = args.get("--mark") else {
            return Err(ArgError::whole("mark: option \"--mark\" must be specified"));
        };
        let (value, mask) = parse_masked(opt.values[0]).ok_or_else(|| {
            ArgError::at(at, format!("mark: bad integer value for option \"--mark\": {:?}", opt.values[0]))
        })?;
        Ok(Self { value, mask, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let not = if self.inverted { " !" } else { "" };
        let _ = write!(out, "{not} --mark {}", self.wanted());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let not = if self.inverted { "!" } else { "" };
        let _ = write!(out, " mark match {not}{}", self.wanted());
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let pass = (skb.mark & self.mask == self.value) != self.inverted;
        why.check(
            pass,
            "--mark",
            || format!("{:#x}", skb.mark),
            || format!("{}{}", if self.inverted { "! " } else { "" }, self.wanted()),
        )
        .into()
    }
}

/// `mark = (mark & ~mask) ^ value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkTarget {
    value: u32,
    mask: u32,
}

impl TargetExt for MarkTarget {
    const SPEC: ExtSpec = ExtSpec {
        name: "MARK",
        families: BOTH,
        options: &[
            OptSpec::new("--set-xmark", Values::One),
            OptSpec::new("--set-mark", Values::One),
            OptSpec::new("--and-mark", Values::One),
            OptSpec::new("--or-mark", Values::One),
            OptSpec::new("--xor-mark", Values::One),
        ],
        kernel: "net/netfilter/xt_mark.c",
        fidelity: Fidelity::Exact,
    };

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let [opt] = &args.opts[..] else {
            return Err(ArgError::whole(
                "MARK: one of --set-xmark, --{and,or,xor,set}-mark is required, and only one",
            ));
        };
        let bad =
            || ArgError::at(0, format!("MARK: bad value for option \"{}\": {:?}", opt.name, opt.values[0]));
        let (value, mask) = parse_masked(opt.values[0]).ok_or_else(bad)?;
        // libxt_MARK.c: each spelling is a set-xmark.
        let (value, mask) = match opt.name {
            "--set-xmark" => (value, mask),
            "--set-mark" => (value, mask | value),
            "--and-mark" => (0, !value),
            "--or-mark" => (value, value),
            _ => (value, 0),
        };
        Ok(Self { value, mask })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --set-xmark {:#x}/{:#x}", self.value, self.mask);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        // libxt_MARK.c mark_tg_print: the shortest spelling that says it.
        let (value, mask) = (self.value, self.mask);
        let _ = match (value, mask) {
            (0, _) => write!(out, " MARK and {:#x}", !mask),
            (v, m) if v == m => write!(out, " MARK or {v:#x}"),
            (v, 0) => write!(out, " MARK xor {v:#x}"),
            (v, u32::MAX) => write!(out, " MARK set {v:#x}"),
            (v, m) => write!(out, " MARK xset {v:#x}/{m:#x}"),
        };
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let before = skb.mark;
        skb.mark = (before & !self.mask) ^ self.value;
        cx.rewrote("MARK", "mark", format_args!("{before:#x}"), format_args!("{:#x}", skb.mark));
        Next::Continue
    }
}
