//! [`Cx`]: everything a match or target may look at, besides the packet.

use std::net::IpAddr;

use super::{Assume, Shared};
use crate::base::{Hook, Instant, KernelVersion};
use crate::conntrack::Conntrack;
use crate::packet::{DevId, Family, Skb};
use crate::trace::{Change, Trace, TraceKind};

/// A device, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct DevRef<'a> {
    pub id: DevId,
    pub name: &'a str,
}

/// Type of an address according to the routing tables (`RTN_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddrType {
    Unspec,
    Unicast,
    Local,
    Broadcast,
    Anycast,
    Multicast,
    Blackhole,
    Unreachable,
    Prohibit,
    Throw,
    Nat,
    Xresolve,
}

/// What rules ask of addresses and routes. The namespace implements it.
pub trait Fib {
    /// `inet_addr_type` / `inet_dev_addr_type`: type of `addr`, restricted to `dev` if given.
    fn addr_type(&self, addr: IpAddr, dev: Option<DevId>) -> AddrType;

    /// Address that MASQUERADE takes for packets to `to` leaving through `out`
    /// (`inet_select_addr`, `ipv6_dev_get_saddr`).
    fn masquerade_source(&self, out: DevId, to: IpAddr) -> Option<IpAddr>;

    /// Address of the device that REDIRECT takes for a packet to `to`: the first, over IPv6 one that reaches
    /// as far as `to` where that stays on the link.
    fn redirect_address(&self, dev: DevId, to: IpAddr) -> Option<IpAddr>;

    /// Device that a packet to the packet's source would leave through (`-m rpfilter`); `mark` is the mark to
    /// route with. None when there is no unicast route.
    fn reverse_route(&self, skb: &Skb, mark: u32) -> Option<DevId>;

    /// MTU of the route to an address, in bytes (`dst_mtu`), for TCPMSS.
    fn path_mtu(&self, to: IpAddr) -> u32;

    fn device_name(&self, dev: DevId) -> &str;

    /// Device that a unicast route to `to` leaves through, for `fib`: with `dev`, only if it is that one. None for
    /// the node's own addresses.
    fn unicast_device(&self, to: IpAddr, dev: Option<DevId>) -> Option<DevId>;

    fn device_mac(&self, dev: DevId) -> Option<[u8; 6]>;

    fn is_loopback(&self, dev: DevId) -> bool;
}

/// Context of an evaluation at one hook.
pub struct Cx<'a> {
    pub hook: Hook,
    pub family: Family,
    pub indev: Option<DevRef<'a>>,
    pub outdev: Option<DevRef<'a>>,
    pub now: Instant,
    /// Seconds since the epoch at [`Instant::ZERO`], for `-m time`.
    pub epoch_secs: u64,
    pub kernel: KernelVersion,
    pub fib: &'a dyn Fib,
    pub ct: &'a mut Conntrack,
    pub shared: &'a mut Shared,
    pub assume: &'a mut Assume,
    pub trace: &'a mut Trace,
}

impl std::fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cx").field("hook", &self.hook).field("family", &self.family).finish_non_exhaustive()
    }
}

impl Cx<'_> {
    /// Records that `by` changed one field.
    pub fn rewrote(&mut self, by: &str, field: &'static str, before: impl ToString, after: impl ToString) {
        self.trace.record(self.now, || TraceKind::Rewrite {
            by: by.to_owned(),
            changes: vec![Change { field, before: before.to_string(), after: after.to_string() }],
        });
    }
}
