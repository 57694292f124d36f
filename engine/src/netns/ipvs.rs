//! IPVS in the packet path: what its hook functions do with a packet, and how one goes on to its destination
//! (`ip_vs_core.c`, `ip_vs_xmit.c`).
//!
//! A packet that is balanced leaves the hook it was in and begins OUTPUT, then POSTROUTING, as a packet that is
//! forwarded and has no in-device: rules in FORWARD never see it. A destination on this node is reached by going on
//! through the hook.

use std::net::{IpAddr, SocketAddr};

use super::Netns;
use super::answer::Trouble;
use super::path::{End, Run};
use crate::base::Hook;
use crate::conntrack::quoted::Quoted;
use crate::conntrack::{CtCx, CtVerdict, L4Part, Manip, Tuple};
use crate::ipvs::{Encapsulation, Forward, IcmpRewrite, IpvsCx, Knob, Refusal, Reply, Request, Xmit};
use crate::netns::inet::LOOPBACK;
use crate::packet::{Dst, Family, Ip, L4, Packet, PacketType, Skb, proto};
use crate::trace::{Change, Disposition, DropReason, TraceKind};

/// Length of the outer IPv4 header of a tunnel, in bytes; IPv6 takes 40.
const OUTER_V4: u32 = 20;
const OUTER_V6: u32 = 40;
/// GRE without options (RFC 2784 2).
const GRE_HEADER: u32 = 4;
/// IP in IP, and IPv6 in either.
const IPIP: u8 = 4;
const IPV6: u8 = 41;

/// What route a destination may have (`IP_VS_RT_MODE_*`).
#[derive(Clone, Copy, Debug)]
struct Modes {
    /// This node may be the destination even of a packet that was not for it.
    redirect: bool,
    local: bool,
}

impl Netns {
    /// Services were added or removed: the hooks follow.
    pub fn ipvs_edited(&mut self) {
        self.register_hooks();
    }

    /// Timers of IPVS; conntrack entries of connections that ended go with them.
    fn ipvs_advance(&mut self) {
        let ended = self.ipvs.advance(self.now);
        self.drop_flows(ended);
    }

    fn drop_flows(&mut self, ended: Vec<Xmit>) {
        for xmit in ended {
            self.ct.drop_flow(xmit.proto, xmit.client, xmit.virt, self.now);
        }
    }

    /// Whether IPVS looks at this packet at all.
    fn ipvs_looks(skb: &Skb, hook: Hook) -> bool {
        !skb.ipvs && skb.dst.is_some() && (skb.packet_type == PacketType::Host || hook == Hook::Output)
    }

    /// `ip_vs_in_hook`
    pub(super) fn ipvs_request(&mut self, run: &mut Run<'_>, hook: Hook, skb: &mut Skb) -> Result<(), End> {
        if !Self::ipvs_looks(skb, hook) {
            return Ok(());
        }
        self.ipvs_advance();
        if matches!(skb.packet.l4, L4::Icmp(_)) {
            return self.ipvs_icmp(run, hook, skb);
        }
        let balanced = matches!(skb.packet.ip.proto, proto::TCP | proto::UDP | proto::SCTP);
        if !balanced && self.ipvs.config.on(Knob::IgnoreTunneled) {
            skb.ipvs = true;
        }
        let old_conntrack = skb.ct.and_then(|at| self.ct.entry(at)).is_some_and(|e| e.is_confirmed());
        let from_self = skb.indev.is_none_or(|dev| dev == LOOPBACK);
        let mut ended = Vec::new();
        let mut cx = IpvsCx { now: self.now, trace: run.trace, old_conntrack, from_self };
        let request = self.ipvs.request(&mut cx, skb, &mut ended);
        self.drop_flows(ended);
        match request {
            Request::Pass => Ok(()),
            Request::Refuse(refusal) => {
                if refusal == Refusal::NoDest {
                    self.icmp_error(run, skb, Trouble::PortUnreachable);
                }
                Err(End::dropped(DropReason::Ipvs, refusal.because()))
            }
            Request::Send(xmit) => self.ipvs_send(run, skb, &xmit),
        }
    }

    /// `ip_vs_forward_icmp`
    pub(super) fn ipvs_forward_icmp(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        if !Self::ipvs_looks(skb, Hook::Forward) || !matches!(skb.packet.l4, L4::Icmp(_)) {
            return Ok(());
        }
        self.ipvs_advance();
        self.ipvs_icmp(run, Hook::Forward, skb)
    }

