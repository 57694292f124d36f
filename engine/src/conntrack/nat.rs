//! Choosing a mapping (`nf_nat_core.c`: `nf_nat_setup_info`, `get_unique_tuple`).
//!
//! NAT is expressed only by the reply tuple not being the inverse of the original one. A mapping is chosen
//! once a connection and manipulation, for its first packet, and frozen when that packet is confirmed.

use std::net::IpAddr;

use super::clash::clash_allowed;
use super::entry::{Proto, Status};
use super::nat_address::pick_address;
use super::tcp::State;
use super::{Conntrack, CtCx, CtVerdict, L4Part, Manip, NatRange, Tuple};
use crate::base::{Instant, KernelVersion};
use crate::packet::{CtInfo, CtRef, DevId, Skb, proto};
use crate::trace::TraceKind;

/// Ports tried before the search starts over from another offset (`NF_NAT_MAX_ATTEMPTS`).
const ATTEMPTS_MAX: u32 = 128;
/// The search gives up when its window has shrunk below this (`NF_NAT_ATTEMPTS`).
const ATTEMPTS_MIN: u32 = 16;
/// In the last tries a TCP SYN may evict a closed connection (`NF_NAT_HARDER_THRESH`).
const HARDER_BELOW: u32 = 32;

const NAT: Status = Status::SRC_NAT.with(Status::DST_NAT);

const fn done_bit(manip: Manip) -> Status {
    match manip {
        Manip::Src => Status::SRC_NAT_DONE,
        Manip::Dst => Status::DST_NAT_DONE,
    }
}

/// One search for a mapping.
struct Search<'a> {
    at: CtRef,
    range: &'a NatRange,
    manip: Manip,
    zone: u16,
    now: Instant,
}

impl Search<'_> {
    const fn random(&self) -> bool {
        self.range.flags.random || self.range.flags.random_fully
    }
}

impl Conntrack {
    /// Whether nat rules are to be asked about this packet: it is NEW or RELATED, not an ICMP error, and its
    /// connection has no mapping of this kind yet.
    pub fn nat_pending(&self, skb: &Skb, manip: Manip) -> bool {
        let asks = match skb.ct_info {
            CtInfo::New => true,
            CtInfo::Related | CtInfo::RelatedReply => {
                !matches!(skb.packet.ip.proto, proto::ICMP | proto::ICMPV6)
            }
            CtInfo::None | CtInfo::Untracked | CtInfo::Established | CtInfo::EstablishedReply => false,
        };
        asks && skb.ct.and_then(|at| self.entry(at)).is_some_and(|e| !e.status.has(done_bit(manip)))
    }

    /// Maps the packet's connection into `range` (`nf_nat_setup_info`): what the targets DNAT, SNAT,
    /// MASQUERADE, REDIRECT and NETMAP ask for. A confirmed connection keeps what it has.
    pub fn nat_setup(&mut self, cx: &mut CtCx<'_>, skb: &Skb, range: &NatRange, manip: Manip) -> CtVerdict {
        let Some(at) = skb.ct else { return CtVerdict::Accept };
        let Some(entry) = self.entry(at) else { return CtVerdict::Accept };
        if entry.is_confirmed() || entry.status.has(done_bit(manip)) {
            return CtVerdict::Accept;
        }
        let zone = entry.zone;
        // What the connection looks like after manipulations made so far.
        let Some(current) = entry.reply.invert() else { return CtVerdict::Accept };
        let search = Search { at, range, manip, zone, now: cx.now };
        let chosen = self.unique_tuple(&search, &current);
        let source_hash = entry_source_hash(self, at);
        if let Some(entry) = self.entry_mut(at) {
            if chosen != current
                && let Some(reply) = chosen.invert()
            {
                entry.reply = reply;
                entry.status.set(match manip {
                    Manip::Src => Status::SRC_NAT,
                    Manip::Dst => Status::DST_NAT,
                });
            }
            entry.status.set(done_bit(manip));
        }
        if manip == Manip::Src
            && let Some(hash) = source_hash
        {
            self.sources.remove(at.slot);
            self.sources.insert(at.slot, hash);
        }
        cx.trace.record(cx.now, || TraceKind::Nat { summary: describe(manip, &current, &chosen) });
        CtVerdict::Accept
    }

