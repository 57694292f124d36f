//! Kernel parameters by their real names, with the defaults of a fresh namespace on 6.18.
//!
//! Owns those of the packet path. `net.netfilter.*` belongs to conntrack and is handed on by
//! [`super::Netns::set_sysctl`].

/// `net.ipv4.conf.DEV.*` and `net.ipv6.conf.DEV.*` of one device, of `all`, or of `default`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceConf {
    pub forwarding: bool,
    pub forwarding6: bool,
    /// 0 off, 1 strict, 2 loose.
    pub rp_filter: u8,
    pub route_localnet: bool,
    pub accept_local: bool,
    pub send_redirects: bool,
    pub shared_media: bool,
    /// Forward directed broadcasts.
    pub bc_forwarding: bool,
    pub log_martians: bool,
    pub disable_ipv6: bool,
}

impl DeviceConf {
    /// `ipv4_devconf`, `ipv6_devconf`: `send_redirects` and `shared_media` are on, the rest is off.
    pub const DEFAULT: Self = Self {
        forwarding: false,
        forwarding6: false,
        rp_filter: 0,
        route_localnet: false,
        accept_local: false,
        send_redirects: true,
        shared_media: true,
        bc_forwarding: false,
        log_martians: false,
        disable_ipv6: false,
    };

    /// Sets one leaf, `v6` telling the tree; false when the name is not emulated.
    pub(super) fn set(&mut self, v6: bool, leaf: &str, value: i64) -> bool {
        let flag = value != 0;
        match (v6, leaf) {
            (false, "forwarding") => self.forwarding = flag,
            (true, "forwarding") => self.forwarding6 = flag,
            (true, "disable_ipv6") => self.disable_ipv6 = flag,
            (false, "rp_filter") => self.rp_filter = value.clamp(0, 2) as u8,
            (false, "route_localnet") => self.route_localnet = flag,
            (false, "accept_local") => self.accept_local = flag,
            (false, "send_redirects") => self.send_redirects = flag,
            (false, "shared_media") => self.shared_media = flag,
            (false, "bc_forwarding") => self.bc_forwarding = flag,
            (false, "log_martians") => self.log_martians = flag,
            _ => return false,
        }
        true
    }

    pub(super) fn get(&self, v6: bool, leaf: &str) -> Option<i64> {
        Some(match (v6, leaf) {
            (false, "forwarding") => self.forwarding.into(),
            (true, "forwarding") => self.forwarding6.into(),
            (true, "disable_ipv6") => self.disable_ipv6.into(),
            (false, "rp_filter") => self.rp_filter.into(),
            (false, "route_localnet") => self.route_localnet.into(),
            (false, "accept_local") => self.accept_local.into(),
            (false, "send_redirects") => self.send_redirects.into(),
            (false, "shared_media") => self.shared_media.into(),
            (false, "bc_forwarding") => self.bc_forwarding.into(),
            (false, "log_martians") => self.log_martians.into(),
            _ => return None,
        })
    }
}

/// Parameters of the namespace as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sysctls {
    pub all: DeviceConf,
    pub default: DeviceConf,
    /// `net.ipv4.ip_default_ttl`.
    pub ip_default_ttl: u8,
    /// `net.ipv6.conf.all.hop_limit`: what the node's own packets start with.
    pub hop_limit: u8,
    pub icmp_echo_ignore_all: bool,
    pub icmp_echo_ignore_broadcasts: bool,
    pub icmp6_echo_ignore_all: bool,
    /// Milliseconds between two limited ICMP messages to one peer; zero switches the limit off.
    pub icmp_ratelimit_ms: u32,
    /// ICMP types that are limited, a bit each.
    pub icmp_ratemask: u32,
    /// Limited ICMP messages a second, and at once, to all peers together, of both families.
    pub icmp_msgs_per_sec: u32,
    pub icmp_msgs_burst: u32,
    pub icmp6_ratelimit_ms: u32,
    pub icmp_errors_use_inbound_ifaddr: bool,
    /// Answers carry the mark of what they answer.
    pub fwmark_reflect: bool,
    pub ip_forward_use_pmtu: bool,
}

impl Default for Sysctls {
    fn default() -> Self {
        Self {
            all: DeviceConf::DEFAULT,
            default: DeviceConf::DEFAULT,
            ip_default_ttl: 64,
            hop_limit: 64,
            icmp_echo_ignore_all: false,
            icmp_echo_ignore_broadcasts: true,
            icmp6_echo_ignore_all: false,
            icmp_ratelimit_ms: 1000,
            // Destination unreachable (3), source quench (4), time exceeded (11), parameter problem (12).
            icmp_ratemask: 0x1818,
            icmp_msgs_per_sec: 1000,
            icmp_msgs_burst: 50,
            icmp6_ratelimit_ms: 1000,
            icmp_errors_use_inbound_ifaddr: false,
            fwmark_reflect: false,
            ip_forward_use_pmtu: false,
        }
    }
}

