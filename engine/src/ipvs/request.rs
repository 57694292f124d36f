//! Packets towards services (`ip_vs_in`, `ip_vs_schedule`): at INPUT for those from elsewhere, at OUTPUT for the
//! node's own.

use std::net::SocketAddr;

use super::config::Knob;
use super::conn::{Conn, ConnId, InKey, OutKey, Xmit, socket};
use super::dest::{DestId, Encapsulation, Forward};
use super::sched::{Client, List, SchedCx, Why};
use super::service::ServiceKey;
use super::state::{SctpEvent, SctpState, Side, State, TcpEvent, TcpState};
use super::{Ipvs, IpvsCx};
use crate::base::{Duration, Instant};
use crate::packet::{Family, L4, Skb, TcpFlags, proto};
use crate::trace::{Candidate, TraceKind};

const FTP: u16 = 21;
const FTP_DATA: u16 = 20;
/// Ports below are never those of a passive FTP data connection (`PROT_SOCK`).
const PRIVILEGED: u16 = 1024;
/// Lifetime of an entry before its first packet is judged.
const UNBORN: Duration = Duration::from_secs(3);

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// None of IPVS' business: it goes on through the hook.
    Pass,
    Refuse(Refusal),
    /// To its destination. With it, connections that ended and whose conntrack entry ends with them.
    Send(Xmit),
}

/// Why a packet ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No destination for a new connection: the client gets an ICMP port unreachable, for TCP too.
    NoDest,
    /// The destination of its connection was removed.
    DestGone,
    /// Its old conntrack entry has to die first; the sender's next try will do.
    OldConntrack,
    /// `drop_packet`
    Defence,
}

impl Refusal {
    pub const fn because(self) -> &'static str {
        match self {
            Self::NoDest => "IPVS has no destination for a new connection",
            Self::DestGone => "IPVS: the destination of the connection was removed (expire_nodest_conn is 0)",
            Self::OldConntrack => {
                "IPVS: the port is used again and its old conntrack entry dies with this packet; a retransmit passes"
            }
            Self::Defence => "IPVS: one of am_droprate packets (drop_packet)",
        }
    }
}

/// Whether a connection starts over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartOver {
    No,
    Yes,
    /// The packet has to be dropped for it: its conntrack entry is the old connection's.
    NotNow,
}

/// An entry to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewConn {
    pub(super) proto: u8,
    pub(super) client: SocketAddr,
    pub(super) virt: SocketAddr,
    pub(super) server_port: u16,
    pub(super) dest: DestId,
    /// The lifetime of a template.
    pub(super) template: Option<Duration>,
    pub(super) one_packet: bool,
}

/// A packet as IPVS sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) proto: u8,
    pub(super) src: SocketAddr,
    pub(super) dst: SocketAddr,
    pub(super) mark: u32,
    pub(super) bytes: usize,
    pub(super) l4: SeenL4,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum SeenL4 {
    Tcp(TcpFlags),
    Udp,
    /// The event of the first chunk, if there is one.
    Sctp(Option<SctpEvent>),
}

impl Seen {
    /// None for protocols without virtual services, and for later fragments.
    pub(super) fn of(skb: &Skb) -> Option<Self> {
        let packet = &skb.packet;
        let l4 = match &packet.l4 {
            L4::Tcp(tcp) => SeenL4::Tcp(tcp.flags),
            L4::Udp(_) if packet.ip.proto == proto::UDP => SeenL4::Udp,
            L4::Sctp(sctp) => SeenL4::Sctp(SctpEvent::of(&sctp.payload)),
            L4::Udp(_) | L4::Icmp(_) | L4::Raw(_) | L4::Truncated(_) => return None,
        };
        let (sport, dport) = packet.ports()?;
        Some(Self {
            proto: packet.ip.proto,
            src: socket(packet.ip.src, sport),
            dst: socket(packet.ip.dst, dport),
            mark: skb.mark,
            bytes: packet.len_bytes(),
            l4,
        })
    }

