//! [`Skb`]: a packet on its way through the node, with what the kernel keeps beside the bytes.

use std::net::IpAddr;

use super::{Family, Packet};

/// A network device of the namespace, by index into its device list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevId(pub u16);

/// How the frame was addressed (`skb->pkt_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketType {
    #[default]
    Host,
    Broadcast,
    Multicast,
}

/// The socket a locally sent packet comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
}

/// A packet's relation to its connection (`enum ip_conntrack_info`, plus the two states without an entry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CtInfo {
    /// No connection attached: not looked at yet, or refused by the tracker.
    #[default]
    None,
    /// `CT --notrack`.
    Untracked,
    New,
    /// Related, original direction.
    Related,
    /// Related, reply direction.
    RelatedReply,
    /// Established, original direction.
    Established,
    /// Established, reply direction.
    EstablishedReply,
}

impl CtInfo {
    /// Whether the packet travels in the reply direction of its connection.
    pub const fn is_reply(self) -> bool {
        matches!(self, Self::RelatedReply | Self::EstablishedReply)
    }

    /// As `-m conntrack --ctstate` and the replay contract name it.
    pub const fn state_name(self) -> &'static str {
        match self {
            Self::None => "INVALID",
            Self::Untracked => "UNTRACKED",
            Self::New => "NEW",
            Self::Related | Self::RelatedReply => "RELATED",
            Self::Established | Self::EstablishedReply => "ESTABLISHED",
        }
    }
}

/// A packet's hold on a conntrack entry: a slot of the table and the generation it was taken in.
///
/// A slot that was freed and reused has another generation, so a stale reference is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CtRef {
    pub slot: u32,
    pub generation: u32,
}

/// The routing decision a packet carries (`skb_dst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dst {
    /// Device it leaves through; `lo` for the node itself.
    pub dev: DevId,
    /// Next hop; the destination itself when none.
    pub via: Option<IpAddr>,
    /// Largest packet of the way, in bytes.
    pub mtu: u32,
    /// The destination is the node.
    pub local: bool,
    /// The destination is a broadcast or multicast address: nothing answers it with an error.
    pub broadcast: bool,
}

/// The kernel's socket buffer, as far as rules can see it.
#[derive(Clone, Debug)]
pub struct Skb {
    pub packet: Packet,
    /// Device it came in through; none for a locally made packet.
    pub indev: Option<DevId>,
    /// Device it leaves through, as the functions of the current hook see it: a re-route inside OUTPUT shows
    /// at POSTROUTING.
    pub outdev: Option<DevId>,
    /// Where it goes, once routed.
    pub dst: Option<Dst>,
    /// Bridge ports (`-m physdev`), when br_netfilter handed the packet over.
    pub phys_in: Option<DevId>,
    pub phys_out: Option<DevId>,
    pub mark: u32,
    /// Class set by CLASSIFY (`skb->priority`).
    pub priority: u32,
    pub packet_type: PacketType,
    /// Source MAC of the frame, when there was one.
    pub mac_src: Option<[u8; 6]>,
    pub owner: Option<Owner>,
    /// Sent through a socket of the kernel's own, which no process holds (`icmp_sk`, `tcp_sk`).
    pub control_socket: bool,
    /// Connection attached, if any; [`CtInfo`] says how the packet relates to it.
    pub ct: Option<CtRef>,
    pub ct_info: CtInfo,
    /// Zone from a `CT --zone` template, both directions.
    pub ct_zone: u16,
    /// `CT --zone mark`: the zone is the mark that the packet has when it meets the tracker.
    pub ct_zone_by_mark: bool,
    /// A `CT` rule gave it a template (`nf_ct_tmpl_alloc`): until the tracker has seen the packet, that is its
    /// connection, a NEW one without addresses.
    pub ct_template: bool,
    /// Events the connection may announce, by that template (bits of `IPCT_*`); all where none is given.
    pub ct_events: Option<u16>,
    /// Length in bytes of the longest fragment, when the packet was put together from some
    /// (`IPCB(skb)->frag_max_size`): it leaves in fragments no longer.
    pub frag_max: Option<u32>,
    /// Payload of each of those fragments, in bytes, as long as the packet still lies in them: it then leaves in
    /// the same pieces (`skb_has_frag_list`).
    pub frag_parts: Vec<u16>,
    /// TRACE or `meta nftrace set 1`.
    pub nf_trace: bool,
    /// What a listener to the traces of nftables knows it by, once it heard of it.
    pub trace_id: Option<u32>,
    /// IPVS has dealt with it and looks no more (`skb->ipvs_property`).
    pub ipvs: bool,
    /// [`Self::unbalanced_sum`] when connection tracking verified the checksum of an IPv6 packet: the kernel keeps
    /// the sum it took then, header and all (`nf_ip6_checksum`).
    pub summed: Option<u32>,
}

impl Skb {
    pub const fn new(packet: Packet) -> Self {
        Self {
            packet,
            indev: None,
            outdev: None,
            dst: None,
            phys_in: None,
            phys_out: None,
            mark: 0,
            priority: 0,
            packet_type: PacketType::Host,
            mac_src: None,
            owner: None,
            control_socket: false,
            ct: None,
            ct_info: CtInfo::None,
            ct_zone: 0,
            ct_zone_by_mark: false,
            ct_template: false,
            ct_events: None,
            frag_max: None,
            frag_parts: Vec::new(),
            nf_trace: false,
            trace_id: None,
            ipvs: false,
            summed: None,
        }
    }

    /// `skb_ensure_writable`: whoever writes to the first `len` bytes behind the IP header pulls them together,
    /// which moves the borders of fragments if they do not all lie in the first.
    pub fn make_writable(&mut self, len: usize) {
        if self.frag_parts.first().is_some_and(|first| usize::from(*first) < len) {
            self.frag_parts.clear();
        }
    }

    pub const fn family(&self) -> Family {
        self.packet.family()
    }

    /// Sum of the fields of an IPv6 header that nobody balances in a checksum when they change: traffic class, flow
    /// label, hop limit.
    pub fn unbalanced_sum(&self) -> u32 {
        let ip = &self.packet.ip;
        let words = [u32::from(ip.tos) << 4 | ip.flow_label >> 16, ip.flow_label & 0xffff, u32::from(ip.ttl)];
        words.iter().sum::<u32>() % 0xffff
    }
}
