//! The node's own stack, as far as other nodes can see it: echo replies, RSTs, port unreachable, and a
//! listening TCP socket's half of a connection (`tcp_ipv4.c`, `udp.c`, `icmp.c`, RFC 9293 3.10.7).
//!
//! A listening socket accepts whatever comes and acknowledges it; it never sends data and never closes, because
//! no program is behind it. Retransmission does not happen: the engine's time moves only with packets.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Netns;
use super::answer::{Trouble, icmp_proto, reset_for};
use super::path::{End, Run};
use crate::base::{Duration, Instant, KernelVersion};
use crate::packet::{
    CtInfo, Family, Icmp, Ip, L4, Owner, Packet, PacketType, Skb, Tcp, TcpFlags, UdpChecksum, proto,
};
use crate::trace::DropReason;

mod unreachable;

/// A port that a local process listens on, on every address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listen {
    /// TCP or UDP.
    pub proto: u8,
    pub port: u16,
}

/// Both ends of a TCP connection of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ends {
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
}

/// The passive side of a connection.
#[derive(Clone, Copy, Debug)]
struct Socket {
    /// Next sequence number the node sends, and the next it expects.
    snd_nxt: u32,
    rcv_nxt: u32,
    established: bool,
    /// Whether windows are scaled.
    scaled: bool,
    /// When it last answered a segment that was not acceptable (`last_oow_ack_time`).
    answered: Option<Instant>,
}

/// `net.ipv4.tcp_invalid_ratelimit`: one answer to unacceptable segments of a connection in this time.
const UNACCEPTABLE_EVERY: Duration = Duration::from_millis(500);

impl Socket {
    /// `__tcp_oow_rate_limited`: whether to keep silent this time.
    fn keeps_silent(&mut self, now: Instant) -> bool {
        let silent = self.answered.is_some_and(|at| now < at + UNACCEPTABLE_EVERY);
        if !silent {
            self.answered = Some(now);
        }
        silent
    }
}

/// Which socket a segment of the node is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// One that listens, also while a handshake is under way.
    Listener,
    /// A connection that no process has accepted yet.
    Child,
    Nobody,
}

/// Connections of listening sockets, one for each SYN that came.
#[derive(Clone, Debug, Default)]
pub(super) struct Sockets {
    tcp: BTreeMap<Ends, Socket>,
    /// Every port is held by a silent process.
    all_held: bool,
}

/// Bytes of a datagram above which its checksum is not computed at once (`CHECKSUM_BREAK`).
const CHECKSUM_BREAK: usize = 76;
/// Connections kept (`somaxconn` is 4096); a SYN beyond is not answered.
const SOCKETS_MAX: usize = 4096;
/// First window of a Linux receiver on Ethernet with default buffers, with and without timestamps, in bytes.
const WINDOW_TIMESTAMPS: u16 = 65160;
const WINDOW_PLAIN: u16 = 64240;
/// `INET_ECN_MASK`.
const ECN_MASK: u8 = 3;
/// `TCPOPT_*`.
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW: u8 = 3;
    pub(super) const SACK_OK: u8 = 4;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// ICMP types.
const ECHO_REPLY: u8 = 0;
const ECHO: u8 = 8;
const TIMESTAMP: u8 = 13;
const TIMESTAMP_REPLY: u8 = 14;
const ECHO6: u8 = 128;
const ECHO6_REPLY: u8 = 129;

impl Netns {
    /// Pretends that some process holds every port and says nothing by itself: what is delivered gets no RST
    /// and no ICMP error. For traces, where the reader decides what is answered.
    pub fn hold_ports(&mut self, all: bool) {
        self.sockets.all_held = all;
    }

