//! `ipset save` and `ipset list`.

use std::fmt::Write as _;

use super::element;
use crate::base::Instant;
use crate::netfilter::set::{Data, Kind, Params, Set, Sets};
use crate::packet::Family;

/// Memory of an empty set and of one element, in bytes. The kernel's figure depends on how its hash happens to
/// fill; this one is of the right order.
const SIZE_EMPTY: usize = 216;
const SIZE_ELEMENT: usize = 40;

/// The options of a set, as `save` and the header of `list` print them, with a leading blank each.
fn header(p: &Params) -> String {
    let mut out = String::new();
    if p.kind.is_hash() {
        let family = if p.family == Some(Family::V6) { "inet6" } else { "inet" };
        let _ = write!(out, " family {family} hashsize {} maxelem {}", p.hashsize, p.maxelem);
    }
    if let Some((low, high)) = p.ip_range {
        let _ = write!(out, " range {low}-{high}");
    }
    if let Some((low, high)) = p.port_range {
        let _ = write!(out, " range {low}-{high}");
    }
    if p.kind == Kind::ListSet {
        let _ = write!(out, " size {}", p.size);
    }
    if let Some(len) = p.netmask {
        let _ = write!(out, " netmask {len}");
    }
    if let Some(secs) = p.timeout {
        let _ = write!(out, " timeout {secs}");
    }
    out.push_str(if p.counters { " counters" } else { "" });
    out.push_str(if p.comment { " comment" } else { "" });
    if p.kind.is_hash() {
        let _ = write!(out, " bucketsize {} initval 0x{:08x}", p.bucketsize, p.initval);
    }
    out
}

/// What follows an element, with a leading blank.
fn extensions(p: &Params, data: &Data, now: Instant) -> String {
    let mut out = String::new();
    if p.timeout.is_some() {
        // A last fraction of a second counts as one.
        let left = data.expires.map_or(0, |at| at.since(now).as_secs().max(1));
        let _ = write!(out, " timeout {left}");
    }
    out.push_str(if data.nomatch { " nomatch" } else { "" });
    if p.counters {
        let _ = write!(out, " packets {} bytes {}", data.counters.packets, data.counters.bytes);
    }
    if !data.comment.is_empty() {
        let _ = write!(out, " comment \"{}\"", data.comment);
    }
    out
}

/// Each element of a set as a line's end.
fn rows(set: &Set, now: Instant) -> Vec<String> {
    let p = &set.params;
    let elements = set.elements(now);
    let own = elements.iter().map(|(e, data)| format!("{}{}", element::text(e), extensions(p, data, now)));
    let members = set.members(now).map(|m| format!("{}{}", m.name, extensions(p, &m.data, now)));
    own.chain(members).collect()
}

/// `ipset save`, of one set or all. The kernel prints hash types in the order of its hash, which differs from
/// run to run; here elements come in the order they were added.
pub fn save(sets: &Sets, only: Option<&str>, now: Instant) -> String {
    let mut out = String::new();
    for name in sets.names().into_iter().filter(|n| only.is_none_or(|o| o == *n)) {
        let Some(set) = sets.get(name) else { continue };
        let _ = writeln!(out, "create {name} {}{}", set.params.kind.name(), header(&set.params));
        for row in rows(set, now) {
            let _ = writeln!(out, "add {name} {row}");
        }
    }
    out
}

/// `ipset list`, of one set or all; `terse` leaves the members out.
pub fn list(
    sets: &Sets,
    only: Option<&str>,
    terse: bool,
    now: Instant,
    references: &dyn Fn(&str) -> u32,
) -> String {
    let mut blocks = Vec::new();
    for name in sets.names().into_iter().filter(|n| only.is_none_or(|o| o == *n)) {
        let Some(set) = sets.get(name) else { continue };
        let rows = rows(set, now);
        let mut out = String::new();
        let _ = writeln!(out, "Name: {name}\nType: {}", set.params.kind.name());
        let _ = writeln!(out, "Revision: {}\nHeader:{}", set.params.kind.revision(), header(&set.params));
        let _ = writeln!(out, "Size in memory: {}", SIZE_EMPTY + SIZE_ELEMENT * rows.len());
        let _ = writeln!(out, "References: {}", references(name) + sets.references(name));
        let _ = writeln!(out, "Number of entries: {}", rows.len());
        if !terse {
            out.push_str("Members:\n");
            for row in rows {
                let _ = writeln!(out, "{row}");
            }
        }
        blocks.push(out);
    }
    blocks.join("\n")
}
