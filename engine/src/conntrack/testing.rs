//! A router with one mapped service, for packet scripts: a client on one side, a server on the other,
//! connection tracking and NAT between them, and nothing else.

use std::net::IpAddr;

use super::{Conntrack, CtCx, CtVerdict, Entry, Manip, NatRange};
use crate::base::{Hook, Instant, KernelVersion};
use crate::packet::{CtInfo, DevId, Icmp, Ip, L4, Packet, Skb, Tcp, TcpFlags, Udp, proto};
use crate::trace::{Level, Trace, TraceKind};

/// MSS 1460, SACK permitted, NOP, window scale 7: what Linux offers.
pub(crate) const LINUX_SYN: [u8; 12] = [2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7, 1, 1];

/// Parses an address; for tests alone.
#[track_caller]
pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A TCP segment to be.
#[derive(Clone, Debug)]
pub(crate) struct Seg(pub(crate) Tcp);

/// A segment with these flags (letters of the replay contract) and nothing else.
pub(crate) fn seg(flags: &str, seq: u32, ack: u32) -> Seg {
    let flags = TcpFlags::LETTERS
        .iter()
        .filter(|(letter, _)| flags.contains(*letter))
        .fold(TcpFlags::default(), |all, (_, flag)| all.with(*flag));
    Seg(Tcp {
        sport: 0,
        dport: 0,
        seq,
        ack,
        flags,
        window: 64240,
        urgent: 0,
        options: Vec::new(),
        payload: Vec::new(),
        checksum_ok: true,
    })
}

impl Seg {
    pub(crate) const fn win(mut self, window: u16) -> Self {
        self.0.window = window;
        self
    }

    pub(crate) fn len(mut self, bytes: usize) -> Self {
        self.0.payload = vec![b'x'; bytes];
        self
    }

    pub(crate) fn opts(mut self, bytes: &[u8]) -> Self {
        self.0.options = bytes.to_vec();
        self
    }
}

pub(crate) fn packet(src: IpAddr, dst: IpAddr, number: u8, l4: L4) -> Packet {
    let ip = Ip {
        src,
        dst,
        proto: number,
        ttl: 64,
        tos: 0,
        id: 1,
        dont_fragment: false,
        more_fragments: false,
        frag_offset: 0,
        flow_label: 0,
        options: Vec::new(),
    };
    Packet { ip, l4 }
}

pub(crate) fn udp(src: IpAddr, sport: u16, dst: IpAddr, dport: u16, bytes: usize) -> Packet {
    let udp = Udp::new(sport, dport, vec![b'x'; bytes]);
    packet(src, dst, proto::UDP, L4::Udp(udp))
}

pub(crate) fn icmp(src: IpAddr, dst: IpAddr, kind: u8, code: u8, id: u16, payload: Vec<u8>) -> Packet {
    let [high, low] = id.to_be_bytes();
    let icmp = Icmp { kind, code, rest: [high, low, 0, 1], payload, checksum_ok: true };
    let number = if src.is_ipv4() { proto::ICMP } else { proto::ICMPV6 };
    packet(src, dst, number, L4::Icmp(icmp))
}

/// What happened to one packet.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) verdict: CtVerdict,
    /// Its state where the filter table would look.
    pub(crate) info: CtInfo,
    /// As it left the router.
    pub(crate) packet: Packet,
    pub(crate) trace: Trace,
}

