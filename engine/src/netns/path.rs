//! THE packet path: receive, route, hooks, deliver, forward, emit (`ip_input.c`, `ip_forward.c`,
//! `ip_output.c` and their IPv6 twins).
//!
//! Each step asks the hook table who is next; nothing here knows a table by name. Errors that the node sends on
//! the way are built in `answer`, what its own stack replies in `stack`.

use std::borrow::Cow;
use std::net::IpAddr;

use super::answer::Trouble;
use super::decide::{InputRoute, Refusal};
use super::defrag;
use super::inet::LOOPBACK;
use super::route::RouteKind;
use super::{DeviceKind, Netns};
use crate::base::Hook;
use crate::base::limits::PASSES_PER_PACKET_MAX;
use crate::netfilter::Assume;
use crate::packet::{CtInfo, DevId, Dst, Family, L4, Packet, PacketType, Skb, proto};
use crate::trace::{Change, Disposition, DropReason, Trace, TraceKind};

/// A TCP header without options, in bytes.
const TCP_HEADER: usize = 20;

/// A packet that left the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    pub dev: DevId,
    pub packet: Packet,
    /// Made by the node in answer to another packet.
    pub made: bool,
}

/// The end of a packet's way, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    pub disposition: Disposition,
    pub because: Cow<'static, str>,
}

impl End {
    pub(super) fn dropped(reason: DropReason, because: impl Into<Cow<'static, str>>) -> Self {
        Self { disposition: Disposition::Dropped(reason), because: because.into() }
    }

    pub(super) fn delivered(because: impl Into<Cow<'static, str>>) -> Self {
        Self { disposition: Disposition::Delivered, because: because.into() }
    }
}

/// What one packet's processing writes to.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) trace: &'a mut Trace,
    pub(super) assume: &'a mut Assume,
    pub(super) emitted: &'a mut Vec<Emitted>,
    /// How many answers deep: zero for the packet itself.
    pub(super) depth: u32,
    /// Times a packet went round through `lo`.
    pub(super) passes: u32,
    /// The node is sending an ICMP message: until that has left, no other can be sent (`icmp_xmit_lock`).
    pub(super) sending_icmp: bool,
}

impl Netns {
    /// A packet arrives on a device. `skb.indev` is set here.
    pub(super) fn receive(&mut self, run: &mut Run<'_>, skb: &mut Skb, dev: DevId) -> End {
        run.trace.record(self.now, || TraceKind::Received {
            dev: self.inet.device(dev).name.to_string(),
            packet: skb.packet.clone(),
        });
        skb.indev = Some(dev);
        let end = self.receive_steps(run, skb, dev).unwrap_or_else(|end| end);
        self.finish(run, skb, &end);
        end
    }

    fn receive_steps(&mut self, run: &mut Run<'_>, skb: &mut Skb, dev: DevId) -> Result<End, End> {
        if let Some(end) = self.ebpf_ingress(run, skb, dev)? {
            return Ok(end);
        }
        self.sanity(skb, dev)?;
        self.hook(run, Hook::Prerouting, skb)?;
        // `tcp_v4_early_demux` pulls the header together before it looks for a socket.
        if skb.packet.ip.proto == proto::TCP
            && skb.packet_type == PacketType::Host
            && skb.packet.l4.len_bytes() >= TCP_HEADER
        {
            skb.make_writable(TCP_HEADER);
        }
        // A packet that went round through `lo` still carries the route of its way out.
        if let Some(dst) = skb.dst.filter(|d| d.local) {
            return self.deliver(run, skb, dst);
        }
        if has_source_route(&skb.packet) {
            return Err(End::dropped(DropReason::Martian, "an IP source route (accept_source_route is 0)"));
        }
        let (src, dst) = (skb.packet.ip.src, skb.packet.ip.dst);
        let route = self.inet.route_input(src, dst, dev);
        run.trace.record(self.now, || TraceKind::Route { summary: self.describe_input(&route, dst) });
        match route {
            InputRoute::Local(dst) => self.deliver(run, skb, dst),
            InputRoute::Forward { dst, redirect } => self.forward(run, skb, dst, redirect),
            InputRoute::Refused(refusal) => Err(self.refuse(run, skb, refusal)),
        }
    }

