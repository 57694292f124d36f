//! ICMP errors about packets of balanced connections (`ip_vs_in_icmp`, `ip_vs_out_icmp`): which connection they speak
//! of, and what has to be rewritten.

use super::conn::{InKey, OutKey, socket};
use super::dest::Forward;
use super::{Ipvs, IpvsCx, Xmit};
use crate::conntrack::quoted::Quoted;
use crate::packet::{L4, Skb, proto};

/// What an error is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpRewrite {
    pub xmit: Xmit,
    /// From the client's side, towards the server; otherwise the other way.
    pub inbound: bool,
}

impl Ipvs {
    /// An error from the client's side about an answer of ours.
    pub fn icmp_request(&mut self, cx: &mut IpvsCx<'_>, skb: &Skb) -> Option<IcmpRewrite> {
        let quoted = quoted(skb)?;
        // The quoted packet went from the service to the client.
        let key = InKey {
            template: false,
            proto: quoted.tuple.proto,
            client: socket(quoted.tuple.dst, quoted.tuple.l4.dst()),
            virt: socket(quoted.tuple.src, quoted.tuple.l4.src()),
        };
        let id = self.conns.by_client(&key)?;
        self.count_in(id, skb.packet.len_bytes(), cx.now);
        self.say(cx, "an ICMP error about an answer of a known connection", Some(id));
        let xmit = self.conns.get(id)?.xmit();
        Some(IcmpRewrite { xmit, inbound: true })
    }

    /// An error from the server's side about a request that was sent to it by NAT.
    pub fn icmp_reply(&mut self, cx: &mut IpvsCx<'_>, skb: &Skb) -> Option<IcmpRewrite> {
        let quoted = quoted(skb)?;
        let key = OutKey {
            proto: quoted.tuple.proto,
            client: socket(quoted.tuple.src, quoted.tuple.l4.src()),
            server: socket(quoted.tuple.dst, quoted.tuple.l4.dst()),
        };
        let id = self.conns.by_server(&key)?;
        let conn = self.conns.get(id).filter(|conn| conn.forward == Forward::Masq)?;
        let xmit = conn.xmit();
        self.count_out(id, skb.packet.len_bytes(), cx.now);
        self.say(cx, "an ICMP error about a request of a known connection", Some(id));
        Some(IcmpRewrite { xmit, inbound: false })
    }
}

/// The quoted packet of an unreachable, source quench or time exceeded; for IPv6, of any error.
fn quoted(skb: &Skb) -> Option<Quoted> {
    let L4::Icmp(icmp) = &skb.packet.l4 else { return None };
    let error = match skb.packet.ip.src {
        std::net::IpAddr::V4(_) => matches!(icmp.kind, 3 | 4 | 11),
        std::net::IpAddr::V6(_) => icmp.kind < 128,
    };
    let quoted = Quoted::parse(&icmp.payload, skb.family()).filter(|_| error && icmp.checksum_ok)?;
    matches!(quoted.tuple.proto, proto::TCP | proto::UDP | proto::SCTP).then_some(quoted)
}
