//! `-j TRACE`: every rule the packet meets from here on is logged (`xt_TRACE.c`). No effect on the packet.

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace;

impl TargetExt for Trace {
    const SPEC: ExtSpec = ExtSpec::new("TRACE", BOTH, "net/netfilter/xt_TRACE.c").tables(&["raw"]);

    fn parse(_: &Parsed<'_>) -> Result<Self, ArgError> {
        Ok(Self)
    }

    fn save(&self, _: &mut String) {}

    fn list(&self, _: &mut String, _: ListFlags) {}

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        skb.nf_trace = true;
        cx.rewrote("TRACE", "nftrace", 0, 1);
        Next::Continue
    }
}
