//! `meta ... set`, `ct ... set`, `ip ttl set`, `tcp option ... set` and `reset tcp option`.

use super::header::{read_bits, tcp_option, transport_bytes, write_bits};
use super::{Flow, Stop, Walk};
use crate::netfilter::nft::expr::{CtKey, Direction, Expr, ExthdrField, MetaKey, Payload, PayloadBase};
use crate::netfilter::nft::field::Proto;
use crate::packet::{CtInfo, L4, Packet, PacketType, Skb, Udp, UdpChecksum};

const MSS: u8 = 2;
const NOP: u8 = 1;

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn meta_set(&mut self, key: MetaKey, value: &'a Expr, skb: &mut Skb) -> Result<Flow, Stop> {
        let value = self.value(value, skb)?;
        match key {
            MetaKey::Mark => {
                let (before, after) = (skb.mark, value as u32);
                skb.mark = after;
                self.cx.rewrote(
                    "meta mark set",
                    "mark",
                    format_args!("{before:#x}"),
                    format_args!("{after:#x}"),
                );
            }
            MetaKey::Priority => {
                let before = skb.priority;
                skb.priority = value as u32;
                self.cx.rewrote("meta priority set", "priority", before, skb.priority);
            }
            MetaKey::Nftrace => {
                let before = skb.nf_trace;
                skb.nf_trace = value != 0;
                self.cx.rewrote("meta nftrace set", "nftrace", u8::from(before), u8::from(skb.nf_trace));
            }
            MetaKey::PktType => {
                // Only between host, broadcast, multicast and otherhost, which nobody here is.
                let kind = match value {
                    0 => Some(PacketType::Host),
                    1 => Some(PacketType::Broadcast),
                    2 => Some(PacketType::Multicast),
                    _ => None,
                };
                skb.packet_type = kind.ok_or(Stop::Unknown("meta pkttype set other"))?;
            }
            _ => return Err(Stop::Unknown("meta set")),
        }
        Ok(Flow::Next)
    }

    pub(super) fn ct_set(
        &mut self,
        key: CtKey,
        direction: Option<Direction>,
        value: &'a Expr,
        skb: &mut Skb,
    ) -> Result<Flow, Stop> {
        let value = self.value(value, skb)?;
        if key == CtKey::Zone {
            // A template for the tracker; a packet that has a connection keeps its zone.
            if direction.is_some() {
                return Err(Stop::Unknown("ct zone of one direction"));
            }
            if skb.ct.is_none() && !skb.ct_template {
                // The template takes the place of a `notrack` before it.
                skb.ct_info = CtInfo::None;
                (skb.ct_zone, skb.ct_template) = (value as u16, true);
                self.cx.rewrote("ct zone set", "zone", 0, skb.ct_zone);
            }
            return Ok(Flow::Next);
        }
        // What is written to a template does not reach the connection.
        let Some(at) = skb.ct else { return Ok(Flow::Next) };
        match key {
            CtKey::Mark => {
                let Some(before) = self.cx.ct.entry(at).map(|e| e.mark) else { return Ok(Flow::Next) };
                let after = value as u32;
                self.cx.ct.set_mark(at, after);
                self.cx.rewrote(
                    "ct mark set",
                    "connmark",
                    format_args!("{before:#x}"),
                    format_args!("{after:#x}"),
                );
            }
            CtKey::Label => {
                if let Some(entry) = self.cx.ct.entry_mut(at) {
                    entry.labels |= value;
                }
            }
            // Security contexts decide nothing here.
            CtKey::Secmark => {}
            // Which events a listener gets is not modelled.
            CtKey::Event => {}
            _ => return Err(Stop::Unknown("ct set")),
        }
        Ok(Flow::Next)
    }

    /// `nft_payload_set_eval`: writes the bytes; checksums that `nft` names are kept right.
    pub(super) fn payload_set(
        &mut self,
        field: &Payload,
        value: &'a Expr,
        skb: &mut Skb,
    ) -> Result<Flow, Stop> {
        let value = self.value(value, skb)?;
        let (base, offset, bits) = self.place_of(field, skb)?;
        let packet = &skb.packet;
        let mut bytes = packet.to_bytes();
        let start = match base {
            PayloadBase::Network => 0,
            PayloadBase::Transport if !packet.is_later_fragment() => {
                bytes.len().saturating_sub(packet.l4.len_bytes())
            }
            PayloadBase::Transport => return Err(Stop::Break),
            PayloadBase::Link => return Err(Stop::Unknown("ether ... set")),
            PayloadBase::Inner => return Err(Stop::Unknown("@ih set")),
        };
        let before = read_bits(&bytes[start..], offset, bits).ok_or(Stop::Break)?;
        write_bits(&mut bytes[start..], offset, bits, value).ok_or(Stop::Break)?;
        let keeps_checksum = keeps_checksum(field);
        let after = reread(packet, &bytes, keeps_checksum).ok_or(Stop::Unknown("payload set"))?;
        skb.packet = after;
        let (name, by) = changed_name(field);
        self.cx.rewrote(&by, name, super::show::raw_text(field, before), super::show::raw_text(field, value));
        Ok(Flow::Next)
    }

    /// `nft_exthdr_tcp_set_eval`, `nft_exthdr_tcp_strip_eval`.
    pub(super) fn exthdr_set(
        &mut self,
        field: &ExthdrField,
        value: Option<&'a Expr>,
        skb: &mut Skb,
    ) -> Result<Flow, Stop> {
        let (kind, place) = match *field {
            ExthdrField::TcpOption { option, number, field } => {
                (option.number, field.map(|f| (f.offset_bits + u16::from(number) * 64, f.bits)))
            }
            ExthdrField::TcpRaw { kind, offset_bits, bits } => {
                (kind, (bits != 0).then_some((offset_bits, bits)))
            }
            ExthdrField::Ipv6 { .. } | ExthdrField::IpOption { .. } => {
                return Err(Stop::Unknown("exthdr set"));
            }
        };
        let value = value.map(|expr| self.value(expr, skb)).transpose()?;
        let L4::Tcp(tcp) = &mut skb.packet.l4 else { return Err(Stop::Break) };
        let Some((at, len)) = tcp_option(&tcp.options, kind) else { return Ok(Flow::Next) };
        let option = &mut tcp.options[at..at + len];
        let Some(value) = value else {
            option.fill(NOP);
            self.cx.rewrote("reset tcp option", "tcp option", kind, "none");
            return Ok(Flow::Next);
        };
        let Some((offset, bits)) = place else { return Ok(Flow::Next) };
        let before = read_bits(option, offset, bits).ok_or(Stop::Break)?;
        // Raising it could stall the connection.
        if kind == MSS && bits == 16 && before <= value {
            return Ok(Flow::Next);
        }
        write_bits(option, offset, bits, value).ok_or(Stop::Break)?;
        let name = if kind == MSS { "mss" } else { "tcp option" };
        self.cx.rewrote("tcp option set", name, before, value);
        Ok(Flow::Next)
    }

    /// `notrack`: of a packet that has no connection yet.
    pub(super) fn notrack(&mut self, skb: &mut Skb) -> Flow {
        // A template of `ct zone set` counts as a connection.
        if skb.ct.is_none() && !skb.ct_template && skb.ct_info == CtInfo::None {
            skb.ct_info = CtInfo::Untracked;
            self.cx.rewrote("notrack", "ctstate", "none", "untracked");
        }
        Flow::Next
    }
}

