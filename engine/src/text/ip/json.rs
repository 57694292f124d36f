//! `ip -j addr` and `ip -j route`.

use serde::Deserialize;

use super::{IpDevice, IpRoute, Notes, mac, prefix};
use crate::text::diag::Severity;

#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    ifname: String,
    #[serde(default)]
    link_type: String,
    #[serde(default)]
    address: String,
    mtu: Option<u32>,
    #[serde(default)]
    addr_info: Vec<AddrInfo>,
}

#[derive(Deserialize)]
struct AddrInfo {
    local: Option<std::net::IpAddr>,
    prefixlen: Option<u8>,
}

pub(super) fn addr(text: &str, notes: &mut Notes) -> Vec<IpDevice> {
    let links: Vec<Link> = read(text, notes);
    let devices = links.into_iter().filter(|l| !l.ifname.is_empty()).map(|link| IpDevice {
        mac: mac(&link.address).filter(|_| link.link_type != "loopback"),
        mtu: link.mtu,
        loopback: link.link_type == "loopback",
        addresses: link
            .addr_info
            .iter()
            .filter_map(|a| a.local.map(|l| (l, a.prefixlen.unwrap_or(if l.is_ipv4() { 32 } else { 128 }))))
            .collect(),
        name: link.ifname,
    });
    devices.collect()
}

#[derive(Deserialize)]
struct JsonRoute {
    #[serde(default)]
    dst: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    gateway: Option<std::net::IpAddr>,
    via: Option<Via>,
    dev: Option<String>,
    prefsrc: Option<std::net::IpAddr>,
    metric: Option<u32>,
    protocol: Option<String>,
    table: Option<String>,
    #[serde(default)]
    nexthops: Vec<NextHop>,
}

#[derive(Deserialize)]
struct Via {
    host: std::net::IpAddr,
}

#[derive(Deserialize)]
struct NextHop {
    gateway: Option<std::net::IpAddr>,
    dev: Option<String>,
}

pub(super) fn route(text: &str, notes: &mut Notes) -> Vec<IpRoute> {
    let routes: Vec<JsonRoute> = read(text, notes);
    let mut out = Vec::new();
    for route in routes {
        if route.table.as_deref().is_some_and(|t| t != "main") || route.dst.is_empty() {
            continue;
        }
        let to = match route.dst.as_str() {
            "default" => None,
            text => match prefix(text) {
                Some(to) => Some(to),
                None => {
                    let message = format!("{text:?} is neither `default` nor a prefix: left out");
                    notes.add(Severity::Error, 1, 0, 0, message);
                    continue;
                }
            },
        };
        if route.nexthops.len() > 1 {
            let message = format!("{}: only the first of its next hops is used", route.dst);
            notes.add(Severity::Warning, 1, 0, 0, message);
        }
        let hop = route.nexthops.into_iter().next();
        let via = route.gateway.or(route.via.map(|v| v.host)).or(hop.as_ref().and_then(|h| h.gateway));
        out.push(IpRoute {
            to,
            v6: to.map(|t| t.0).or(via).or(route.prefsrc).is_some_and(|a| a.is_ipv6()),
            kind: route.kind.filter(|k| k != "unicast"),
            via,
            dev: route.dev.or(hop.and_then(|h| h.dev)),
            src: route.prefsrc,
            metric: route.metric,
            mtu: None,
            kernel: route.protocol.as_deref() == Some("kernel"),
            line: 0,
        });
    }
    out
}

fn read<T: for<'a> Deserialize<'a>>(text: &str, notes: &mut Notes) -> Vec<T> {
    serde_json::from_str(text).unwrap_or_else(|error| {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        notes.add(
            Severity::Error,
            error.line() as u32,
            error.column() as u32,
            0,
            format!("not the JSON of `ip -j`: {}", &message[..end]),
        );
        Vec::new()
    })
}
