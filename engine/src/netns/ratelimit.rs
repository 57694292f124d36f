//! Limits on the ICMP errors that the node sends (`inet_peer_xrlim_allow`, `ip_error`, `ip_rt_send_redirect`). All
//! three share one record a peer.
use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::base::{Instant, Rng};

/// A peer may save up this many messages (`XRLIM_BURST_FACTOR`).
const BURST_FACTOR: u64 = 6;
/// `ip_rt_error_burst`, `ip_rt_error_cost`: five seconds, one second.
const ROUTE_ERROR_BURST_MS: u64 = 5000;
const ROUTE_ERROR_COST_MS: u64 = 1000;
/// `ip_rt_redirect_load`: the pause after a redirect, doubled by each one.
const REDIRECT_LOAD_MS: u64 = 20;
/// `ip_rt_redirect_number`: redirects after which a sender that ignores them gets no more.
const REDIRECTS_MAX: u32 = 9;
/// `ip_rt_redirect_silence`: the quiet after which redirects start over.
const REDIRECT_SILENCE_MS: u64 = REDIRECT_LOAD_MS << (REDIRECTS_MAX + 1);
/// A peer nobody heard of starts as if it had been quiet for a minute.
const INITIAL_MS: u64 = 60_000;
/// Peers remembered (`inet_peer_threshold` is 65,664); beyond it the quietest is forgotten.
const PEERS_MAX: usize = 65_664;

/// Saved time in milliseconds, when it was last counted, and redirects sent (`struct inet_peer`).
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens_ms: u64,
    last_ms: u64,
    redirects: u32,
}

/// Token buckets by peer.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerLimits {
    buckets: BTreeMap<IpAddr, Bucket>,
}

impl PeerLimits {
    /// Whether another message may go to `peer`, one in `interval_ms` on average. Zero means no limit.
    pub(super) fn allow(&mut self, peer: IpAddr, interval_ms: u32, now: Instant) -> bool {
        let interval = u64::from(interval_ms);
        interval == 0 || self.take(peer, interval * BURST_FACTOR, interval, now)
    }

    /// The separate limit of `ip_error`, on the same bucket.
    pub(super) fn allow_route_error(&mut self, peer: IpAddr, now: Instant) -> bool {
        self.take(peer, ROUTE_ERROR_BURST_MS, ROUTE_ERROR_COST_MS, now)
    }

    /// Whether `peer` may be told of a better next hop.
    pub(super) fn allow_redirect(&mut self, peer: IpAddr, now: Instant) -> bool {
        let now_ms = now.0 / 1_000_000;
        let known = self.buckets.contains_key(&peer);
        let bucket = self.bucket(peer, now_ms);
        if !known || now_ms > bucket.last_ms + REDIRECT_SILENCE_MS {
            (bucket.tokens_ms, bucket.redirects) = (0, 0);
        }
        if bucket.redirects >= REDIRECTS_MAX {
            bucket.last_ms = now_ms;
            return false;
        }
        bucket.redirects == 0 || now_ms > bucket.last_ms + (REDIRECT_LOAD_MS << bucket.redirects)
    }

    /// A redirect went out to `peer`.
    pub(super) fn count_redirect(&mut self, peer: IpAddr, now: Instant) {
        let now_ms = now.0 / 1_000_000;
        let bucket = self.bucket(peer, now_ms);
        bucket.last_ms = now_ms;
        bucket.redirects += 1;
    }

    fn take(&mut self, peer: IpAddr, burst_ms: u64, cost_ms: u64, now: Instant) -> bool {
        let now_ms = now.0 / 1_000_000;
        let bucket = self.bucket(peer, now_ms);
        bucket.tokens_ms = (bucket.tokens_ms + now_ms.saturating_sub(bucket.last_ms)).min(burst_ms);
        bucket.last_ms = now_ms;
        let allowed = bucket.tokens_ms >= cost_ms;
        if allowed {
            bucket.tokens_ms -= cost_ms;
        }
        allowed
    }

