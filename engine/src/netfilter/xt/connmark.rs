//! `-m connmark` and `-j CONNMARK`: the mark of a connection (`xt_connmark.c`).

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnmarkMatch {
    value: u32,
    mask: u32,
    inverted: bool,
}

impl ConnmarkMatch {
    fn wanted(&self) -> String {
        if self.mask == u32::MAX {
            format!("{:#x}", self.value)
        } else {
            format!("{:#x}/{:#x}", self.value, self.mask)
        }
    }
}

impl MatchExt for ConnmarkMatch {
    const SPEC: ExtSpec = ExtSpec::new("connmark", BOTH, "net/netfilter/xt_connmark.c")
        .options(&[OptSpec::new("--mark", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--mark")?;
        let (value, mask) = mark_mask("connmark", at, opt)?;
        Ok(Self { value, mask, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --mark {}", bang(self.inverted), self.wanted());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        // libxt_connmark.c prints the blank of the missing `!`.
        let _ = write!(out, " connmark match {} {}", if self.inverted { "!" } else { "" }, self.wanted());
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let want = || format!("{}{}", not(self.inverted), self.wanted());
        let Some(entry) = connection(cx, skb) else {
            // Even inverted.
            return why.check(false, "--mark", || "no connection".to_owned(), want).into();
        };
        let pass = (entry.mark & self.mask == self.value) != self.inverted;
        why.check(pass, "--mark", || format!("{:#x}", entry.mark), want).into()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// `ctmark = (ctmark & ~mask) ^ value`, then shifted.
    Set { value: u32, mask: u32 },
    /// `ctmark = (ctmark & ~ctmask) ^ shifted(mark & nfmask)`.
    Save { nfmask: u32, ctmask: u32 },
    /// `mark = (mark & ~nfmask) ^ shifted(ctmark & ctmask)`.
    Restore { nfmask: u32, ctmask: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shift {
    Left(u8),
    Right(u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnmarkTarget {
    mode: Mode,
    shift: Option<Shift>,
}

impl ConnmarkTarget {
    /// A shift by 32 gives what the kernel's C gives on x86 and arm64: the count is taken modulo 32.
    const fn shifted(&self, value: u32) -> u32 {
        match self.shift {
            None => value,
            Some(Shift::Left(bits)) => value.wrapping_shl(bits as u32),
            Some(Shift::Right(bits)) => value.wrapping_shr(bits as u32),
        }
    }

    fn shift_text(&self, out: &mut String, dashes: &str) {
        let _ = match self.shift {
            None => Ok(()),
            Some(Shift::Left(bits)) => write!(out, " {dashes}left-shift-mark {bits}"),
            Some(Shift::Right(bits)) => write!(out, " {dashes}right-shift-mark {bits}"),
        };
    }
}

/// The operations: only one may be given.
const OPERATIONS: [&str; 7] =
    ["--set-xmark", "--set-mark", "--and-mark", "--or-mark", "--xor-mark", "--save-mark", "--restore-mark"];

impl TargetExt for ConnmarkTarget {
    const SPEC: ExtSpec = ExtSpec::new("CONNMARK", BOTH, "net/netfilter/xt_connmark.c").options(&[
        OptSpec::new("--set-xmark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--set-mark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--and-mark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--or-mark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--xor-mark", Values::One).excludes(&OPERATIONS),
        OptSpec::new("--save-mark", Values::None).excludes(&OPERATIONS),
        OptSpec::new("--restore-mark", Values::None).excludes(&OPERATIONS),
        OptSpec::new("--left-shift-mark", Values::One).excludes(&["--right-shift-mark"]),
        OptSpec::new("--right-shift-mark", Values::One).excludes(&["--left-shift-mark"]),
        OptSpec::new("--ctmask", Values::One).excludes(&["--mask"]),
        OptSpec::new("--nfmask", Values::One).excludes(&["--mask"]),
        OptSpec::new("--mask", Values::One).excludes(&["--ctmask", "--nfmask"]),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        const MAX: u64 = u32::MAX as u64;
        let name = "CONNMARK";
        let word = |option| optional(name, args, option, 0, MAX).map(|n| n.map(|n| n as u32));
        let (mask, nfmask, ctmask) = (word("--mask")?, word("--nfmask")?, word("--ctmask")?);
        let shift = match optional(name, args, "--left-shift-mark", 0, 32)? {
            Some(bits) => Some(Shift::Left(bits as u8)),
            None => optional(name, args, "--right-shift-mark", 0, 32)?.map(|b| Shift::Right(b as u8)),
        };
        let operation = args.opts.iter().enumerate().find(|(_, o)| OPERATIONS.contains(&o.name));
        let Some((at, opt)) = operation else {
            return Err(ArgError::whole("CONNMARK target: No operation specified"));
        };
        let nfmask = nfmask.or(mask).unwrap_or(u32::MAX);
        let both = ctmask.or(mask);
        let ctmask = both.unwrap_or(u32::MAX);
        let mode = match opt.name {
            "--set-xmark" => {
                let (value, mask) = mark_mask(name, at, opt)?;
                Mode::Set { value, mask: both.unwrap_or(mask) }
            }
            "--set-mark" => {
                let (value, mask) = mark_mask(name, at, opt)?;
                Mode::Set { value, mask: both.unwrap_or(mask | value) }
            }
            "--save-mark" => Mode::Save { nfmask, ctmask },
            "--restore-mark" => Mode::Restore { nfmask, ctmask },
            other => {
                let value = number(name, at, opt, 0, MAX)? as u32;
                let (value, mask) = match other {
                    "--and-mark" => (0, !value),
                    "--or-mark" => (value, value),
                    _ => (value, 0),
                };
                Mode::Set { value, mask: both.unwrap_or(mask) }
            }
        };
        Ok(Self { mode, shift })
    }

    fn save(&self, out: &mut String) {
        let _ = match self.mode {
            Mode::Set { value, mask } => write!(out, " --set-xmark {value:#x}/{mask:#x}"),
            Mode::Save { nfmask, ctmask } => {
                write!(out, " --save-mark --nfmask {nfmask:#x} --ctmask {ctmask:#x}")
            }
            Mode::Restore { nfmask, ctmask } => {
                write!(out, " --restore-mark --nfmask {nfmask:#x} --ctmask {ctmask:#x}")
            }
        };
        self.shift_text(out, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" CONNMARK");
        let _ = match self.mode {
            Mode::Set { value: 0, mask } => write!(out, " and {:#x}", !mask),
            Mode::Set { value, mask } if value == mask => write!(out, " or {value:#x}"),
            Mode::Set { value, mask: 0 } => write!(out, " xor {value:#x}"),
            Mode::Set { value, mask: u32::MAX } => write!(out, " set {value:#x}"),
            Mode::Set { value, mask } => write!(out, " xset {value:#x}/{mask:#x}"),
            Mode::Save { nfmask: u32::MAX, ctmask: u32::MAX } => write!(out, " save"),
            Mode::Save { nfmask, ctmask } if nfmask == ctmask => write!(out, " save mask {nfmask:#x}"),
            Mode::Save { nfmask, ctmask } => {
                write!(out, " save nfmask {nfmask:#x} ctmask ~{ctmask:#x}")
            }
            Mode::Restore { nfmask: u32::MAX, ctmask: u32::MAX } => write!(out, " restore"),
            Mode::Restore { nfmask, ctmask } if nfmask == ctmask => {
                write!(out, " restore mask {ctmask:#x}")
            }
            Mode::Restore { nfmask, ctmask } => {
                write!(out, " restore ctmask {ctmask:#x} nfmask ~{nfmask:#x}")
            }
        };
        self.shift_text(out, "");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let Some((at, before)) = skb.ct.and_then(|at| Some((at, cx.ct.entry(at)?.mark))) else {
            return Next::Continue;
        };
        let after = match self.mode {
            Mode::Set { value, mask } => self.shifted((before & !mask) ^ value),
            Mode::Save { nfmask, ctmask } => (before & !ctmask) ^ self.shifted(skb.mark & nfmask),
            Mode::Restore { nfmask, ctmask } => {
                let old = skb.mark;
                skb.mark = (old & !nfmask) ^ self.shifted(before & ctmask);
                cx.rewrote("CONNMARK", "mark", format_args!("{old:#x}"), format_args!("{:#x}", skb.mark));
                return Next::Continue;
            }
        };
        cx.ct.set_mark(at, after);
        cx.rewrote("CONNMARK", "connmark", format_args!("{before:#x}"), format_args!("{after:#x}"));
        Next::Continue
    }
}
