//! `-j TCPOPTSTRIP`: overwrites TCP options with NOP (`xt_TCPOPTSTRIP.c`).

use super::prelude::*;
use crate::netfilter::Verdict;
use crate::trace::DropReason;

/// Names the tool reads.
const NAMES: [(&str, u8); 6] =
    [("wscale", 3), ("mss", 2), ("sack-permitted", 4), ("sack", 5), ("timestamp", 8), ("md5", 19)];
const NOP: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcpoptstrip {
    /// Sorted, without duplicates.
    kinds: Box<[u8]>,
}

impl Tcpoptstrip {
    fn text(&self) -> String {
        self.kinds.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
    }
}

impl TargetExt for Tcpoptstrip {
    const SPEC: ExtSpec = ExtSpec::new("TCPOPTSTRIP", BOTH, "net/netfilter/xt_TCPOPTSTRIP.c")
        .tables(&["mangle"])
        .protos(&[proto::TCP])
        .options(&[OptSpec::new("--strip-options", Values::One)]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let mut kinds = Vec::new();
        if let Some((at, opt)) = args.get("--strip-options") {
            for word in opt.values[0].split(',') {
                let named = NAMES.iter().find(|n| n.0 == word).map(|n| n.1);
                let kind = named.or_else(|| parse_number(word, 255).map(|n| n as u8));
                match kind {
                    None => return Err(ArgError::at(at, format!("Bad TCP option value \"{word}\""))),
                    Some(0 | 1) => return Err(ArgError::at(at, "Option value may not be 0 or 1")),
                    Some(kind) => kinds.push(kind),
                }
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        Ok(Self { kinds: kinds.into() })
    }

    fn save(&self, out: &mut String) {
        if !self.kinds.is_empty() {
            let _ = write!(out, " --strip-options {}", self.text());
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        if !self.kinds.is_empty() {
            let _ = write!(out, " TCPOPTSTRIP options {}", self.text());
        }
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        if skb.packet.is_later_fragment() {
            return Next::Continue;
        }
        let L4::Tcp(tcp) = &skb.packet.l4 else {
            return Next::Verdict(Verdict::Drop(DropReason::Malformed));
        };
        skb.make_writable(20 + tcp.options.len());
        let L4::Tcp(tcp) = &mut skb.packet.l4 else { return Next::Continue };
        let options = &mut tcp.options;
        let mut stripped = Vec::new();
        let mut i = 0;
        while i + 1 < options.len() {
            let kind = options[i];
            let len = if kind < 2 { 1 } else { usize::from(options[i + 1]).max(1) };
            if i + len > options.len() {
                break;
            }
            if self.kinds.contains(&kind) {
                options[i..i + len].fill(NOP);
                stripped.push(kind.to_string());
            }
            i += len;
        }
        if !stripped.is_empty() {
            cx.rewrote("TCPOPTSTRIP", "tcp options", stripped.join(","), "NOP");
        }
        Next::Continue
    }
}
