//! Header fields by name: where they stand in their header, how wide they are, what type they have
//! (`proto.c`, `exthdr.c`, `tcpopt.c` of nftables; RFCs 791, 8200, 9293, 768, 792, 4443).

use super::types::Type;

/// A header whose fields can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proto {
    Ether,
    Vlan,
    Arp,
    Ip,
    Ip6,
    Icmp,
    Icmpv6,
    Igmp,
    Tcp,
    Udp,
    UdpLite,
    Sctp,
    Dccp,
    Ah,
    Esp,
    Comp,
    /// Whatever transport header there is: only ports.
    Th,
}

impl Proto {
    pub const ALL: [Self; 17] = [
        Self::Ether,
        Self::Vlan,
        Self::Arp,
        Self::Ip,
        Self::Ip6,
        Self::Icmp,
        Self::Icmpv6,
        Self::Igmp,
        Self::Tcp,
        Self::Udp,
        Self::UdpLite,
        Self::Sctp,
        Self::Dccp,
        Self::Ah,
        Self::Esp,
        Self::Comp,
        Self::Th,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ether => "ether",
            Self::Vlan => "vlan",
            Self::Arp => "arp",
            Self::Ip => "ip",
            Self::Ip6 => "ip6",
            Self::Icmp => "icmp",
            Self::Icmpv6 => "icmpv6",
            Self::Igmp => "igmp",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::UdpLite => "udplite",
            Self::Sctp => "sctp",
            Self::Dccp => "dccp",
            Self::Ah => "ah",
            Self::Esp => "esp",
            Self::Comp => "comp",
            Self::Th => "th",
        }
    }

    /// The number in the IP header, of a transport protocol.
    pub const fn l4proto(self) -> Option<u8> {
        match self {
            Self::Icmp => Some(1),
            Self::Igmp => Some(2),
            Self::Tcp => Some(6),
            Self::Udp => Some(17),
            Self::Dccp => Some(33),
            Self::Esp => Some(50),
            Self::Ah => Some(51),
            Self::Icmpv6 => Some(58),
            Self::Comp => Some(108),
            Self::Sctp => Some(132),
            Self::UdpLite => Some(136),
            Self::Ether | Self::Vlan | Self::Arp | Self::Ip | Self::Ip6 | Self::Th => None,
        }
    }

    /// Whether the header is the link layer's.
    pub const fn is_link(self) -> bool {
        matches!(self, Self::Ether | Self::Vlan)
    }

    /// Whether the header is the network layer's.
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Ip | Self::Ip6 | Self::Arp)
    }

    /// Its fields, in the order of `nft describe`.
    pub const fn fields(self) -> &'static [FieldSpec] {
        match self {
            Self::Ether => ETHER,
            Self::Vlan => VLAN,
            Self::Arp => ARP,
            Self::Ip => IP,
            Self::Ip6 => IP6,
            Self::Icmp => ICMP,
            Self::Icmpv6 => ICMPV6,
            Self::Igmp => IGMP,
            Self::Tcp => TCP,
            Self::Udp => UDP,
            Self::UdpLite => UDPLITE,
            Self::Sctp => SCTP,
            Self::Dccp => DCCP,
            Self::Ah => AH,
            Self::Esp => ESP,
            Self::Comp => COMP,
            Self::Th => TH,
        }
    }

    pub fn field(self, name: &str) -> Option<&'static FieldSpec> {
        self.fields().iter().find(|f| f.name == name)
    }
}

/// A field of a header: bits `offset..offset + bits` of it, the first bit being the highest of the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    pub name: &'static str,
    pub offset_bits: u16,
    pub bits: u16,
    pub ty: Type,
}

const fn f(name: &'static str, offset_bits: u16, bits: u16, ty: Type) -> FieldSpec {
    FieldSpec { name, offset_bits, bits, ty }
}

const fn int(name: &'static str, offset_bits: u16, bits: u16) -> FieldSpec {
    f(name, offset_bits, bits, Type::Integer(bits))
}

const ETHER: &[FieldSpec] = &[
    f("daddr", 0, 48, Type::EtherAddr),
    f("saddr", 48, 48, Type::EtherAddr),
    f("type", 96, 16, Type::EtherType),
];

const VLAN: &[FieldSpec] = &[
    int("pcp", 0, 3),
    int("dei", 3, 1),
    int("cfi", 3, 1),
    int("id", 4, 12),
    f("type", 16, 16, Type::EtherType),
];

