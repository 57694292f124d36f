//! `-m nfacct`: counts packets in a named object (`xt_nfacct.c`). Objects have no quota, so it always matches.

use super::prelude::*;

/// Longest object name (`NFACCT_NAME_MAX` less the terminator).
const NAME_MAX: usize = 31;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nfacct {
    name: Box<str>,
}

impl MatchExt for Nfacct {
    const SPEC: ExtSpec = ExtSpec::new("nfacct", BOTH, "net/netfilter/xt_nfacct.c")
        .options(&[OptSpec::new("--nfacct-name", Values::One).mandatory()])
        .simplified("objects come into being with the first packet and have no quota");

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (_, opt) = args.require("--nfacct-name")?;
        Ok(Self { name: super::log::cut(opt.values[0], NAME_MAX).into() })
    }

    fn save(&self, out: &mut String) {
        // Two blanks, as the tool prints it.
        out.push_str(" --nfacct-name  ");
        save_string(out, &self.name);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" nfacct-name  ");
        save_string(out, &self.name);
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, _: &mut Why) -> MatchResult {
        let object = match cx.shared.acct.get_mut(&*self.name) {
            Some(object) => object,
            None => cx.shared.acct.entry(self.name.clone()).or_default(),
        };
        object.add(skb.packet.len_bytes() as u64);
        MatchResult::Yes
    }
}
