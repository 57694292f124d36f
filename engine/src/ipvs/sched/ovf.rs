//! `ovf`: weighted overflow (`ip_vs_ovf.c`): the highest weight that is not full. A server is full with more active
//! connections than its weight, so one more than the weight fit.

use super::SchedCx;
use crate::ipvs::dest::DestId;

pub(super) fn schedule(cx: &mut SchedCx<'_>) -> Option<DestId> {
    let mut highest: Option<(DestId, u32)> = None;
    for dest in cx.list.iter() {
        if cx.why.skips(dest) {
            continue;
        }
        let full = dest.active > dest.weight;
        cx.why.score(dest.id, || {
            let sign = if full { ">" } else { "<=" };
            format!("{} active {sign} weight {}", dest.active, dest.weight)
        });
        if !full && highest.is_none_or(|(_, weight)| dest.weight > weight) {
            highest = Some((dest.id, dest.weight));
        }
    }
    cx.why.say(|| "the highest weight that has room; the first of equal ones".to_owned());
    highest.map(|(id, _)| id)
}
