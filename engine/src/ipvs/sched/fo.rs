//! `fo`: weighted failover (`ip_vs_fo.c`): all to the highest weight while it is there.

use super::SchedCx;
use crate::ipvs::dest::DestId;

pub(super) fn schedule(cx: &mut SchedCx<'_>) -> Option<DestId> {
    let mut highest: Option<(DestId, u32)> = None;
    for dest in cx.list.iter() {
        if cx.why.skips(dest) {
            continue;
        }
        cx.why.score(dest.id, || format!("weight {}", dest.weight));
        if highest.is_none_or(|(_, weight)| dest.weight > weight) {
            highest = Some((dest.id, dest.weight));
        }
    }
    cx.why.say(|| "the highest weight; the first of equal ones".to_owned());
    highest.map(|(id, _)| id)
}