    /// No rule mapped it: map to the same address (`nf_nat_alloc_null_binding`). The port still changes if
    /// the reply tuple is taken.
    pub fn nat_null_binding(&mut self, cx: &mut CtCx<'_>, skb: &Skb, manip: Manip) -> CtVerdict {
        let Some(entry) = skb.ct.and_then(|at| self.entry(at)) else { return CtVerdict::Accept };
        let addr = match manip {
            Manip::Src => entry.reply.dst,
            Manip::Dst => entry.reply.src,
        };
        let range = NatRange { addrs: Some((addr, addr)), ..NatRange::default() };
        self.nat_setup(cx, skb, &range, manip)
    }

    /// Remembers the device that MASQUERADE mapped for.
    pub fn set_masq_device(&mut self, skb: &Skb, dev: DevId) {
        if let Some(entry) = skb.ct.and_then(|at| self.entry_mut(at)) {
            entry.masq_dev = Some(dev);
        }
    }

    /// The device lost an address or went down: connections masqueraded through it are removed
    /// (`nf_nat_masquerade.c`). With `addr`, only those that were given it.
    pub fn masq_device_gone(&mut self, dev: DevId, addr: Option<IpAddr>, now: Instant) {
        let gone: Vec<CtRef> = self
            .refs(now)
            .filter(|at| {
                self.entry(*at)
                    .is_some_and(|e| e.masq_dev == Some(dev) && addr.is_none_or(|addr| e.reply.dst == addr))
            })
            .collect();
        for at in gone {
            self.kill(at, now);
        }
    }

    fn unique_tuple(&mut self, search: &Search<'_>, current: &Tuple) -> Tuple {
        let range = search.range;
        if search.manip == Manip::Src && !search.random() {
            if in_range(current, range) {
                if !self.taken_first(current, search) {
                    return *current;
                }
            } else if let Some(same) = self.existing_mapping(current, search)
                && !self.taken(&same, search)
            {
                return same;
            }
        }
        let mut chosen = *current;
        pick_address(&mut chosen, range, search.manip, search.zone);
        if !search.random() {
            match range.ports {
                Some((min, max)) => {
                    let fits = range.flags.port_base.is_none() && port_in(&chosen, search.manip, min, max);
                    if fits && (min == max || !self.taken(&chosen, search)) {
                        return chosen;
                    }
                }
                None if !self.taken(&chosen, search) => return chosen,
                None => {}
            }
        }
        self.unique_port(chosen, search)
    }

    /// The mapping that this source already has for another destination (`find_appropriate_src`): mappings
    /// are endpoint independent where possible.
    fn existing_mapping(&self, current: &Tuple, search: &Search<'_>) -> Option<Tuple> {
        let hash = current.source_hash(search.zone, self.hash_seed);
        self.sources.with_hash(hash).find_map(|slot| {
            let other = self.slots[slot as usize].entry.as_ref()?;
            let same = other.original.src == current.src
                && other.original.proto == current.proto
                && other.original.l4.src() == current.l4.src()
                && other.zone == search.zone;
            let mut mapped = same.then(|| other.reply.invert())??;
            mapped.dst = current.dst;
            mapped.l4 = with_dst(mapped.l4, current.l4);
            in_range(&mapped, search.range).then_some(mapped)
        })
    }

