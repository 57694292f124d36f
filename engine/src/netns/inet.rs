//! [`Inet`]: devices, addresses, routes and sysctls of a namespace.
//!
//! Mirrors `devinet.c`, the route making of `fib_frontend.c`, and `addrconf.c`. Where a packet goes is decided in
//! `decide`, what rules may ask is answered in `fib`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::device::{Address, Device, DeviceKind};
use super::route::{Route, RouteKind, RouteOrigin, RouteTable};
use super::sysctl::{DeviceConf, Sysctls};
use crate::base::KernelVersion;
use crate::netfilter::Net;
use crate::packet::{DevId, Dst, Family};

/// Index of `lo`, which every namespace has.
pub const LOOPBACK: DevId = DevId(0);

/// Everything of a namespace that routing looks at.
#[derive(Clone, Debug)]
pub struct Inet {
    pub devices: Vec<Device>,
    pub local: RouteTable,
    pub main: RouteTable,
    pub sysctls: Sysctls,
    pub kernel: KernelVersion,
}

impl Inet {
    /// A namespace with `lo` up and nothing else.
    pub fn new(kernel: KernelVersion) -> Self {
        let sysctls = Sysctls::default();
        let mut inet = Self {
            devices: vec![Device::new("lo", DeviceKind::Loopback, sysctls.default)],
            local: RouteTable::default(),
            main: RouteTable::default(),
            sysctls,
            kernel,
        };
        inet.add_address(LOOPBACK, Address::new(Ipv4Addr::LOCALHOST.into(), 8));
        inet.add_address(LOOPBACK, Address::new(Ipv6Addr::LOCALHOST.into(), 128));
        inet
    }

    /// Adds a device, up, with the configuration of `default`.
    pub fn add_device(&mut self, name: &str, kind: DeviceKind) -> DevId {
        self.devices.push(Device::new(name, kind, self.sysctls.default));
        DevId(self.devices.len() as u16 - 1)
    }

    pub fn device(&self, id: DevId) -> &Device {
        &self.devices[usize::from(id.0)]
    }

    pub fn device_mut(&mut self, id: DevId) -> &mut Device {
        &mut self.devices[usize::from(id.0)]
    }

    pub fn find_device(&self, name: &str) -> Option<DevId> {
        self.devices.iter().position(|d| &*d.name == name).map(|at| DevId(at as u16))
    }

    /// Adds an address and the routes that the kernel makes for it (`fib_add_ifaddr`, `addrconf_prefix_route`).
    /// An address the device already has is left alone.
    pub fn add_address(&mut self, dev: DevId, mut new: Address) {
        let device = &mut self.devices[usize::from(dev.0)];
        if device.addresses.iter().any(|a| a.addr == new.addr && a.prefix_len == new.prefix_len) {
            return;
        }
        new.secondary = new.addr.is_ipv4()
            && device.of_family(new.addr).any(|a| a.prefix_len == new.prefix_len && a.covers(new.addr));
        device.addresses.push(new);
        let loopback = device.is_loopback();
        let kernel = |to, prefix_len, kind| {
            Route::new(to, prefix_len, dev).map(|r| Route {
                kind,
                src: Some(new.addr),
                origin: RouteOrigin::Kernel,
                ..r
            })
        };
        let width = if new.addr.is_ipv4() { 32 } else { 128 };
        self.local.extend(kernel(new.addr, width, RouteKind::Local));
        if let Some(broadcast) = new.broadcast() {
            self.local.extend(kernel(broadcast.into(), 32, RouteKind::Broadcast));
            // The all-zeros host was a broadcast address too until 5.14.
            let network = new.subnet().filter(|_| self.kernel < KernelVersion::V6_1);
            self.local.extend(network.and_then(|net| kernel(net.addr, 32, RouteKind::Broadcast)));
        }
        if loopback && new.addr.is_ipv4() {
            self.local.extend(kernel(new.addr, new.prefix_len, RouteKind::Local));
        } else if new.prefix_len < width && !new.secondary {
            let metric = if new.addr.is_ipv4() { 0 } else { 256 };
            let route = kernel(new.addr, new.prefix_len, RouteKind::Unicast);
            // IPv6 prefix routes carry no preferred source.
            let src = Some(new.addr).filter(IpAddr::is_ipv4);
            self.main.extend(route.map(|r| Route { metric, src, ..r }));
        }
    }

    /// Whether `addr` belongs to the node (`inet_lookup_ifaddr`, `ipv6_chk_addr`).
    pub fn is_own(&self, addr: IpAddr) -> bool {
        self.devices.iter().any(|d| d.addresses.iter().any(|a| a.addr == addr))
    }

    /// `fib_lookup`: local table, then main.
    pub(super) fn lookup(&self, to: IpAddr, dev: Option<DevId>) -> Option<&Route> {
        self.local.lookup(to, dev).or_else(|| self.main.lookup(to, dev))
    }

    /// Whether any route covers `to`, refusing ones included.
    pub(super) fn has_route(&self, to: IpAddr) -> bool {
        self.lookup(to, None).is_some()
    }

    /// Prefix length of the route that leads to `to`.
    pub(super) fn prefix_towards(&self, to: IpAddr) -> u8 {
        self.lookup(to, None).map_or(0, |r| r.prefix_len)
    }

    pub(super) fn dst(&self, route: &Route, dev: DevId) -> Dst {
        let mtu = route.mtu.unwrap_or(self.device(dev).mtu);
        let broadcast = matches!(route.kind, RouteKind::Broadcast | RouteKind::Multicast);
        Dst { dev, via: route.via, mtu, local: false, broadcast }
    }

    /// For the node itself.
    pub(super) fn own_dst(&self, broadcast: bool) -> Dst {
        Dst { dev: LOOPBACK, via: None, mtu: self.device(LOOPBACK).mtu, local: true, broadcast }
    }

    /// Writes a leaf of `all`, `default` or one device; forwarding of `all` reaches every device.
    pub(super) fn set_conf(&mut self, v6: bool, dev: &str, leaf: &str, value: i64) -> bool {
        match dev {
            "all" => {
                if !self.sysctls.all.set(v6, leaf, value) {
                    return false;
                }
                if matches!(leaf, "forwarding" | "disable_ipv6") {
                    self.sysctls.default.set(v6, leaf, value);
                    self.devices.iter_mut().for_each(|d| _ = d.conf.set(v6, leaf, value));
                }
                true
            }
            "default" => self.sysctls.default.set(v6, leaf, value),
            name => match self.find_device(&name.replace('/', ".")) {
                Some(id) => self.device_mut(id).conf.set(v6, leaf, value),
                None => false,
            },
        }
    }

    pub(super) fn get_conf(&self, v6: bool, dev: &str, leaf: &str) -> Option<i64> {
        let conf: &DeviceConf = match dev {
            "all" => &self.sysctls.all,
            "default" => &self.sysctls.default,
            name => &self.device(self.find_device(&name.replace('/', "."))?).conf,
        };
        conf.get(v6, leaf)
    }
}

impl Extend<Route> for RouteTable {
    fn extend<T: IntoIterator<Item = Route>>(&mut self, routes: T) {
        routes.into_iter().for_each(|r| self.add(r));
    }
}

/// The prefix that stands for "everything" in a family.
pub const fn default_prefix(family: Family) -> Net {
    let any = match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    Net { addr: any, mask: any }
}
