//! `-m iprange`: addresses between two others (`xt_iprange.c`).

use std::net::IpAddr;

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iprange(Box<[Option<Range>; 2]>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    low: IpAddr,
    high: IpAddr,
    inverted: bool,
}

const OPTIONS: [&str; 2] = ["--src-range", "--dst-range"];

fn parse(args: &Parsed<'_>, option: &str) -> Result<Option<Range>, ArgError> {
    let Some((at, opt)) = args.get(option) else { return Ok(None) };
    let one = |text: &str| {
        address(args.family, text).ok_or_else(|| {
            ArgError::at(at, format!("iprange: Bad value for \"{option}\" option: \"{text}\""))
        })
    };
    let (low, high) = match opt.values[0].split_once('-') {
        None => (one(opt.values[0])?, one(opt.values[0])?),
        Some((low, high)) => (one(low)?, one(high)?),
    };
    Ok(Some(Range { low, high, inverted: opt.inverted }))
}

impl Range {
    fn eval(self, have: IpAddr, option: &'static str, why: &mut Why) -> bool {
        let within = self.low <= have && have <= self.high;
        why.check(
            within != self.inverted,
            option,
            || have.to_string(),
            || format!("{}{}-{}", not(self.inverted), self.low, self.high),
        )
    }
}

impl MatchExt for Iprange {
    const SPEC: ExtSpec = ExtSpec::new("iprange", BOTH, "net/netfilter/xt_iprange.c").options(&[
        OptSpec::new("--src-range", Values::One).negatable(),
        OptSpec::new("--dst-range", Values::One).negatable(),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let ranges = [parse(args, OPTIONS[0])?, parse(args, OPTIONS[1])?];
        if ranges == [None, None] {
            return Err(ArgError::whole("iprange match: You must specify `--src-range' or `--dst-range'"));
        }
        Ok(Self(Box::new(ranges)))
    }

    fn save(&self, out: &mut String) {
        for (option, range) in OPTIONS.iter().zip(&*self.0) {
            if let Some(r) = range {
                let _ = write!(out, "{} {option} {}-{}", bang(r.inverted), r.low, r.high);
            }
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        for (side, range) in ["source", "destination"].iter().zip(&*self.0) {
            if let Some(r) = range {
                let _ = write!(out, " {side} IP range{} {}-{}", bang(r.inverted), r.low, r.high);
            }
        }
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let ip = &skb.packet.ip;
        let [src, dst] = *self.0;
        let pass = src.is_none_or(|r| r.eval(ip.src, OPTIONS[0], why))
            && dst.is_none_or(|r| r.eval(ip.dst, OPTIONS[1], why));
        pass.into()
    }
}
