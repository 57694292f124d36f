//! What `ip route` and `ip addr` (iproute2 6.1) print of a namespace.
//!
//! Omitted: what the engine does not hold, such as queue disciplines and the other end of a pair.

use std::fmt::Write as _;
use std::net::IpAddr;

use crate::netns::device::{Device, Scope};
use crate::netns::{DeviceKind, Inet, Route, RouteKind, RouteOrigin};

/// `ip route` or `ip -6 route`: the main table.
pub fn routes(inet: &Inet, v6: bool) -> String {
    let mut routes: Vec<&Route> = inet.main.iter().filter(|r| r.to.addr.is_ipv6() == v6).collect();
    // IPv4 lists its trie from the left; IPv6 keeps the default route for the end.
    routes.sort_by_key(|r| (v6 && r.prefix_len == 0, r.to.addr, r.prefix_len, r.metric));
    let mut out = String::new();
    for route in routes {
        let refuses = !matches!(route.kind, RouteKind::Unicast);
        if refuses {
            let _ = write!(out, "{} ", route.kind.name());
        }
        let width = if v6 { 128 } else { 32 };
        match route.prefix_len {
            0 => out.push_str("default "),
            len if len == width => {
                let _ = write!(out, "{} ", route.to.addr);
            }
            len => {
                let _ = write!(out, "{}/{len} ", route.to.addr);
            }
        }
        if let Some(via) = route.via {
            let _ = write!(out, "via {via} ");
        }
        match route.dev {
            Some(dev) => {
                let _ = write!(out, "dev {} ", inet.device(dev).name);
            }
            None if v6 => out.push_str("dev lo "),
            None => {}
        }
        if route.origin == RouteOrigin::Kernel {
            out.push_str("proto kernel ");
        }
        if !v6 && !refuses && route.via.is_none() {
            out.push_str("scope link ");
        }
        if let Some(src) = route.src {
            let _ = write!(out, "src {src} ");
        }
        if route.metric != 0 {
            let _ = write!(out, "metric {} ", route.metric);
        }
        if let Some(mtu) = route.mtu {
            let _ = write!(out, "mtu {mtu} ");
        }
        out.push_str(if v6 { "pref medium\n" } else { "\n" });
    }
    out
}

/// `ip -br addr`.
pub fn addr_brief(inet: &Inet) -> String {
    let mut out = String::new();
    for device in &inet.devices {
        let _ = write!(out, "{:<16} {:<14} ", device.name, state(device));
        for address in in_order(device) {
            let _ = write!(out, "{}/{} ", address.addr, address.prefix_len);
        }
        out.push('\n');
    }
    out
}

/// `ip addr`, one device or all of them.
pub fn addr(inet: &Inet, only: Option<&str>) -> String {
    let mut out = String::new();
    let chosen = inet.devices.iter().enumerate().filter(|(_, d)| only.is_none_or(|name| *d.name == *name));
    for (index, device) in chosen {
        let flags = match device.kind {
            DeviceKind::Loopback => "LOOPBACK,UP,LOWER_UP",
            DeviceKind::Dummy => "BROADCAST,NOARP,UP,LOWER_UP",
            DeviceKind::Wire | DeviceKind::Bridge => "BROADCAST,MULTICAST,UP,LOWER_UP",
        };
        let _ = writeln!(
            out,
            "{}: {}: <{flags}> mtu {} qdisc noqueue state {} group default qlen 1000",
            index + 1,
            device.name,
            device.mtu,
            state(device)
        );
        let mac = |bytes: [u8; 6]| bytes.map(|b| format!("{b:02x}")).join(":");
        let _ = match (device.is_loopback(), device.mac) {
            (true, _) => writeln!(out, "    link/loopback {} brd {}", mac([0; 6]), mac([0; 6])),
            (false, Some(own)) => writeln!(out, "    link/ether {} brd {}", mac(own), mac([0xff; 6])),
            (false, None) => Ok(()),
        };
        for address in in_order(device) {
            let family = if address.addr.is_ipv4() { "inet" } else { "inet6" };
            let scope = match address.scope {
                Scope::Global => "global",
                Scope::Link => "link",
                Scope::Host => "host",
            };
            let _ = write!(out, "    {family} {}/{} scope {scope} ", address.addr, address.prefix_len);
            if address.secondary {
                out.push_str("secondary ");
            }
            if address.addr.is_ipv4() {
                out.push_str(&device.name);
            }
            out.push_str("\n       valid_lft forever preferred_lft forever\n");
        }
    }
    out
}

/// IPv4 first, then IPv6 with the wider scopes in front.
fn in_order(device: &Device) -> Vec<&crate::netns::Address> {
    let mut addresses: Vec<_> = device.addresses.iter().collect();
    addresses.sort_by_key(|a| match a.addr {
        IpAddr::V4(_) => (0, Scope::Global),
        IpAddr::V6(_) => (1, a.scope),
    });
    addresses
}

fn state(device: &Device) -> &'static str {
    match device.kind {
        DeviceKind::Loopback | DeviceKind::Dummy => "UNKNOWN",
        DeviceKind::Wire | DeviceKind::Bridge if device.up => "UP",
        DeviceKind::Wire | DeviceKind::Bridge => "DOWN",
    }
}
