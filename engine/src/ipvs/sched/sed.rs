//! `sed`: shortest expected delay (`ip_vs_sed.c`): the new connection is counted in, inactive ones are not.

use super::SchedCx;
use super::least::by_weight;
use crate::ipvs::dest::DestId;

pub(super) fn schedule(cx: &mut SchedCx<'_>) -> Option<DestId> {
    let chosen = by_weight(cx, |dest| i64::from(dest.active) + 1);
    cx.why.say(|| "the smallest (active + 1) by weight; the first of equal ones".to_owned());
    chosen
}
