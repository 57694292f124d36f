//! `rr`: round robin (`ip_vs_rr.c`).

use super::{ListChange, SchedCx};
use crate::ipvs::dest::DestId;

/// The destination chosen last; none stands for the head of the list.
#[derive(Clone, Debug, Default)]
pub struct Rr {
    last: Option<DestId>,
}

impl Rr {
    pub(super) fn schedule(&mut self, cx: &mut SchedCx<'_>) -> Option<DestId> {
        let order = cx.list.order;
        // Behind the last one to the end, then from the head up to and with the last one.
        let after = self.last.and_then(|last| order.iter().position(|id| *id == last)).map_or(0, |at| at + 1);
        let turn = order[after..].iter().chain(&order[..after]);
        for dest in turn.filter_map(|id| cx.list.get(*id)) {
            if cx.why.skips(dest) {
                continue;
            }
            cx.why.score(dest.id, || "next in turn".to_owned());
            cx.why.say(|| match self.last {
                None => "the first of the list".to_owned(),
                Some(_) => "the next in the list after the one chosen last".to_owned(),
            });
            self.last = Some(dest.id);
            return Some(dest.id);
        }
        None
    }

    /// Only a removal matters: the pointer steps back to what stood before.
    pub(super) fn changed(&mut self, change: ListChange) {
        if let ListChange::Removed(dest, before) = change
            && self.last == Some(dest)
        {
            self.last = before;
        }
    }
}