    /// A packet passed INPUT: hands it to the transport protocol (`ip_protocol_deliver_rcu`).
    pub(super) fn local_stack(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> End {
        let group = skb.dst.is_some_and(|d| d.broadcast) || skb.packet_type != PacketType::Host;
        match &skb.packet.l4 {
            L4::Tcp(tcp) => {
                let tcp = tcp.clone();
                self.tcp_in(run, skb, &tcp, group)
            }
            L4::Udp(udp) => {
                // Over IPv6 a socket wants a checksum (`udp6_csum_init`).
                let fine = udp.fits()
                    && match udp.checksum {
                        UdpChecksum::Right => true,
                        UdpChecksum::Absent => skb.packet.ip.src.is_ipv4(),
                        UdpChecksum::Wrong => false,
                    };
                let port = udp.dport;
                self.udp_in(run, skb, port, fine)
            }
            L4::Icmp(icmp) => {
                let icmp = icmp.clone();
                self.icmp_in(run, skb, icmp, group)
            }
            L4::Truncated(_) => End::delivered("the transport header is cut off: discarded"),
            L4::Sctp(_) | L4::Raw(_) => match skb.packet.ip.proto {
                proto::TCP | proto::UDP | proto::ICMP | proto::ICMPV6 | proto::UDPLITE => {
                    End::delivered("discarded by its protocol")
                }
                // No next header: nothing follows, which is no error (RFC 8200 4.7).
                59 if skb.family() == Family::V6 => End::delivered("no next header"),
                _ => {
                    self.icmp_error(run, skb, Trouble::ProtocolUnreachable);
                    End::dropped(DropReason::NoProtocol, "the node has nobody for this protocol")
                }
            },
        }
    }

    fn udp_in(&mut self, run: &mut Run<'_>, skb: &mut Skb, port: u16, fine: bool) -> End {
        if !fine {
            return End::delivered("wrong UDP length or checksum, or none over IPv6: discarded");
        }
        // `udp6_csum_init`: only short datagrams are summed anew.
        let len = skb.packet.l4.len_bytes();
        if skb.summed.is_some_and(|sum| sum != skb.unbalanced_sum()) && len > CHECKSUM_BREAK {
            return End::delivered(
                "a rule changed the IPv6 header after connection tracking had summed it up: taken for a wrong UDP \
                 checksum, discarded",
            );
        }
        if self.owns(proto::UDP, port) {
            return End::delivered("to the socket that listens on the port");
        }
        // `__udp4_lib_rcv` drops the connection first, so the error is looked up by what it quotes.
        self.ct.release(skb);
        skb.ct_info = CtInfo::None;
        self.icmp_error(run, skb, Trouble::PortUnreachable);
        End::delivered("nobody listens on the UDP port")
    }

    fn owns(&self, proto: u8, port: u16) -> bool {
        self.listen.contains(&Listen { proto, port }) || self.sockets.all_held
    }

    fn icmp_in(&mut self, run: &mut Run<'_>, skb: &mut Skb, icmp: Icmp, group: bool) -> End {
        if !icmp.checksum_ok {
            return End::delivered("wrong ICMP checksum: discarded");
        }
        let sysctls = &self.inet.sysctls;
        let ignored = match (skb.family(), icmp.kind) {
            (Family::V4, ECHO | TIMESTAMP) => {
                (icmp.kind == ECHO && sysctls.icmp_echo_ignore_all)
                    || (group && sysctls.icmp_echo_ignore_broadcasts)
            }
            (Family::V6, ECHO6) => sysctls.icmp6_echo_ignore_all,
            (family, _) if !group && self.ends_handshake(family, &icmp) => {
                return End::delivered("an ICMP error that ends a handshake");
            }
            _ => return End::delivered("to the ICMP layer"),
        };
        if ignored {
            return End::delivered("a request that sysctls tell to ignore");
        }
        let answer = match icmp.kind {
            ECHO => Icmp { kind: ECHO_REPLY, ..icmp },
            TIMESTAMP => match self.timestamp_reply(&icmp) {
                Some(reply) => reply,
                None => return End::delivered("a timestamp request too short to answer"),
            },
            _ => Icmp { kind: ECHO6_REPLY, ..icmp },
        };
        let (family, to) = (skb.family(), skb.packet.ip.src);
        let Some(src) = self.reply_source(skb, group) else {
            return End::delivered("a request whose sender cannot be reached");
        };
        // Replies keep the TOS of the request (RFC 1122 3.2.2.6).
        let tos = skb.packet.ip.tos;
        let ip = Ip { proto: icmp_proto(family), tos, id: self.next_id(family), ..self.own_header(src, to) };
        let mut reply = self.reply_skb(Packet { ip, l4: L4::Icmp(answer) }, skb);
        reply.control_socket = true;
        self.answer(run, &mut reply, "an ICMP request");
        End::delivered("an ICMP request, answered")
    }

    /// `icmp_timestamp`: the originator's time, then twice the node's, in milliseconds since midnight UTC.
    fn timestamp_reply(&self, request: &Icmp) -> Option<Icmp> {
        let secs = self.epoch_secs.saturating_add(self.now.0 / 1_000_000_000);
        let ms = (secs % 86_400) as u32 * 1000 + (self.now.0 / 1_000_000 % 1000) as u32;
        let mut payload = request.payload.get(..4)?.to_vec();
        payload.extend_from_slice(&ms.to_be_bytes());
        payload.extend_from_slice(&ms.to_be_bytes());
        Some(Icmp { kind: TIMESTAMP_REPLY, code: 0, payload, ..*request })
    }

    /// `fib_compute_spec_dst`: the address the sender used, unless it was a group's.
    fn reply_source(&self, skb: &Skb, group: bool) -> Option<IpAddr> {
        if group {
            return self.inet.route_output(skb.packet.ip.src).ok().map(|r| r.src);
        }
        Some(skb.packet.ip.dst)
    }

    fn tcp_in(&mut self, run: &mut Run<'_>, skb: &mut Skb, tcp: &Tcp, group: bool) -> End {
        if group {
            return End::delivered("TCP to a broadcast or multicast address: discarded");
        }
        if !tcp.checksum_ok {
            return End::delivered("wrong TCP checksum: discarded");
        }
        let ip = &skb.packet.ip;
        let ends = Ends { local: (ip.dst, tcp.dport), remote: (ip.src, tcp.sport) };
        if let Some(socket) = self.sockets.tcp.get(&ends).copied() {
            return self.tcp_connected(run, skb, tcp, ends, socket);
        }
        if self.sockets.all_held {
            return End::delivered("to the process that holds the port");
        }
        if self.listen.contains(&Listen { proto: proto::TCP, port: tcp.dport }) {
            if tcp.flags.has(TcpFlags::RST) {
                return End::delivered("a RST for no connection: ignored");
            }
            if !tcp.flags.has(TcpFlags::ACK) {
                return self.tcp_listen(run, skb, tcp, ends);
            }
        }
        if tcp.flags.has(TcpFlags::RST) {
            return End::delivered("a RST for no connection: ignored");
        }
        // `ip_send_unicast_reply`: the offender's TOS without its ECN bits.
        let tos = skb.packet.ip.tos & !ECN_MASK;
        let listens = self.listen.contains(&Listen { proto: proto::TCP, port: tcp.dport });
        let by = if listens { By::Listener } else { By::Nobody };
        self.send_tcp(run, skb, reset_for(tcp), (by, tos), "no socket takes the segment");
        End::delivered("no TCP socket: answered with RST")
    }

    /// LISTEN: a SYN opens a connection, anything else without ACK is dropped.
    fn tcp_listen(&mut self, run: &mut Run<'_>, skb: &mut Skb, tcp: &Tcp, ends: Ends) -> End {
        if !tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::FIN) {
            return End::delivered("neither SYN nor part of a connection: ignored");
        }
        if self.sockets.tcp.len() >= SOCKETS_MAX {
            return End::delivered("the listen queue is full");
        }
        let isn = self.isn.next_u32();
        let rcv_nxt = tcp.seq.wrapping_add(1);
        let scaled = offers(&tcp.options).scaling;
        let snd_nxt = isn.wrapping_add(1);
        self.sockets
            .tcp
            .insert(ends, Socket { snd_nxt, rcv_nxt, established: false, scaled, answered: None });
        let mtu = self.inet.route_output(ends.remote.0).map_or(1500, |r| r.dst.mtu);
        self.syn_ack(run, skb, tcp, isn, mtu);
        End::delivered("a SYN for a listening socket")
    }

