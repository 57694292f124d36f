//! What rules ask of addresses and routes: [`Inet`] answers as [`Fib`].

use std::net::{IpAddr, Ipv6Addr};

use super::inet::Inet;
use super::route::RouteKind;
use crate::netfilter::{AddrType, Fib};
use crate::packet::{DevId, Family, Skb};

impl Fib for Inet {
    fn addr_type(&self, addr: IpAddr, dev: Option<DevId>) -> AddrType {
        match addr {
            IpAddr::V4(a) if a.is_broadcast() || a.is_unspecified() => AddrType::Broadcast,
            IpAddr::V6(a) if a.is_unspecified() => AddrType::Unspec,
            IpAddr::V6(_) if self.is_router_anycast(addr) => AddrType::Anycast,
            _ if addr.is_multicast() => AddrType::Multicast,
            // Both families ask the local table; only IPv6 sees the refusing routes of main.
            _ => match self.local.lookup(addr, None).filter(|r| dev.is_none() || r.dev == dev) {
                Some(route) => match route.kind {
                    RouteKind::Local => AddrType::Local,
                    RouteKind::Broadcast => AddrType::Broadcast,
                    RouteKind::Anycast => AddrType::Anycast,
                    RouteKind::Multicast => AddrType::Multicast,
                    RouteKind::Unicast => AddrType::Unicast,
                    RouteKind::Blackhole => AddrType::Blackhole,
                    RouteKind::Unreachable => AddrType::Unreachable,
                    RouteKind::Prohibit => AddrType::Prohibit,
                    RouteKind::Throw => AddrType::Throw,
                },
                None if addr.is_ipv6() && self.main.lookup(addr, None).is_none_or(|r| r.dev.is_none()) => {
                    AddrType::Unreachable
                }
                None => AddrType::Unicast,
            },
        }
    }

    fn masquerade_source(&self, out: DevId, to: IpAddr) -> Option<IpAddr> {
        let near = self.main.lookup(to, Some(out)).and_then(|r| r.via).unwrap_or(to);
        // `inet_select_addr` falls back to the other devices, so only a node without any address has none.
        self.select_source(out, near, to)
    }

    fn redirect_address(&self, dev: DevId, to: IpAddr) -> Option<IpAddr> {
        let family = Family::of(&to);
        let mut own = self.device(dev).addresses.iter().filter(|a| Family::of(&a.addr) == family);
        match to {
            IpAddr::V4(_) => own.next().map(|a| a.addr),
            // `nf_nat_redirect_ipv6_usable`: a destination of narrower scope wants an address of that scope.
            IpAddr::V6(to) if scope(to) != 0 => {
                own.map(|a| a.addr).find(|a| matches!(a, IpAddr::V6(a) if scope(*a) & scope(to) != 0))
            }
            IpAddr::V6(_) => own.min_by_key(|a| a.scope).map(|a| a.addr),
        }
    }

    fn reverse_route(&self, skb: &Skb, _mark: u32) -> Option<DevId> {
        // Routing by mark is not modelled, so the mark cannot change the answer.
        self.lookup(skb.packet.ip.src, None).filter(|r| r.kind == RouteKind::Unicast)?.dev
    }

    fn path_mtu(&self, to: IpAddr) -> u32 {
        let route = self.lookup(to, None);
        let own = route.and_then(|r| r.mtu);
        own.or_else(|| Some(self.device(route?.dev?).mtu)).unwrap_or(super::device::MTU_DEFAULT)
    }

    fn unicast_device(&self, to: IpAddr, dev: Option<DevId>) -> Option<DevId> {
        let found = self.lookup(to, None).filter(|r| r.kind == RouteKind::Unicast)?.dev;
        found.filter(|found| dev.is_none_or(|dev| dev == *found))
    }

    fn device_mac(&self, dev: DevId) -> Option<[u8; 6]> {
        self.device(dev).mac
    }

    fn is_loopback(&self, dev: DevId) -> bool {
        self.device(dev).is_loopback()
    }

    fn device_name(&self, dev: DevId) -> &str {
        &self.device(dev).name
    }
}

/// `ipv6_addr_scope`: one bit for loopback, link-local and site-local addresses, zero for global ones.
fn scope(addr: Ipv6Addr) -> u8 {
    const LOOPBACK: u8 = 0x10;
    const LINK: u8 = 0x20;
    const SITE: u8 = 0x40;
    match addr.segments()[0] {
        // A multicast address names its scope (RFC 4291 2.7).
        first if addr.is_multicast() => match first & 0xf {
            1 => LOOPBACK,
            2 => LINK,
            5 => SITE,
            _ => 0,
        },
        0xfe80..=0xfebf => LINK,
        0xfec0..=0xfeff => SITE,
        _ if addr.is_loopback() => LOOPBACK,
        _ => 0,
    }
}
