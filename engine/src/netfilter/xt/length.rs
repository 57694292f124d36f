//! `-m length`: length of the IP packet in bytes (`xt_length.c`).

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Length {
    low: u16,
    high: u16,
    inverted: bool,
}

impl Length {
    fn text(&self) -> String {
        range_text((self.low, self.high))
    }
}

impl MatchExt for Length {
    const SPEC: ExtSpec = ExtSpec::new("length", BOTH, "net/netfilter/xt_length.c").options(&[OptSpec::new(
        "--length",
        Values::One,
    )
    .negatable()
    .mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--length")?;
        let (low, high) = number_range("length", at, opt, 65_535)?;
        Ok(Self { low: low as u16, high: high as u16, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --length {}", bang(self.inverted), self.text());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " length {}{}", if self.inverted { "!" } else { "" }, self.text());
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let len = skb.packet.len_bytes();
        let within = usize::from(self.low) <= len && len <= usize::from(self.high);
        why.check(
            within != self.inverted,
            "--length",
            || len.to_string(),
            || format!("{}{}", not(self.inverted), self.text()),
        )
        .into()
    }
}
