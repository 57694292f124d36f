//! `-j NFLOG`: a copy of the packet for a listener in user space (`xt_NFLOG.c`). No effect on the packet.

use super::log::prefix;
use super::prelude::*;
use crate::trace::TraceKind;

/// Longest prefix; a longer one is cut.
const PREFIX_MAX: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nflog {
    prefix: Box<str>,
    group: u16,
    range: Option<u32>,
    size: Option<u32>,
    threshold: Option<u16>,
}

impl Nflog {
    fn text(&self, out: &mut String, dashes: &str) {
        if !self.prefix.is_empty() {
            let _ = write!(out, " {dashes}nflog-prefix ");
            save_string(out, &self.prefix);
        }
        if self.group != 0 {
            let _ = write!(out, " {dashes}nflog-group {}", self.group);
        }
        if let Some(size) = self.size {
            let _ = write!(out, " {dashes}nflog-size {size}");
        } else if let Some(range) = self.range {
            let _ = write!(out, " {dashes}nflog-range {range}");
        }
        if let Some(threshold) = self.threshold {
            let _ = write!(out, " {dashes}nflog-threshold {threshold}");
        }
    }
}

impl TargetExt for Nflog {
    const SPEC: ExtSpec = ExtSpec::new("NFLOG", BOTH, "net/netfilter/xt_NFLOG.c").options(&[
        OptSpec::new("--nflog-group", Values::One),
        OptSpec::new("--nflog-prefix", Values::One),
        OptSpec::new("--nflog-range", Values::One).excludes(&["--nflog-size"]),
        OptSpec::new("--nflog-size", Values::One).excludes(&["--nflog-range"]),
        OptSpec::new("--nflog-threshold", Values::One),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let word = |option, max| optional("NFLOG", args, option, 0, max);
        Ok(Self {
            prefix: prefix(args, "--nflog-prefix", PREFIX_MAX)?,
            group: word("--nflog-group", 65_535)?.unwrap_or(0) as u16,
            range: word("--nflog-range", u64::from(u32::MAX))?.map(|n| n as u32),
            size: word("--nflog-size", u64::from(u32::MAX))?.map(|n| n as u32),
            threshold: word("--nflog-threshold", 65_535)?.filter(|&n| n != 0).map(|n| n as u16),
        })
    }

    fn save(&self, out: &mut String) {
        self.text(out, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.text(out, "");
    }

    fn apply(&self, cx: &mut Cx<'_>, _: &mut Skb) -> Next {
        let (group, prefix) = (self.group, &self.prefix);
        cx.trace.record(cx.now, || TraceKind::Note {
            text: format!("copied to nflog group {group}, prefix \"{prefix}\""),
        });
        Next::Continue
    }
}