impl Sysctls {
    /// The names without a device in them. `net.ipv4.ip_forward` is another name for `conf.all.forwarding` and
    /// handled there.
    pub const GLOBAL: &[&str] = &[
        "net.ipv4.ip_default_ttl",
        "net.ipv4.icmp_echo_ignore_all",
        "net.ipv4.icmp_echo_ignore_broadcasts",
        "net.ipv4.icmp_ratelimit",
        "net.ipv4.icmp_ratemask",
        "net.ipv4.icmp_msgs_per_sec",
        "net.ipv4.icmp_msgs_burst",
        "net.ipv4.icmp_errors_use_inbound_ifaddr",
        "net.ipv4.fwmark_reflect",
        "net.ipv4.ip_forward_use_pmtu",
        "net.ipv6.conf.all.hop_limit",
        "net.ipv6.conf.default.hop_limit",
        "net.ipv6.icmp.ratelimit",
        "net.ipv6.icmp.echo_ignore_all",
    ];

    /// Sets a global name; false when it is none of [`Self::GLOBAL`].
    pub(super) fn set(&mut self, name: &str, value: i64) -> bool {
        let flag = value != 0;
        match name {
            "net.ipv4.ip_default_ttl" => self.ip_default_ttl = value.clamp(1, 255) as u8,
            "net.ipv4.icmp_echo_ignore_all" => self.icmp_echo_ignore_all = flag,
            "net.ipv4.icmp_echo_ignore_broadcasts" => self.icmp_echo_ignore_broadcasts = flag,
            "net.ipv4.icmp_ratelimit" => self.icmp_ratelimit_ms = value.clamp(0, i64::from(u32::MAX)) as u32,
            "net.ipv4.icmp_ratemask" => self.icmp_ratemask = value as u32,
            "net.ipv4.icmp_msgs_per_sec" => {
                self.icmp_msgs_per_sec = value.clamp(0, i64::from(u32::MAX)) as u32
            }
            "net.ipv4.icmp_msgs_burst" => self.icmp_msgs_burst = value.clamp(0, i64::from(u32::MAX)) as u32,
            "net.ipv4.icmp_errors_use_inbound_ifaddr" => self.icmp_errors_use_inbound_ifaddr = flag,
            "net.ipv4.fwmark_reflect" => self.fwmark_reflect = flag,
            "net.ipv4.ip_forward_use_pmtu" => self.ip_forward_use_pmtu = flag,
            "net.ipv6.conf.all.hop_limit" | "net.ipv6.conf.default.hop_limit" => {
                self.hop_limit = value.clamp(1, 255) as u8;
            }
            "net.ipv6.icmp.ratelimit" => self.icmp6_ratelimit_ms = value.clamp(0, i64::from(u32::MAX)) as u32,
            "net.ipv6.icmp.echo_ignore_all" => self.icmp6_echo_ignore_all = flag,
            _ => return false,
        }
        true
    }

    pub(super) fn get(&self, name: &str) -> Option<i64> {
        Some(match name {
            "net.ipv4.ip_default_ttl" => self.ip_default_ttl.into(),
            "net.ipv4.icmp_echo_ignore_all" => self.icmp_echo_ignore_all.into(),
            "net.ipv4.icmp_echo_ignore_broadcasts" => self.icmp_echo_ignore_broadcasts.into(),
            "net.ipv4.icmp_ratelimit" => self.icmp_ratelimit_ms.into(),
            "net.ipv4.icmp_ratemask" => self.icmp_ratemask.into(),
            "net.ipv4.icmp_msgs_per_sec" => self.icmp_msgs_per_sec.into(),
            "net.ipv4.icmp_msgs_burst" => self.icmp_msgs_burst.into(),
            "net.ipv4.icmp_errors_use_inbound_ifaddr" => self.icmp_errors_use_inbound_ifaddr.into(),
            "net.ipv4.fwmark_reflect" => self.fwmark_reflect.into(),
            "net.ipv4.ip_forward_use_pmtu" => self.ip_forward_use_pmtu.into(),
            "net.ipv6.conf.all.hop_limit" | "net.ipv6.conf.default.hop_limit" => self.hop_limit.into(),
            "net.ipv6.icmp.ratelimit" => self.icmp6_ratelimit_ms.into(),
            "net.ipv6.icmp.echo_ignore_all" => self.icmp6_echo_ignore_all.into(),
            _ => return None,
        })
    }
}

/// `net.ipv4.conf.eth0.rp_filter` taken apart: IPv6 tree or not, device, leaf. Device names with dots keep
/// them (`net.ipv4.conf.eth0/10.rp_filter` writes them as slashes).
pub(super) fn split_conf(name: &str) -> Option<(bool, &str, &str)> {
    let (v6, rest) = match name.strip_prefix("net.ipv4.conf.") {
        Some(rest) => (false, rest),
        None => (true, name.strip_prefix("net.ipv6.conf.")?),
    };
    let (dev, leaf) = rest.rsplit_once('.')?;
    Some((v6, dev, leaf))
}
