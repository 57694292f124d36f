//! `-m tcpmss` and `-j TCPMSS`: the maximum segment size option (`xt_tcpmss.c`, `xt_TCPMSS.c`).

use super::Match;
use super::header;
use super::prelude::*;
use crate::netfilter::Verdict;
use crate::netfilter::rule::BoundMatch;
use crate::trace::DropReason;

/// Kind and length of the option (RFC 9293).
const KIND: u8 = 2;
const LEN: u8 = 4;

/// Position of the value of a well-formed MSS option.
fn find(options: &[u8]) -> Option<usize> {
    let mut i = 0;
    while let Some(&kind) = options.get(i) {
        if kind == KIND && options.len() - i >= usize::from(LEN) && options[i + 1] == LEN {
            return Some(i + 2);
        }
        i += match options.get(i + 1) {
            _ if kind < 2 => 1,
            None | Some(0) => 1,
            Some(&len) => usize::from(len),
        };
    }
    None
}

fn mss(options: &[u8]) -> Option<u16> {
    let at = find(options)?;
    Some(u16::from_be_bytes([options[at], options[at + 1]]))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcpmss {
    low: u16,
    high: u16,
    inverted: bool,
}

impl MatchExt for Tcpmss {
    const SPEC: ExtSpec = ExtSpec::new("tcpmss", BOTH, "net/netfilter/xt_tcpmss.c")
        .protos(&[proto::TCP])
        .options(&[OptSpec::new("--mss", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--mss")?;
        let (low, high) = number_range("tcpmss", at, opt, 65_535)?;
        if low > high {
            return Err(ArgError::at(at, "tcpmss: invalid range given"));
        }
        Ok(Self { low: low as u16, high: high as u16, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --mss {}", bang(self.inverted), range_text((self.low, self.high)));
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let bang = if self.inverted { "!" } else { "" };
        let _ = write!(out, " tcpmss match {bang}{}", range_text((self.low, self.high)));
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let want = || format!("{}{}", not(self.inverted), range_text((self.low, self.high)));
        let Some(options) = header::tcp(&skb.packet).and_then(|tcp| tcp.options) else {
            why.check(false, "--mss", || "no whole TCP header".to_owned(), want);
            return MatchResult::Hotdrop;
        };
        let Some(have) = mss(options) else {
            return why.check(self.inverted, "--mss", || "no MSS option".to_owned(), want).into();
        };
        let within = self.low <= have && have <= self.high;
        why.check(within != self.inverted, "--mss", || have.to_string(), want).into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpmssTarget {
    /// None: what the path's MTU leaves.
    mss: Option<u16>,
}

impl TcpmssTarget {
    /// The rule must match SYN (`find_syn_match`).
    pub fn check_matches(&self, matches: &[BoundMatch]) -> Result<(), ArgError> {
        let syn = |m: &BoundMatch| match &m.m {
            Match::Tcp(tcp) => tcp.flags.is_some_and(|(_, wanted, inverted)| wanted & 0x02 != 0 && !inverted),
            _ => false,
        };
        if matches.iter().any(syn) {
            return Ok(());
        }
        Err(ArgError::kernel(Errno::Inval, "TCPMSS: only works on TCP SYN packets"))
    }

    /// The value to set; none when the MTU leaves no room.
    fn wanted(&self, cx: &Cx<'_>, packet: &Packet) -> Option<u16> {
        if self.mss.is_some() {
            return self.mss;
        }
        let headers = match packet.family() {
            Family::V4 => 40,
            Family::V6 => 60,
        };
        let mtu = cx.fib.path_mtu(packet.ip.dst).min(cx.fib.path_mtu(packet.ip.src));
        mtu.checked_sub(headers).filter(|&mss| mss > 0).map(|mss| mss.min(65_535) as u16)
    }
}

impl TargetExt for TcpmssTarget {
    const SPEC: ExtSpec =
        ExtSpec::new("TCPMSS", BOTH, "net/netfilter/xt_TCPMSS.c").protos(&[proto::TCP]).options(&[
            OptSpec::new("--set-mss", Values::One),
            OptSpec::new("--clamp-mss-to-pmtu", Values::None),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let mss = optional("TCPMSS", args, "--set-mss", 0, 65_515)?.map(|n| n as u16);
        // The last of the two counts.
        match args.opts.last() {
            None => Err(ArgError::whole("TCPMSS target: At least one parameter is required")),
            Some(opt) if opt.name == "--clamp-mss-to-pmtu" => Ok(Self { mss: None }),
            Some(_) => Ok(Self { mss }),
        }
    }

    fn save(&self, out: &mut String) {
        let _ = match self.mss {
            None => write!(out, " --clamp-mss-to-pmtu"),
            Some(mss) => write!(out, " --set-mss {mss}"),
        };
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = match self.mss {
            None => write!(out, " TCPMSS clamp to PMTU"),
            Some(mss) => write!(out, " TCPMSS set {mss}"),
        };
    }

    fn check_hooks(&self, from: &[Hook]) -> Result<(), ArgError> {
        let allowed = [Hook::Forward, Hook::Output, Hook::Postrouting];
        if self.mss.is_none() && from.iter().any(|h| !allowed.contains(h)) {
            return Err(ArgError::kernel(
                Errno::Inval,
                "TCPMSS: path-MTU clamping only supported in FORWARD, OUTPUT and POSTROUTING hooks",
            ));
        }
        Ok(())
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        if skb.packet.is_later_fragment() {
            return Next::Continue;
        }
        let Some(wanted) = self.wanted(cx, &skb.packet) else {
            return Next::Verdict(Verdict::Drop(DropReason::PacketTooBig));
        };
        skb.make_writable(usize::MAX);
        let family = skb.packet.family();
        let L4::Tcp(tcp) = &mut skb.packet.l4 else {
            return Next::Verdict(Verdict::Drop(DropReason::Malformed));
        };
        if let Some(at) = find(&tcp.options) {
            let before = u16::from_be_bytes([tcp.options[at], tcp.options[at + 1]]);
            // Never increased: hosts rely on what they announced.
            if before > wanted {
                tcp.options[at..at + 2].copy_from_slice(&wanted.to_be_bytes());
                cx.rewrote("TCPMSS", "mss", before, wanted);
            }
            return Next::Continue;
        }
        // Data behind the header, or no room in it: left alone.
        if !tcp.payload.is_empty() || tcp.options.len() >= 40 {
            return Next::Continue;
        }
        // RFC 1122: without the option the peer assumed this much at most.
        let assumed = match family {
            Family::V4 => 536,
            Family::V6 => 1220,
        };
        let [high, low] = wanted.min(assumed).to_be_bytes();
        tcp.options.splice(0..0, [KIND, LEN, high, low]);
        cx.rewrote("TCPMSS", "mss", "none", wanted.min(assumed));
        Next::Continue
    }
}