    /// Searches a free port, identifier or key (`nf_nat_l4proto_unique_tuple`). If none is found the last
    /// candidate stands, and the packet dies at confirm.
    fn unique_port(&mut self, mut tuple: Tuple, search: &Search<'_>) -> Tuple {
        let Some((min, size)) = port_window(&tuple, search) else { return tuple };
        let mut offset = match search.range.flags.port_base {
            Some(base) => u32::from(key(&tuple, search.manip).wrapping_sub(base)),
            None if search.random() || search.manip == Manip::Src => self.random_u16(),
            None => 0,
        };
        let bounded = self.kernel >= KernelVersion::V6_1;
        let mut attempts = if bounded { size.min(ATTEMPTS_MAX) } else { size };
        loop {
            for i in 0..attempts {
                set_key(&mut tuple, search.manip, min.wrapping_add((offset % size) as u16));
                if !self.taken_harder(&tuple, search, attempts - i) {
                    return tuple;
                }
                // The kernel counts in 16 bits.
                offset = offset.wrapping_add(1) & 0xffff;
            }
            if attempts >= size || attempts < ATTEMPTS_MIN {
                return tuple;
            }
            attempts /= 2;
            offset = self.random_u16();
        }
    }

    fn random_u16(&mut self) -> u32 {
        self.port_draws.next_u32() & 0xffff
    }

    /// Whether a confirmed entry has the reply tuple that `tuple` would need (`nf_nat_used_tuple`).
    /// Unconfirmed competitors are invisible. Counts `found`.
    fn taken(&mut self, tuple: &Tuple, search: &Search<'_>) -> bool {
        let Some(reply) = tuple.invert() else { return false };
        let Some((holder, _)) = self.find(&reply, search.zone, search.now) else { return false };
        if holder == search.at {
            return false;
        }
        // The same original tuple is the same flow: left to clash resolution.
        if let (Some(other), Some(own)) = (self.entry(holder), self.entry(search.at))
            && other.original == own.original
        {
            return false;
        }
        self.stats.found += 1;
        true
    }

    /// As [`Self::taken`], for the tuple as it came: the mirror image of a flow without NAT does not count,
    /// for protocols that can resolve the clash (`nf_nat_used_tuple_new`).
    fn taken_first(&mut self, tuple: &Tuple, search: &Search<'_>) -> bool {
        if !self.taken(tuple, search) {
            return false;
        }
        if self.kernel < KernelVersion::V6_12 || !clash_allowed(tuple.proto, self.kernel) {
            return true;
        }
        let holder = tuple.invert().and_then(|reply| self.find(&reply, search.zone, search.now));
        let (Some(own), Some((holder, _))) = (self.entry(search.at), holder) else { return true };
        let Some(other) = self.entry(holder) else { return true };
        let mirrored = other.original == own.reply && other.reply == own.original;
        own.status.has(NAT) || other.status.has(NAT) || !mirrored
    }

    /// As [`Self::taken`]; in the last tries a TCP SYN may evict a source-mapped connection that is over
    /// and whose sequence numbers lie behind (`nf_nat_used_tuple_harder`).
    fn taken_harder(&mut self, tuple: &Tuple, search: &Search<'_>, attempts_left: u32) -> bool {
        let own = self.entry(search.at).map(|e| e.proto);
        let syn = match own {
            Some(Proto::Tcp(tcp)) if tcp.state == State::SynSent => Some(tcp),
            _ => None,
        };
        let (Some(syn), true, true) =
            (syn, attempts_left <= HARDER_BELOW, self.kernel >= KernelVersion::V6_12)
        else {
            return self.taken(tuple, search);
        };
        let Some(reply) = tuple.invert() else { return false };
        let Some((holder, dir)) = self.find(&reply, search.zone, search.now) else { return false };
        let Some(other) = self.entry(holder) else { return false };
        let Proto::Tcp(old) = other.proto else { return true };
        let over = matches!(old.state, State::TimeWait | State::Close | State::SynSent2);
        let advanced = (syn.seen[0].end.wrapping_sub(old.seen[0].end) as i32) > 0;
        let evict = dir == super::Direction::Reply
            && over
            && advanced
            && other.status.has(Status::SRC_NAT)
            && !other.status.has(Status::FIXED_TIMEOUT);
        !(evict && self.kill(holder, search.now))
    }
}

fn entry_source_hash(table: &Conntrack, at: CtRef) -> Option<u64> {
    table.entry(at).map(|e| e.original.source_hash(e.zone, table.hash_seed))
}

