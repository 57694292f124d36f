//! `-m mac`: source address of the Ethernet frame (`xt_mac.c`).

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mac {
    addr: [u8; 6],
    inverted: bool,
}

fn text(addr: [u8; 6]) -> String {
    addr.map(|b| format!("{b:02x}")).join(":")
}

/// Six hexadecimal bytes of one or two digits.
fn parse(text: &str) -> Option<[u8; 6]> {
    let mut addr = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut addr {
        let part = parts.next().filter(|p| (1..=2).contains(&p.len()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(addr)
}

impl MatchExt for Mac {
    const SPEC: ExtSpec = ExtSpec::new("mac", BOTH, "net/netfilter/xt_mac.c")
        .hooks(&[Hook::Prerouting, Hook::Input, Hook::Forward])
        .options(&[OptSpec::new("--mac-source", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--mac-source")?;
        let addr = parse(opt.values[0]).ok_or_else(|| ArgError::at(at, "Invalid MAC address specified."))?;
        Ok(Self { addr, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --mac-source {}", bang(self.inverted), text(self.addr));
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " MAC{} {}", bang(self.inverted), text(self.addr));
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let want = || format!("{}{}", not(self.inverted), text(self.addr));
        let Some(have) = skb.mac_src else {
            // Not Ethernet: even inverted it does not match.
            return why.check(false, "--mac-source", || "no Ethernet header".to_owned(), want).into();
        };
        why.check((have == self.addr) != self.inverted, "--mac-source", || text(have), want).into()
    }
}
