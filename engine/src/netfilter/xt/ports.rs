//! [`PortTest`]: the port range of tcp, udp, sctp and dccp.

use super::prelude::*;

/// A range of ports, both ends included, and whether it is inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortTest {
    pub low: u16,
    pub high: u16,
    pub inverted: bool,
}

impl PortTest {
    /// The test of a rule that does not name the port.
    pub const ANY: Self = Self { low: 0, high: u16::MAX, inverted: false };

    const fn spans_all(self) -> bool {
        self.low == 0 && self.high == u16::MAX
    }

    /// What iptables-nft makes of it: it stores `! --dport 0:80` as "greater than 80" and reads that back as a
    /// plain range.
    pub const fn read_back_by_nft(self) -> Self {
        match self {
            Self { low: 0, high, inverted: true } if high > 0 && high < u16::MAX => {
                Self { low: high + 1, high: u16::MAX, inverted: false }
            }
            other => other,
        }
    }

    /// The only port that passes, if it is one.
    pub const fn exact(self) -> Option<u16> {
        if self.low == self.high && !self.inverted { Some(self.low) } else { None }
    }

    pub const fn matches(self, port: u16) -> bool {
        (self.low <= port && port <= self.high) != self.inverted
    }

    /// The same on a port that may not be there.
    pub(super) fn check_loaded(self, why: &mut Why, option: &'static str, port: Option<u16>) -> bool {
        match port {
            Some(port) => self.check(why, option, port),
            None if self == Self::ANY => true,
            None => why.check(false, option, || "no such bytes".to_owned(), || "a port".to_owned()),
        }
    }

    pub(super) fn check(self, why: &mut Why, option: &'static str, port: u16) -> bool {
        if self == Self::ANY {
            return true;
        }
        why.check(
            self.matches(port),
            option,
            || port.to_string(),
            || format!("{}{}", not(self.inverted), self.text()),
        )
    }

    fn text(self) -> String {
        range_text((self.low, self.high))
    }

    /// ` --dport 80`. The whole range prints nothing, even inverted.
    pub(super) fn save(self, out: &mut String, option: &str) {
        if !self.spans_all() {
            let _ = write!(out, "{} {option} {}", bang(self.inverted), self.text());
        }
    }

    /// The same, the whole range printed too.
    pub(super) fn save_always(self, out: &mut String, option: &str) {
        let _ = write!(out, "{} {option} {}", bang(self.inverted), self.text());
    }

    /// ` dpt:80` or ` dpts:80:90`.
    pub(super) fn list(self, out: &mut String, name: &str) {
        if self == Self::ANY {
            return;
        }
        let not = if self.inverted { "!" } else { "" };
        let plural = if self.low == self.high { "" } else { "s" };
        let _ = write!(out, " {name}{plural}:{not}{}", self.text());
    }

    /// From an option of the guided parser; [`Self::ANY`] when it was not given.
    pub(super) fn guided(args: &Parsed<'_>, option: &str) -> Result<Self, ArgError> {
        let Some((at, opt)) = args.get(option) else { return Ok(Self::ANY) };
        let (low, high) = port_range_guided(at, opt.values[0])?;
        Ok(Self { low, high, inverted: opt.inverted })
    }

    /// From an option that the tool reads by hand (`libxt_tcp.c`): numbers of any base, ordered bounds.
    pub(super) fn by_hand(args: &Parsed<'_>, option: &str) -> Result<Self, ArgError> {
        let Some((at, opt)) = args.get(option) else { return Ok(Self::ANY) };
        let (low, high) = match opt.values[0].split_once(':') {
            None => {
                let port = port_old(at, opt.values[0])?;
                (port, port)
            }
            Some((low, high)) => (
                if low.is_empty() { 0 } else { port_old(at, low)? },
                if high.is_empty() { u16::MAX } else { port_old(at, high)? },
            ),
        };
        if low > high {
            return Err(ArgError::at(at, "invalid portrange (min > max)"));
        }
        Ok(Self { low, high, inverted: opt.inverted })
    }
}