    fn syn_ack(&mut self, run: &mut Run<'_>, skb: &mut Skb, syn: &Tcp, isn: u32, mtu: u32) {
        let offered = offers(&syn.options);
        let stamp = (self.now.0 / 1_000_000) as u32;
        let header = if skb.family() == Family::V4 { 40 } else { 60 };
        let mss = mtu.saturating_sub(header).min(0xffff) as u16;
        let mut options = vec![option::MSS, 4];
        options.extend_from_slice(&mss.to_be_bytes());
        match (offered.timestamp, offered.sack_ok) {
            (Some(_), true) => options.extend_from_slice(&[option::SACK_OK, 2]),
            (Some(_), false) => options.extend_from_slice(&[option::NOP, option::NOP]),
            (None, true) => options.extend_from_slice(&[option::NOP, option::NOP, option::SACK_OK, 2]),
            (None, false) => {}
        }
        if let Some(theirs) = offered.timestamp {
            options.extend_from_slice(&[option::TIMESTAMPS, 10]);
            options.extend_from_slice(&stamp.to_be_bytes());
            options.extend_from_slice(&theirs.to_be_bytes());
        }
        if offered.scaling {
            options.extend_from_slice(&[option::NOP, option::WINDOW, 3, self.window_scale()]);
        }
        let window = if offered.timestamp.is_some() { WINDOW_TIMESTAMPS } else { WINDOW_PLAIN };
        let answer = Tcp {
            seq: isn,
            ack: syn.seq.wrapping_add(1),
            flags: TcpFlags::SYN.with(TcpFlags::ACK),
            window,
            options,
            ..reset_for(syn)
        };
        self.send_tcp(run, skb, answer, (By::Listener, 0), "a SYN for a listening socket");
    }