    const fn in_key(&self) -> InKey {
        InKey { template: false, proto: self.proto, client: self.src, virt: self.dst }
    }

    /// `is_new_conn`
    fn opens(&self) -> bool {
        match self.l4 {
            SeenL4::Tcp(flags) => flags.has(TcpFlags::SYN),
            SeenL4::Sctp(event) => event == Some(SctpEvent::Init),
            SeenL4::Udp => false,
        }
    }
}

impl Ipvs {
    /// A packet at the request hooks. [`Self::advance`] has run for this instant. The connections that ended with
    /// it are pushed to `ended`.
    pub fn request(&mut self, cx: &mut IpvsCx<'_>, skb: &Skb, ended: &mut Vec<Xmit>) -> Request {
        let Some(seen) = Seen::of(skb) else { return Request::Pass };
        let mut found = self.conns.by_client(&seen.in_key());
        if let Some(id) = found
            && seen.opens()
        {
            match self.start_over(cx, id, ended) {
                StartOver::NotNow => return self.refuse(cx, Refusal::OldConntrack),
                StartOver::Yes => found = None,
                StartOver::No => {}
            }
        }
        if let Some(id) = found
            && self.dest_gone(id)
        {
            if !self.config.on(Knob::ExpireNodestConn) {
                return self.refuse(cx, Refusal::DestGone);
            }
            let old = self.drop_connection(cx, id, ended);
            if old {
                return self.refuse(cx, Refusal::OldConntrack);
            }
            found = None;
        }
        let id = match found {
            Some(id) => {
                self.say(cx, "a packet of a known connection", Some(id));
                id
            }
            None => match self.try_to_schedule(cx, &seen) {
                Ok(Some(id)) => id,
                Ok(None) => return Request::Pass,
                Err(refusal) => return self.refuse(cx, refusal),
            },
        };
        self.count_in(id, seen.bytes, cx.now);
        self.step(id, Side::Input, &seen);
        let Some(conn) = self.conns.get_mut(id) else { return Request::Pass };
        conn.in_packets += 1;
        let (xmit, one_packet) = (conn.xmit(), conn.one_packet);
        if one_packet {
            _ = self.expire_now(id, cx.now);
        } else {
            self.touch(id, cx.now);
        }
        Request::Send(xmit)
    }

    /// Whether a packet that begins a connection begins a known one anew.
    fn start_over(&mut self, cx: &IpvsCx<'_>, id: ConnId, ended: &mut Vec<Xmit>) -> StartOver {
        let Some(conn) = self.conns.get(id) else { return StartOver::No };
        let mode = self.config.value(Knob::ConnReuseMode);
        let quiesced = conn.dest.and_then(|id| self.dests.get(&id)).is_some_and(|d| d.weight == 0);
        let over = match conn.state {
            State::Tcp(TcpState::TimeWait | TcpState::Close) => true,
            State::Tcp(TcpState::FinWait) => mode & 2 != 0 && conn.no_output,
            State::Sctp(SctpState::Closed) => true,
            State::Tcp(_) | State::Udp | State::Sctp(_) | State::Template { .. } => false,
        };
        // A connection under a template goes on with it (`is_new_conn_expected`).
        let expected = mode != 0 && over && conn.control.is_none();
        let reschedule = (self.config.on(Knob::ExpireNodestConn) && quiesced) || expected;
        if !reschedule {
            StartOver::No
        } else if self.drop_connection(cx, id, ended) {
            StartOver::NotNow
        } else {
            StartOver::Yes
        }
    }

    /// Ends a connection before its time. True when its conntrack entry is an old one, which the packet belongs to.
    fn drop_connection(&mut self, cx: &IpvsCx<'_>, id: ConnId, ended: &mut Vec<Xmit>) -> bool {
        let old = self.conns.get(id).is_some_and(|conn| conn.conntrack) && cx.old_conntrack;
        if !old && let Some(conn) = self.conns.get_mut(id) {
            // The packet's conntrack entry is a new one: it must live.
            conn.conntrack = false;
        }
        ended.extend(self.expire_now(id, cx.now));
        old
    }

