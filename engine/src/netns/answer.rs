//! The errors that the node sends because of a packet: ICMP and ICMPv6 errors and redirects (`icmp.c`,
//! `ip6_icmp.c`, `route.c`). What REJECT asks for is in `reject`.
//!
//! Owns when an error may be sent, what it quotes, and its source address. The error then goes through OUTPUT
//! and POSTROUTING like any local packet, with the offender's connection attached.

use std::net::IpAddr;

use super::Netns;
use super::path::Run;
use super::route::RouteKind;
use crate::packet::wire::is_icmp_error;
use crate::packet::{Dst, Family, Icmp, Ip, L4, Packet, PacketType, Skb, Tcp, TcpFlags, proto};
use crate::trace::{DropReason, TraceKind};

/// Why an ICMP error is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    TimeExceeded,
    /// Longer than the MTU of the way, in bytes.
    TooBig {
        mtu: u32,
    },
    /// IPv6: a link-local source would leave its link.
    BeyondScope,
    NoRoute,
    Prohibited,
    HostUnreachable,
    PortUnreachable,
    /// IPv6: a first fragment without the whole transport header.
    HeaderIncomplete,
    /// Nobody takes this protocol.
    ProtocolUnreachable,
    /// REJECT names type and code itself.
    Rejected {
        kind: u8,
        code: u8,
    },
    /// IPv4: the next hop is on the sender's own link.
    Redirect {
        to: std::net::Ipv4Addr,
    },
}

impl Trouble {
    /// Type, code and bytes 4 to 7 of the message.
    fn message(self, family: Family) -> (u8, u8, [u8; 4]) {
        let v6 = family == Family::V6;
        match self {
            Self::TimeExceeded if v6 => (3, 0, [0; 4]),
            Self::TimeExceeded => (11, 0, [0; 4]),
            Self::TooBig { mtu } if v6 => (2, 0, mtu.to_be_bytes()),
            Self::TooBig { mtu } => (3, 4, mtu.min(0xffff).to_be_bytes()),
            Self::BeyondScope => (1, 2, [0; 4]),
            Self::NoRoute if v6 => (1, 0, [0; 4]),
            Self::NoRoute => (3, 0, [0; 4]),
            Self::Prohibited if v6 => (1, 1, [0; 4]),
            Self::Prohibited => (3, 13, [0; 4]),
            Self::HostUnreachable if v6 => (1, 0, [0; 4]),
            Self::HostUnreachable => (3, 1, [0; 4]),
            Self::PortUnreachable if v6 => (1, 4, [0; 4]),
            Self::PortUnreachable => (3, 3, [0; 4]),
            Self::HeaderIncomplete => (4, 3, [0; 4]),
            // Parameter problem, unrecognised next header, at the offset of that field.
            Self::ProtocolUnreachable if v6 => (4, 1, 6_u32.to_be_bytes()),
            Self::ProtocolUnreachable => (3, 2, [0; 4]),
            Self::Rejected { kind, code } => (kind, code, [0; 4]),
            Self::Redirect { to } => (5, 1, to.octets()),
        }
    }

    const fn because(self) -> &'static str {
        match self {
            Self::TimeExceeded => "TTL exceeded",
            Self::TooBig { .. } => "longer than the MTU",
            Self::BeyondScope => "beyond the scope of the source address",
            Self::NoRoute => "no route to the destination",
            Self::Prohibited => "the route prohibits it",
            Self::HostUnreachable => "the route says unreachable",
            Self::PortUnreachable => "nobody listens on the port",
            Self::HeaderIncomplete => "the first fragment lacks headers (RFC 7112)",
            Self::ProtocolUnreachable => "nobody takes the protocol",
            Self::Rejected { .. } => "REJECT",
            Self::Redirect { .. } => "a better next hop is on the sender's link",
        }
    }
}

/// Quoted bytes: an IPv4 error is at most 576 bytes long, an IPv6 one 1280 (RFC 1812 4.3.2.3, RFC 4443 2.4 c).
const V4_ERROR_MAX: usize = 576 - 20 - 8;
const V6_ERROR_MAX: usize = 1280 - 40 - 8;
/// Further ICMP types that `icmp_pointers` counts as errors: unassigned ones and router discovery.
const UNANSWERED: [u8; 6] = [1, 2, 6, 7, 9, 10];
/// TOS of IPv4 errors: precedence "internetwork control" over the offender's TOS bits.
const TOS_CONTROL: u8 = 0xc0;
const TOS_BITS: u8 = 0x1e;