    /// SYN_RECV and ESTABLISHED: takes what is in order and acknowledges it.
    fn tcp_connected(
        &mut self,
        run: &mut Run<'_>,
        skb: &mut Skb,
        tcp: &Tcp,
        ends: Ends,
        mut socket: Socket,
    ) -> End {
        // A scaled window is rounded up to what it can express.
        let window = match socket.scaled {
            true => WINDOW_PLAIN.div_ceil(1 << self.window_scale()),
            false => WINDOW_PLAIN,
        };
        let ack = |socket: &Socket| Tcp {
            seq: socket.snd_nxt,
            ack: socket.rcv_nxt,
            flags: TcpFlags::ACK,
            window,
            ..reset_for(tcp)
        };
        let by = if socket.established { By::Child } else { By::Listener };
        if tcp.flags.has(TcpFlags::RST) && !socket.established {
            // `tcp_check_req`: inside the window it ends the handshake, outside it is not answered.
            if tcp.seq.wrapping_sub(socket.rcv_nxt) < u32::from(WINDOW_PLAIN) {
                self.sockets.tcp.remove(&ends);
            }
            return End::delivered("a RST during the handshake");
        }
        if tcp.flags.has(TcpFlags::RST) {
            if tcp.seq == socket.rcv_nxt {
                self.sockets.tcp.remove(&ends);
                return End::delivered("a RST in sequence: the connection is gone");
            }
            if socket.keeps_silent(self.now) {
                return End::delivered("a RST out of sequence, ignored: tcp_invalid_ratelimit");
            }
            self.sockets.tcp.insert(ends, socket);
            let why = "a RST out of sequence: challenge ACK (RFC 5961 3.2)";
            self.send_tcp(run, skb, ack(&socket), (by, 0), why);
            return End::delivered("a RST out of sequence");
        }
        if tcp.flags.has(TcpFlags::SYN) {
            if socket.keeps_silent(self.now) {
                return End::delivered("a SYN again, ignored: tcp_invalid_ratelimit");
            }
            self.sockets.tcp.insert(ends, socket);
            if !socket.established && tcp.seq.wrapping_add(1) == socket.rcv_nxt {
                let mtu = self.inet.route_output(ends.remote.0).map_or(1500, |r| r.dst.mtu);
                self.syn_ack(run, skb, tcp, socket.snd_nxt.wrapping_sub(1), mtu);
                return End::delivered("the SYN again");
            }
            let why = "an unexpected SYN: challenge ACK (RFC 5961 4.2)";
            self.send_tcp(run, skb, ack(&socket), (by, 0), why);
            return End::delivered("an unexpected SYN");
        }
        if !socket.established {
            if tcp.flags.has(TcpFlags::ACK) && tcp.ack != socket.snd_nxt {
                let tos = skb.packet.ip.tos & !ECN_MASK;
                self.send_tcp(run, skb, reset_for(tcp), (by, tos), "acknowledges what was never sent");
                return End::delivered("an ACK that does not complete the handshake");
            }
            socket.established = true;
        }
        let len = tcp.segment_len();
        let in_order = tcp.seq == socket.rcv_nxt;
        if in_order {
            socket.rcv_nxt = socket.rcv_nxt.wrapping_add(len);
        }
        self.sockets.tcp.insert(ends, socket);
        if len > 0 || !in_order {
            self.send_tcp(run, skb, ack(&socket), (By::Child, 0), "acknowledges the segment");
        }
        End::delivered("to the connection's socket")
    }

