//! `-m esp` and `-m ah`: the security parameter index of IPsec headers (`xt_esp.c`, `ipt_ah.c`).

use super::header;
use super::prelude::*;

/// A range of indexes, both ends included and not ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spis {
    low: u32,
    high: u32,
    inverted: bool,
}

impl Spis {
    const ANY: Self = Self { low: 0, high: u32::MAX, inverted: false };

    fn parse(args: &Parsed<'_>, ext: &str, option: &str) -> Result<Self, ArgError> {
        let Some((at, opt)) = args.get(option) else { return Ok(Self::ANY) };
        let (low, high) = number_range(ext, at, opt, u64::from(u32::MAX))?;
        Ok(Self { low: low as u32, high: high as u32, inverted: opt.inverted })
    }

    fn text(self) -> String {
        range_text((self.low, self.high))
    }

    /// The whole range prints nothing, even inverted.
    fn save(self, out: &mut String, option: &str) {
        if (self.low, self.high) != (0, u32::MAX) {
            let _ = write!(out, "{} {option} {}", bang(self.inverted), self.text());
        }
    }

    fn list(self, out: &mut String) {
        if self != Self::ANY {
            let plural = if self.low == self.high { "" } else { "s" };
            let _ = write!(out, "spi{plural}:{}{}", if self.inverted { "!" } else { "" }, self.text());
        }
    }

    /// `at`: where the index stands in a header of `len` bytes.
    fn eval(
        self,
        packet: &Packet,
        at: usize,
        len: usize,
        option: &'static str,
        why: &mut Why,
    ) -> MatchResult {
        let want = || format!("{}{}", not(self.inverted), self.text());
        if packet.is_later_fragment() {
            return why.check(false, option, || "a later fragment".to_owned(), want).into();
        }
        let bytes = header::raw(packet).filter(|b| b.len() >= len);
        let Some(spi) = bytes.and_then(|b| b.get(at..at + 4)?.try_into().ok()).map(u32::from_be_bytes) else {
            why.check(false, option, || "header cut short".to_owned(), want);
            return MatchResult::Hotdrop;
        };
        let within = self.low <= spi && spi <= self.high;
        why.check(within != self.inverted, option, || spi.to_string(), want).into()
    }
}

/// `-m esp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Esp(Spis);

impl MatchExt for Esp {
    const SPEC: ExtSpec = ExtSpec::new("esp", BOTH, "net/netfilter/xt_esp.c")
        .protos(&[proto::ESP])
        .options(&[OptSpec::new("--espspi", Values::One).negatable()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Spis::parse(args, "esp", "--espspi").map(Self)
    }

    fn save(&self, out: &mut String) {
        self.0.save(out, "--espspi");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(if self.0 == Spis::ANY { " esp" } else { " esp " });
        self.0.list(out);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        self.0.eval(&skb.packet, 0, 8, "--espspi", why)
    }
}

/// `-m ah`, IPv4 only: in IPv6 the header is an extension header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ah(Spis);

impl MatchExt for Ah {
    const SPEC: ExtSpec = ExtSpec::new("ah", ONLY_V4, "net/ipv4/netfilter/ipt_ah.c")
        .protos(&[proto::AH])
        .options(&[OptSpec::new("--ahspi", Values::One).negatable()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Spis::parse(args, "ah", "--ahspi").map(Self)
    }

    fn save(&self, out: &mut String) {
        self.0.save(out, "--ahspi");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" ah ");
        self.0.list(out);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        self.0.eval(&skb.packet, 4, 12, "--ahspi", why)
    }
}