    fn bucket(&mut self, peer: IpAddr, now_ms: u64) -> &mut Bucket {
        if self.buckets.len() >= PEERS_MAX && !self.buckets.contains_key(&peer) {
            let quietest = self.buckets.iter().min_by_key(|(_, b)| b.last_ms).map(|(peer, _)| *peer);
            quietest.map(|gone| self.buckets.remove(&gone));
        }
        let new = Bucket { tokens_ms: INITIAL_MS, last_ms: now_ms, redirects: 0 };
        self.buckets.entry(peer).or_insert(new)
    }
}

/// The limit over all peers: credit for a burst, refilled by the second.
#[derive(Clone, Debug)]
pub(super) struct GlobalLimit {
    /// Below zero when the last message cost more than was left.
    credit: i64,
    stamp_ms: Option<u64>,
    costs: Rng,
}

/// Credit is refilled for one second at most, and not more often than this.
const REFILL_MAX_MS: u64 = 1000;
const REFILL_MIN_MS: u64 = 20;
/// A message costs 0, 1 or 2, so that nobody can count the node's other messages by it (CVE-2020-25705).
const COSTS: u32 = 3;

impl GlobalLimit {
    pub(super) fn new(seed: u64) -> Self {
        Self { credit: 0, stamp_ms: None, costs: Rng::named(seed, "icmp-credit") }
    }

    /// Whether a limited message may be sent at all (`icmp_msgs_per_sec`, `icmp_msgs_burst`).
    pub(super) fn allow(&mut self, per_second: u32, burst: u32, now: Instant) -> bool {
        if self.credit > 0 {
            return true;
        }
        let now_ms = now.0 / 1_000_000;
        let quiet_ms = self.stamp_ms.map_or(REFILL_MAX_MS, |at| now_ms.saturating_sub(at).min(REFILL_MAX_MS));
        let more = i64::from(per_second) * quiet_ms as i64 / 1000;
        if quiet_ms < REFILL_MIN_MS || more == 0 {
            return false;
        }
        self.stamp_ms = Some(now_ms);
        self.credit = (self.credit + more).min(i64::from(burst));
        true
    }

    /// A limited message was sent.
    pub(super) fn consume(&mut self) {
        self.credit -= i64::from(self.costs.next_u32() % COSTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_fifty_errors_at_once_over_all_peers() {
        let mut limit = GlobalLimit::new(1);
        let mut burst = 0;
        while limit.allow(1000, 50, Instant::ZERO) {
            limit.consume();
            burst += 1;
        }
        assert!((25..=120).contains(&burst), "{burst}");
        assert!(!limit.allow(1000, 50, Instant::from_millis(19)));
        assert!(limit.allow(1000, 50, Instant::from_millis(20)));
    }

    #[test]
    fn six_errors_at_once_then_one_a_second() {
        let (mut limits, peer) = (PeerLimits::default(), "10.0.0.1".parse().unwrap());
        let mut sent = |ms| limits.allow(peer, 1000, Instant::from_millis(ms));
        let burst: Vec<bool> = (0..8).map(|_| sent(0)).collect();
        assert_eq!(burst, [true, true, true, true, true, true, false, false]);
        assert!(!sent(999));
        assert!(sent(1000));
        assert!(!sent(1001));
    }

    #[test]
    fn redirects_slow_down() {
        let (mut limits, peer) = (PeerLimits::default(), "10.0.0.1".parse().unwrap());
        let sent: Vec<u64> = [0, 0, 30, 60, 100, 300]
            .into_iter()
            .filter(|&ms| {
                let now = Instant::from_millis(ms);
                let allowed = limits.allow_redirect(peer, now);
                if allowed {
                    limits.count_redirect(peer, now);
                }
                allowed
            })
            .collect();
        assert_eq!(sent, [0, 60, 300]);
    }

    #[test]
    fn a_route_error_pays_twice_from_one_bucket() {
        let (mut limits, peer) = (PeerLimits::default(), "10.0.0.1".parse().unwrap());
        let now = Instant::ZERO;
        let mut sent = || limits.allow_route_error(peer, now) && limits.allow(peer, 1000, now);
        let burst: Vec<bool> = (0..4).map(|_| sent()).collect();
        assert_eq!(burst, [true, true, false, false]);
    }
}
