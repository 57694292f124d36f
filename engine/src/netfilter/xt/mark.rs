//! `-m mark` and `-j MARK`: the packet mark (`xt_mark.c`).

use super::prelude::*;

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
    const SPEC: ExtSpec =
        ExtSpec::new("mark", BOTH, "net/netfilter/xt_mark.c")
            .options(&[OptSpec::new("--mark", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--mark")?;
        let (value, mask) = mark_mask("mark", at, opt)?;
        Ok(Self { value, mask, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --mark {}", bang(self.inverted), self.wanted());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " mark match{} {}", bang(self.inverted), self.wanted());
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let pass = (skb.mark & self.mask == self.value) != self.inverted;
        why.check(
            pass,
            "--mark",
            || format!("{:#x}", skb.mark),
            || format!("{}{}", not(self.inverted), self.wanted()),
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

const OPERATIONS: [&str; 5] = ["--set-xmark", "--set-mark", "--and-mark", "--or-mark", "--xor-mark"];

impl TargetExt for MarkTarget {
    const SPEC: ExtSpec = ExtSpec::new("MARK", BOTH, "net/netfilter/xt_mark.c").options(&[
        OptSpec::new("--set-xmark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--set-mark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--and-mark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--or-mark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--xor-mark", Values::One).excludes(&OPERATIONS),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let Some(opt) = args.opts.first() else {
            return Err(ArgError::whole(
                "MARK: One of the --set-xmark, --{and,or,xor,set}-mark options is required",
            ));
        };
        // libxt_MARK.c: each spelling is a set-xmark.
        let (value, mask) = match opt.name {
            "--set-xmark" => mark_mask("MARK", 0, opt)?,
            "--set-mark" => {
                let (value, mask) = mark_mask("MARK", 0, opt)?;
                (value, mask | value)
            }
            other => {
                let value = number("MARK", 0, opt, 0, u64::from(u32::MAX))? as u32;
                match other {
                    "--and-mark" => (0, !value),
                    "--or-mark" => (value, value),
                    _ => (value, 0),
                }
            }
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
