//! `-m ecn` and `-j ECN`: explicit congestion notification (`xt_ecn.c`, `ipt_ECN.c`).

use super::header;
use super::prelude::*;
use crate::netfilter::Verdict;
use crate::netfilter::rule::Not;
use crate::packet::TcpFlags;
use crate::trace::DropReason;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// Inverted.
    ece: Option<bool>,
    cwr: Option<bool>,
    /// The codepoint of the IP header.
    ect: Option<Not<u8>>,
}

impl MatchExt for Ecn {
    const SPEC: ExtSpec = ExtSpec::new("ecn", BOTH, "net/netfilter/xt_ecn.c").options(&[
        OptSpec::new("--ecn-tcp-cwr", Values::None).negatable(),
        OptSpec::new("--ecn-tcp-ece", Values::None).negatable(),
        OptSpec::new("--ecn-ip-ect", Values::One).negatable(),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        if args.opts.is_empty() {
            return Err(ArgError::whole("ECN match: some option required"));
        }
        let flag = |option| args.get(option).map(|(_, opt)| opt.inverted);
        let ect = match args.get("--ecn-ip-ect") {
            None => None,
            Some((at, opt)) => {
                Some(Not { value: number("ecn", at, opt, 0, 3)? as u8, inverted: opt.inverted })
            }
        };
        let ecn = Self { ece: flag("--ecn-tcp-ece"), cwr: flag("--ecn-tcp-cwr"), ect };
        let tcp = ecn.ece.is_some() || ecn.cwr.is_some();
        if tcp && args.proto_exact() != Some(proto::TCP) {
            return Err(ArgError::kernel(Errno::Inval, "ecn: cannot match TCP bits for non-TCP packets"));
        }
        Ok(ecn)
    }

    fn save(&self, out: &mut String) {
        for (option, inverted) in [("--ecn-tcp-ece", self.ece), ("--ecn-tcp-cwr", self.cwr)] {
            if let Some(inverted) = inverted {
                let _ = write!(out, "{} {option}", bang(inverted));
            }
        }
        if let Some(ect) = self.ect {
            let _ = write!(out, "{} --ecn-ip-ect {}", bang(ect.inverted), ect.value);
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" ECN match");
        for (name, inverted) in [("ECE", self.ece), ("CWR", self.cwr)] {
            if let Some(inverted) = inverted {
                let _ = write!(out, " {}{name}", if inverted { "!" } else { "" });
            }
        }
        if let Some(ect) = self.ect {
            let _ = write!(out, " {}ECT={}", if ect.inverted { "!" } else { "" }, ect.value);
        }
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        if let Some(ect) = self.ect {
            let have = skb.packet.ip.tos & 0x03;
            let pass = why.check(
                (have == ect.value) != ect.inverted,
                "--ecn-ip-ect",
                || have.to_string(),
                || format!("{}{}", not(ect.inverted), ect.value),
            );
            if !pass {
                return MatchResult::No;
            }
        }
        if self.ece.is_none() && self.cwr.is_none() {
            return MatchResult::Yes;
        }
        let Some(tcp) = header::tcp(&skb.packet) else {
            let want = || "a TCP header".to_owned();
            return why.check(false, "-m ecn", || "header cut short".to_owned(), want).into();
        };
        let flag = |inverted: Option<bool>, option, flag, why: &mut Why| {
            inverted.is_none_or(|inverted| {
                let have = tcp.flags.has(flag);
                let text = |set: bool| if set { "set" } else { "clear" }.to_owned();
                why.check(have != inverted, option, || text(have), || text(!inverted))
            })
        };
        (flag(self.ece, "--ecn-tcp-ece", TcpFlags::ECE, why)
            && flag(self.cwr, "--ecn-tcp-cwr", TcpFlags::CWR, why))
        .into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcnTarget {
    remove: bool,
    ect: Option<u8>,
}

/// A TCP header without options, in bytes.
const TCP_HEADER: usize = 20;

impl TargetExt for EcnTarget {
    const SPEC: ExtSpec =
        ExtSpec::new("ECN", ONLY_V4, "net/ipv4/netfilter/ipt_ECN.c").tables(&["mangle"]).options(&[
            OptSpec::new("--ecn-tcp-remove", Values::None),
            OptSpec::new("--ecn-ip-ect", Values::One),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        if args.opts.is_empty() {
            return Err(ArgError::whole("ECN target: An operation is required"));
        }
        let ect = optional("ECN", args, "--ecn-ip-ect", 0, 3)?.map(|n| n as u8);
        let remove = args.has("--ecn-tcp-remove");
        if remove && args.proto_exact() != Some(proto::TCP) {
            return Err(ArgError::kernel(Errno::Inval, "ECN: cannot use operation on non-tcp rule"));
        }
        Ok(Self { remove, ect })
    }

    fn save(&self, out: &mut String) {
        if self.remove {
            out.push_str(" --ecn-tcp-remove");
        }
        if let Some(ect) = self.ect {
            let _ = write!(out, " --ecn-ip-ect {ect}");
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" ECN");
        if self.remove {
            out.push_str(" TCP remove");
        }
        if let Some(ect) = self.ect {
            let _ = write!(out, " ECT codepoint={ect}");
        }
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        if let Some(ect) = self.ect {
            let before = skb.packet.ip.tos;
            skb.packet.ip.tos = (before & 0xfc) | ect;
            cx.rewrote(
                "ECN",
                "tos",
                format_args!("0x{before:02x}"),
                format_args!("0x{:02x}", skb.packet.ip.tos),
            );
        }
        if self.remove && skb.packet.l4.len_bytes() < TCP_HEADER {
            // `set_ect_tcp` reads twenty bytes, of a later fragment as well.
            return Next::Verdict(Verdict::Drop(DropReason::Malformed));
        }
        if self.remove {
            skb.make_writable(TCP_HEADER);
        }
        if self.remove
            && let L4::Tcp(tcp) = &mut skb.packet.l4
        {
            let before = tcp.flags;
            tcp.flags = TcpFlags(before.0 & !(TcpFlags::ECE.0 | TcpFlags::CWR.0));
            let after = tcp.flags;
            cx.rewrote("ECN", "flags", format_args!("0x{:02x}", before.0), format_args!("0x{:02x}", after.0));
        }
        Next::Continue
    }
}
