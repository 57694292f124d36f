//! What IPVS does to connections: other replies are expected, or the packet goes on untracked (`ip_vs_nfct.c`,
//! `nf_conntrack_alter_reply`).

use std::net::SocketAddr;

use super::{Conntrack, L4Part, Tuple};
use crate::base::Instant;
use crate::packet::{CtInfo, Skb};

impl Conntrack {
    /// The packet of a new connection was sent on to `server`: answers will come from there. The original tuple stays
    /// as the client sees it, and no NAT status is set: it is not conntrack that translates.
    pub fn expect_from(&mut self, skb: &Skb, server: SocketAddr) {
        self.alter(skb, |reply| {
            reply.src = server.ip();
            set_port(&mut reply.l4, true, server.port());
        });
    }

    /// The packet of a new connection was given the source `virt`: answers will go there.
    pub fn expect_to(&mut self, skb: &Skb, virt: SocketAddr) {
        self.alter(skb, |reply| {
            reply.dst = virt.ip();
            set_port(&mut reply.l4, false, virt.port());
        });
    }

    /// Only in the original direction of a connection that is not yet confirmed.
    fn alter(&mut self, skb: &Skb, change: impl FnOnce(&mut Tuple)) {
        if skb.ct_info.is_reply() {
            return;
        }
        if let Some(entry) = skb.ct.and_then(|at| self.entry_mut(at))
            && !entry.is_confirmed()
            && !entry.is_dying()
        {
            change(&mut entry.reply);
        }
    }

    /// `ip_vs_notrack`: a packet with a connection loses it and is UNTRACKED from here on.
    pub fn untrack(&mut self, skb: &mut Skb) {
        if skb.ct.is_some() {
            self.detach(skb);
            skb.ct_info = CtInfo::Untracked;
        }
    }

    /// The packet is wrapped into another, which is tracked for itself (`nf_reset_ct`).
    pub fn forget(&mut self, skb: &mut Skb) {
        self.detach(skb);
        skb.ct_info = CtInfo::None;
    }

    /// `ip_vs_conn_drop_conntrack`: the entry of a balanced connection ends with it.
    pub fn drop_flow(&mut self, number: u8, client: SocketAddr, virt: SocketAddr, now: Instant) {
        let flow = Tuple {
            src: client.ip(),
            dst: virt.ip(),
            proto: number,
            l4: L4Part::Ports { src: client.port(), dst: virt.port() },
        };
        if let Some((at, _)) = self.find(&flow, 0, now) {
            self.kill(at, now);
        }
    }
}

const fn set_port(l4: &mut L4Part, source: bool, port: u16) {
    match (l4, source) {
        (L4Part::Ports { src, .. }, true) => *src = port,
        (L4Part::Ports { dst, .. }, false) => *dst = port,
        (L4Part::Icmp { .. } | L4Part::Gre { .. } | L4Part::None, _) => {}
    }
}
