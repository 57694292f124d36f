//! REJECT: the ICMP error or the RST it sends (`nf_reject_ipv4.c`, `nf_reject_ipv6.c`), and to what it does not.

use std::net::IpAddr;

use smoltcp::wire::checksum;

use super::Netns;
use super::answer::{Trouble, reset_for};
use super::path::Run;
use crate::netfilter::xt::RejectWith;
use crate::packet::{Ip, L4, Packet, Skb, TcpFlags, Udp, UdpChecksum, proto};
use crate::trace::TraceKind;

impl Netns {
    /// REJECT: the error it names.
    pub(super) fn reject(&mut self, run: &mut Run<'_>, offender: &Skb, with: RejectWith) {
        match with {
            RejectWith::Icmp { kind, code } => {
                if offender.packet.is_later_fragment() {
                    return;
                }
                if !checksum_fine(&offender.packet) {
                    run.trace.record(self.now, || TraceKind::Note {
                        text: "REJECT sends nothing: the packet's checksum is wrong".to_owned(),
                    });
                    return;
                }
                self.icmp_error(run, offender, Trouble::Rejected { kind, code });
            }
            RejectWith::TcpReset => self.reject_with_reset(run, offender),
            RejectWith::EchoReply => {}
        }
    }

    /// `nf_send_reset`, `nf_send_reset6`.
    fn reject_with_reset(&mut self, run: &mut Run<'_>, offender: &Skb) {
        let Some(tcp) = offender.packet.tcp().filter(|t| !t.flags.has(TcpFlags::RST) && t.checksum_ok) else {
            return;
        };
        if offender.dst.is_some_and(|d| d.broadcast) || offender.packet.is_later_fragment() {
            return;
        }
        let (src, to) = (offender.packet.ip.dst, offender.packet.ip.src);
        if src.is_multicast() || to.is_multicast() || to.is_unspecified() {
            return;
        }
        // `ip_route_me_harder` comes first: without a way there is no answer, and nothing is closed.
        let way = self.inet.route_output(to).ok();
        if way.is_none_or(|way| self.loopback_stays(src, way.dst.dev).is_err()) {
            return;
        }
        let ip = Ip { proto: proto::TCP, dont_fragment: src.is_ipv4(), ..self.own_header(src, to) };
        let packet = Packet { ip, l4: L4::Tcp(reset_for(tcp)) };
        let mut skb = self.reply_skb(packet, offender);
        self.ct.attach_answer(&mut skb, offender);
        self.ct.reject_closed(offender, self.now);
        self.answer(run, &mut skb, "REJECT --reject-with tcp-reset");
    }
}

/// `nf_reject_verify_csum`, `nf_ip_checksum` and `nf_ip6_checksum`: which packets REJECT answers with ICMP.
///
/// A protocol whose checksum the kernel does not know is summed as if it had one of ICMP's kind over its whole
/// payload; unless that happens to be right, as for zeros in IPv4, the packet gets no answer.
fn checksum_fine(packet: &Packet) -> bool {
    match &packet.l4 {
        // Nothing to sum, in a first fragment either.
        L4::Udp(Udp { checksum: UdpChecksum::Absent, .. }) => true,
        // A first fragment that nobody put together is summed as it is, without the rest of its datagram.
        L4::Tcp(_) | L4::Udp(_) | L4::Icmp(_) if packet.ip.more_fragments => false,
        L4::Tcp(tcp) => tcp.checksum_ok,
        L4::Udp(udp) => udp.netfilter_takes_sum(),
        L4::Icmp(icmp) => icmp.checksum_ok,
        L4::Sctp(_) => true,
        L4::Raw(bytes) | L4::Truncated(bytes) => match packet.ip.proto {
            proto::GRE | proto::AH | proto::ESP | proto::SCTP | proto::UDPLITE | proto::DCCP => true,
            other => {
                let payload = checksum::data(bytes);
                let sum = match packet.ip.src {
                    IpAddr::V4(_) => payload,
                    IpAddr::V6(_) => {
                        let (src, dst) = (packet.ip.src.into(), packet.ip.dst.into());
                        let pseudo = checksum::pseudo_header(&src, &dst, other.into(), bytes.len() as u32);
                        checksum::combine(&[pseudo, payload])
                    }
                };
                matches!(sum, 0 | 0xffff)
            }
        },
    }
}
