//! [`Config`]: the sysctls of connection tracking, by their real names (`nf_conntrack_standalone.c`).

/// A sysctl under `net.netfilter.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Knob {
    Acct,
    Buckets,
    Checksum,
    Events,
    ExpectMax,
    /// Shown without effect: the limit on waiting fragments is a number of datagrams.
    Frag6HighThresh,
    /// Shown without effect, as [`Self::Frag6HighThresh`].
    Frag6LowThresh,
    /// Read by the reassembly of IPv6 before conntrack.
    Frag6Timeout,
    GenericTimeout,
    GreTimeout,
    GreTimeoutStream,
    IcmpTimeout,
    Icmpv6Timeout,
    LogInvalid,
    Max,
    SctpClosed,
    SctpCookieEchoed,
    SctpCookieWait,
    SctpEstablished,
    SctpHeartbeatSent,
    SctpShutdownAckSent,
    SctpShutdownRecd,
    SctpShutdownSent,
    TcpBeLiberal,
    TcpIgnoreInvalidRst,
    TcpLoose,
    TcpMaxRetrans,
    TcpClose,
    TcpCloseWait,
    TcpEstablished,
    TcpFinWait,
    TcpLastAck,
    TcpMaxRetransTimeout,
    TcpSynRecv,
    TcpSynSent,
    TcpTimeWait,
    TcpUnacknowledged,
    Timestamp,
    UdpTimeout,
    UdpTimeoutStream,
}

/// Name and default, in the order of [`Knob`]. Timeouts are in seconds.
///
/// Read from a fresh namespace of Linux 6.18.44. `buckets` and `max` depend on the machine's memory; these
/// are the values above 4 GiB, where the kernel stops growing them.
const TABLE: [(Knob, &str, u32); 40] = [
    (Knob::Acct, "acct", 0),
    (Knob::Buckets, "buckets", 262_144),
    (Knob::Checksum, "checksum", 1),
    (Knob::Events, "events", 2),
    (Knob::ExpectMax, "expect_max", 4096),
    (Knob::Frag6HighThresh, "frag6_high_thresh", 4_194_304),
    (Knob::Frag6LowThresh, "frag6_low_thresh", 3_145_728),
    (Knob::Frag6Timeout, "frag6_timeout", 60),
    (Knob::GenericTimeout, "generic_timeout", 600),
    (Knob::GreTimeout, "gre_timeout", 30),
    (Knob::GreTimeoutStream, "gre_timeout_stream", 180),
    (Knob::IcmpTimeout, "icmp_timeout", 30),
    (Knob::Icmpv6Timeout, "icmpv6_timeout", 30),
    (Knob::LogInvalid, "log_invalid", 0),
    (Knob::Max, "max", 262_144),
    (Knob::SctpClosed, "sctp_timeout_closed", 10),
    (Knob::SctpCookieEchoed, "sctp_timeout_cookie_echoed", 3),
    (Knob::SctpCookieWait, "sctp_timeout_cookie_wait", 3),
    (Knob::SctpEstablished, "sctp_timeout_established", 210),
    (Knob::SctpHeartbeatSent, "sctp_timeout_heartbeat_sent", 30),
    (Knob::SctpShutdownAckSent, "sctp_timeout_shutdown_ack_sent", 3),
    (Knob::SctpShutdownRecd, "sctp_timeout_shutdown_recd", 3),
    (Knob::SctpShutdownSent, "sctp_timeout_shutdown_sent", 3),
    (Knob::TcpBeLiberal, "tcp_be_liberal", 0),
    (Knob::TcpIgnoreInvalidRst, "tcp_ignore_invalid_rst", 0),
    (Knob::TcpLoose, "tcp_loose", 1),
    (Knob::TcpMaxRetrans, "tcp_max_retrans", 3),
    (Knob::TcpClose, "tcp_timeout_close", 10),
    (Knob::TcpCloseWait, "tcp_timeout_close_wait", 60),
    (Knob::TcpEstablished, "tcp_timeout_established", 432_000),
    (Knob::TcpFinWait, "tcp_timeout_fin_wait", 120),
    (Knob::TcpLastAck, "tcp_timeout_last_ack", 30),
    (Knob::TcpMaxRetransTimeout, "tcp_timeout_max_retrans", 300),
    (Knob::TcpSynRecv, "tcp_timeout_syn_recv", 60),
    (Knob::TcpSynSent, "tcp_timeout_syn_sent", 120),
    (Knob::TcpTimeWait, "tcp_timeout_time_wait", 120),
    (Knob::TcpUnacknowledged, "tcp_timeout_unacknowledged", 300),
    (Knob::Timestamp, "timestamp", 0),
    (Knob::UdpTimeout, "udp_timeout", 30),
    (Knob::UdpTimeoutStream, "udp_timeout_stream", 120),
];