/// Whether the source of `tuple` already lies in the range (`nf_in_range`).
fn in_range(tuple: &Tuple, range: &NatRange) -> bool {
    let address_fits = range.addrs.is_none_or(|(min, max)| (min..=max).contains(&tuple.src));
    address_fits && range.ports.is_none_or(|(min, max)| port_in(tuple, Manip::Src, min, max))
}

fn port_in(tuple: &Tuple, manip: Manip, min: u16, max: u16) -> bool {
    match tuple.l4 {
        L4Part::Ports { .. } | L4Part::Icmp { .. } | L4Part::Gre { .. } => {
            (min..=max).contains(&key(tuple, manip))
        }
        L4Part::None => true,
    }
}

/// The part of the tuple that the search may change. ICMP has its identifier on the source side only.
const fn key(tuple: &Tuple, manip: Manip) -> u16 {
    match (tuple.l4, manip) {
        (L4Part::Icmp { id, .. }, _) => id,
        (l4, Manip::Src) => l4.src(),
        (l4, Manip::Dst) => l4.dst(),
    }
}

const fn set_key(tuple: &mut Tuple, manip: Manip, value: u16) {
    match (&mut tuple.l4, manip) {
        (L4Part::Ports { src, .. }, Manip::Src) => *src = value,
        (L4Part::Ports { dst, .. }, Manip::Dst) => *dst = value,
        (L4Part::Icmp { id, .. }, _) => *id = value,
        (L4Part::Gre { src_key, .. }, Manip::Src) => *src_key = value,
        (L4Part::Gre { dst_key, .. }, Manip::Dst) => *dst_key = value,
        (L4Part::None, _) => {}
    }
}

/// `l4` with the destination half of `other`.
const fn with_dst(l4: L4Part, other: L4Part) -> L4Part {
    match (l4, other) {
        (L4Part::Ports { src, .. }, L4Part::Ports { dst, .. }) => L4Part::Ports { src, dst },
        (L4Part::Icmp { id, .. }, L4Part::Icmp { kind, code, .. }) => L4Part::Icmp { id, kind, code },
        (L4Part::Gre { src_key, .. }, L4Part::Gre { dst_key, .. }) => L4Part::Gre { src_key, dst_key },
        (l4, _) => l4,
    }
}

/// First value and number of values to search; none where nothing can be changed.
fn port_window(tuple: &Tuple, search: &Search<'_>) -> Option<(u16, u32)> {
    if let L4Part::Gre { .. } | L4Part::None = tuple.l4 {
        // GRE keys change only for a PPTP helper's children.
        return None;
    }
    if let Some((a, b)) = search.range.ports {
        let (min, max) = (a.min(b), a.max(b));
        return Some((min, u32::from(max - min) + 1));
    }
    match tuple.l4 {
        L4Part::Icmp { .. } => Some((0, 65_536)),
        L4Part::Ports { src, .. } if search.manip == Manip::Src => match src {
            // Ports below 512 prove a privileged sender to rsh and friends.
            0..512 => Some((1, 511)),
            512..1024 => Some((600, 424)),
            1024.. => Some((1024, 64_512)),
        },
        L4Part::Ports { .. } | L4Part::Gre { .. } | L4Part::None => None,
    }
}

fn describe(manip: Manip, before: &Tuple, after: &Tuple) -> String {
    let end = |t: &Tuple| {
        let (addr, key) = match manip {
            Manip::Src => (t.src, t.l4.src()),
            Manip::Dst => (t.dst, t.l4.dst()),
        };
        match (t.l4, addr) {
            (L4Part::Ports { .. }, IpAddr::V4(a)) => format!("{a}:{key}"),
            (L4Part::Ports { .. }, IpAddr::V6(a)) => format!("[{a}]:{key}"),
            (L4Part::Icmp { id, .. }, a) => format!("{a} id {id}"),
            (L4Part::Gre { .. } | L4Part::None, a) => a.to_string(),
        }
    };
    let side = match manip {
        Manip::Src => "source",
        Manip::Dst => "destination",
    };
    if before == after {
        format!("{side} {} stays", end(before))
    } else {
        format!("{side} {} becomes {}", end(before), end(after))
    }
}
