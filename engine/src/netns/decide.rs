//! Routing decisions: where a packet goes, whether its source may be, which source a local packet gets.
//!
//! Mirrors `ip_route_input_slow`, `fib_validate_source`, `ip_route_output_key` (`net/ipv4/route.c`,
//! `fib_frontend.c`), `inet_select_addr`, and their IPv6 twins. Touches no packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::device::{Address, Scope};
use super::inet::{Inet, LOOPBACK};
use super::route::RouteKind;
use crate::packet::{DevId, Dst};

/// Why a packet that arrived cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Source (or destination) address that cannot be; dropped without an answer.
    Martian(&'static str),
    /// No route, or one of a refusing type.
    Unroutable(RouteKind),
    /// Not for this node, and forwarding is off on the device it came in through.
    NotForwarding,
}

/// The routing decision for a packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputRoute {
    Local(Dst),
    /// `redirect`: the next hop lies on the link it came from, and its sender could go there directly.
    Forward {
        dst: Dst,
        redirect: bool,
    },
    Refused(Refusal),
}

/// The routing decision for a packet of a local process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputRoute {
    pub dst: Dst,
    /// Source address for a packet that has none.
    pub src: IpAddr,
}
impl Inet {
    /// Where a packet that came in through `dev` goes.
    pub fn route_input(&self, src: IpAddr, dst: IpAddr, dev: DevId) -> InputRoute {
        match (src, dst) {
            (IpAddr::V4(s), IpAddr::V4(d)) => self.route_input_v4(s, d, dev),
            _ => self.route_input_v6(dst, dev),
        }
    }

    /// `ip_route_input_slow`, in its order of tests.
    fn route_input_v4(&self, src: Ipv4Addr, dst: Ipv4Addr, dev: DevId) -> InputRoute {
        use InputRoute::{Forward, Local, Refused};
        let martian = |why| Refused(Refusal::Martian(why));
        let conf = &self.device(dev).conf;
        let localnet = conf.route_localnet || self.sysctls.all.route_localnet;
        if dst.is_multicast() {
            // 224.0.0.1 is always joined; no other group is, and there is no multicast routing.
            return if dst == Ipv4Addr::new(224, 0, 0, 1) {
                Local(self.own_dst(true))
            } else {
                martian("nobody joined the multicast group")
            };
        }
        if src.is_multicast() || src.is_broadcast() {
            return martian("the source is a multicast or broadcast address");
        }
        if dst.is_broadcast() || (src.is_unspecified() && dst.is_unspecified()) {
            return self.broadcast_input(src, dev);
        }
        if src.is_unspecified() {
            return martian("the source is 0.0.0.0");
        }
        if dst.is_unspecified() {
            return martian("the destination is 0.0.0.0");
        }
        if dst.is_loopback() && !localnet {
            return martian("the destination is in 127.0.0.0/8 and route_localnet is 0");
        }
        if src.is_loopback() && !dst.is_loopback() && !localnet {
            return martian("the source is in 127.0.0.0/8 and route_localnet is 0");
        }
        let found = self.lookup(dst.into(), None);
        match found.map(|r| (r, r.kind, r.dev)) {
            Some((_, RouteKind::Broadcast, _)) => {
                if conf.bc_forwarding && self.sysctls.all.bc_forwarding {
                    return martian("forwarding of directed broadcasts is not emulated");
                }
                self.broadcast_input(src, dev)
            }
            Some((_, RouteKind::Local | RouteKind::Anycast, _)) => {
                match self.validate_source(src, dev, LOOPBACK) {
                    Err(why) => martian(why),
                    Ok(_) => Local(self.own_dst(false)),
                }
            }
            _ if !conf.forwarding => Refused(Refusal::NotForwarding),
            Some((route, RouteKind::Unicast, Some(out))) => match self.validate_source(src, dev, out) {
                Err(why) => martian(why),
                Ok(on_link) => {
                    let redirects = conf.send_redirects || self.sysctls.all.send_redirects;
                    let shared = conf.shared_media || self.sysctls.all.shared_media;
                    let next = route.via.unwrap_or(dst.into());
                    let reaches = |a: &Address| a.covers(src.into()) && a.covers(next);
                    let redirect = out == dev
                        && on_link
                        && redirects
                        && (shared || self.device(out).addresses.iter().any(reaches));
                    Forward { dst: self.dst(route, out), redirect }
                }
            },
            Some((_, kind, _)) => Refused(Refusal::Unroutable(kind)),
            None => Refused(Refusal::Unroutable(RouteKind::Unreachable)),
        }
    }