const PREFIX: &str = "net.netfilter.nf_conntrack_";

/// Why a sysctl could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysctlError {
    /// No such name: ENOENT.
    Unknown,
    /// Not a number, or one out of range: EINVAL.
    Invalid,
}

/// The values in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    values: [u32; TABLE.len()],
}

impl Default for Config {
    fn default() -> Self {
        Self { values: TABLE.map(|(_, _, default)| default) }
    }
}

impl Config {
    pub const fn value(&self, knob: Knob) -> u32 {
        self.values[knob as usize]
    }

    pub const fn on(&self, knob: Knob) -> bool {
        self.value(knob) != 0
    }

    pub const fn put(&mut self, knob: Knob, value: u32) {
        self.values[knob as usize] = value;
    }

    /// The value of a sysctl by its full name, `net.netfilter.nf_conntrack_...`; `net.nf_conntrack_max` is
    /// the older name of the limit.
    pub fn get(&self, name: &str) -> Option<u32> {
        knob(name).map(|k| self.value(k))
    }

    /// Writes a sysctl by its full name, as text.
    ///
    /// # Errors
    /// As the kernel would: an unknown name, a value that is no number, a switch set to more than it has.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SysctlError> {
        let knob = knob(name).ok_or(SysctlError::Unknown)?;
        let value: u32 = value.trim().parse().map_err(|_| SysctlError::Invalid)?;
        if value > max(knob) {
            return Err(SysctlError::Invalid);
        }
        self.put(knob, value);
        Ok(())
    }

    /// Full names with values, in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = (String, u32)> {
        TABLE.iter().map(|(knob, name, _)| (format!("{PREFIX}{name}"), self.value(*knob)))
    }
}

fn knob(name: &str) -> Option<Knob> {
    if name == "net.nf_conntrack_max" {
        return Some(Knob::Max);
    }
    let short = name.strip_prefix(PREFIX)?;
    TABLE.iter().find(|(_, n, _)| *n == short).map(|(k, _, _)| *k)
}

const fn max(knob: Knob) -> u32 {
    match knob {
        Knob::Acct
        | Knob::Checksum
        | Knob::TcpBeLiberal
        | Knob::TcpIgnoreInvalidRst
        | Knob::TcpLoose
        | Knob::Timestamp => 1,
        Knob::Events => 2,
        Knob::LogInvalid | Knob::TcpMaxRetrans => 255,
        Knob::Buckets
        | Knob::ExpectMax
        | Knob::Frag6HighThresh
        | Knob::Frag6LowThresh
        | Knob::Frag6Timeout
        | Knob::GenericTimeout
        | Knob::GreTimeout
        | Knob::GreTimeoutStream
        | Knob::IcmpTimeout
        | Knob::Icmpv6Timeout
        | Knob::Max
        | Knob::SctpClosed
        | Knob::SctpCookieEchoed
        | Knob::SctpCookieWait
        | Knob::SctpEstablished
        | Knob::SctpHeartbeatSent
        | Knob::SctpShutdownAckSent
        | Knob::SctpShutdownRecd
        | Knob::SctpShutdownSent
        | Knob::TcpClose
        | Knob::TcpCloseWait
        | Knob::TcpEstablished
        | Knob::TcpFinWait
        | Knob::TcpLastAck
        | Knob::TcpMaxRetransTimeout
        | Knob::TcpSynRecv
        | Knob::TcpSynSent
        | Knob::TcpTimeWait
        | Knob::TcpUnacknowledged
        | Knob::UdpTimeout
        | Knob::UdpTimeoutStream => u32::MAX / 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_knobs() {
        for (at, (knob, _, _)) in TABLE.iter().enumerate() {
            assert_eq!(*knob as usize, at);
        }
    }

    #[test]
    fn sysctls_have_their_real_names_and_defaults() {
        let mut config = Config::default();
        assert_eq!(config.get("net.netfilter.nf_conntrack_tcp_timeout_established"), Some(432_000));
        assert_eq!(config.get("net.nf_conntrack_max"), Some(262_144));
        assert_eq!(config.set("net.netfilter.nf_conntrack_tcp_loose", "0"), Ok(()));
        assert!(!config.on(Knob::TcpLoose));
        assert_eq!(config.set("net.netfilter.nf_conntrack_tcp_loose", "2"), Err(SysctlError::Invalid));
        assert_eq!(config.set("net.netfilter.nf_conntrack_nothing", "1"), Err(SysctlError::Unknown));
    }
}
