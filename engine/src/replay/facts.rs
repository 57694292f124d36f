//! What a reader said about the node: pasted `ip addr` and `ip route`, and single statements.

use std::net::IpAddr;

use super::build::{device_towards, read_address, read_route, set_sysctl};
use super::case::RouteSpec;
use crate::netns::device::link_local;
use crate::netns::{Address, DeviceKind, Inet, LOOPBACK, Netns, RouteOrigin};
use crate::packet::DevId;
use crate::text::diag::{Diag, Severity};
use crate::text::ip::{self, IpDevice, IpRoute};

/// The statements, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Output of `ip addr` (also `-br` or `-j`).
    pub ip_addr: String,
    /// Output of `ip route`.
    pub ip_route: String,
    /// `DEV=ADDRESS/LEN` each.
    pub addresses: Vec<String>,
    /// `PREFIX=GATEWAY@DEV` each; `PREFIX=@DEV` for what is on the link.
    pub routes: Vec<String>,
    /// `NAME=VALUE` each.
    pub sysctls: Vec<String>,
}

/// Which of the statements a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactInput {
    IpAddr,
    IpRoute,
    /// Position in [`Facts::addresses`].
    Address(usize),
    /// Position in [`Facts::routes`].
    Route(usize),
    /// Position in [`Facts::sysctls`].
    Sysctl(usize),
}

impl Facts {
    /// Whether anything was said of addresses.
    pub fn names_addresses(&self) -> bool {
        !self.ip_addr.trim().is_empty() || !self.addresses.is_empty()
    }

    pub fn names_routes(&self) -> bool {
        !self.ip_route.trim().is_empty() || !self.routes.is_empty()
    }

    /// Whether a sysctl was set by one of these names.
    pub fn names_sysctl(&self, names: &[&str]) -> bool {
        self.sysctls
            .iter()
            .filter_map(|s| s.split_once('='))
            .any(|(name, _)| names.contains(&name.trim().replace('/', ".").as_str()))
    }

    /// Puts the statements into the node. What cannot be used is named and left out.
    pub fn apply(&self, netns: &mut Netns) -> Vec<(FactInput, Diag)> {
        let mut notes = Vec::new();
        let (devices, diags) = ip::parse_addr(&self.ip_addr);
        notes.extend(diags.into_iter().map(|d| (FactInput::IpAddr, d)));
        devices.iter().for_each(|d| add_device(&mut netns.inet, d));
        for (at, text) in self.addresses.iter().enumerate() {
            if let Err(message) = address(&mut netns.inet, text) {
                notes.push((FactInput::Address(at), whole(text, message)));
            }
        }
        let (routes, diags) = ip::parse_route(&self.ip_route);
        notes.extend(diags.into_iter().map(|d| (FactInput::IpRoute, d)));
        for route in &routes {
            if let Err(message) = add_route(&mut netns.inet, route) {
                let diag = Diag {
                    severity: Severity::Warning,
                    line: route.line.max(1),
                    column: 1,
                    len: 0,
                    message: format!("{message}: left out"),
                };
                notes.push((FactInput::IpRoute, diag));
            }
        }
        for (at, text) in self.routes.iter().enumerate() {
            if let Err(message) = route(&mut netns.inet, text) {
                notes.push((FactInput::Route(at), whole(text, message)));
            }
        }
        for (at, text) in self.sysctls.iter().enumerate() {
            let set = match text.split_once('=') {
                Some((name, value)) => set_sysctl(netns, name.trim(), value),
                None => Err(format!("expected NAME=VALUE, found {text:?}")),
            };
            if let Err(message) = set {
                notes.push((FactInput::Sysctl(at), whole(text, message)));
            }
        }
        notes
    }
}

fn whole(text: &str, message: String) -> Diag {
    Diag { severity: Severity::Error, line: 1, column: 1, len: text.chars().count() as u32, message }
}

/// The device of this name, made when there is none.
pub(super) fn device(inet: &mut Inet, name: &str) -> DevId {
    inet.find_device(name).unwrap_or_else(|| inet.add_device(name, DeviceKind::Wire))
}

fn add_device(inet: &mut Inet, shown: &IpDevice) {
    let dev = if shown.loopback { LOOPBACK } else { device(inet, &shown.name) };
    if let Some(mtu) = shown.mtu {
        inet.device_mut(dev).mtu = mtu;
    }
    inet.device_mut(dev).mac = shown.mac;
    for &(addr, len) in &shown.addresses {
        inet.add_address(dev, Address::new(addr, len));
    }
    let six = shown.addresses.iter().any(|(a, _)| a.is_ipv6());
    if let Some(mac) = shown.mac.filter(|_| six) {
        inet.add_address(dev, Address::new(link_local(mac).into(), 64));
    }
}

