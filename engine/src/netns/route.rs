//! Routes: what they say, and the longest-prefix lookup (`fib_trie.c`, `ip6_fib.c`).
//!
//! Two tables, as without `ip rule` additions: `local`, which the kernel fills from the addresses, is asked
//! first, then `main`. Policy routing by mark or source is not modelled; `ip rule` is refused by name.

use std::net::IpAddr;

use crate::netfilter::Net;
use crate::packet::DevId;

/// What becomes of packets on a route (`RTN_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteKind {
    #[default]
    Unicast,
    Local,
    Broadcast,
    Anycast,
    Multicast,
    Blackhole,
    Unreachable,
    Prohibit,
    Throw,
}

impl RouteKind {
    pub const ALL: [Self; 9] = [
        Self::Unicast,
        Self::Local,
        Self::Broadcast,
        Self::Anycast,
        Self::Multicast,
        Self::Blackhole,
        Self::Unreachable,
        Self::Prohibit,
        Self::Throw,
    ];

    /// As `ip route` writes it in front of the prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unicast => "unicast",
            Self::Local => "local",
            Self::Broadcast => "broadcast",
            Self::Anycast => "anycast",
            Self::Multicast => "multicast",
            Self::Blackhole => "blackhole",
            Self::Unreachable => "unreachable",
            Self::Prohibit => "prohibit",
            Self::Throw => "throw",
        }
    }
}

/// Who installed a route (`ip route`'s `proto`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteOrigin {
    /// The kernel, for an address.
    Kernel,
    #[default]
    Boot,
    /// Inferred, because nothing was said.
    Assumed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub to: Net,
    pub prefix_len: u8,
    pub kind: RouteKind,
    pub via: Option<IpAddr>,
    /// None for the types that go nowhere.
    pub dev: Option<DevId>,
    /// Source address preferred for local packets.
    pub src: Option<IpAddr>,
    /// Lower wins among routes to one prefix.
    pub metric: u32,
    /// `mtu` of the route, in bytes.
    pub mtu: Option<u32>,
    pub origin: RouteOrigin,
}

impl Route {
    /// A unicast route to `to` through `dev`; none when `prefix_len` is too long.
    pub fn new(to: IpAddr, prefix_len: u8, dev: DevId) -> Option<Self> {
        Some(Self {
            to: Net::prefix(to, prefix_len)?,
            prefix_len,
            kind: RouteKind::Unicast,
            via: None,
            dev: Some(dev),
            src: None,
            metric: 0,
            mtu: None,
            origin: RouteOrigin::Boot,
        })
    }
}

/// One routing table of both families, most specific route first.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    routes: Vec<Route>,
}

impl RouteTable {
    /// Adds a route; among equal prefix and metric the first one stays ahead.
    pub fn add(&mut self, route: Route) {
        let key = |r: &Route| (std::cmp::Reverse(r.prefix_len), r.metric);
        let at = self.routes.partition_point(|r| key(r) <= key(&route));
        self.routes.insert(at, route);
    }

    pub fn remove(&mut self, gone: impl Fn(&Route) -> bool) {
        self.routes.retain(|r| !gone(r));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }

    /// The most specific route to `to`, through `dev` if one is demanded. `throw` ends the search here.
    pub fn lookup(&self, to: IpAddr, dev: Option<DevId>) -> Option<&Route> {
        self.routes
            .iter()
            .find(|r| r.to.contains(to) && (dev.is_none() || r.dev == dev))
            .filter(|r| r.kind != RouteKind::Throw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_then_the_lowest_metric() {
        let mut table = RouteTable::default();
        let mut add = |to: &str, len, dev, metric| {
            table.add(Route { metric, ..Route::new(to.parse().unwrap(), len, DevId(dev)).unwrap() });
        };
        add("0.0.0.0", 0, 0, 0);
        add("10.0.0.0", 8, 1, 100);
        add("10.0.0.0", 8, 2, 50);
        add("10.1.0.0", 16, 3, 0);
        add("::", 0, 4, 0);
        let dev = |to: &str| table.lookup(to.parse().unwrap(), None).and_then(|r| r.dev).map(|d| d.0);
        assert_eq!(dev("8.8.8.8"), Some(0));
        assert_eq!(dev("10.2.0.1"), Some(2));
        assert_eq!(dev("10.1.2.3"), Some(3));
        assert_eq!(dev("fd00::1"), Some(4));
        assert_eq!(
            table.lookup("10.1.2.3".parse().unwrap(), Some(DevId(1))).and_then(|r| r.dev),
            Some(DevId(1))
        );
    }
}