impl Netns {
    /// `icmp_send`, `icmpv6_send`: sends an error about `offender`, if one may be sent.
    pub(super) fn icmp_error(&mut self, run: &mut Run<'_>, offender: &Skb, trouble: Trouble) {
        let family = offender.family();
        let (kind, code, rest) = trouble.message(family);
        let allowed = match run.sending_icmp {
            true => Err("the packet is an ICMP message that the node is sending"),
            false => self.may_send(offender, kind),
        };
        if let Err(why) = allowed {
            run.trace.record(self.now, || TraceKind::Note { text: format!("no ICMP error: {why}") });
            return;
        }
        let to = offender.packet.ip.src;
        let Some(src) = self.error_source(offender) else { return };
        if !self.within_limit(to, kind, code) {
            run.trace.record(self.now, || TraceKind::Note {
                text: format!("no ICMP error: the limit for {to} is used up (icmp_ratelimit)"),
            });
            return;
        }
        let mut quoted = offender.packet.to_bytes();
        if let (Trouble::PortUnreachable, L4::Udp(udp)) = (&trouble, &offender.packet.l4)
            && udp.fits()
        {
            // The socket has cut off what lies behind the datagram; the IP header is as it was.
            quoted.truncate(quoted.len() - udp.len_bytes() + usize::from(udp.length));
        }
        quoted.truncate(if family == Family::V4 { V4_ERROR_MAX } else { V6_ERROR_MAX });
        let tos = match family {
            Family::V4 => offender.packet.ip.tos & TOS_BITS | TOS_CONTROL,
            Family::V6 => 0,
        };
        let icmp = Icmp { kind, code, rest, payload: quoted, checksum_ok: true };
        let ip = Ip { tos, id: self.next_id(family), ..self.own_header(src, to) };
        let packet = Packet { ip: Ip { proto: icmp_proto(family), ..ip }, l4: L4::Icmp(icmp) };
        let mut skb = self.reply_skb(packet, offender);
        skb.control_socket = true;
        self.ct.attach_answer(&mut skb, offender);
        self.answer(run, &mut skb, trouble.because());
    }