    /// Scale of the windows it offers: large enough for `tcp_rmem[2]`, 6 MiB before and 32 MiB in 6.18.
    fn window_scale(&self) -> u8 {
        if self.inet.kernel >= KernelVersion::V6_18 { 10 } else { 7 }
    }

    fn send_tcp(&mut self, run: &mut Run<'_>, to: &Skb, tcp: Tcp, (by, tos): (By, u8), because: &str) {
        let (src, dst) = (to.packet.ip.dst, to.packet.ip.src);
        let ip = Ip { proto: proto::TCP, tos, dont_fragment: src.is_ipv4(), ..self.own_header(src, dst) };
        let flags = tcp.flags;
        let mut answer = self.reply_skb(Packet { ip, l4: L4::Tcp(tcp) }, to);
        // Since 6.13 what is sent for a socket carries it (`skb_set_owner_edemux`); a SYN-ACK always did. The
        // listener's process is taken to be root's.
        let carried =
            by == By::Listener && (self.inet.kernel >= KernelVersion::V6_18 || flags.has(TcpFlags::SYN));
        answer.owner = carried.then_some(Owner { uid: 0, gid: 0 });
        // `tcp_v6_send_response` gives its RST no owner.
        answer.control_socket = !carried && by != By::Child && src.is_ipv4();
        self.answer(run, &mut answer, because);
    }
}

/// What a SYN's options offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offers {
    sack_ok: bool,
    scaling: bool,
    /// Its timestamp value.
    timestamp: Option<u32>,
}

fn offers(mut options: &[u8]) -> Offers {
    let mut found = Offers::default();
    while let Some(&kind) = options.first() {
        if kind == option::END {
            break;
        }
        if kind == option::NOP {
            options = &options[1..];
            continue;
        }
        let len = options.get(1).map_or(0, |&l| usize::from(l));
        if len < 2 || len > options.len() {
            break;
        }
        match (kind, &options[2..len]) {
            (option::SACK_OK, _) => found.sack_ok = true,
            (option::WINDOW, _) => found.scaling = true,
            (option::TIMESTAMPS, [a, b, c, d, ..]) => {
                found.timestamp = Some(u32::from_be_bytes([*a, *b, *c, *d]));
            }
            _ => {}
        }
        options = &options[len..];
    }
    found
}
