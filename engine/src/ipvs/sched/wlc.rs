//! `wlc`: weighted least connections (`ip_vs_wlc.c`).

use super::SchedCx;
use super::least::by_weight;
use crate::ipvs::dest::DestId;

pub(super) fn schedule(cx: &mut SchedCx<'_>) -> Option<DestId> {
    let kernel = cx.kernel;
    let chosen = by_weight(cx, |dest| dest.overhead(kernel));
    cx.why.say(|| "the smallest overhead by weight; the first of equal ones".to_owned());
    chosen
}