    /// `ip_vs_in_icmp`: an error from the client's side goes to the server.
    fn ipvs_icmp(&mut self, run: &mut Run<'_>, hook: Hook, skb: &mut Skb) -> Result<(), End> {
        let mut cx = IpvsCx { now: self.now, trace: run.trace, old_conntrack: false, from_self: false };
        let Some(rewrite) = self.ipvs.icmp_request(&mut cx, skb) else { return Ok(()) };
        let xmit = rewrite.xmit;
        if xmit.forward != Forward::Masq {
            return self.ipvs_send(run, skb, &xmit);
        }
        let forwarded = hook == Hook::Forward;
        let modes = Modes { redirect: !forwarded, local: !forwarded };
        let dst = self.ipvs_route(run, skb, xmit.server.ip(), modes)?;
        self.ipvs_quoted(run, skb, &rewrite);
        self.ipvs_masqueraded(run, skb, &xmit, dst)
    }

    /// `ip_vs_out_hook`
    pub(super) fn ipvs_reply(&mut self, run: &mut Run<'_>, hook: Hook, skb: &mut Skb) -> Result<(), End> {
        if skb.ipvs || skb.dst.is_none() {
            return Ok(());
        }
        self.ipvs_advance();
        let from_self = hook == Hook::Output;
        let mut cx = IpvsCx { now: self.now, trace: run.trace, old_conntrack: false, from_self };
        let xmit = if matches!(skb.packet.l4, L4::Icmp(_)) {
            let Some(rewrite) = self.ipvs.icmp_reply(&mut cx, skb) else { return Ok(()) };
            self.ipvs_quoted(run, skb, &rewrite);
            rewrite.xmit
        } else {
            match self.ipvs.reply(&mut cx, skb) {
                Reply::Pass => return Ok(()),
                Reply::Unknown => {
                    self.icmp_error(run, skb, Trouble::PortUnreachable);
                    return Err(End::dropped(
                        DropReason::Ipvs,
                        "IPVS: a server's packet of no known connection (nat_icmp_send)",
                    ));
                }
                Reply::Rewrite(xmit) => {
                    let before = (skb.packet.ip.src, skb.packet.ports());
                    skb.packet.ip.src = xmit.virt.ip();
                    skb.packet.set_sport(xmit.virt.port());
                    let was = SocketAddr::new(before.0, before.1.map_or(0, |p| p.0));
                    self.ipvs_rewrote(run, "IPVS (reply)", ["src", "sport"], was, xmit.virt);
                    xmit
                }
            }
        };
        let local = skb.dst.is_some_and(|d| d.local) && skb.family() == Family::V4;
        if self.ipvs.config.on(Knob::SnatReroute) || local {
            self.reroute(run, skb)?;
        }
        skb.ipvs = true;
        if xmit.conntrack {
            self.ct.expect_to(skb, xmit.virt);
        } else {
            self.ct.untrack(skb);
        }
        Ok(())
    }

    /// `cp->packet_xmit`
    fn ipvs_send(&mut self, run: &mut Run<'_>, skb: &mut Skb, xmit: &Xmit) -> Result<(), End> {
        match xmit.forward {
            Forward::Masq => self.ipvs_masquerade(run, skb, xmit),
            Forward::Route => {
                let modes = Modes { redirect: false, local: true };
                let dst = self.ipvs_route(run, skb, xmit.server.ip(), modes)?;
                // The next hop is the server itself: it has the virtual address too.
                let via = Some(dst.via.unwrap_or(xmit.server.ip()));
                self.ipvs_on(run, skb, xmit, if dst.local { dst } else { Dst { via, ..dst } })
            }
            Forward::Tunnel => self.ipvs_tunnel(run, skb, xmit),
            // There is nothing to do to a packet that stays, or that goes on as it came.
            Forward::Local | Forward::Bypass => {
                skb.ipvs = true;
                Ok(())
            }
        }
    }

    /// `ip_vs_nat_xmit`
    fn ipvs_masquerade(&mut self, run: &mut Run<'_>, skb: &mut Skb, xmit: &Xmit) -> Result<(), End> {
        let server = xmit.server;
        let was_input = skb.indev.is_some();
        let dst = self.ipvs_route(run, skb, server.ip(), Modes { redirect: true, local: true })?;
        if dst.local && server.ip().is_loopback() && was_input {
            return Err(End::dropped(DropReason::Martian, "IPVS: from elsewhere to a loopback address"));
        }
        let was = SocketAddr::new(skb.packet.ip.dst, skb.packet.ports().map_or(0, |p| p.1));
        skb.packet.ip.dst = server.ip();
        skb.packet.set_dport(server.port());
        self.ipvs_rewrote(run, "IPVS", ["dst", "dport"], was, server);
        self.ipvs_masqueraded(run, skb, xmit, dst)
    }

