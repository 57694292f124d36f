//! `-m connbytes`: what a connection has carried so far (`xt_connbytes.c`). Loading such a rule switches
//! accounting on.

use super::prelude::*;
use crate::conntrack::Acct;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Packets,
    Bytes,
    Average,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Original,
    Reply,
    Both,
}

const MODES: [(&str, Mode); 3] =
    [("packets", Mode::Packets), ("bytes", Mode::Bytes), ("avgpkt", Mode::Average)];
const SIDES: [(&str, Side); 3] = [("original", Side::Original), ("reply", Side::Reply), ("both", Side::Both)];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connbytes(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    low: u64,
    high: u64,
    inverted: bool,
    mode: Mode,
    side: Side,
}

impl Fields {
    fn range(&self) -> String {
        if self.high == u64::MAX { self.low.to_string() } else { format!("{}:{}", self.low, self.high) }
    }

    fn mode(&self) -> &'static str {
        MODES.iter().find(|m| m.1 == self.mode).map_or("", |m| m.0)
    }

    fn side(&self) -> &'static str {
        SIDES.iter().find(|s| s.1 == self.side).map_or("", |s| s.0)
    }

    fn value(&self, acct: &[Acct; 2]) -> u64 {
        let (packets, bytes) = match self.side {
            Side::Original => (acct[0].packets, acct[0].bytes),
            Side::Reply => (acct[1].packets, acct[1].bytes),
            Side::Both => (acct[0].packets + acct[1].packets, acct[0].bytes + acct[1].bytes),
        };
        match self.mode {
            Mode::Packets => packets,
            Mode::Bytes => bytes,
            Mode::Average => bytes.checked_div(packets).unwrap_or(0),
        }
    }
}

impl MatchExt for Connbytes {
    const SPEC: ExtSpec = ExtSpec::new("connbytes", BOTH, "net/netfilter/xt_connbytes.c").options(&[
        OptSpec::new("--connbytes", Values::One).negatable().mandatory(),
        OptSpec::new("--connbytes-dir", Values::One).mandatory(),
        OptSpec::new("--connbytes-mode", Values::One).mandatory(),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let mut fields =
            Fields { low: 0, high: u64::MAX, inverted: false, mode: Mode::Packets, side: Side::Both };
        for (at, opt) in args.opts.iter().enumerate() {
            let text = opt.values[0];
            match opt.name {
                "--connbytes" => {
                    let (low, high) = number_range("connbytes", at, opt, u64::MAX)?;
                    fields.low = low;
                    fields.high = if text.contains(':') { high } else { u64::MAX };
                    fields.inverted = opt.inverted;
                    if fields.high < fields.low {
                        let why = format!("{} should be less than {}", fields.low, fields.high);
                        return Err(ArgError::at(at, why));
                    }
                }
                "--connbytes-dir" => {
                    let found = SIDES.iter().find(|s| s.0 == text);
                    let bad = || ArgError::at(at, format!("Unknown --connbytes-dir `{text}'"));
                    fields.side = found.ok_or_else(bad)?.1;
                }
                _ => {
                    let found = MODES.iter().find(|m| m.0 == text);
                    let bad = || ArgError::at(at, format!("Unknown --connbytes-mode `{text}'"));
                    fields.mode = found.ok_or_else(bad)?.1;
                }
            }
        }
        Ok(Self(Box::new(fields)))
    }

    fn save(&self, out: &mut String) {
        let f = &*self.0;
        let _ = write!(out, "{} --connbytes {}", bang(f.inverted), f.range());
        let _ = write!(out, " --connbytes-mode {} --connbytes-dir {}", f.mode(), f.side());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let f = &*self.0;
        let _ = write!(out, "{} connbytes {}", bang(f.inverted), f.range());
        let _ = write!(out, " connbytes mode {} connbytes direction {}", f.mode(), f.side());
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let f = &*self.0;
        let want = || format!("{}{} {} {}", not(f.inverted), f.range(), f.mode(), f.side());
        let acct = skb.ct.and_then(|at| cx.ct.entry(at)).and_then(|entry| entry.acct.as_ref());
        let Some(acct) = acct else {
            return why.check(false, "--connbytes", || "no accounting".to_owned(), want).into();
        };
        let have = f.value(acct);
        let within = f.low <= have && have <= f.high;
        why.check(within != f.inverted, "--connbytes", || have.to_string(), want).into()
    }
}
