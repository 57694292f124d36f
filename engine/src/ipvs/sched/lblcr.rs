//! `lblcr`: as `lblc`, with a set of servers a destination address (`ip_vs_lblcr.c`).
//!
//! The set grows when its least loaded member has too much to do, and loses its most loaded one when it has not
//! changed for a day.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::lblc::{FULL_CHECK, needs_relief};
use super::least::ratio;
use super::{List, SchedCx, wlc};
use crate::base::{Duration, Instant, KernelVersion};
use crate::ipvs::config::Knob;
use crate::ipvs::dest::{Dest, DestId};

#[derive(Clone, Debug)]
struct Entry {
    /// The newest member first.
    set: Vec<DestId>,
    changed: Instant,
    used: Instant,
}

#[derive(Clone, Debug, Default)]
pub struct Lblcr {
    remembered: BTreeMap<IpAddr, Entry>,
    checked: Instant,
}

impl Lblcr {
    pub(super) fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        let lifetime = Duration::from_secs(u64::from(cx.config.value(Knob::LblcrExpiration)));
        let now = cx.now;
        if now.since(self.checked) >= FULL_CHECK {
            self.checked = now;
            self.remembered.retain(|_, entry| now.since(entry.used) < lifetime);
        }
        let to = cx.client.dst;
        let Some(entry) = self.remembered.get_mut(&to) else {
            let chosen = wlc::schedule(cx)?;
            cx.why.say(|| format!("no servers remembered for {to}: the smallest overhead by weight"));
            self.remembered.insert(to, Entry { set: vec![chosen], changed: now, used: now });
            return Some(chosen);
        };
        entry.used = now;
        let least = least_of(&entry.set, cx);
        if entry.set.len() > 1
            && now.since(entry.changed) > lifetime
            && let Some(most) = most_of(&entry.set, cx.list, cx.kernel)
        {
            entry.set.retain(|id| *id != most);
            entry.changed = now;
        }
        if let Some(dest) = least
            && !needs_relief(dest, cx.list)
        {
            let members = entry.set.len();
            cx.why.say(|| format!("the least loaded of {members} remembered for {to}"));
            return Some(dest.id);
        }
        let chosen = wlc::schedule(cx)?;
        if !entry.set.contains(&chosen) {
            entry.set.insert(0, chosen);
            entry.changed = now;
        }
        cx.why.say(|| format!("the servers remembered for {to} have too much to do: one joins them"));
        Some(chosen)
    }
}

/// `ip_vs_dest_set_min`.
fn least_of<'a>(set: &[DestId], cx: &mut SchedCx<'a>) -> Option<&'a Dest> {
    let mut least: Option<&Dest> = None;
    for dest in set.iter().filter_map(|id| cx.list.get(*id)).filter(|d| d.available) {
        if cx.why.skips(dest) {
            continue;
        }
        let (kernel, own) = (cx.kernel, dest.overhead(cx.kernel));
        cx.why.score(dest.id, || ratio(own, dest.weight));
        let better = least.is_none_or(|best| {
            i128::from(best.overhead(kernel)) * i128::from(dest.weight)
                > i128::from(own) * i128::from(best.weight)
        });
        if better {
            least = Some(dest);
        }
    }
    least
}

/// `ip_vs_dest_set_max`: quiesced members do not count.
fn most_of(set: &[DestId], list: List<'_>, kernel: KernelVersion) -> Option<DestId> {
    let members = set.iter().filter_map(|id| list.get(*id)).filter(|d| d.weight > 0);
    let most = members.reduce(|most, dest| {
        let (mine, its) = (dest.overhead(kernel), most.overhead(kernel));
        let more = i128::from(its) * i128::from(dest.weight) < i128::from(mine) * i128::from(most.weight);
        if more { dest } else { most }
    });
    most.map(|dest| dest.id)
}
