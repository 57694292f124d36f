//! Answers of servers (`ip_vs_out`): at FORWARD when they pass through, at INPUT and OUTPUT when one end is this node.

use super::config::Knob;
use super::conn::{Conn, OutKey};
use super::dest::Forward;
use super::request::{Seen, SeenL4};
use super::state::{SctpEvent, Side};
use super::{Ipvs, IpvsCx, Xmit};
use crate::packet::{Skb, TcpFlags};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Of no balanced connection.
    Pass,
    /// Its source becomes the virtual service's.
    Rewrite(Xmit),
    /// From a server about a connection nobody knows: it is told so and the packet dropped (`nat_icmp_send`).
    Unknown,
}

impl Ipvs {
    /// A packet at the reply hooks. [`Self::advance`] has run for this instant.
    pub fn reply(&mut self, cx: &mut IpvsCx<'_>, skb: &Skb) -> Reply {
        let Some(seen) = Seen::of(skb) else { return Reply::Pass };
        let found = self.conns.by_server(&OutKey::of(&seen));
        let Some(id) = found.filter(|id| self.conns.get(*id).is_some_and(|conn| !conn.is_template())) else {
            let ends = match seen.l4 {
                SeenL4::Tcp(flags) => flags.has(TcpFlags::RST),
                SeenL4::Sctp(event) => event == Some(SctpEvent::Abort),
                SeenL4::Udp => false,
            };
            let told = self.config.on(Knob::NatIcmpSend) && !ends && self.is_server(&seen);
            return if told { Reply::Unknown } else { Reply::Pass };
        };
        self.count_out(id, seen.bytes, cx.now);
        self.step(id, Side::Output, &seen);
        self.touch(id, cx.now);
        self.say(cx, "an answer of a known connection", Some(id));
        self.conns.get(id).map(Conn::xmit).map_or(Reply::Pass, Reply::Rewrite)
    }

    /// `ip_vs_has_real_service`: some service sends to this address and port by NAT.
    fn is_server(&self, seen: &Seen) -> bool {
        self.dests.values().any(|dest| {
            dest.available
                && dest.forward == Forward::Masq
                && dest.addr == seen.src.ip()
                && (dest.port == seen.src.port() || dest.port == 0)
        })
    }
}
