//! [`Flows`]: connections that packets programs translate: what the kernel spreads over the conntrack map, the SNAT map
//! and the reverse map (`cilium_ct4_global`, `cilium_snat_v4_external`, `cilium_lb4_reverse_nat`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::choose::{Choice, Flow};
use crate::base::{Duration, Instant, Rng};
use crate::packet::{TcpFlags, proto};

/// Most connections held (`--bpf-ct-global-tcp-max`); beyond it the one used longest ago goes.
pub const FLOWS_MAX: usize = 524_288;
/// Ports for SNAT: above the default range of node ports (`NODEPORT_PORT_MIN_NAT`, `NODEPORT_PORT_MAX_NAT`).
const SNAT_PORTS: std::ops::RangeInclusive<u16> = 32768..=65535;
/// Attempts to find a free port (`SNAT_COLLISION_RETRIES`).
const SNAT_ATTEMPTS: u32 = 128;

/// `--bpf-ct-timeout-regular-tcp-syn`.
const SYN: Duration = Duration::from_secs(60);
/// `--bpf-ct-timeout-service-tcp`: 2 h 13 min 20 s.
const TCP: Duration = Duration::from_secs(8000);
/// `--bpf-ct-timeout-regular-tcp-fin`.
const CLOSING: Duration = Duration::from_secs(10);
/// `--bpf-ct-timeout-service-any`.
const ANY: Duration = Duration::from_secs(60);

/// A translated connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub choice: Choice,
    /// What the backend sees as source.
    pub seen_as: (IpAddr, u16),
    /// The answer does not come back this way.
    pub dsr: bool,
    pub expires: Instant,
    used: Instant,
    replied: bool,
    closing: bool,
}

/// By the first direction; the other is found by what the backend sends.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    entries: BTreeMap<Flow, Entry>,
    replies: BTreeMap<Flow, Flow>,
}

impl Flows {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Connections with the flow that began them.
    pub fn iter(&self) -> impl Iterator<Item = (&Flow, &Entry)> {
        self.entries.iter()
    }

    /// The live connection that a packet of the first direction belongs to.
    pub(super) fn get(&mut self, flow: &Flow, now: Instant) -> Option<&mut Entry> {
        if self.entries.get(flow)?.expires <= now {
            self.remove(flow);
            return None;
        }
        self.entries.get_mut(flow)
    }

    /// The live connection that a packet of a backend answers, and the flow that began it.
    pub(super) fn get_reply(&mut self, flow: &Flow, now: Instant) -> Option<(Flow, &mut Entry)> {
        let first = *self.replies.get(flow)?;
        self.get(&first, now).map(|entry| (first, entry))
    }

    /// Whether nothing else uses this way back.
    fn is_free(&mut self, reply: &Flow, now: Instant) -> bool {
        self.get_reply(reply, now).is_none()
    }

    /// A port of the node for a connection: the client's own if it is in the range and free, else drawn. None when
    /// every attempt met a port in use (`DROP_NAT_NO_MAPPING`).
    pub(super) fn snat_port(
        &mut self,
        flow: &Flow,
        node: IpAddr,
        choice: &Choice,
        now: Instant,
        draws: &mut Rng,
    ) -> Option<u16> {
        let back = |port| Flow {
            proto: flow.proto,
            src: (choice.backend.addr, choice.backend.port),
            dst: (node, port),
        };
        let (first, last) = (*SNAT_PORTS.start(), *SNAT_PORTS.end());
        let mut port = flow.src.1;
        for _ in 0..SNAT_ATTEMPTS {
            if SNAT_PORTS.contains(&port) && self.is_free(&back(port), now) {
                return Some(port);
            }
            port = first + draws.below(u32::from(last - first) + 1) as u16;
        }
        None
    }

    /// Adds a connection that this packet begins.
    pub(super) fn add(
        &mut self,
        flow: Flow,
        choice: Choice,
        seen_as: (IpAddr, u16),
        dsr: bool,
        now: Instant,
    ) {
        if self.entries.len() >= FLOWS_MAX {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(flow, _)| *flow);
            if let Some(oldest) = oldest {
                self.remove(&oldest);
            }
        }
        let lifetime = if flow.proto == proto::TCP { SYN } else { ANY };
        let entry = Entry {
            choice,
            seen_as,
            dsr,
            expires: now + lifetime,
            used: now,
            replied: false,
            closing: false,
        };
        let back = Flow { proto: flow.proto, src: (choice.backend.addr, choice.backend.port), dst: seen_as };
        self.replies.insert(back, flow);
        self.entries.insert(flow, entry);
    }

    pub(super) fn remove(&mut self, flow: &Flow) {
        if let Some(entry) = self.entries.remove(flow) {
            let backend = entry.choice.backend;
            let back = Flow { proto: flow.proto, src: (backend.addr, backend.port), dst: entry.seen_as };
            if self.replies.get(&back) == Some(flow) {
                self.replies.remove(&back);
            }
        }
    }
}

impl Entry {
    /// Winds the timer up for another packet.
    pub(super) fn touch(&mut self, protocol: u8, flags: Option<TcpFlags>, reply: bool, now: Instant) {
        let has = |flag| flags.is_some_and(|flags| flags.has(flag));
        if has(TcpFlags::SYN) && !has(TcpFlags::ACK) {
            // The port is used again.
            (self.closing, self.replied) = (false, false);
        }
        self.closing |= has(TcpFlags::FIN) || has(TcpFlags::RST);
        self.replied |= reply;
        self.used = now;
        self.expires = now
            + match (protocol, self.closing, self.replied) {
                (proto::TCP, true, _) => CLOSING,
                (proto::TCP, _, false) => SYN,
                (proto::TCP, _, true) => TCP,
                _ => ANY,
            };
    }
}