impl Seen {
    /// `NEW`, `ESTABLISHED`, `INVALID`, ...
    pub(crate) const fn state(&self) -> &'static str {
        self.info.state_name()
    }

    /// What conntrack said of it, all sentences.
    pub(crate) fn said(&self) -> Vec<&str> {
        self.trace
            .events
            .iter()
            .filter_map(|e| match &e.kind {
                TraceKind::Conntrack { summary, .. } | TraceKind::Nat { summary } => Some(summary.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// One address and port.
pub(crate) fn to(addr: IpAddr, port: u16) -> NatRange {
    NatRange { addrs: Some((addr, addr)), ports: Some((port, port)), ..NatRange::default() }
}

/// One address, whatever port.
pub(crate) fn to_addr(addr: IpAddr) -> NatRange {
    NatRange { addrs: Some((addr, addr)), ..NatRange::default() }
}

/// The router.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) ct: Conntrack,
    pub(crate) now: Instant,
    pub(crate) client: IpAddr,
    pub(crate) vip: IpAddr,
    pub(crate) server: IpAddr,
    pub(crate) client_port: u16,
    /// Protocol and port of the VIP, and where they are sent.
    pub(crate) dnat: Vec<(u8, u16, NatRange)>,
    /// What POSTROUTING maps every source to.
    pub(crate) snat: Option<NatRange>,
    /// Whether nat hooks exist at all.
    pub(crate) nat: bool,
}

/// The device towards the server.
pub(crate) const OUT: DevId = DevId(2);

impl Lab {
    /// The addresses of the golden transcript `t1`: VIP 10.0.0.200:80 is 10.0.1.50:8080.
    pub(crate) fn new() -> Self {
        Self::with_kernel(KernelVersion::V6_18)
    }

    pub(crate) fn with_kernel(kernel: KernelVersion) -> Self {
        let mut ct = Conntrack::new(kernel, 1);
        ct.set_enabled(crate::packet::Family::V4, true);
        ct.set_enabled(crate::packet::Family::V6, true);
        let server = ip("10.0.1.50");
        Self {
            ct,
            now: Instant::ZERO,
            client: ip("10.0.0.50"),
            vip: ip("10.0.0.200"),
            server,
            client_port: 20001,
            dnat: vec![(proto::TCP, 80, to(server, 8080))],
            snat: None,
            nat: true,
        }
    }

    /// Moves the clock to `ms` after the start.
    pub(crate) fn at(&mut self, ms: u64) -> &mut Self {
        self.now = Instant::from_millis(ms);
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: u32) -> &mut Self {
        let name = format!("net.netfilter.nf_conntrack_{name}");
        self.ct.config.set(&name, &value.to_string()).expect("a sysctl");
        self
    }

    /// A segment from the client to the VIP.
    pub(crate) fn client(&mut self, mut seg: Seg) -> Seen {
        (seg.0.sport, seg.0.dport) = (self.client_port, 80);
        self.forward(packet(self.client, self.vip, proto::TCP, L4::Tcp(seg.0)))
    }

    /// A segment from the server to whom it believes to be its client.
    pub(crate) fn server(&mut self, mut seg: Seg) -> Seen {
        let to = self.ct.entries(self.now).find(|e| e.original.l4.src() == self.client_port);
        let (dst, dport) = to.map_or((self.client, self.client_port), |e| (e.reply.dst, e.reply.l4.dst()));
        (seg.0.sport, seg.0.dport) = (8080, dport);
        self.forward(packet(self.server, dst, proto::TCP, L4::Tcp(seg.0)))
    }

    /// SYN, SYN+ACK, ACK with initial sequence numbers 1000 and 5000.
    pub(crate) fn handshake(&mut self, options: &[u8]) -> &mut Self {
        let window = if options.is_empty() { 64240 } else { 502 };
        self.client(seg("S", 1000, 0).opts(options));
        self.server(seg("SA", 5000, 1001).win(65160).opts(options));
        self.client(seg("A", 1001, 5001).win(window));
        self
    }

    /// One packet through all hooks.
    pub(crate) fn forward(&mut self, packet: Packet) -> Seen {
        let mut skb = Skb::new(packet);
        let mut trace = Trace::new(Level::Full);
        skb.indev = Some(DevId(1));
        let verdict = self.hooks(&mut skb, &mut trace);
        let info = skb.ct_info;
        self.ct.release(&mut skb);
        self.ct.release(&mut skb);
        Seen { verdict, info, packet: skb.packet, trace }
    }

    /// The hooks before confirm; the packet stays in flight.
    pub(crate) fn in_flight(&mut self, skb: &mut Skb, trace: &mut Trace) -> CtVerdict {
        let mut cx = CtCx { hook: Hook::Prerouting, now: self.now, trace };
        let verdict = self.ct.track(&mut cx, skb);
        if verdict != CtVerdict::Accept {
            return verdict;
        }
        for (hook, manip) in [(Hook::Prerouting, Manip::Dst), (Hook::Postrouting, Manip::Src)] {
            cx.hook = hook;
            if hook == Hook::Postrouting {
                skb.outdev = Some(OUT);
            }
            if !self.nat {
                continue;
            }
            let rule = match manip {
                Manip::Dst if skb.packet.ip.dst == self.vip => {
                    let port = skb.packet.ports().map_or(0, |(_, dport)| dport);
                    let wanted = (skb.packet.ip.proto, port);
                    self.dnat.iter().find(|(number, port, _)| (*number, *port) == wanted).map(|rule| rule.2)
                }
                Manip::Dst => None,
                Manip::Src => self.snat,
            };
            if self.ct.nat_pending(skb, manip) {
                let verdict = match rule {
                    Some(range) => self.ct.nat_setup(&mut cx, skb, &range, manip),
                    None => self.ct.nat_null_binding(&mut cx, skb, manip),
                };
                if verdict != CtVerdict::Accept {
                    return verdict;
                }
            }
            let verdict = self.ct.nat_apply(&mut cx, skb);
            if verdict != CtVerdict::Accept {
                return verdict;
            }
        }
        CtVerdict::Accept
    }

    pub(crate) fn confirm(&mut self, skb: &mut Skb, trace: &mut Trace) -> CtVerdict {
        let mut cx = CtCx { hook: Hook::Postrouting, now: self.now, trace };
        self.ct.confirm(&mut cx, skb)
    }

    fn hooks(&mut self, skb: &mut Skb, trace: &mut Trace) -> CtVerdict {
        match self.in_flight(skb, trace) {
            CtVerdict::Accept => self.confirm(skb, trace),
            drop => drop,
        }
    }

    /// `conntrack -L`, line by line.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.ct.entries(self.now).map(|e| e.line(self.now)).collect()
    }

    /// The one entry there is.
    #[track_caller]
    pub(crate) fn entry(&self) -> &Entry {
        let mut entries = self.ct.entries(self.now);
        let first = entries.next().expect("an entry");
        assert!(entries.next().is_none(), "one entry");
        first
    }

    /// `SYN_SENT 120` or `-`: state and seconds left of the one entry.
    pub(crate) fn now_is(&self) -> String {
        match self.ct.entries(self.now).next() {
            None => "-".to_owned(),
            Some(e) => {
                let state = e.state_name().unwrap_or("");
                let unreplied = if e.status.has(super::Status::SEEN_REPLY) { "" } else { " unreplied" };
                let assured = if e.status.has(super::Status::ASSURED) { " assured" } else { "" };
                format!("{state} {}{unreplied}{assured}", e.remaining(self.now).as_secs())
            }
        }
    }
}
