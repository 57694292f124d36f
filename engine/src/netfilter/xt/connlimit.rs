//! `-m connlimit`: how many connections an address has (`xt_connlimit.c`, `nf_conncount.c`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::jiffies::jiffies;
use super::prelude::*;
use crate::base::KernelVersion;
use crate::conntrack::tcp::State;
use crate::conntrack::{Conntrack, Entry, Proto, Tuple};

/// Ticks an entry that is not confirmed yet is kept for (`find_or_evict`).
const FRESH_JIFFIES: u64 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connlimit {
    limit: u32,
    upto: bool,
    dest: bool,
    len: u8,
    family: Family,
}

/// The connections a rule has seen, by address and zone; each with the tick it was added.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    lists: BTreeMap<(IpAddr, u16), Vec<(Tuple, u64)>>,
}

impl Counted {
    /// Adds `tuple` under the key and returns how many live ones there are.
    fn count(
        &mut self,
        ct: &mut Conntrack,
        cx_now: crate::base::Instant,
        key: (IpAddr, u16),
        tuple: Tuple,
        settled: bool,
    ) -> usize {
        let now = jiffies(cx_now);
        let list = self.lists.entry(key).or_default();
        let mut known = false;
        list.retain(|(have, added)| {
            let found = ct.find(have, key.1, cx_now).map(|(at, _)| at);
            let live = match found.and_then(|at| ct.entry(at)) {
                None => now.saturating_sub(*added) <= FRESH_JIFFIES,
                // Closed connections do not count.
                Some(entry) => *have == tuple && !settled || !closed(&entry.proto),
            };
            known |= live && *have == tuple;
            live
        });
        if !known && !settled {
            list.push((tuple, now));
        }
        list.len()
    }
}

const fn closed(proto: &Proto) -> bool {
    match proto {
        Proto::Tcp(tcp) => matches!(tcp.state, State::TimeWait | State::Close),
        Proto::None | Proto::Udp { .. } | Proto::Sctp(_) => false,
    }
}

impl MatchExt for Connlimit {
    const SPEC: ExtSpec = ExtSpec::new("connlimit", BOTH, "net/netfilter/xt_connlimit.c").options(&[
        OptSpec::new("--connlimit-upto", Values::One).negatable().excludes(&["--connlimit-above"]),
        OptSpec::new("--connlimit-above", Values::One).negatable().excludes(&["--connlimit-upto"]),
        OptSpec::new("--connlimit-mask", Values::One),
        OptSpec::new("--connlimit-saddr", Values::None),
        OptSpec::new("--connlimit-daddr", Values::None),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let full = match args.family {
            Family::V4 => 32,
            Family::V6 => 128,
        };
        let len = optional("connlimit", args, "--connlimit-mask", 0, 128)?.map_or(full, |n| n as u8);
        let given = args.get("--connlimit-above").or_else(|| args.get("--connlimit-upto"));
        let Some((at, opt)) = given else {
            return Err(ArgError::whole("You must specify \"--connlimit-above\" or \"--connlimit-upto\"."));
        };
        let limit = number("connlimit", at, opt, 0, u64::from(u32::MAX))? as u32;
        let upto = (opt.name == "--connlimit-upto") != opt.inverted;
        let side =
            args.opts.iter().rev().find(|o| matches!(o.name, "--connlimit-saddr" | "--connlimit-daddr"));
        let dest = side.is_some_and(|o| o.name == "--connlimit-daddr");
        Ok(Self { limit, upto, dest, len: len.min(full), family: args.family })
    }

    fn save(&self, out: &mut String) {
        let option = if self.upto { "--connlimit-upto" } else { "--connlimit-above" };
        let side = if self.dest { "--connlimit-daddr" } else { "--connlimit-saddr" };
        let _ = write!(out, " {option} {} --connlimit-mask {} {side}", self.limit, self.len);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let side = if self.dest { "dst" } else { "src" };
        let sign = if self.upto { "<=" } else { ">" };
        let _ = write!(out, " #conn {side}/{} {sign} {}", self.len, self.limit);
    }

    fn initial_state(&self, _: u64, _: &dyn Fn() -> String) -> Option<RuleState> {
        Some(RuleState::Connlimit(Box::default()))
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, state: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let Some(RuleState::Connlimit(counted)) = state else { return MatchResult::No };
        let entry = skb.ct.and_then(|at| cx.ct.entry(at));
        let tuple = entry.map(|e| (e.original, e.zone)).or_else(|| Some((Tuple::of(&skb.packet)?, 0)));
        let Some((tuple, zone)) = tuple else {
            let want = || "a connection".to_owned();
            why.check(false, "-m connlimit", || "no tuple in the bytes".to_owned(), want);
            return MatchResult::Hotdrop;
        };
        let ip = &skb.packet.ip;
        let addr = masked(if self.dest { ip.dst } else { ip.src }, prefix_mask(self.family, self.len));
        // Since 6.18 a confirmed connection is not counted anew: its first packet was (`-EEXIST`).
        let settled = cx.kernel >= KernelVersion::V6_18 && entry.is_some_and(Entry::is_confirmed);
        let count = counted.count(cx.ct, cx.now, (addr, zone), tuple, settled);
        why.check(
            (count > self.limit as usize) != self.upto,
            "-m connlimit",
            || format!("{count} connections of {addr}/{}", self.len),
            || format!("{} {}", if self.upto { "at most" } else { "more than" }, self.limit),
        )
        .into()
    }
}