/// `DEV=ADDRESS/LEN`.
fn address(inet: &mut Inet, text: &str) -> Result<(), String> {
    let (name, addr) =
        text.split_once('=').ok_or_else(|| format!("expected DEV=ADDRESS/LEN, found {text:?}"))?;
    let addr = read_address(addr.trim())?;
    let dev = device(inet, name.trim());
    inet.add_address(dev, addr);
    Ok(())
}

/// `PREFIX=GATEWAY@DEV`.
fn route(inet: &mut Inet, text: &str) -> Result<(), String> {
    let expected = || format!("expected PREFIX=GATEWAY@DEV, found {text:?}");
    let (to, way) = text.split_once('=').ok_or_else(expected)?;
    let (via, dev) = way.split_once('@').map_or((way, None), |(v, d)| (v, Some(d)));
    let via = match via.trim() {
        "" => None,
        text => Some(text.parse::<IpAddr>().map_err(|_| format!("{text:?} is not an address"))?),
    };
    if let Some(dev) = dev {
        device(inet, dev.trim());
    }
    let spec = RouteSpec {
        to: to.trim().to_owned(),
        via,
        dev: dev.map(|d| d.trim().to_owned()),
        ..RouteSpec::default()
    };
    let route = read_route(inet, &spec)?;
    inet.main.add(route);
    Ok(())
}

/// A route of `ip route`. Those the kernel makes for an address are there already when the address is known.
fn add_route(inet: &mut Inet, shown: &IpRoute) -> Result<(), String> {
    if matches!(shown.kind.as_deref(), Some("local" | "broadcast" | "anycast" | "multicast")) {
        return Ok(());
    }
    if let Some(name) = &shown.dev {
        device(inet, name);
    }
    let to = match shown.to {
        Some((addr, len)) => format!("{addr}/{len}"),
        None if shown.v6 => "::/0".to_owned(),
        None => "0.0.0.0/0".to_owned(),
    };
    let dev = match (&shown.dev, shown.via) {
        (None, Some(via)) => device_towards(inet, via).map(|d| inet.device(d).name.to_string()),
        (dev, _) => dev.clone(),
    };
    let spec = RouteSpec {
        to,
        via: shown.via,
        dev,
        src: shown.src,
        kind: shown.kind.clone(),
        metric: shown.metric,
        mtu: shown.mtu,
    };
    let route = read_route(inet, &spec)?;
    let known = inet.main.iter().any(|r| r.to == route.to && r.dev == route.dev && r.via == route.via);
    if shown.kernel && known {
        return Ok(());
    }
    let origin = if shown.kernel { RouteOrigin::Kernel } else { RouteOrigin::Boot };
    inet.main.add(crate::netns::Route { origin, ..route });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::KernelVersion;

    #[test]
    fn statements_build_the_node_and_mistakes_are_named() {
        let facts = Facts {
            ip_addr: "2: eth0: <UP> mtu 1450\n    inet 10.0.0.1/24 scope global eth0\n".to_owned(),
            ip_route:
                "default via 10.0.0.254 dev eth0\n10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.1\n"
                    .to_owned(),
            addresses: vec!["cni0=10.244.0.1/24".to_owned(), "cni0=10.244.0".to_owned()],
            routes: vec!["10.9.0.0/16=@wg0".to_owned(), "10.8.0.0/16=10.7.0.1".to_owned()],
            sysctls: vec!["net.ipv4.ip_forward=1".to_owned(), "net.ipv4.tcp_sack=1".to_owned()],
        };
        let mut netns = Netns::new(KernelVersion::default(), 1);
        let wrong: Vec<_> = facts.apply(&mut netns).into_iter().map(|(at, _)| at).collect();
        assert_eq!(wrong, [FactInput::Address(1), FactInput::Route(1), FactInput::Sysctl(1)]);
        let names: Vec<_> = netns.inet.devices.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["lo", "eth0", "cni0", "wg0"]);
        assert_eq!(netns.inet.device(DevId(1)).mtu, 1450);
        assert_eq!(netns.inet.main.iter().filter(|r| r.prefix_len == 24).count(), 2);
        assert_eq!(netns.sysctl("net.ipv4.conf.eth0.forwarding"), Some(1));
    }
}