    fn dest_gone(&self, id: ConnId) -> bool {
        let dest = self.conns.get(id).and_then(|conn| conn.dest);
        dest.is_some_and(|dest| self.dests.get(&dest).is_none_or(|d| !d.available))
    }

    /// `ip_vs_try_to_schedule`: a new connection, nothing, or a refusal.
    fn try_to_schedule(&mut self, cx: &mut IpvsCx<'_>, seen: &Seen) -> Result<Option<ConnId>, Refusal> {
        let opens = match seen.l4 {
            SeenL4::Tcp(flags) => {
                let sloppy = self.config.on(Knob::SloppyTcp);
                !flags.has(TcpFlags::RST) && (sloppy || flags.has(TcpFlags::SYN))
            }
            SeenL4::Udp => true,
            SeenL4::Sctp(None) => false,
            SeenL4::Sctp(Some(event)) => {
                let sloppy = self.config.on(Knob::SloppySctp);
                event != SctpEvent::Abort && (sloppy || event == SctpEvent::Init)
            }
        };
        let Some(key) = self.service_of(seen) else { return Ok(None) };
        if !opens {
            self.say(cx, "of no known connection, and it cannot begin one: not for IPVS", None);
            return Ok(None);
        }
        if self.drops_this_one() {
            return Err(Refusal::Defence);
        }
        self.schedule(cx, seen, key)
    }

    /// `ip_vs_service_find`: by mark, by address, the FTP service for high ports, the service of any port.
    fn service_of(&self, seen: &Seen) -> Option<ServiceKey> {
        let family = Family::of(&seen.dst.ip());
        let by_mark = ServiceKey::Mark { mark: seen.mark, family };
        if seen.mark != 0 && self.services.contains_key(&by_mark) {
            return Some(by_mark);
        }
        let at = |port: u16| ServiceKey::address(seen.proto, seen.dst.ip(), port);
        let port = seen.dst.port();
        let ftp = seen.proto == proto::TCP && (port == FTP_DATA || port >= PRIVILEGED);
        [Some(at(port)), ftp.then(|| at(FTP)), Some(at(0))]
            .into_iter()
            .flatten()
            .find(|key| self.services.contains_key(key))
    }

    /// `ip_vs_todrop`
    fn drops_this_one(&mut self) -> bool {
        if self.config.value(Knob::DropPacket) != 3 {
            return false;
        }
        self.drop_counter -= 1;
        if self.drop_counter > 0 {
            return false;
        }
        self.drop_counter = i64::from(self.config.value(Knob::AmDroprate));
        true
    }

    /// `ip_vs_schedule`
    fn schedule(
        &mut self,
        cx: &mut IpvsCx<'_>,
        seen: &Seen,
        key: ServiceKey,
    ) -> Result<Option<ConnId>, Refusal> {
        // Active FTP data connections come from the server and are never scheduled.
        if seen.src.port() == FTP_DATA {
            return Ok(None);
        }
        // An answer of a server on this node.
        let answer = InKey { template: false, proto: seen.proto, client: seen.dst, virt: seen.src };
        if cx.from_self && self.conns.by_client(&answer).is_some() {
            return Ok(None);
        }
        let Some(service) = self.services.get(&key) else { return Ok(None) };
        let one_packet = service.one_packet && seen.proto == proto::UDP;
        if let Some(persistence) = service.persistence {
            return self.schedule_persistent(cx, seen, key, persistence, one_packet).map(Some);
        }
        if key.mark() == 0 && seen.dst.port() != key.port() {
            // Ports beside a virtual FTP service are nobody's; a service of port zero is always persistent.
            return if key.port() == FTP { Ok(None) } else { Err(Refusal::NoDest) };
        }
        let Some(dest) = self.choose(cx, seen, key) else { return Err(Refusal::NoDest) };
        let server_port = self.port_of(dest).unwrap_or(seen.dst.port());
        let new = NewConn {
            proto: seen.proto,
            client: seen.src,
            virt: seen.dst,
            server_port,
            dest,
            template: None,
            one_packet,
        };
        let id = self.bind(new, cx.now);
        self.count_conn(dest, cx.now);
        self.say(cx, "a new connection", Some(id));
        Ok(Some(id))
    }

