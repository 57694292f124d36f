//! `ip route` as text.

use super::{IpRoute, Notes, is_prompt, own_name, prefix};
use crate::text::diag::Severity;

/// Types that may stand before the prefix.
const KINDS: &[&str] = &[
    "unicast",
    "local",
    "broadcast",
    "multicast",
    "anycast",
    "blackhole",
    "unreachable",
    "prohibit",
    "throw",
];

pub(super) fn parse(text: &str, notes: &mut Notes) -> Vec<IpRoute> {
    let mut routes: Vec<IpRoute> = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let words: Vec<&str> = whole.split_whitespace().collect();
        if words.is_empty() || is_prompt(whole) {
            continue;
        }
        if words[0] == "nexthop" {
            next_hop(&mut routes, &words, number, whole, notes);
            continue;
        }
        if let Some(route) = read(&words, number, whole, notes) {
            routes.push(route);
        }
    }
    routes
}

/// A line of a multipath route. Only its first next hop is taken.
fn next_hop(routes: &mut [IpRoute], words: &[&str], number: u32, whole: &str, notes: &mut Notes) {
    let Some(route) = routes.last_mut() else { return };
    if route.via.is_some() || route.dev.is_some() {
        let message = "a second next hop is not emulated: only the first one is used".to_owned();
        notes.at(Severity::Warning, number, whole, words[0], message);
        return;
    }
    let value = |key: &str| words.iter().position(|w| *w == key).and_then(|at| words.get(at + 1));
    route.via = value("via").and_then(|v| v.parse().ok());
    route.dev = value("dev").map(|d| own_name(d));
    route.v6 |= route.via.is_some_and(|v| v.is_ipv6());
}

fn read(words: &[&str], number: u32, whole: &str, notes: &mut Notes) -> Option<IpRoute> {
    let mut route = IpRoute { line: number, ..IpRoute::default() };
    let mut words = words.iter().copied().peekable();
    if let Some(kind) = words.next_if(|w| KINDS.contains(w)) {
        route.kind = Some(kind.to_owned()).filter(|k| k != "unicast");
    }
    let to = words.next()?;
    if to != "default" {
        let Some(read) = prefix(to) else {
            let message = format!("{to:?} is neither `default` nor a prefix: the line is left out");
            notes.at(Severity::Error, number, whole, to, message);
            return None;
        };
        route.to = Some(read);
        route.v6 = read.0.is_ipv6();
    }
    while let Some(word) = words.next() {
        match word {
            "via" => {
                let mut value = words.next()?;
                // `via inet6 fe80::1`: a next hop of the other family.
                if matches!(value, "inet" | "inet6") {
                    value = words.next()?;
                }
                let Ok(via) = value.parse() else {
                    let message = format!("{value:?} is not an address: the line is left out");
                    notes.at(Severity::Error, number, whole, value, message);
                    return None;
                };
                route.via = Some(via);
            }
            "dev" => route.dev = words.next().map(own_name),
            "src" => route.src = words.next().and_then(|v| v.parse().ok()),
            "metric" => route.metric = words.next().and_then(|v| v.parse().ok()),
            "mtu" => route.mtu = words.find(|v| *v != "lock").and_then(|v| v.parse().ok()),
            "proto" => route.kernel = words.next() == Some("kernel"),
            "table" => {
                let table = words.next()?;
                // The kernel fills `local` from the addresses.
                if table != "main" {
                    if table != "local" {
                        let message = format!("table {table}: routing by rule is not emulated, left out");
                        notes.at(Severity::Warning, number, whole, table, message);
                    }
                    return None;
                }
            }
            "scope" | "pref" | "advmss" | "hoplimit" | "expires" | "weight" | "realm" | "window" | "rtt"
            | "initcwnd" | "initrwnd" | "error" | "nhid" => {
                words.next();
            }
            // `onlink`, `linkdown`, `dead`, `offload` and the like change nothing here.
            _ => {}
        }
    }
    if route.to.is_none() {
        route.v6 = route.via.or(route.src).is_some_and(|a| a.is_ipv6());
    }
    Some(route)
}
