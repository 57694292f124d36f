//! `lc`: least connections (`ip_vs_lc.c`). Weight matters only in being zero or not.

use super::SchedCx;
use crate::ipvs::dest::DestId;

pub(super) fn schedule(cx: &mut SchedCx<'_>) -> Option<DestId> {
    let kernel = cx.kernel;
    let mut least: Option<(DestId, i64)> = None;
    for dest in cx.list.iter() {
        if cx.why.skips(dest) {
            continue;
        }
        let own = dest.overhead(kernel);
        cx.why.score(dest.id, || own.to_string());
        if least.is_none_or(|(_, its)| own < its) {
            least = Some((dest.id, own));
        }
    }
    cx.why.say(|| "the smallest overhead; the first of equal ones".to_owned());
    least.map(|(id, _)| id)
}