    /// Asks the service's scheduler.
    pub(super) fn choose(&mut self, cx: &mut IpvsCx<'_>, seen: &Seen, key: ServiceKey) -> Option<DestId> {
        let Self { services, dests, config, draws, kernel, .. } = self;
        let service = services.get_mut(&key)?;
        let mut why = Why { on: cx.trace.on(), ..Why::default() };
        let list = List { order: &service.dests, all: dests };
        let chosen = service.scheduler.schedule(&mut SchedCx {
            kernel: *kernel,
            now: cx.now,
            config,
            flags: service.flags,
            client: Client { src: seen.src.ip(), sport: seen.src.port(), dst: seen.dst.ip() },
            draws,
            why: &mut why,
            list,
        });
        let scheduler = service.scheduler.name();
        cx.trace.record(cx.now, || {
            let candidates = list
                .iter()
                .map(|dest| Candidate {
                    server: dest.socket(),
                    weight: dest.weight,
                    active: dest.active,
                    inactive: dest.inactive,
                    score: why.scores.iter().find(|(id, _)| *id == dest.id).map(|(_, text)| text.clone()),
                    chosen: chosen == Some(dest.id),
                })
                .collect();
            let because = if chosen.is_some() { why.because } else { "no destination available".to_owned() };
            TraceKind::Schedule { scheduler, candidates, because }
        });
        chosen
    }

    /// `ip_vs_conn_new`: an entry for a chosen destination, which starts among the inactive ones.
    pub(super) fn bind(&mut self, new: NewConn, now: Instant) -> ConnId {
        let id = self.conns.next_id();
        let found = self.dests.get(&new.dest);
        let addr = found.map_or(new.virt.ip(), |d| d.addr);
        let (forward, encapsulation) =
            found.map_or((Forward::Masq, Encapsulation::Ipip), |d| (d.forward, d.encapsulation));
        let state = match (new.template, new.proto) {
            (Some(_), _) => State::Template { assured: false },
            (None, proto::TCP) => State::Tcp(TcpState::None),
            (None, proto::SCTP) => State::Sctp(SctpState::None),
            (None, _) => State::Udp,
        };
        let timeout = new.template.unwrap_or(UNBORN);
        let conn = Conn {
            id,
            proto: new.proto,
            client: new.client,
            virt: new.virt,
            server: socket(addr, new.server_port),
            forward,
            encapsulation,
            dest: Some(new.dest),
            state,
            timeout,
            expires: now + timeout,
            inactive: true,
            one_packet: new.one_packet,
            no_output: forward != Forward::Masq,
            conntrack: self.config.on(Knob::Conntrack),
            control: None,
            controlled: 0,
            in_packets: 0,
        };
        if let Some(dest) = self.dests.get_mut(&new.dest) {
            if new.template.is_some() {
                dest.persistent += 1;
            } else {
                dest.inactive += 1;
            }
            dest.bound();
        }
        self.conns.insert(conn);
        id
    }

    /// The port of a destination, unless it takes the one that was dialled.
    pub(super) fn port_of(&self, dest: DestId) -> Option<u16> {
        self.dests.get(&dest).map(|d| d.port).filter(|port| *port != 0)
    }

