//! [`ConnTable`]: entries, the two ways to find them, and their timers (`ip_vs_conn.c`).
//!
//! The kernel hashes; here everything is ordered, so that iteration is part of the result. One-packet connections
//! are never hashed.

use std::collections::{BTreeMap, BTreeSet};

use super::conn::{Conn, ConnId, InKey, OutKey};
use crate::base::Instant;

#[derive(Clone, Debug, Default)]
pub(super) struct ConnTable {
    conns: BTreeMap<ConnId, Conn>,
    by_client: BTreeMap<InKey, ConnId>,
    /// The newest last.
    by_server: BTreeMap<OutKey, Vec<ConnId>>,
    timers: BTreeSet<(Instant, ConnId)>,
    made: u64,
}

impl ConnTable {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Conn> {
        self.conns.values()
    }

    pub(super) fn get(&self, id: ConnId) -> Option<&Conn> {
        self.conns.get(&id)
    }

    /// To change anything but keys and timer.
    pub(super) fn get_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&id)
    }

    pub(super) const fn next_id(&mut self) -> ConnId {
        self.made += 1;
        ConnId(self.made)
    }

    pub(super) fn insert(&mut self, conn: Conn) {
        let id = conn.id;
        if !conn.one_packet {
            self.by_client.insert(conn.in_key(), id);
            self.by_server.entry(conn.out_key()).or_default().push(id);
        }
        self.timers.insert((conn.expires, id));
        self.conns.insert(id, conn);
    }

    pub(super) fn remove(&mut self, id: ConnId) -> Option<Conn> {
        let conn = self.conns.remove(&id)?;
        self.timers.remove(&(conn.expires, id));
        if self.by_client.get(&conn.in_key()) == Some(&id) {
            self.by_client.remove(&conn.in_key());
        }
        if let Some(all) = self.by_server.get_mut(&conn.out_key()) {
            all.retain(|other| *other != id);
            if all.is_empty() {
                self.by_server.remove(&conn.out_key());
            }
        }
        Some(conn)
    }

    pub(super) fn by_client(&self, key: &InKey) -> Option<ConnId> {
        self.by_client.get(key).copied()
    }

    /// The newest connection whose answers look like this. A template looks like no packet.
    pub(super) fn by_server(&self, key: &OutKey) -> Option<ConnId> {
        self.by_server.get(key)?.last().copied()
    }

    pub(super) fn set_expires(&mut self, id: ConnId, expires: Instant) {
        if let Some(conn) = self.conns.get_mut(&id) {
            self.timers.remove(&(conn.expires, id));
            conn.expires = expires;
            self.timers.insert((expires, id));
        }
    }

    /// The entry whose timer fired first, at or before `now`.
    pub(super) fn due(&self, now: Instant) -> Option<(Instant, ConnId)> {
        self.timers.first().copied().filter(|(at, _)| *at <= now)
    }
}