    /// What `ip_rcv_core` and `ip6_rcv_core` look at before the first hook, beyond what
    /// [`Packet::parse`] refuses.
    fn sanity(&self, skb: &Skb, dev: DevId) -> Result<(), End> {
        let (IpAddr::V6(src), IpAddr::V6(dst)) = (skb.packet.ip.src, skb.packet.ip.dst) else {
            return Ok(());
        };
        let loopback = self.inet.device(dev).is_loopback();
        let bad = if (src.is_loopback() || dst.is_loopback()) && !loopback {
            "::1 on a device other than lo (RFC 4291 2.5.3)"
        } else if src.is_multicast() {
            "the source is a multicast address"
        } else {
            return Ok(());
        };
        Err(End::dropped(DropReason::Martian, bad))
    }

    /// A route that does not let the packet on (`ip_error`, `ip6_pkt_discard`).
    fn refuse(&mut self, run: &mut Run<'_>, skb: &mut Skb, refusal: Refusal) -> End {
        match refusal {
            Refusal::Martian(why) => End::dropped(DropReason::Martian, why),
            Refusal::NotForwarding => {
                End::dropped(DropReason::ForwardingDisabled, "not for this node, and forwarding is off")
            }
            Refusal::Unroutable(kind) => {
                let (reason, because) = match kind {
                    RouteKind::Blackhole => (DropReason::RouteType, "a blackhole route"),
                    RouteKind::Prohibit => (DropReason::RouteType, "a prohibit route"),
                    RouteKind::Unreachable if self.inet.has_route(skb.packet.ip.dst) => {
                        (DropReason::RouteType, "an unreachable route")
                    }
                    _ => (DropReason::NoRoute, "no route to the destination"),
                };
                self.route_error(run, skb, kind, reason);
                End::dropped(reason, because)
            }
        }
    }

    /// To the node itself.
    fn deliver(&mut self, run: &mut Run<'_>, skb: &mut Skb, dst: Dst) -> Result<End, End> {
        skb.dst = Some(dst);
        // IPv6 puts a datagram together only when INPUT has seen its pieces (`ipv6_frag_rcv`).
        match skb.family() {
            Family::V4 => {
                self.defrag_local(run, skb)?;
                self.hook(run, Hook::Input, skb)?;
            }
            Family::V6 => {
                self.hook(run, Hook::Input, skb)?;
                self.defrag_local(run, skb)?;
            }
        }
        Ok(self.local_stack(run, skb))
    }

    /// `ip_forward`, `ip6_forward`.
    fn forward(&mut self, run: &mut Run<'_>, skb: &mut Skb, dst: Dst, redirect: bool) -> Result<End, End> {
        skb.dst = Some(dst);
        let v6 = skb.family() == Family::V6;
        if v6 && !self.inet.sysctls.all.forwarding6 {
            return Err(End::dropped(
                DropReason::ForwardingDisabled,
                "not for this node, and net.ipv6.conf.all.forwarding is 0",
            ));
        }
        if skb.packet_type != PacketType::Host {
            return Err(End::dropped(DropReason::Martian, "not addressed to this node's MAC"));
        }
        if skb.packet.ip.ttl <= 1 {
            self.icmp_error(run, skb, Trouble::TimeExceeded);
            return Err(End::dropped(
                DropReason::TtlExceeded,
                if v6 { "hop limit exceeded in transit" } else { "TTL exceeded in transit" },
            ));
        }
        if v6 {
            self.forward_v6_source(run, skb)?;
        }
        let too_long = skb.frag_max.unwrap_or(skb.packet.len_bytes() as u32) > dst.mtu;
        if too_long && (v6 || skb.packet.ip.dont_fragment) {
            self.icmp_error(run, skb, Trouble::TooBig { mtu: dst.mtu });
            return Err(End::dropped(DropReason::PacketTooBig, format!("longer than the MTU {}", dst.mtu)));
        }
        if !v6 {
            skb.priority = tos_priority(skb.packet.ip.tos);
        }
        let ttl = skb.packet.ip.ttl;
        skb.packet.ip.ttl -= 1;
        run.trace.record(self.now, || TraceKind::Rewrite {
            by: "forwarding".to_owned(),
            changes: vec![Change { field: "ttl", before: ttl.to_string(), after: (ttl - 1).to_string() }],
        });
        if redirect {
            self.icmp_redirect(run, skb, dst);
        }
        self.hook(run, Hook::Forward, skb)?;
        self.hook(run, Hook::Postrouting, skb)?;
        self.emit(run, skb)?;
        Ok(End { disposition: Disposition::Forwarded, because: self.left_through(run, skb) })
    }

