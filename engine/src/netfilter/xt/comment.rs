//! `-m comment`: a remark in a rule (`xt_comment.c`). Always matches.

use super::prelude::*;
use crate::base::limits::COMMENT_LEN_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub text: Box<str>,
}

impl MatchExt for Comment {
    const SPEC: ExtSpec = ExtSpec::new("comment", BOTH, "net/netfilter/xt_comment.c")
        .options(&[OptSpec::new("--comment", Values::One).mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (_, opt) = args.require("--comment")?;
        // The tool cuts a longer one off (`xtopt_parse_string`).
        let text = opt.values[0];
        let text = &text[..text.floor_char_boundary(COMMENT_LEN_MAX)];
        Ok(Self { text: text.into() })
    }

    fn save(&self, out: &mut String) {
        out.push_str(" --comment ");
        save_string(out, &self.text);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" /* ");
        out.push_str(&self.text);
        out.push_str(" */");
    }

    fn eval(&self, _: &mut Cx<'_>, _: &Skb, _: Option<&mut RuleState>, _: &mut Why) -> MatchResult {
        MatchResult::Yes
    }
}