    /// The state after a packet, its timeout, and the destination's counters (`ip_vs_set_state`).
    pub(super) fn step(&mut self, id: ConnId, side: Side, seen: &Seen) {
        let Some(conn) = self.conns.get_mut(id) else { return };
        let mut side = side;
        if conn.no_output && !matches!(conn.state, State::Udp) {
            match side {
                Side::Output => conn.no_output = false,
                Side::Input | Side::InputOnly => side = Side::InputOnly,
            }
        }
        let (state, active, timeout, assures) = match (conn.state, seen.l4) {
            (State::Tcp(old), SeenL4::Tcp(flags)) => {
                let new = old.after(side, TcpEvent::of(flags));
                let assures = new != old && new == TcpState::Established;
                (State::Tcp(new), new.is_active(), self.config.tcp_timeout(new), assures)
            }
            (State::Sctp(old), SeenL4::Sctp(Some(event))) => {
                let new = old.after(side, event);
                let assures = new != old && new == SctpState::Established;
                (State::Sctp(new), new.is_active(), self.config.sctp_timeout(new), assures)
            }
            (State::Udp, SeenL4::Udp) => (State::Udp, false, self.config.udp_timeout(), side == Side::Output),
            (State::Tcp(_) | State::Sctp(_) | State::Udp | State::Template { .. }, _) => return,
        };
        conn.state = state;
        conn.timeout = timeout;
        let moved = conn.inactive == active;
        conn.inactive = !active;
        let (dest, control) = (conn.dest, conn.control);
        if moved && let Some(dest) = dest.and_then(|id| self.dests.get_mut(&id)) {
            let (from, to) = match active {
                true => (&mut dest.inactive, &mut dest.active),
                false => (&mut dest.active, &mut dest.inactive),
            };
            *from = from.saturating_sub(1);
            *to += 1;
        }
        if assures
            && let Some(template) = control.and_then(|id| self.conns.get_mut(id))
            && template.is_template()
        {
            template.state = State::Template { assured: true };
        }
    }

    /// Starts the timer anew (`ip_vs_conn_put`).
    pub(super) fn touch(&mut self, id: ConnId, now: Instant) {
        if let Some(timeout) = self.conns.get(id).map(|conn| conn.timeout) {
            self.conns.set_expires(id, now + timeout);
        }
    }

    pub(super) fn count_conn(&mut self, dest: DestId, now: Instant) {
        let Self { dests, services, stats, .. } = self;
        let Some(dest) = dests.get_mut(&dest) else { return };
        dest.stats.count_conn(now);
        if let Some(service) = services.get_mut(&dest.service) {
            service.stats.count_conn(now);
        }
        stats.count_conn(now);
    }

    pub(super) fn count_in(&mut self, id: ConnId, bytes: usize, now: Instant) {
        self.count(id, |stats| stats.count_in(bytes, now));
    }

    pub(super) fn count_out(&mut self, id: ConnId, bytes: usize, now: Instant) {
        self.count(id, |stats| stats.count_out(bytes, now));
    }

    /// For destination, service and all; not for connections of a destination that is gone.
    fn count(&mut self, id: ConnId, mut count: impl FnMut(&mut super::Stats)) {
        let Self { dests, services, stats, conns, .. } = self;
        let dest = conns.get(id).and_then(|conn| conn.dest).and_then(|dest| dests.get_mut(&dest));
        let Some(dest) = dest.filter(|d| d.available) else { return };
        count(&mut dest.stats);
        if let Some(service) = services.get_mut(&dest.service) {
            count(&mut service.stats);
        }
        count(stats);
    }

    pub(super) fn say(&self, cx: &mut IpvsCx<'_>, summary: &str, id: Option<ConnId>) {
        cx.trace.record(cx.now, || TraceKind::Ipvs {
            summary: summary.to_owned(),
            entry: id.and_then(|id| self.conns.get(id)).map(Conn::line),
        });
    }

    fn refuse(&self, cx: &mut IpvsCx<'_>, refusal: Refusal) -> Request {
        self.say(cx, refusal.because(), None);
        Request::Refuse(refusal)
    }
}

impl OutKey {
    pub(super) const fn of(seen: &Seen) -> Self {
        Self { proto: seen.proto, client: seen.dst, server: seen.src }
    }
}
