//! The smallest ratio of a load to a weight, without division: `ha * wb > hb * wa`, as the kernel compares.

use super::SchedCx;
use crate::ipvs::dest::{Dest, DestId};

/// The destination with the smallest `load / weight`; the first of equal ones.
pub(super) fn by_weight(cx: &mut SchedCx<'_>, load: impl Fn(&Dest) -> i64) -> Option<DestId> {
    let mut least: Option<(&Dest, i64)> = None;
    for dest in cx.list.iter() {
        if cx.why.skips(dest) {
            continue;
        }
        let own = load(dest);
        cx.why.score(dest.id, || ratio(own, dest.weight));
        let better = least.is_none_or(|(best, its)| {
            i128::from(its) * i128::from(dest.weight) > i128::from(own) * i128::from(best.weight)
        });
        if better {
            least = Some((dest, own));
        }
    }
    least.map(|(dest, _)| dest.id)
}

/// `512/3 = 170.67`
pub(super) fn ratio(load: i64, weight: u32) -> String {
    match weight {
        1 => load.to_string(),
        _ => format!("{load}/{weight} = {:.2}", load as f64 / f64::from(weight)),
    }
}