const ARP: &[FieldSpec] = &[
    int("htype", 0, 16),
    f("ptype", 16, 16, Type::EtherType),
    int("hlen", 32, 8),
    int("plen", 40, 8),
    f("operation", 48, 16, Type::ArpOp),
    // Of the usual lengths: `arp saddr ether`, `arp saddr ip`, ...
    f("saddr ether", 64, 48, Type::EtherAddr),
    f("saddr ip", 112, 32, Type::Ipv4Addr),
    f("daddr ether", 144, 48, Type::EtherAddr),
    f("daddr ip", 192, 32, Type::Ipv4Addr),
];

const IP: &[FieldSpec] = &[
    int("version", 0, 4),
    int("hdrlength", 4, 4),
    f("dscp", 8, 6, Type::Dscp),
    f("ecn", 14, 2, Type::Ecn),
    int("length", 16, 16),
    int("id", 32, 16),
    int("frag-off", 48, 16),
    int("ttl", 64, 8),
    f("protocol", 72, 8, Type::InetProto),
    int("checksum", 80, 16),
    f("saddr", 96, 32, Type::Ipv4Addr),
    f("daddr", 128, 32, Type::Ipv4Addr),
];

const IP6: &[FieldSpec] = &[
    int("version", 0, 4),
    f("dscp", 4, 6, Type::Dscp),
    f("ecn", 10, 2, Type::Ecn),
    int("flowlabel", 12, 20),
    int("length", 32, 16),
    f("nexthdr", 48, 8, Type::InetProto),
    int("hoplimit", 56, 8),
    f("saddr", 64, 128, Type::Ipv6Addr),
    f("daddr", 192, 128, Type::Ipv6Addr),
];

const ICMP: &[FieldSpec] = &[
    f("type", 0, 8, Type::IcmpType),
    f("code", 8, 8, Type::IcmpCode),
    int("checksum", 16, 16),
    int("id", 32, 16),
    int("sequence", 48, 16),
    int("gateway", 32, 32),
    int("mtu", 48, 16),
];

const ICMPV6: &[FieldSpec] = &[
    f("type", 0, 8, Type::Icmpv6Type),
    f("code", 8, 8, Type::Icmpv6Code),
    int("checksum", 16, 16),
    int("param-problem", 32, 32),
    int("mtu", 32, 32),
    int("id", 32, 16),
    int("sequence", 48, 16),
    int("max-delay", 32, 16),
];

const IGMP: &[FieldSpec] =
    &[f("type", 0, 8, Type::IgmpType), int("mrt", 8, 8), int("checksum", 16, 16), int("group", 32, 32)];

const TCP: &[FieldSpec] = &[
    f("sport", 0, 16, Type::InetService),
    f("dport", 16, 16, Type::InetService),
    int("sequence", 32, 32),
    int("ackseq", 64, 32),
    int("doff", 96, 4),
    int("reserved", 100, 4),
    f("flags", 104, 8, Type::TcpFlag),
    int("window", 112, 16),
    int("checksum", 128, 16),
    int("urgptr", 144, 16),
];

const UDP: &[FieldSpec] = &[
    f("sport", 0, 16, Type::InetService),
    f("dport", 16, 16, Type::InetService),
    int("length", 32, 16),
    int("checksum", 48, 16),
];

const UDPLITE: &[FieldSpec] = &[
    f("sport", 0, 16, Type::InetService),
    f("dport", 16, 16, Type::InetService),
    int("csumcov", 32, 16),
    int("checksum", 48, 16),
];

const SCTP: &[FieldSpec] = &[
    f("sport", 0, 16, Type::InetService),
    f("dport", 16, 16, Type::InetService),
    int("vtag", 32, 32),
    int("checksum", 64, 32),
];

const DCCP: &[FieldSpec] = &[
    f("sport", 0, 16, Type::InetService),
    f("dport", 16, 16, Type::InetService),
    f("type", 67, 4, Type::DccpPkttype),
];

const AH: &[FieldSpec] = &[
    f("nexthdr", 0, 8, Type::InetProto),
    int("hdrlength", 8, 8),
    int("reserved", 16, 16),
    int("spi", 32, 32),
    int("sequence", 64, 32),
];

const ESP: &[FieldSpec] = &[int("spi", 0, 32), int("sequence", 32, 32)];

const COMP: &[FieldSpec] = &[f("nexthdr", 0, 8, Type::InetProto), int("flags", 8, 8), int("cpi", 16, 16)];

