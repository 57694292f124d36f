//! `nq`: never queue (`ip_vs_nq.c`): an idle server at once, in the order of the list and whatever its weight.

use super::{SchedCx, sed};
use crate::ipvs::dest::DestId;

pub(super) fn schedule(cx: &mut SchedCx<'_>) -> Option<DestId> {
    let idle = cx.list.iter().find(|dest| dest.schedulable() && dest.active == 0).map(|dest| dest.id);
    let Some(idle) = idle else { return sed::schedule(cx) };
    for dest in cx.list.iter() {
        if !cx.why.skips(dest) {
            cx.why.score(dest.id, || match dest.active {
                0 => "idle".to_owned(),
                active => format!("{active} active"),
            });
        }
    }
    cx.why.say(|| "the first of the list without an active connection".to_owned());
    Some(idle)
}