    /// Sources that `ip6_forward` does not let through.
    fn forward_v6_source(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        let IpAddr::V6(src) = skb.packet.ip.src else { return Ok(()) };
        if src.is_unspecified() || src.is_multicast() || src.is_loopback() {
            return Err(End::dropped(DropReason::Martian, "the source cannot be forwarded"));
        }
        if src.is_unicast_link_local() {
            self.icmp_error(run, skb, Trouble::BeyondScope);
            return Err(End::dropped(DropReason::Martian, "a link-local source does not leave its link"));
        }
        Ok(())
    }

    /// A packet of a local process. An unspecified source is chosen by the route.
    pub(super) fn send_local(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> End {
        let end = self.send_steps(run, skb).unwrap_or_else(|end| end);
        self.finish(run, skb, &end);
        end
    }

    fn send_steps(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<End, End> {
        if run.depth == 0 {
            self.ebpf_connect(run, skb)?;
        }
        let to = skb.packet.ip.dst;
        let routed = self.inet.route_output(to);
        if let Ok(route) = &routed
            && skb.packet.ip.src.is_unspecified()
        {
            skb.packet.ip.src = route.src;
        }
        if run.depth == 0 {
            run.trace.record(self.now, || TraceKind::LocalOut { packet: skb.packet.clone() });
        }
        run.trace.record(self.now, || TraceKind::Route {
            summary: self.describe_output(routed.map(|r| r.dst), to),
        });
        let dst = routed.map_err(no_way_out)?.dst;
        // A raw socket's header is not looked at here; what the stack makes names its source to the routing.
        if run.depth > 0 {
            self.loopback_stays(skb.packet.ip.src, dst.dev)?;
        }
        skb.dst = Some(dst);
        self.hook(run, Hook::Output, skb)?;
        self.hook(run, Hook::Postrouting, skb)?;
        self.emit(run, skb)?;
        Ok(End { disposition: Disposition::Sent, because: self.left_through(run, skb) })
    }

    /// `ip_route_me_harder`: another route for a packet that OUTPUT changed. The source address stays.
    pub(super) fn reroute(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        let to = skb.packet.ip.dst;
        let routed = self.inet.route_output(to);
        run.trace.record(self.now, || TraceKind::Route {
            summary: self.describe_output(routed.map(|r| r.dst), to),
        });
        let dst = routed.map_err(no_way_out)?.dst;
        self.loopback_stays(skb.packet.ip.src, dst.dev)?;
        skb.dst = Some(dst);
        Ok(())
    }

    /// `__mkroute_output`: no way out of the node for a source in 127.0.0.0/8, unless `route_localnet` is set.
    pub(super) fn loopback_stays(&self, src: IpAddr, dev: DevId) -> Result<(), End> {
        let loopback = matches!(src, IpAddr::V4(src) if src.is_loopback());
        let conf = &self.inet.device(dev).conf;
        if loopback && dev != LOOPBACK && !conf.route_localnet && !self.inet.sysctls.all.route_localnet {
            let why = "a source in 127.0.0.0/8 stays on lo while route_localnet is 0 (EINVAL)";
            return Err(End::dropped(DropReason::NoRoute, why));
        }
        Ok(())
    }

    /// Out through the device of the route, or round through `lo`.
    pub(super) fn emit(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        let Some(dst) = skb.dst else {
            return Err(End::dropped(DropReason::NoRoute, "no route at the end of the way"));
        };
        let device = self.inet.device(dst.dev);
        run.trace.record(self.now, || TraceKind::Emitted {
            dev: device.name.to_string(),
            packet: skb.packet.clone(),
        });
        if dst.dev == LOOPBACK {
            return Err(self.around(run, skb, dst.mtu));
        }
        if device.kind == DeviceKind::Dummy {
            return Err(End {
                disposition: if skb.indev.is_some() { Disposition::Forwarded } else { Disposition::Sent },
                because: format!("left through {}, a dummy device that leads nowhere", device.name).into(),
            });
        }
        let made = run.depth > 0;
        if let Some(pieces) = self.cut(skb, dst.mtu)? {
            run.emitted.extend(pieces.into_iter().map(|packet| Emitted { dev: dst.dev, packet, made }));
            return Ok(());
        }
        // The payload moves out: the packet is done here, only its header is still looked at.
        let l4 = std::mem::replace(&mut skb.packet.l4, L4::Raw(Vec::new()));
        let packet = Packet { ip: skb.packet.ip.clone(), l4 };
        run.emitted.push(Emitted { dev: dst.dev, packet, made });
        Ok(())
    }

    /// `ip_do_fragment`, `ip6_fragment`: the pieces that a packet leaves in; none where it leaves whole.
    fn cut(&mut self, skb: &Skb, mtu: u32) -> Result<Option<Vec<Packet>>, End> {
        let most = skb.frag_max.map_or(mtu, |max| max.min(mtu)) as usize;
        // IPv4 cuts again whatever was cut; IPv6 what is longer than the longest piece was (`ip6_finish_output`).
        let was_cut = skb.frag_max.is_some() && skb.family() == Family::V4;
        if skb.packet.len_bytes() <= most && !was_cut {
            return Ok(None);
        }
        if skb.packet.ip.dont_fragment && skb.frag_max.is_none() {
            return Err(End::dropped(DropReason::PacketTooBig, "longer than the MTU (EMSGSIZE)"));
        }
        let id = self.ids.next_u32();
        let came = defrag::split_as_it_came(&skb.packet, &skb.frag_parts, mtu as usize, id);
        Ok(Some(came.unwrap_or_else(|| defrag::split(&skb.packet, most, id))))
    }

    /// Out through `lo` and in again. What was put together on its way out is in pieces again, each with the
    /// connection of the whole. IPv4 gathers those of a connection before any rule sees them
    /// (`ipv4_conntrack_defrag`), so that they stay together here.
    fn around(&mut self, run: &mut Run<'_>, skb: &mut Skb, mtu: u32) -> End {
        run.passes += 1;
        if run.passes > PASSES_PER_PACKET_MAX {
            return End::dropped(DropReason::Loop, "went round through lo too often");
        }
        let gathered = skb.family() == Family::V4 && skb.ct_info != CtInfo::Untracked;
        let pieces = match skb.frag_max.is_some() && !gathered {
            true => self.cut(skb, mtu).unwrap_or_default(),
            false => None,
        };
        // It comes back by way of the backlog, when the sender has let go.
        let sending_icmp = std::mem::take(&mut run.sending_icmp);
        let end = match pieces {
            None => self.receive_steps_again(run, skb),
            Some(pieces) => self.pieces_again(run, skb, pieces),
        };
        run.sending_icmp = sending_icmp;
        end
    }

    /// The pieces of `whole` come in one by one; what becomes of the last tells what becomes of all.
    fn pieces_again(&mut self, run: &mut Run<'_>, whole: &Skb, pieces: Vec<Packet>) -> End {
        let mut end = End::dropped(DropReason::Fragment, "no piece came in again");
        for packet in pieces {
            let mut piece = Skb { packet, frag_max: None, frag_parts: Vec::new(), ..whole.clone() };
            self.ct.share(&mut piece);
            end = self.receive_steps_again(run, &mut piece);
            self.ct.release(&mut piece);
        }
        end
    }

    /// `loopback_xmit`: the packet comes in again, with its connection, mark and route.
    fn receive_steps_again(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> End {
        skb.indev = Some(LOOPBACK);
        (skb.owner, skb.control_socket) = (None, false);
        // `nft_trace_init` hashes the device it came in through.
        skb.trace_id = None;
        self.tables.nft.ruleset.state.monitor.senders_let_go();
        run.trace.record(self.now, || TraceKind::Received {
            dev: self.inet.device(LOOPBACK).name.to_string(),
            packet: skb.packet.clone(),
        });
        self.receive_steps(run, skb, LOOPBACK).unwrap_or_else(|end| end)
    }

    /// The packet is done: an entry that nothing confirmed dies with it.
    fn finish(&mut self, run: &mut Run<'_>, skb: &mut Skb, end: &End) {
        if run.trace.on() {
            run.trace.record(self.now, || TraceKind::End {
                disposition: end.disposition.clone(),
                because: end.because.to_string(),
            });
        }
        self.ct.release(skb);
    }

    pub(super) fn left_through(&self, run: &Run<'_>, skb: &Skb) -> Cow<'static, str> {
        match skb.dst.filter(|_| run.trace.on()) {
            Some(dst) => format!("left through {}", self.inet.device(dst.dev).name).into(),
            None => Cow::Borrowed("left the node"),
        }
    }

    fn describe_input(&self, route: &InputRoute, to: IpAddr) -> String {
        match route {
            InputRoute::Local(dst) if dst.broadcast => format!("{to} is a broadcast or multicast address"),
            InputRoute::Local(_) => format!("{to} is local"),
            InputRoute::Forward { dst, .. } => self.describe_dst(dst, to),
            InputRoute::Refused(Refusal::Martian(why)) => (*why).to_owned(),
            InputRoute::Refused(Refusal::NotForwarding) => {
                format!("{to} is not local, and forwarding is off")
            }
            InputRoute::Refused(Refusal::Unroutable(_)) => format!("no way to {to}"),
        }
    }

    pub(super) fn describe_output(&self, dst: Result<Dst, RouteKind>, to: IpAddr) -> String {
        match dst {
            Ok(dst) => self.describe_dst(&dst, to),
            Err(_) => format!("no way to {to}"),
        }
    }

    fn describe_dst(&self, dst: &Dst, to: IpAddr) -> String {
        let dev = &self.inet.device(dst.dev).name;
        match dst.via {
            Some(via) => format!("{to} via {via} dev {dev}"),
            None => format!("{to} dev {dev}"),
        }
    }
}

/// `rt_tos2priority`, which `ip_forward` sets: the class that a type of service asks for.
const fn tos_priority(tos: u8) -> u32 {
    match (tos & 0x1e) >> 1 {
        4..=7 => 2,
        8..=11 => 6,
        12..=15 => 4,
        _ => 0,
    }
}

/// `ip_rcv_options`: loose or strict source routing among the IPv4 options (RFC 791).
fn has_source_route(packet: &Packet) -> bool {
    if packet.ip.src.is_ipv6() {
        return false;
    }
    let mut options = &packet.ip.options[..];
    while let [kind, rest @ ..] = options {
        match (kind, rest.first()) {
            (0, _) => return false,
            (1, _) => options = rest,
            (131 | 137, _) => return true,
            (_, Some(&len)) if usize::from(len) >= 2 && usize::from(len) <= options.len() => {
                options = &options[usize::from(len)..];
            }
            _ => return false,
        }
    }
    false
}

/// What a local sender sees when there is no route.
fn no_way_out(kind: RouteKind) -> End {
    match kind {
        RouteKind::Blackhole => End::dropped(DropReason::RouteType, "a blackhole route (EINVAL)"),
        RouteKind::Prohibit => End::dropped(DropReason::RouteType, "a prohibit route (EACCES)"),
        _ => End::dropped(DropReason::NoRoute, "no route to the destination (ENETUNREACH)"),
    }
}