const TH: &[FieldSpec] = &[f("sport", 0, 16, Type::InetService), f("dport", 16, 16, Type::InetService)];

/// An IPv6 extension header or an IPv4 option, whose fields can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderSpec {
    pub name: &'static str,
    /// Next-header number, or option kind.
    pub number: u8,
    pub fields: &'static [FieldSpec],
}

/// IPv6 extension headers: `hbh nexthdr`, `frag id`, `rt type`, ...
pub const EXTENSION_HEADERS: &[HeaderSpec] = &[
    HeaderSpec {
        name: "hbh",
        number: 0,
        fields: &[f("nexthdr", 0, 8, Type::InetProto), int("hdrlength", 8, 8)],
    },
    HeaderSpec {
        name: "rt",
        number: 43,
        fields: &[
            f("nexthdr", 0, 8, Type::InetProto),
            int("hdrlength", 8, 8),
            int("type", 16, 8),
            int("seg-left", 24, 8),
        ],
    },
    HeaderSpec {
        name: "frag",
        number: 44,
        fields: &[
            f("nexthdr", 0, 8, Type::InetProto),
            int("reserved", 8, 8),
            int("frag-off", 16, 13),
            int("reserved2", 29, 2),
            int("more-fragments", 31, 1),
            int("id", 32, 32),
        ],
    },
    HeaderSpec {
        name: "dst",
        number: 60,
        fields: &[f("nexthdr", 0, 8, Type::InetProto), int("hdrlength", 8, 8)],
    },
    HeaderSpec {
        name: "mh",
        number: 135,
        fields: &[
            f("nexthdr", 0, 8, Type::InetProto),
            int("hdrlength", 8, 8),
            f("type", 16, 8, Type::MhType),
            int("reserved", 24, 8),
            int("checksum", 32, 16),
        ],
    },
];

/// TCP options: `tcp option maxseg size`. Offsets count from the kind byte.
pub const TCP_OPTIONS: &[HeaderSpec] = &[
    HeaderSpec { name: "eol", number: 0, fields: &[int("kind", 0, 8)] },
    HeaderSpec { name: "nop", number: 1, fields: &[int("kind", 0, 8)] },
    HeaderSpec {
        name: "maxseg",
        number: 2,
        fields: &[int("kind", 0, 8), int("length", 8, 8), int("size", 16, 16)],
    },
    HeaderSpec {
        name: "window",
        number: 3,
        fields: &[int("kind", 0, 8), int("length", 8, 8), int("count", 16, 8)],
    },
    HeaderSpec { name: "sack-perm", number: 4, fields: &[int("kind", 0, 8), int("length", 8, 8)] },
    HeaderSpec {
        name: "sack",
        number: 5,
        fields: &[int("kind", 0, 8), int("length", 8, 8), int("left", 16, 32), int("right", 48, 32)],
    },
    HeaderSpec {
        name: "timestamp",
        number: 8,
        fields: &[int("kind", 0, 8), int("length", 8, 8), int("tsval", 16, 32), int("tsecr", 48, 32)],
    },
    HeaderSpec { name: "fastopen", number: 34, fields: &[int("kind", 0, 8), int("length", 8, 8)] },
    HeaderSpec { name: "md5sig", number: 19, fields: &[int("kind", 0, 8), int("length", 8, 8)] },
    HeaderSpec {
        name: "mptcp",
        number: 30,
        fields: &[int("kind", 0, 8), int("length", 8, 8), int("subtype", 16, 4)],
    },
];

/// IPv4 options: `ip option ra value`.
pub const IP_OPTIONS: &[HeaderSpec] = &[
    HeaderSpec {
        name: "lsrr",
        number: 131,
        fields: &[int("type", 0, 8), int("length", 8, 8), int("ptr", 16, 8), int("addr", 24, 32)],
    },
    HeaderSpec {
        name: "rr",
        number: 7,
        fields: &[int("type", 0, 8), int("length", 8, 8), int("ptr", 16, 8), int("addr", 24, 32)],
    },
    HeaderSpec {
        name: "ssrr",
        number: 137,
        fields: &[int("type", 0, 8), int("length", 8, 8), int("ptr", 16, 8), int("addr", 24, 32)],
    },
    HeaderSpec {
        name: "ra",
        number: 148,
        fields: &[int("type", 0, 8), int("length", 8, 8), int("value", 16, 16)],
    },
];