    fn broadcast_input(&self, src: Ipv4Addr, dev: DevId) -> InputRoute {
        if !src.is_unspecified()
            && let Err(why) = self.validate_source(src, dev, LOOPBACK)
        {
            return InputRoute::Refused(Refusal::Martian(why));
        }
        InputRoute::Local(self.own_dst(true))
    }

    /// `fib_validate_source`: whether a packet from `src` may come in through `dev` and leave through `out`.
    /// Tells whether the sender is on the device's own link.
    fn validate_source(&self, src: Ipv4Addr, dev: DevId, out: DevId) -> Result<bool, &'static str> {
        const OWN: &str = "the source is an address of this node";
        const SPOOFED: &str = "rp_filter: the way back does not use this device";
        let (conf, all) = (&self.device(dev).conf, &self.sysctls.all);
        let filter = conf.rp_filter.max(all.rp_filter);
        let accept_local = conf.accept_local || all.accept_local;
        let redirects = conf.send_redirects || all.send_redirects;
        if filter == 0 && (dev != out || !redirects) {
            return if !accept_local && self.is_own(src.into()) { Err(OWN) } else { Ok(false) };
        }
        let back = self.lookup(src.into(), None);
        let last_resort = if filter == 0 { Ok(false) } else { Err(SPOOFED) };
        let Some(back) = back else { return last_resort };
        match back.kind {
            RouteKind::Unicast => {}
            RouteKind::Local if accept_local => {}
            RouteKind::Blackhole | RouteKind::Unreachable | RouteKind::Prohibit | RouteKind::Throw => {
                return last_resort;
            }
            RouteKind::Local => return Err(OWN),
            RouteKind::Broadcast | RouteKind::Anycast | RouteKind::Multicast => {
                return Err("the source is not a unicast address");
            }
        }
        let on_link = back.via.is_none();
        if back.dev == Some(dev) {
            return Ok(on_link);
        }
        if !self.device(dev).addresses.iter().any(|a| a.addr.is_ipv4()) {
            return last_resort;
        }
        if filter == 1 {
            return Err(SPOOFED);
        }
        Ok(self
            .lookup(src.into(), Some(dev))
            .is_some_and(|r| r.kind == RouteKind::Unicast && r.via.is_none()))
    }

    /// `ip6_route_input`. What `ip6_forward` then tests is the path's business.
    fn route_input_v6(&self, dst: IpAddr, dev: DevId) -> InputRoute {
        if let IpAddr::V6(group) = dst
            && group.is_multicast()
        {
            return if self.joined(group, dev) {
                InputRoute::Local(self.own_dst(true))
            } else {
                InputRoute::Refused(Refusal::Martian("nobody joined the multicast group"))
            };
        }
        if self.is_router_anycast(dst) {
            return InputRoute::Local(self.own_dst(false));
        }
        match self.lookup(dst, None).map(|r| (r, r.kind, r.dev)) {
            Some((_, RouteKind::Local | RouteKind::Anycast, _)) => InputRoute::Local(self.own_dst(false)),
            Some((route, RouteKind::Unicast, Some(out))) => {
                InputRoute::Forward { dst: self.dst(route, out), redirect: false }
            }
            Some((_, kind, _)) => InputRoute::Refused(Refusal::Unroutable(kind)),
            None => InputRoute::Refused(Refusal::Unroutable(RouteKind::Unreachable)),
        }
    }

    /// Groups that a device is in without anybody's doing: all nodes, the solicited-node groups of its addresses,
    /// and all routers once it forwards.
    fn joined(&self, group: Ipv6Addr, dev: DevId) -> bool {
        let device = self.device(dev);
        let [first, .., last] = group.segments();
        let solicited = |a: &Address| match a.addr {
            IpAddr::V6(own) => {
                let low = own.to_bits() & 0xff_ffff;
                group.to_bits() == 0xff02_0000_0000_0000_0000_0001_ff00_0000 | low
            }
            IpAddr::V4(_) => false,
        };
        let well_known = group.to_bits() & !(0xffff << 112) == u128::from(last);
        match (well_known, first, last) {
            (true, 0xff01 | 0xff02, 1) => true,
            (true, 0xff01 | 0xff02 | 0xff05, 2) => device.conf.forwarding6,
            _ => device.addresses.iter().any(solicited),
        }
    }

    /// The subnet-router anycast address of an own subnet (RFC 4291 2.6.1), which a router answers to.
    pub(super) fn is_router_anycast(&self, dst: IpAddr) -> bool {
        let subnet = |a: &Address| a.prefix_len < 127 && a.subnet().is_some_and(|net| net.addr == dst);
        dst.is_ipv6()
            && self.devices.iter().any(|d| {
                d.conf.forwarding6 && d.addresses.iter().any(|a| a.scope == Scope::Global && subnet(a))
            })
    }

    /// `ip_route_output_key`, `ip6_route_output`: the way of a local packet. The error is the kind of route
    /// that refuses it.
    pub fn route_output(&self, dst: IpAddr) -> Result<OutputRoute, RouteKind> {
        let route = self.lookup(dst, None).ok_or(RouteKind::Unreachable)?;
        match (route.kind, route.dev) {
            (RouteKind::Local | RouteKind::Anycast, _) => {
                Ok(OutputRoute { dst: self.own_dst(false), src: dst })
            }
            (RouteKind::Unicast | RouteKind::Broadcast | RouteKind::Multicast, Some(dev)) => {
                let near = route.via.unwrap_or(dst);
                let src = route.src.or_else(|| self.select_source(dev, near, dst));
                Ok(OutputRoute { dst: self.dst(route, dev), src: src.ok_or(RouteKind::Unreachable)? })
            }
            (kind, _) => Err(kind),
        }
    }

    /// `inet_select_addr` for IPv4, `ipv6_dev_get_saddr` for IPv6: the source for packets to `dst` whose next
    /// hop is `near`.
    pub fn select_source(&self, dev: DevId, near: IpAddr, dst: IpAddr) -> Option<IpAddr> {
        match dst {
            IpAddr::V4(_) => self.select_v4(dev, near, Scope::Global).or_else(|| {
                let others = (0..self.devices.len()).map(|at| DevId(at as u16));
                others.filter(|&o| o != dev).find_map(|o| self.select_v4(o, near, Scope::Global))
            }),
            IpAddr::V6(dst) => {
                // RFC 6724, rules 1, 2 and 8: the address itself, fitting scope, longest common prefix.
                let link = dst.is_unicast_link_local();
                let all = self.devices.iter().enumerate();
                all.flat_map(|(at, d)| d.addresses.iter().map(move |a| (DevId(at as u16), a)))
                    .filter_map(|(at, a)| match a.addr {
                        IpAddr::V6(v6) if !link || at == dev => Some((at, a, v6)),
                        IpAddr::V4(_) | IpAddr::V6(_) => None,
                    })
                    .filter(|(_, a, v6)| a.scope != Scope::Host || *v6 == dst)
                    .max_by_key(|(at, a, v6)| {
                        let fits = (a.scope == Scope::Link) == link;
                        let common = (v6.to_bits() ^ dst.to_bits()).leading_zeros().min(64);
                        (*v6 == dst, fits, *at == dev, common)
                    })
                    .map(|(_, a, _)| a.addr)
            }
        }
    }

    fn select_v4(&self, dev: DevId, near: IpAddr, scope: Scope) -> Option<IpAddr> {
        let usable = || self.device(dev).of_family(near).filter(|a| !a.secondary && a.scope <= scope);
        usable().find(|a| a.covers(near)).or_else(|| usable().next()).map(|a| a.addr)
    }
}
