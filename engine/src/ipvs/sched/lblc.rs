//! `lblc`: locality-based least connections (`ip_vs_lblc.c`), for clusters of caches: a service by mark whose
//! packets have many destination addresses.
//!
//! An entry that was not used for a day is dropped by a full check every half hour. The check that shrinks a table of
//! more than 16,384 entries is not emulated.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{List, SchedCx, wlc};
use crate::base::{Duration, Instant};
use crate::ipvs::config::Knob;
use crate::ipvs::dest::{Dest, DestId};

/// A full check every 30 looks of a minute.
pub(super) const FULL_CHECK: Duration = Duration::from_secs(30 * 60);

#[derive(Clone, Debug, Default)]
pub struct Lblc {
    remembered: BTreeMap<IpAddr, (DestId, Instant)>,
    checked: Instant,
}

impl Lblc {
    pub(super) fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        let lifetime = Duration::from_secs(u64::from(cx.config.value(Knob::LblcExpiration)));
        let now = cx.now;
        if now.since(self.checked) >= FULL_CHECK {
            self.checked = now;
            self.remembered.retain(|_, (_, used)| now.since(*used) < lifetime);
        }
        let to = cx.client.dst;
        if let Some((id, used)) = self.remembered.get_mut(&to) {
            *used = now;
            let id = *id;
            if let Some(dest) = cx.list.get(id).filter(|d| d.available && d.weight > 0)
                && !needs_relief(dest, cx.list)
            {
                cx.why.score(id, || "remembered".to_owned());
                cx.why.say(|| format!("the server remembered for {to}"));
                return Some(id);
            }
        }
        let chosen = wlc::schedule(cx)?;
        cx.why.say(|| format!("no usable server remembered for {to}: the smallest overhead by weight"));
        self.remembered.insert(to, (chosen, now));
        Some(chosen)
    }
}

/// `is_overloaded`: more active connections than its weight, while another has less than half of its own.
pub(super) fn needs_relief(dest: &Dest, list: List<'_>) -> bool {
    dest.active > dest.weight
        && list.iter().any(|other| u64::from(other.active) * 2 < u64::from(other.weight))
}