    /// `ip_vs_nat_send_or_cont`
    fn ipvs_masqueraded(
        &mut self,
        run: &mut Run<'_>,
        skb: &mut Skb,
        xmit: &Xmit,
        dst: Dst,
    ) -> Result<(), End> {
        if xmit.conntrack && !xmit.one_packet {
            self.ct.expect_from(skb, xmit.server);
        }
        self.ipvs_on(run, skb, xmit, dst)
    }

    /// On through OUTPUT and POSTROUTING, or, to this node, through the rest of the hook.
    fn ipvs_on(&mut self, run: &mut Run<'_>, skb: &mut Skb, xmit: &Xmit, dst: Dst) -> Result<(), End> {
        skb.ipvs = true;
        if !xmit.conntrack {
            self.ct.untrack(skb);
        }
        if dst.local {
            return Ok(());
        }
        skb.dst = Some(dst);
        self.ipvs_output(run, skb)
    }

    fn ipvs_output(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        self.hook(run, Hook::Output, skb)?;
        self.hook(run, Hook::Postrouting, skb)?;
        self.emit(run, skb)?;
        let disposition = if skb.indev.is_some() { Disposition::Forwarded } else { Disposition::Sent };
        Err(End { disposition, because: self.left_through(run, skb) })
    }

    /// `ip_vs_tunnel_xmit`: the packet in a new one to the server.
    fn ipvs_tunnel(&mut self, run: &mut Run<'_>, skb: &mut Skb, xmit: &Xmit) -> Result<(), End> {
        let server = xmit.server.ip();
        let extra = match xmit.encapsulation {
            Encapsulation::Ipip => 0,
            Encapsulation::Gre { .. } => GRE_HEADER,
            Encapsulation::Gue { .. } => {
                return Err(End::dropped(DropReason::NotEmulated, "IPVS: GUE tunnels are not emulated"));
            }
        };
        let dst = self.ipvs_route(run, skb, server, Modes { redirect: false, local: true })?;
        if dst.local {
            return self.ipvs_on(run, skb, xmit, dst);
        }
        let outer = if server.is_ipv4() { OUTER_V4 } else { OUTER_V6 };
        let room = dst.mtu.saturating_sub(outer + extra);
        let inner = &skb.packet;
        let stiff = inner.ip.dont_fragment && self.ipvs.config.on(Knob::PmtuDisc);
        if (stiff || inner.family() == Family::V6) && inner.len_bytes() as u32 > room {
            self.icmp_error(run, skb, Trouble::TooBig { mtu: room });
            return Err(End::dropped(DropReason::PacketTooBig, "IPVS: too long for the tunnel"));
        }
        let source = self.inet.route_output(server).map(|route| route.src);
        let Ok(source) = source else {
            return Err(End::dropped(DropReason::NoRoute, "IPVS: no route to the server"));
        };
        if xmit.conntrack {
            let verdict =
                self.ct.confirm(&mut CtCx { hook: Hook::Input, now: self.now, trace: run.trace }, skb);
            if verdict != CtVerdict::Accept {
                return Err(End::dropped(DropReason::Conntrack, "conntrack could not insert the entry"));
            }
        }
        self.ct.forget(skb);
        let id = self.next_id(Family::of(&server));
        let inner = &skb.packet;
        let inner_proto = if inner.family() == Family::V4 { IPIP } else { IPV6 };
        let (number, mut bytes) = match xmit.encapsulation {
            Encapsulation::Gre { .. } => {
                let ether_type: u16 = if inner.family() == Family::V4 { 0x0800 } else { 0x86dd };
                (proto::GRE, [[0, 0], ether_type.to_be_bytes()].concat())
            }
            Encapsulation::Ipip | Encapsulation::Gue { .. } => (inner_proto, Vec::new()),
        };
        bytes.extend(inner.to_bytes());
        let ip = Ip {
            tos: inner.ip.tos,
            ttl: inner.ip.ttl,
            dont_fragment: stiff,
            id: if stiff { 0 } else { id },
            proto: number,
            ..self.own_header(source, server)
        };
        skb.packet = Packet { ip, l4: L4::Raw(bytes) };
        skb.ipvs = true;
        skb.dst = Some(dst);
        run.trace.record(self.now, || TraceKind::Rewrite {
            by: "IPVS (tunnel)".to_owned(),
            changes: vec![
                Change { field: "outer src", before: String::new(), after: source.to_string() },
                Change { field: "outer dst", before: String::new(), after: server.to_string() },
            ],
        });
        self.ipvs_output(run, skb)
    }