    /// The rules of `icmp_send` and `icmp6_send` about what gets no error.
    fn may_send(&self, offender: &Skb, kind: u8) -> Result<(), &'static str> {
        let ip = &offender.packet.ip;
        let group = offender.packet_type != PacketType::Host
            || offender.dst.is_some_and(|d| d.broadcast)
            || ip.dst.is_multicast();
        match offender.family() {
            Family::V4 => {
                if group {
                    return Err("the packet went to a broadcast or multicast address");
                }
                if ip.frag_offset != 0 {
                    return Err("the packet is a later fragment");
                }
                if let L4::Icmp(icmp) = &offender.packet.l4
                    && (icmp.kind > 18 || is_icmp_error(false, icmp.kind) || UNANSWERED.contains(&icmp.kind))
                {
                    return Err("the packet is an ICMP error itself");
                }
            }
            Family::V6 => {
                // Packet too big may answer multicast.
                if group && kind != 2 {
                    return Err("the packet went to a multicast address");
                }
                if ip.src.is_unspecified() || ip.src.is_multicast() {
                    return Err("the source is not a unicast address");
                }
                if ip.proto == proto::ICMPV6
                    && !matches!(&offender.packet.l4, L4::Icmp(i) if !is_icmp_error(true, i.kind))
                {
                    return Err("the packet is an ICMPv6 error itself");
                }
            }
        }
        Ok(())
    }

    /// The address dialled when the packet was for the node; otherwise one of the device towards the sender, or of
    /// the one it came in through.
    fn error_source(&self, offender: &Skb) -> Option<IpAddr> {
        let ip = &offender.packet.ip;
        let local = match offender.family() {
            Family::V4 => offender.dst.is_some_and(|d| d.local),
            Family::V6 => self.inet.is_own(ip.dst) || self.inet.is_router_anycast(ip.dst),
        };
        if local {
            return Some(ip.dst);
        }
        // IPv6 takes it from the device the offender came in through, wherever the error leaves, unless the route back
        // names one (`icmpv6_rt_has_prefsrc`).
        let of_the_inbound = match offender.family() {
            Family::V4 => self.inet.sysctls.icmp_errors_use_inbound_ifaddr,
            Family::V6 => self.inet.lookup(ip.src, None).is_none_or(|route| route.src.is_none()),
        };
        if of_the_inbound
            && let Some(addr) = offender.indev.and_then(|dev| self.inet.select_source(dev, ip.src, ip.src))
        {
            return Some(addr);
        }
        self.inet.route_output(ip.src).ok().map(|r| r.src)
    }

    fn within_limit(&mut self, to: IpAddr, kind: u8, code: u8) -> bool {
        let Ok(route) = self.inet.route_output(to) else { return false };
        // Nothing limits what goes through lo.
        if self.inet.device(route.dst.dev).is_loopback() {
            return true;
        }
        let sysctls = &self.inet.sysctls;
        let interval = match to {
            // Path MTU discovery is never limited.
            IpAddr::V4(_) if (kind, code) == (3, 4) => return true,
            IpAddr::V4(_) if kind >= 32 || sysctls.icmp_ratemask >> kind & 1 == 0 => return true,
            IpAddr::V4(_) => sysctls.icmp_ratelimit_ms,
            // Packet too big (2) and informational messages are not in the default mask.
            IpAddr::V6(_) if kind == 2 || kind >= 128 => return true,
            // Wider prefixes get more: the interval halves twice for a /64.
            IpAddr::V6(_) => {
                sysctls.icmp6_ratelimit_ms >> ((128 - u32::from(self.inet.prefix_towards(to))) >> 5)
            }
        };
        let (per_second, burst) = (sysctls.icmp_msgs_per_sec, sysctls.icmp_msgs_burst);
        let allowed =
            self.all_peers.allow(per_second, burst, self.now) && self.limits.allow(to, interval, self.now);
        if allowed {
            self.all_peers.consume();
        }
        allowed
    }

    /// `ip_error`, `ip6_pkt_discard`: the error for a packet that no route takes.
    pub(super) fn route_error(
        &mut self,
        run: &mut Run<'_>,
        offender: &mut Skb,
        kind: RouteKind,
        reason: DropReason,
    ) {
        let trouble = match kind {
            RouteKind::Blackhole => return,
            RouteKind::Prohibit => Trouble::Prohibited,
            RouteKind::Unreachable if reason == DropReason::RouteType => Trouble::HostUnreachable,
            _ => Trouble::NoRoute,
        };
        if offender.family() == Family::V4 && !self.limits.allow_route_error(offender.packet.ip.src, self.now)
        {
            run.trace.record(self.now, || TraceKind::Note {
                text: "no ICMP error: too many route errors for this sender".to_owned(),
            });
            return;
        }
        self.icmp_error(run, offender, trouble);
    }

    /// `ip_rt_send_redirect`: tells the sender of a better next hop.
    pub(super) fn icmp_redirect(&mut self, run: &mut Run<'_>, offender: &Skb, dst: Dst) {
        let (sender, now) = (offender.packet.ip.src, self.now);
        if let IpAddr::V4(to) = dst.via.unwrap_or(offender.packet.ip.dst)
            && self.limits.allow_redirect(sender, now)
        {
            self.icmp_error(run, offender, Trouble::Redirect { to });
            self.limits.count_redirect(sender, now);
        }
    }

    /// Sends what the node made because of another packet.
    pub(super) fn answer(&mut self, run: &mut Run<'_>, skb: &mut Skb, because: &str) {
        run.trace.record(self.now, || TraceKind::Answer {
            packet: skb.packet.clone(),
            because: because.to_owned(),
        });
        run.depth += 1;
        let sending_icmp = run.sending_icmp;
        run.sending_icmp |= matches!(skb.packet.l4, L4::Icmp(_));
        self.send_local(run, skb);
        run.sending_icmp = sending_icmp;
        run.depth -= 1;
    }

    /// A packet of the node's own: no connection; the mark of the other only when `fwmark_reflect` is set.
    pub(super) fn reply_skb(&self, packet: Packet, to: &Skb) -> Skb {
        let mark = if self.inet.sysctls.fwmark_reflect { to.mark } else { 0 };
        Skb { mark, ..Skb::new(packet) }
    }

    /// The IP header of a packet the node makes: default TTL, TOS 0.
    pub(super) fn own_header(&self, src: IpAddr, dst: IpAddr) -> Ip {
        let ttl = if src.is_ipv4() { self.inet.sysctls.ip_default_ttl } else { self.inet.sysctls.hop_limit };
        Ip {
            src,
            dst,
            proto: 0,
            ttl,
            tos: 0,
            id: 0,
            dont_fragment: false,
            more_fragments: false,
            frag_offset: 0,
            flow_label: 0,
            options: Vec::new(),
        }
    }

    /// `ip_select_ident` for a packet that may be fragmented: unpredictable by design.
    pub(super) fn next_id(&mut self, family: Family) -> u32 {
        match family {
            Family::V4 => self.ids.next_u32() & 0xffff,
            Family::V6 => 0,
        }
    }
}

/// The RST for a segment (RFC 9293 3.10.7.1): after an ACK it takes up that number, otherwise it acknowledges.
pub(super) fn reset_for(tcp: &Tcp) -> Tcp {
    let (seq, ack, flags) = if tcp.flags.has(TcpFlags::ACK) {
        (tcp.ack, 0, TcpFlags::RST)
    } else {
        (0, tcp.seq.wrapping_add(tcp.segment_len()), TcpFlags::RST.with(TcpFlags::ACK))
    };
    Tcp {
        sport: tcp.dport,
        dport: tcp.sport,
        seq,
        ack,
        flags,
        window: 0,
        urgent: 0,
        options: Vec::new(),
        payload: Vec::new(),
        checksum_ok: true,
    }
}

pub(super) const fn icmp_proto(family: Family) -> u8 {
    match family {
        Family::V4 => proto::ICMP,
        Family::V6 => proto::ICMPV6,
    }
}
