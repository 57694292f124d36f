//! `twos`: the power of two choices (`ip_vs_twos.c`).
//!
//! Each draw is uniform over zero to the sum of weights, both included, and goes to the first destination at
//! which the running sum reaches it: the first of the list has one draw more than its weight. Draws come from the
//! seed; the kernel's cannot be foreseen.

use super::SchedCx;
use super::least::ratio;
use crate::ipvs::dest::{Dest, DestId};

pub(super) fn schedule(cx: &mut SchedCx<'_>) -> Option<DestId> {
    let total: u64 = cx.list.iter().filter(|d| d.schedulable()).map(|d| u64::from(d.weight)).sum();
    if total == 0 {
        return None;
    }
    let bound = u32::try_from(total + 1).unwrap_or(u32::MAX);
    let draws = [cx.draws.below(bound), cx.draws.below(bound)];
    let [first, second] = draws.map(|draw| pick(cx, draw));
    let (first, second) = (first?, second?);
    let kernel = cx.kernel;
    for dest in cx.list.iter() {
        if cx.why.skips(dest) {
            continue;
        }
        let drawn = dest.id == first.id || dest.id == second.id;
        cx.why.score(dest.id, || match drawn {
            true => ratio(dest.overhead(kernel), dest.weight),
            false => "not drawn".to_owned(),
        });
    }
    let (one, two) = (first.overhead(kernel), second.overhead(kernel));
    let better = i128::from(second.weight) * i128::from(one) > i128::from(first.weight) * i128::from(two);
    let [a, b] = draws;
    cx.why.say(|| {
        format!("draws {a} and {b} of 0 to {total}; of the two, the smaller overhead by weight, the first if equal")
    });
    Some(if better { second.id } else { first.id })
}

/// The destination at which the running sum of weights reaches the draw.
fn pick<'a>(cx: &SchedCx<'a>, draw: u32) -> Option<&'a Dest> {
    let mut left = i64::from(draw);
    cx.list.iter().filter(|d| d.schedulable()).find(|dest| {
        left -= i64::from(dest.weight);
        left <= 0
    })
}
