//! Packets at the devices (`nodeport.h`): service look-up, translation there and back, SNAT or DSR to other nodes.
//!
//! A translated packet leaves by a routing look-up of the program itself and never meets netfilter; only one for a
//! process of the node goes on into the stack.

use std::net::{IpAddr, Ipv4Addr};

use super::Ebpf;
use super::choose::{Choice, Flow, From};
use super::maps::{Backend, BackendId, BackendState, Frontend, Scope};
use super::socket::rewrite;
use crate::base::Instant;
use crate::packet::{Packet, TcpFlags, proto};
use crate::trace::{Trace, TraceKind};

/// Type and length of the IP option that carries the frontend (`DSR_IPV4_OPT_32`).
const DSR_OPTION: [u8; 2] = [0x9a, 8];

/// What the program at a device says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not its business: the stack goes on with the packet.
    Pass,
    /// Translated; out by the program's own look-up.
    Redirect,
    /// Dropped, with the name of the reason in Cilium's metrics.
    Drop(&'static str),
}

/// What the program may ask while it runs.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct TcCx<'a> {
    pub now: Instant,
    pub from: From,
    pub trace: &'a mut Trace,
    /// The node's address on the way to a backend of another node; none when the backend is on this one.
    pub way_out: &'a dyn Fn(IpAddr) -> Option<IpAddr>,
}

impl Ebpf {
    /// A packet comes in over a device.
    pub fn tc(&mut self, packet: &mut Packet, cx: &mut TcCx<'_>) -> Verdict {
        let Some(flow) = Flow::of(packet) else { return Verdict::Pass };
        let flags = packet.tcp().map(|tcp| tcp.flags);
        self.lookups += 1;
        if let Some((first, entry)) = self.flows.get_reply(&flow, cx.now) {
            entry.touch(flow.proto, flags, true, cx.now);
            let frontend = entry.choice.frontend;
            let front = (frontend.addr, frontend.port);
            rewrite(packet, Some(front), Some(first.src), "eBPF reverse NAT", cx.now, cx.trace);
            return Verdict::Redirect;
        }
        self.lookups += 1;
        let known = self.flows.get(&flow, cx.now).map(|entry| {
            entry.touch(flow.proto, flags, false, cx.now);
            entry.clone()
        });
        match known {
            // A backend that is gone is replaced.
            Some(entry) if !entry.dsr && self.maps.backend(entry.choice.id).is_none() => {
                self.flows.remove(&flow);
            }
            Some(entry) => {
                self.translate(packet, &entry.choice, entry.seen_as, entry.dsr, cx);
                return Verdict::Redirect;
            }
            None => {}
        }
        if let Some(frontend) = dsr_frontend(packet, flow.proto) {
            return self.arrived_by_dsr(flow, frontend, cx);
        }
        let Some((frontend, service)) = self.find_service(&flow, cx.from) else { return Verdict::Pass };
        if cx.from == From::Outside && !service.spec.routable() {
            return Verdict::Drop("Is a ClusterIP (DROP_IS_CLUSTER_IP)");
        }
        let outside = cx.from == From::Outside;
        if outside
            && !service.spec.source_ranges.is_empty()
            && !service.spec.source_ranges.iter().any(|range| range.contains(flow.src.0))
        {
            return Verdict::Drop("Not in source range (DROP_NOT_IN_SRC_RANGE)");
        }
        let Some(choice) = self.choose(&flow, cx.from, (frontend, &service), cx.now, cx.trace) else {
            return Verdict::Drop("Service backend not found (DROP_NO_SERVICE)");
        };
        // The backend answers to what it sees; the client's own name is kept wherever the answer comes back.
        let choice =
            Choice { frontend: Frontend { addr: flow.dst.0, port: flow.dst.1, ..frontend }, ..choice };
        let remote = if outside { (cx.way_out)(choice.backend.addr) } else { None };
        let (seen_as, dsr) = match remote {
            None => (flow.src, false),
            Some(_) if self.config.mode.is_dsr(flow.proto) => {
                if flow.src.0.is_ipv6() {
                    return Verdict::Drop("not emulated: DSR over IPv6");
                }
                (flow.src, true)
            }
            Some(node) => {
                self.lookups += 1;
                match self.flows.snat_port(&flow, node, &choice, cx.now, &mut self.draws) {
                    Some(port) => ((node, port), false),
                    None => return Verdict::Drop("No mapping for NAT masquerade (DROP_NAT_NO_MAPPING)"),
                }
            }
        };
        self.flows.add(flow, choice, seen_as, dsr, cx.now);
        self.translate(packet, &choice, seen_as, dsr, cx);
        Verdict::Redirect
    }

    fn translate(
        &self,
        packet: &mut Packet,
        choice: &Choice,
        seen_as: (IpAddr, u16),
        dsr: bool,
        cx: &mut TcCx<'_>,
    ) {
        let Some(flow) = Flow::of(packet) else { return };
        let to = (choice.backend.addr, choice.backend.port);
        rewrite(packet, Some(seen_as), Some(to), "eBPF service translation", cx.now, cx.trace);
        // Of TCP only the SYN carries it: the backend's node remembers.
        let tells =
            packet.tcp().is_none_or(|tcp| tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::ACK));
        if dsr && tells && flow.dst != to {
            add_dsr_option(packet, flow.dst);
            cx.trace.record(cx.now, || TraceKind::Note {
                text: format!(
                    "eBPF: an IP option (0x9a) tells the backend's node that the client dialled {}:{}",
                    flow.dst.0, flow.dst.1
                ),
            });
        }
    }

    /// On the backend's node: remembers under which address the client knows the service, so that the answer can carry
    /// it straight to the client.
    fn arrived_by_dsr(&mut self, flow: Flow, frontend: Frontend, cx: &mut TcCx<'_>) -> Verdict {
        let backend = Backend {
            addr: flow.dst.0,
            port: flow.dst.1,
            proto: flow.proto,
            state: BackendState::Active,
            weight: 1,
        };
        let choice = Choice { frontend, service: 0, id: BackendId(0), backend };
        self.flows.add(flow, choice, flow.src, true, cx.now);
        cx.trace.record(cx.now, || TraceKind::Note {
            text: format!(
                "eBPF: the client dialled {}:{} (DSR); answers will carry it as source",
                frontend.addr, frontend.port
            ),
        });
        Verdict::Redirect
    }
}

/// The frontend in a packet's DSR option.
fn dsr_frontend(packet: &Packet, protocol: u8) -> Option<Frontend> {
    if !packet.ip.src.is_ipv4() || !matches!(protocol, proto::TCP | proto::UDP) {
        return None;
    }
    let [kind, len, port_high, port_low, a, b, c, d, ..] = packet.ip.options[..] else { return None };
    ([kind, len] == DSR_OPTION).then(|| Frontend {
        addr: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        port: u16::from_be_bytes([port_high, port_low]),
        proto: protocol,
        scope: Scope::External,
    })
}

fn add_dsr_option(packet: &mut Packet, (addr, port): (IpAddr, u16)) {
    let IpAddr::V4(addr) = addr else { return };
    let option = [&DSR_OPTION[..], &port.to_be_bytes(), &addr.octets()].concat();
    packet.ip.options.splice(0..0, option);
}
