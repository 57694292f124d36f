//! `-j AUDIT`: an audit record (`xt_AUDIT.c`). No effect on the packet.

use super::prelude::*;
use crate::trace::TraceKind;

const KINDS: [&str; 3] = ["accept", "drop", "reject"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    kind: &'static str,
}

impl TargetExt for Audit {
    const SPEC: ExtSpec = ExtSpec::new("AUDIT", BOTH, "net/netfilter/xt_AUDIT.c").options(&[OptSpec::new(
        "--type",
        Values::One,
    )
    .mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--type")?;
        let text = opt.values[0];
        match KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(text)) {
            Some(kind) => Ok(Self { kind }),
            None => Err(ArgError::at(at, format!("Bad action type value \"{text}\""))),
        }
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --type {}", self.kind);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " AUDIT {}", self.kind);
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let (ip, mark) = (&skb.packet.ip, skb.mark);
        cx.trace.record(cx.now, || TraceKind::Note {
            text: format!(
                "audit: NETFILTER_PKT mark={mark:#x} saddr={} daddr={} proto={}",
                ip.src, ip.dst, ip.proto
            ),
        });
        Next::Continue
    }
}
