//! What counts and what limits: counters, token buckets, quotas, connections counted (`nft_counter.c`, `nft_limit.c`,
//! `nft_quota.c`, `nft_connlimit.c`, `nft_last.c`). Statements, elements of sets and named objects share it.

use super::{Stop, Walk};
use crate::base::{Duration, Instant};
use crate::conntrack::tcp::State;
use crate::conntrack::{Conntrack, Proto, Tuple};
use crate::netfilter::Cx;
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::state::{CountedConnection, Slot, StmtState};
use crate::netfilter::nft::stmt::{Limit, Quota};
use crate::packet::Skb;

const NSEC_PER_SEC: u64 = 1_000_000_000;
/// A counted connection that is not in the table yet is kept for two jiffies (`nf_conncount.c`).
const FRESH: Duration = Duration::from_millis(8);

/// Runs a stateful statement on its state; breaks where it does not match.
pub(super) fn run(kind: &ElementStmt, state: &mut StmtState, cx: &mut Cx<'_>, skb: &Skb) -> Result<(), Stop> {
    let bytes = skb.packet.len_bytes() as u64;
    let pass = match (kind, state) {
        (ElementStmt::Counter, StmtState::Counter(counters)) => {
            counters.add(bytes);
            true
        }
        (ElementStmt::Limit(limit), StmtState::Limit(bucket)) => take(limit, bucket, cx.now, bytes),
        (ElementStmt::Quota(quota), StmtState::Quota { used_bytes }) => use_up(quota, used_bytes, bytes),
        (ElementStmt::CtCount { over, count }, StmtState::CtCount(list)) => {
            let Some(now) = count_connection(list, cx, skb) else { return Err(Stop::Break) };
            (now > *count as usize) == *over
        }
        (ElementStmt::Last, StmtState::Last(at)) => {
            *at = Some(cx.now);
            true
        }
        // Text made the state for the statement, so they agree.
        _ => true,
    };
    if pass { Ok(()) } else { Err(Stop::Break) }
}

/// `nft_limit_eval`: whether the packet passes. The bucket starts full and is never above its size.
fn take(limit: &Limit, bucket: &mut Option<(u64, Instant)>, now: Instant, bytes: u64) -> bool {
    let (rate, burst) = (limit.rate.max(1), u64::from(limit.burst));
    let span = limit.unit.seconds().saturating_mul(NSEC_PER_SEC);
    let (size, cost) = if limit.bytes {
        let size = u128::from(span) * u128::from(rate.saturating_add(burst)) / u128::from(rate);
        let cost = u128::from(span) * u128::from(bytes) / u128::from(rate);
        (u64::try_from(size).unwrap_or(u64::MAX), u64::try_from(cost).unwrap_or(u64::MAX))
    } else {
        ((span / rate).saturating_mul(burst), span / rate)
    };
    let tokens = match *bucket {
        None => size,
        Some((tokens, seen)) => tokens.saturating_add(now.since(seen).as_nanos()).min(size),
    };
    let within = tokens >= cost;
    *bucket = Some((if within { tokens - cost } else { tokens }, now));
    within != limit.over
}

/// `nft_quota_do_eval`: the packet counts, and passes while no more than the quota is used up. Listings say that at most
/// the quota was used, and so does the state: the next packet is over it anyway.
fn use_up(quota: &Quota, used: &mut u64, bytes: u64) -> bool {
    let now = used.saturating_add(bytes);
    *used = now.min(quota.bytes.max(*used));
    (now > quota.bytes) == quota.over
}

/// `nft_connlimit_do_eval`: how many connections are counted, this one among them; none for a packet without a tuple.
fn count_connection(list: &mut Vec<CountedConnection>, cx: &mut Cx<'_>, skb: &Skb) -> Option<usize> {
    let entry = skb.ct.and_then(|at| cx.ct.entry(at));
    let (tuple, zone) = match entry {
        Some(entry) => (entry.original, entry.zone),
        None => (Tuple::of(&skb.packet)?, 0),
    };
    let now = cx.now;
    let mut counted = false;
    list.retain(|have| {
        let live = is_live(have, &tuple, cx.ct, now);
        counted |= live && have.tuple == tuple && have.zone == zone;
        live
    });
    if !counted {
        list.push(CountedConnection { tuple, zone, added: now });
    }
    Some(list.len())
}

fn is_live(have: &CountedConnection, own: &Tuple, ct: &mut Conntrack, now: Instant) -> bool {
    let found = ct.find(&have.tuple, have.zone, now).map(|(at, _)| at);
    match found.and_then(|at| ct.entry(at)) {
        None => now.since(have.added) <= FRESH,
        // Closed connections do not count.
        Some(entry) => have.tuple == *own || !is_closed(&entry.proto),
    }
}

const fn is_closed(proto: &Proto) -> bool {
    match proto {
        Proto::Tcp(tcp) => matches!(tcp.state, State::TimeWait | State::Close),
        Proto::None | Proto::Udp { .. } | Proto::Sctp(_) => false,
    }
}

impl Walk<'_, '_, '_> {
    /// A stateful statement of a rule or a named object.
    pub(super) fn rate(&mut self, kind: &ElementStmt, slot: Slot, skb: &Skb) -> Result<(), Stop> {
        let Some(state) = self.state.get_mut(slot) else { return Ok(()) };
        let ran = run(kind, state, self.cx, skb);
        if !matches!(kind, ElementStmt::Counter | ElementStmt::Last) {
            let have = match self.state.get(slot) {
                StmtState::Quota { used_bytes } => format!("{used_bytes} bytes used"),
                StmtState::CtCount(list) => format!("{} connections", list.len()),
                _ => if ran.is_ok() { "within" } else { "not within" }.to_owned(),
            };
            self.check(ran.is_ok(), || {
                let (field, want) = super::show::rate_words(kind);
                (field.to_owned(), have, want)
            });
        }
        ran
    }
}
