//! The five inet hooks and the priorities of their users (`include/uapi/linux/netfilter_ipv4.h`).

use std::fmt;

/// A point in the packet path where netfilter functions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    Prerouting,
    Input,
    Forward,
    Output,
    Postrouting,
}

impl Hook {
    /// In the kernel's numbering, `NF_INET_PRE_ROUTING` to `NF_INET_POST_ROUTING`.
    pub const ALL: [Self; 5] =
        [Self::Prerouting, Self::Input, Self::Forward, Self::Output, Self::Postrouting];

    /// As nftables and the replay contract write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prerouting => "prerouting",
            Self::Input => "input",
            Self::Forward => "forward",
            Self::Output => "output",
            Self::Postrouting => "postrouting",
        }
    }

    /// The built-in chain of iptables at this hook.
    pub const fn chain(self) -> &'static str {
        match self {
            Self::Prerouting => "PREROUTING",
            Self::Input => "INPUT",
            Self::Forward => "FORWARD",
            Self::Output => "OUTPUT",
            Self::Postrouting => "POSTROUTING",
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a function stands inside its hook: lower runs earlier; of equal ones the newest runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub i32);

impl Priority {
    pub const CONNTRACK_DEFRAG: Self = Self(-400);
    pub const RAW: Self = Self(-300);
    pub const CONNTRACK: Self = Self(-200);
    pub const MANGLE: Self = Self(-150);
    pub const NAT_DST: Self = Self(-100);
    pub const IPVS_LOCAL_REPLY: Self = Self(-99);
    pub const IPVS_LOCAL_REQUEST: Self = Self(-98);
    pub const FILTER: Self = Self(0);
    pub const SECURITY: Self = Self(50);
    pub const IPVS_REPLY: Self = Self(98);
    pub const IPVS_REQUEST: Self = Self(99);
    pub const IPVS_FORWARD_ICMP: Self = Self(99);
    pub const IPVS_FORWARD_REPLY: Self = Self(100);
    pub const NAT_SRC: Self = Self(100);
    pub const CONNTRACK_CONFIRM: Self = Self(i32::MAX);
}
