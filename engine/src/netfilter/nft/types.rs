//! Data types of the language (`nft describe`): name, width, nature. How values print is `text/nft`'s.

/// A data type. Values of every type fit 128 bits and are kept as `u128`: numbers as themselves, addresses as the
/// number their bytes spell in network order, names (`ifname`, `string`) as up to sixteen bytes from the top, padded
/// with zeros. So ranges and prefixes of every type are ranges of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// A number of so many bits with no symbols.
    Integer(u16),
    /// Up to sixteen bytes of text, as helper names.
    Str,
    NfProto,
    LlAddr,
    Ipv4Addr,
    Ipv6Addr,
    EtherAddr,
    EtherType,
    ArpOp,
    InetProto,
    InetService,
    IcmpType,
    IcmpCode,
    Icmpv6Type,
    Icmpv6Code,
    IcmpxCode,
    IgmpType,
    TcpFlag,
    DccpPkttype,
    MhType,
    /// A span of time in milliseconds.
    Time,
    Mark,
    /// Interface index. The engine keeps the name, as [`Type::IfName`] does, where a name was given; a value below
    /// 2^32 is an index given as a number.
    IfIndex,
    IfaceType,
    IfName,
    Realm,
    Classid,
    Uid,
    Gid,
    CtState,
    CtDir,
    CtStatus,
    CtEvent,
    /// 128 bits; a value is the bits themselves.
    CtLabel,
    PktType,
    DevGroup,
    Dscp,
    Ecn,
    FibAddr,
    Boolean,
    /// Nanoseconds since 1970.
    Date,
    /// Second of the day, UTC.
    Hour,
    /// Sunday is 0.
    Day,
    CgroupV2,
}

impl Type {
    /// The name that `type` clauses use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer(_) => "integer",
            Self::Str => "string",
            Self::NfProto => "nf_proto",
            Self::LlAddr => "ll_addr",
            Self::Ipv4Addr => "ipv4_addr",
            Self::Ipv6Addr => "ipv6_addr",
            Self::EtherAddr => "ether_addr",
            Self::EtherType => "ether_type",
            Self::ArpOp => "arp_op",
            Self::InetProto => "inet_proto",
            Self::InetService => "inet_service",
            Self::IcmpType => "icmp_type",
            Self::IcmpCode => "icmp_code",
            Self::Icmpv6Type => "icmpv6_type",
            Self::Icmpv6Code => "icmpv6_code",
            Self::IcmpxCode => "icmpx_code",
            Self::IgmpType => "igmp_type",
            Self::TcpFlag => "tcp_flag",
            Self::DccpPkttype => "dccp_pkttype",
            Self::MhType => "mh_type",
            Self::Time | Self::Date => "time",
            Self::Mark => "mark",
            Self::IfIndex => "iface_index",
            Self::IfaceType => "iface_type",
            Self::IfName => "ifname",
            Self::Realm => "realm",
            Self::Classid => "classid",
            Self::Uid => "uid",
            Self::Gid => "gid",
            Self::CtState => "ct_state",
            Self::CtDir => "ct_dir",
            Self::CtStatus => "ct_status",
            Self::CtEvent => "ct_event",
            Self::CtLabel => "ct_label",
            Self::PktType => "pkt_type",
            Self::DevGroup => "devgroup",
            Self::Dscp => "dscp",
            Self::Ecn => "ecn",
            Self::FibAddr => "fib_addrtype",
            Self::Boolean => "boolean",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::CgroupV2 => "cgroupsv2",
        }
    }

    /// Types a set may be declared with, by name.
    pub fn by_name(name: &str) -> Option<Self> {
        const ALL: [Type; 41] = [
            Type::NfProto,
            Type::LlAddr,
            Type::Ipv4Addr,
            Type::Ipv6Addr,
            Type::EtherAddr,
            Type::EtherType,
            Type::ArpOp,
            Type::InetProto,
            Type::InetService,
            Type::IcmpType,
            Type::IcmpCode,
            Type::Icmpv6Type,
            Type::Icmpv6Code,
            Type::IcmpxCode,
            Type::IgmpType,
            Type::TcpFlag,
            Type::DccpPkttype,
            Type::MhType,
            Type::Time,
            Type::Mark,
            Type::IfIndex,
            Type::IfaceType,
            Type::IfName,
            Type::Realm,
            Type::Classid,
            Type::Uid,
            Type::Gid,
            Type::CtState,
            Type::CtDir,
            Type::CtStatus,
            Type::CtEvent,
            Type::CtLabel,
            Type::PktType,
            Type::DevGroup,
            Type::Dscp,
            Type::Ecn,
            Type::FibAddr,
            Type::Boolean,
            Type::Hour,
            Type::Day,
            Type::CgroupV2,
        ];
        ALL.into_iter().find(|t| t.name() == name)
    }

    /// Width in bits.
    pub const fn bits(self) -> u16 {
        match self {
            Self::Integer(bits) => bits,
            Self::Boolean => 1,
            Self::Ecn => 2,
            Self::Dscp => 6,
            Self::NfProto
            | Self::InetProto
            | Self::IcmpType
            | Self::IcmpCode
            | Self::Icmpv6Type
            | Self::Icmpv6Code
            | Self::IcmpxCode
            | Self::IgmpType
            | Self::TcpFlag
            | Self::MhType
            | Self::CtDir
            | Self::Day
            | Self::PktType => 8,
            Self::DccpPkttype => 4,
            Self::EtherType | Self::ArpOp | Self::InetService | Self::IfaceType => 16,
            Self::Ipv4Addr
            | Self::Mark
            | Self::IfIndex
            | Self::Realm
            | Self::Classid
            | Self::Uid
            | Self::Gid
            | Self::CtState
            | Self::CtStatus
            | Self::CtEvent
            | Self::DevGroup
            | Self::Hour
            | Self::FibAddr => 32,
            Self::EtherAddr | Self::LlAddr => 48,
            Self::Time | Self::Date | Self::CgroupV2 => 64,
            Self::Ipv6Addr | Self::IfName | Self::Str | Self::CtLabel => 128,
        }
    }

    /// The largest value.
    pub const fn max(self) -> u128 {
        match self.bits() {
            bits @ 0..=127 => (1 << bits) - 1,
            _ => u128::MAX,
        }
    }

    /// Whether several symbols may stand together (`ct state established,related`).
    pub const fn is_bitmask(self) -> bool {
        matches!(self, Self::TcpFlag | Self::CtState | Self::CtStatus | Self::CtEvent | Self::CtLabel)
    }

    /// Whether the kernel compares its bytes in network order.
    pub const fn is_network_order(self) -> bool {
        matches!(
            self,
            Self::Ipv4Addr
                | Self::Ipv6Addr
                | Self::EtherAddr
                | Self::LlAddr
                | Self::EtherType
                | Self::ArpOp
                | Self::InetService
        )
    }
}

/// A name as a value: its first sixteen bytes from the top.
pub fn name_value(name: &str) -> u128 {
    let mut bytes = [0_u8; 16];
    for (to, from) in bytes.iter_mut().zip(name.bytes()) {
        *to = from;
    }
    u128::from_be_bytes(bytes)
}

/// The name a value spells.
pub fn value_name(value: u128) -> String {
    let bytes = value.to_be_bytes();
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
