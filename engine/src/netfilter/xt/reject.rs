//! `-j REJECT`: answer with an error, then drop (`ipt_REJECT.c`, `ip6t_REJECT.c`). The packet path builds and
//! sends the error.

use super::RejectWith;
use super::prelude::*;
use crate::netfilter::Verdict;

/// Name, old name, ICMP type and code.
type Kind = (&'static str, &'static str, RejectWith);

const fn icmp(kind: u8, code: u8) -> RejectWith {
    RejectWith::Icmp { kind, code }
}

/// In the tool's order: an abbreviation takes the first that fits.
const V4: [Kind; 8] = [
    ("icmp-net-unreachable", "net-unreach", icmp(3, 0)),
    ("icmp-host-unreachable", "host-unreach", icmp(3, 1)),
    ("icmp-proto-unreachable", "proto-unreach", icmp(3, 2)),
    ("icmp-port-unreachable", "port-unreach", icmp(3, 3)),
    ("icmp-net-prohibited", "net-prohib", icmp(3, 9)),
    ("icmp-host-prohibited", "host-prohib", icmp(3, 10)),
    ("tcp-reset", "tcp-rst", RejectWith::TcpReset),
    ("icmp-admin-prohibited", "admin-prohib", icmp(3, 13)),
];

const V6: [Kind; 7] = [
    ("icmp6-no-route", "no-route", icmp(1, 0)),
    ("icmp6-adm-prohibited", "adm-prohibited", icmp(1, 1)),
    ("icmp6-addr-unreachable", "addr-unreach", icmp(1, 3)),
    ("icmp6-port-unreachable", "port-unreach", icmp(1, 4)),
    ("tcp-reset", "tcp-rst", RejectWith::TcpReset),
    ("icmp6-policy-fail", "policy-fail", icmp(1, 5)),
    ("icmp6-reject-route", "reject-route", icmp(1, 6)),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    pub with: RejectWith,
    /// As the tool prints it.
    name: &'static str,
}

impl TargetExt for Reject {
    const SPEC: ExtSpec =
        ExtSpec::new("REJECT", BOTH, "net/ipv4/netfilter/ipt_REJECT.c, net/ipv6/netfilter/ip6t_REJECT.c")
            .tables(&["filter"])
            .hooks(&[Hook::Input, Hook::Forward, Hook::Output])
            .options(&[OptSpec::new("--reject-with", Values::One)]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let kinds: &[Kind] = match args.family {
            Family::V4 => &V4,
            Family::V6 => &V6,
        };
        let (name, _, with) = match args.get("--reject-with") {
            None => kinds[3],
            Some((at, opt)) => {
                let text = opt.values[0];
                let found =
                    kinds.iter().find(|(name, old, _)| abbreviates(text, name) || abbreviates(text, old));
                *found.ok_or_else(|| {
                    let echo = abbreviates(text, "echo-reply") || abbreviates(text, "echoreply");
                    ArgError::at(
                        at,
                        if args.family == Family::V4 && echo {
                            "--reject-with echo-reply no longer supported".to_owned()
                        } else {
                            format!("unknown reject type \"{text}\"")
                        },
                    )
                })?
            }
        };
        if with == RejectWith::TcpReset && args.proto_exact() != Some(proto::TCP) {
            let why = "REJECT: TCP_RESET invalid for non-tcp";
            return Err(ArgError::kernel(Errno::Inval, why));
        }
        Ok(Self { with, name })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, " --reject-with {}", self.name);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " reject-with {}", self.name);
    }

    fn apply(&self, _: &mut Cx<'_>, _: &mut Skb) -> Next {
        Next::Verdict(Verdict::Reject(self.with))
    }
}
