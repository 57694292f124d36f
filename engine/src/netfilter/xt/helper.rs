//! `-m helper`: connections that a conntrack helper expected (`xt_helper.c`). No helper is emulated, so no
//! connection is one.

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    name: Box<str>,
    inverted: bool,
}

impl MatchExt for Helper {
    const SPEC: ExtSpec = ExtSpec::new("helper", BOTH, "net/netfilter/xt_helper.c")
        .options(&[OptSpec::new("--helper", Values::One).negatable().mandatory()])
        .simplified("helpers are absent, so no connection was expected by one");

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (_, opt) = args.require("--helper")?;
        Ok(Self { name: opt.values[0].into(), inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --helper ", bang(self.inverted));
        save_string(out, &self.name);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " helper match{} \"{}\"", bang(self.inverted), self.name);
    }

    fn eval(&self, _: &mut Cx<'_>, _: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        why.check(
            self.inverted,
            "--helper",
            || "none".to_owned(),
            || format!("{}{}", not(self.inverted), self.name),
        )
        .into()
    }
}
