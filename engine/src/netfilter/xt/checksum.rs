//! `-j CHECKSUM`: fills in a checksum left to the hardware (`xt_CHECKSUM.c`). Packets here always carry one, so
//! nothing changes.

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum;

impl TargetExt for Checksum {
    const SPEC: ExtSpec = ExtSpec::new("CHECKSUM", BOTH, "net/netfilter/xt_CHECKSUM.c")
        .tables(&["mangle"])
        .options(&[OptSpec::new("--checksum-fill", Values::None).mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        args.require("--checksum-fill").map(|_| Self)
    }

    fn save(&self, out: &mut String) {
        out.push_str(" --checksum-fill");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" CHECKSUM fill");
    }

    fn apply(&self, _: &mut Cx<'_>, _: &mut Skb) -> Next {
        Next::Continue
    }
}