/// Whether `nft` asks the kernel to keep the transport checksum right: for named fields other than the checksum itself.
fn keeps_checksum(field: &Payload) -> bool {
    match field {
        Payload::Field { field, .. } => field.name != "checksum",
        Payload::Raw { base, .. } => *base == PayloadBase::Network,
    }
}

/// The packet that the changed bytes are. What they say of lengths is not looked at again.
fn reread(before: &Packet, bytes: &[u8], keeps_checksum: bool) -> Option<Packet> {
    let mut bytes = bytes.to_vec();
    if bytes.first()? >> 4 == 4 {
        // Parsing tests it; the kernel's update keeps it right.
        let header = usize::from(bytes[0] & 0xf) * 4;
        bytes.get_mut(10..12)?.fill(0);
        let sum = smoltcp::wire::checksum::data(bytes.get(..header)?);
        bytes[10..12].copy_from_slice(&(!sum).to_be_bytes());
    }
    let mut after = Packet::parse(&bytes).ok()?;
    let was_right = match &before.l4 {
        L4::Tcp(tcp) => tcp.checksum_ok,
        L4::Udp(udp) => udp.checksum != UdpChecksum::Wrong,
        L4::Icmp(icmp) => icmp.checksum_ok,
        L4::Sctp(sctp) => sctp.checksum_ok,
        L4::Raw(_) | L4::Truncated(_) => true,
    };
    // A transport header that did not change shows its old checksum, right or wrong.
    let same = transport_bytes(before) == transport_bytes(&after);
    let right = was_right && (keeps_checksum || same);
    match &mut after.l4 {
        L4::Tcp(tcp) => tcp.checksum_ok = right,
        // Zero stays zero, but an update of a field of UDP's own does not ask whether there is one.
        L4::Udp(udp) if udp.checksum == UdpChecksum::Absent && (same || !keeps_checksum) => {}
        L4::Udp(Udp { checksum: sum @ UdpChecksum::Absent, .. }) => *sum = UdpChecksum::Wrong,
        L4::Udp(udp) => udp.checksum = if right { UdpChecksum::Right } else { UdpChecksum::Wrong },
        L4::Icmp(icmp) => icmp.checksum_ok = right,
        L4::Sctp(sctp) => sctp.checksum_ok = right,
        L4::Raw(_) | L4::Truncated(_) => {}
    }
    Some(after)
}

/// The field's name as views know it, and what changed it.
fn changed_name(field: &Payload) -> (&'static str, String) {
    let Payload::Field { proto, field } = field else { return ("payload", "payload set".to_owned()) };
    let name = match (proto, field.name) {
        (Proto::Ip | Proto::Ip6, "saddr") => "src",
        (Proto::Ip | Proto::Ip6, "daddr") => "dst",
        (Proto::Ip, "ttl") | (Proto::Ip6, "hoplimit") => "ttl",
        (Proto::Ip | Proto::Ip6, "dscp" | "ecn") => "tos",
        (_, "sport") => "sport",
        (_, "dport") => "dport",
        (_, other) => other,
    };
    (name, format!("{} {} set", proto.name(), field.name))
}
