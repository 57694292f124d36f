//! What timers do: connections end, templates wait for theirs, removed destinations are forgotten.

use super::conn::ConnId;
use super::{Conn, Ipvs, Xmit};
use crate::base::{Duration, Instant};

/// A template whose connections still live looks again after this (`ip_vs_conn_expire`).
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// How long a removed destination without connections can come back with its counters
/// (`IP_VS_DEST_TRASH_PERIOD`).
const TRASH_PERIOD: Duration = Duration::from_secs(120);

impl Ipvs {
    /// Lets time pass until `now`. The connections that ended and had a conntrack entry come back: it ends with them.
    pub fn advance(&mut self, now: Instant) -> Vec<Xmit> {
        let mut ended = Vec::new();
        while let Some((at, id)) = self.conns.due(now) {
            ended.extend(self.expire(id, at));
        }
        self.forget_removed(now);
        ended
    }

    /// The timer of a connection fires.
    fn expire(&mut self, id: ConnId, at: Instant) -> Option<Xmit> {
        if self.conns.get(id).is_some_and(|conn| conn.controlled > 0) {
            if let Some(conn) = self.conns.get_mut(id) {
                conn.timeout = LOOK_AGAIN;
            }
            self.conns.set_expires(id, at + LOOK_AGAIN);
            return None;
        }
        self.end(id)
    }

    /// `ip_vs_conn_expire_now`: an entry that others depend on waits for them.
    pub(super) fn expire_now(&mut self, id: ConnId, now: Instant) -> Option<Xmit> {
        self.expire(id, now)
    }

    /// Removes an entry. What comes back has a conntrack entry that ends with it.
    fn end(&mut self, id: ConnId) -> Option<Xmit> {
        let conn = self.conns.remove(id)?;
        if let Some(control) = conn.control
            && let Some(template) = self.conns.get_mut(control)
        {
            template.controlled = template.controlled.saturating_sub(1);
        }
        self.unbind(&conn);
        (conn.conntrack && !conn.one_packet && !conn.is_template()).then(|| conn.xmit())
    }

    fn unbind(&mut self, conn: &Conn) {
        let Some(dest) = conn.dest.and_then(|id| self.dests.get_mut(&id)) else { return };
        let counter = match (conn.is_template(), conn.inactive) {
            (true, _) => &mut dest.persistent,
            (false, true) => &mut dest.inactive,
            (false, false) => &mut dest.active,
        };
        debug_assert!(*counter > 0, "bound connections are counted");
        *counter = counter.saturating_sub(1);
        dest.unbound();
    }

    /// Destinations that were removed and have neither connections nor a chance to come back.
    fn forget_removed(&mut self, now: Instant) {
        self.dests.retain(|_, dest| {
            let idle = dest.connections() == 0 && dest.persistent == 0;
            !(idle && dest.removed_at.is_some_and(|at| now.since(at) >= TRASH_PERIOD))
        });
    }
}