    /// `__ip_vs_get_out_rt`: the way to a destination. A packet that leaves has its TTL lowered, and has to fit.
    fn ipvs_route(
        &mut self,
        run: &mut Run<'_>,
        skb: &mut Skb,
        server: IpAddr,
        modes: Modes,
    ) -> Result<Dst, End> {
        let routed = self.inet.route_output(server);
        run.trace.record(self.now, || TraceKind::Route {
            summary: self.describe_output(routed.map(|r| r.dst), server),
        });
        let Ok(route) = routed else {
            self.icmp_error(run, skb, Trouble::HostUnreachable);
            return Err(End::dropped(DropReason::NoRoute, "IPVS: no route to the server"));
        };
        let dst = route.dst;
        let was_local = skb.dst.is_some_and(|d| d.local);
        let crosses = if dst.local {
            !modes.local || (!modes.redirect && !was_local)
        } else {
            self.source_is_loopback(skb)
        };
        if crosses {
            let why = "IPVS: a loopback source does not leave the node, nor is a server on it reached from outside; nobody is told";
            return Err(End::dropped(DropReason::Martian, why));
        }
        if dst.local {
            return Ok(dst);
        }
        if skb.packet.ip.ttl <= 1 {
            self.icmp_error(run, skb, Trouble::TimeExceeded);
            return Err(End::dropped(DropReason::TtlExceeded, "TTL exceeded in transit"));
        }
        let ttl = skb.packet.ip.ttl;
        skb.packet.ip.ttl -= 1;
        run.trace.record(self.now, || TraceKind::Rewrite {
            by: "IPVS".to_owned(),
            changes: vec![Change { field: "ttl", before: ttl.to_string(), after: (ttl - 1).to_string() }],
        });
        let long = skb.packet.len_bytes() as u32 > dst.mtu;
        let stiff = skb.family() == Family::V6 || skb.packet.ip.dont_fragment;
        if long && stiff && !matches!(skb.packet.l4, L4::Icmp(_)) {
            self.icmp_error(run, skb, Trouble::TooBig { mtu: dst.mtu });
            return Err(End::dropped(DropReason::PacketTooBig, format!("longer than the MTU {}", dst.mtu)));
        }
        Ok(dst)
    }

    /// For IPv6 only when it did not come in through another device.
    fn source_is_loopback(&self, skb: &Skb) -> bool {
        match skb.packet.ip.src {
            IpAddr::V4(src) => src.is_loopback(),
            IpAddr::V6(src) => src.is_loopback() && skb.indev.is_none_or(|dev| dev == LOOPBACK),
        }
    }

    /// `ip_vs_nat_icmp`: the error's own address, and the quoted packet's.
    fn ipvs_quoted(&self, run: &mut Run<'_>, skb: &mut Skb, rewrite: &IcmpRewrite) {
        let family = skb.family();
        let (end, manip, fields) = match rewrite.inbound {
            true => (rewrite.xmit.server, Manip::Src, ["dst", "quoted sport"]),
            false => (rewrite.xmit.virt, Manip::Dst, ["src", "quoted dport"]),
        };
        let L4::Icmp(icmp) = &mut skb.packet.l4 else { return };
        let Some(quoted) = Quoted::parse(&icmp.payload, family) else { return };
        let old = quoted.tuple;
        let (src, dst) = (old.l4.src(), old.l4.dst());
        let (target, was_port) = match manip {
            Manip::Src => {
                let l4 = L4Part::Ports { src: end.port(), dst };
                (Tuple { src: end.ip(), l4, ..old }, src)
            }
            Manip::Dst => {
                let l4 = L4Part::Ports { src, dst: end.port() };
                (Tuple { dst: end.ip(), l4, ..old }, dst)
            }
        };
        if !quoted.mangle(&mut icmp.payload, &target, manip) {
            return;
        }
        let ip = &mut skb.packet.ip;
        let outer = if rewrite.inbound { &mut ip.dst } else { &mut ip.src };
        let was = SocketAddr::new(*outer, was_port);
        *outer = end.ip();
        self.ipvs_rewrote(run, "IPVS (ICMP)", fields, was, end);
    }

    fn ipvs_rewrote(
        &self,
        run: &mut Run<'_>,
        by: &str,
        fields: [&'static str; 2],
        was: SocketAddr,
        is: SocketAddr,
    ) {
        run.trace.record(self.now, || {
            let pairs = [
                (fields[0], was.ip().to_string(), is.ip().to_string()),
                (fields[1], was.port().to_string(), is.port().to_string()),
            ];
            let changes = pairs
                .into_iter()
                .filter(|(_, before, after)| before != after)
                .map(|(field, before, after)| Change { field, before, after })
                .collect();
            TraceKind::Rewrite { by: by.to_owned(), changes }
        });
    }
}
