//! [`Kind`]: the set types, what their elements are made of and how `ipset` names them.

use crate::packet::Family;

/// A set type of ipset that the engine emulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    BitmapIp,
    BitmapPort,
    HashIp,
    HashIpPort,
    HashIpPortIp,
    HashIpPortNet,
    HashNet,
    HashNetIface,
    HashNetPort,
    ListSet,
}

impl Kind {
    pub const ALL: [Self; 10] = [
        Self::BitmapIp,
        Self::BitmapPort,
        Self::HashIp,
        Self::HashIpPort,
        Self::HashIpPortIp,
        Self::HashIpPortNet,
        Self::HashNet,
        Self::HashNetIface,
        Self::HashNetPort,
        Self::ListSet,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::BitmapIp => "bitmap:ip",
            Self::BitmapPort => "bitmap:port",
            Self::HashIp => "hash:ip",
            Self::HashIpPort => "hash:ip,port",
            Self::HashIpPortIp => "hash:ip,port,ip",
            Self::HashIpPortNet => "hash:ip,port,net",
            Self::HashNet => "hash:net",
            Self::HashNetIface => "hash:net,iface",
            Self::HashNetPort => "hash:net,port",
            Self::ListSet => "list:set",
        }
    }

    /// By its name, or one of the older names that ipset still takes.
    pub fn parse(name: &str) -> Option<Self> {
        let name = match name {
            "iphash" => "hash:ip",
            "nethash" => "hash:net",
            "ipporthash" => "hash:ip,port",
            "ipportiphash" => "hash:ip,port,ip",
            "ipportnethash" => "hash:ip,port,net",
            "ipmap" => "bitmap:ip",
            "portmap" => "bitmap:port",
            "setlist" => "list:set",
            name => name,
        };
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// The revision that `ipset list` shows, of Linux 6.18.
    pub const fn revision(self) -> u32 {
        match self {
            Self::BitmapIp | Self::BitmapPort | Self::ListSet => 3,
            Self::HashIp | Self::HashIpPortIp => 6,
            Self::HashIpPort | Self::HashNet => 7,
            Self::HashIpPortNet | Self::HashNetIface | Self::HashNetPort => 8,
        }
    }

    /// Parts of an element: a rule must name at least as many directions.
    pub const fn dimensions(self) -> usize {
        match self {
            Self::BitmapIp | Self::BitmapPort | Self::HashIp | Self::HashNet | Self::ListSet => 1,
            Self::HashIpPort | Self::HashNetIface | Self::HashNetPort => 2,
            Self::HashIpPortIp | Self::HashIpPortNet => 3,
        }
    }

    pub const fn is_hash(self) -> bool {
        !matches!(self, Self::BitmapIp | Self::BitmapPort | Self::ListSet)
    }

    /// Whether elements may be networks, longest prefix first, with `nomatch` exceptions.
    pub const fn has_nets(self) -> bool {
        matches!(self, Self::HashNet | Self::HashNetPort | Self::HashNetIface | Self::HashIpPortNet)
    }

    /// The family of a new set when none is asked for; none where elements have no address.
    pub const fn default_family(self) -> Option<Family> {
        match self {
            Self::BitmapPort | Self::ListSet => None,
            Self::BitmapIp
            | Self::HashIp
            | Self::HashIpPort
            | Self::HashIpPortIp
            | Self::HashIpPortNet
            | Self::HashNet
            | Self::HashNetIface
            | Self::HashNetPort => Some(Family::V4),
        }
    }
}
