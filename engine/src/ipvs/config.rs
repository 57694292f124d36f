//! Sysctls below `net.ipv4.vs` and the timeouts that `ipvsadm --set` changes (`ip_vs_ctl.c`, `vs_vars`).

use std::fmt;

use super::state::{SctpState, TcpState};
use crate::base::Duration;

/// Parameters that the engine acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// Keep conntrack entries of balanced connections, so that other rules can translate them too.
    Conntrack,
    /// Bit 0: a SYN may start a connection over; bit 1: also one in FIN_WAIT whose answers pass elsewhere.
    ConnReuseMode,
    ExpireNodestConn,
    ExpireQuiescentTemplate,
    SloppyTcp,
    SloppySctp,
    /// 3: always drop one packet of [`Self::AmDroprate`]; 1 and 2 do so when memory is short, which it never is.
    DropPacket,
    AmDroprate,
    NatIcmpSend,
    SnatReroute,
    PmtuDisc,
    IgnoreTunneled,
    /// Seconds that `lblc` remembers a destination address.
    LblcExpiration,
    /// Seconds after which `lblcr` shrinks an unchanged set.
    LblcrExpiration,
}

/// Name below `net.ipv4.vs`, default, largest value.
const KNOBS: [(Knob, &str, u32, u32); 14] = [
    (Knob::Conntrack, "conntrack", 0, 1),
    (Knob::ConnReuseMode, "conn_reuse_mode", 1, u32::MAX),
    (Knob::ExpireNodestConn, "expire_nodest_conn", 0, 1),
    (Knob::ExpireQuiescentTemplate, "expire_quiescent_template", 0, 1),
    (Knob::SloppyTcp, "sloppy_tcp", 0, 1),
    (Knob::SloppySctp, "sloppy_sctp", 0, 1),
    (Knob::DropPacket, "drop_packet", 0, 3),
    (Knob::AmDroprate, "am_droprate", 10, u32::MAX),
    (Knob::NatIcmpSend, "nat_icmp_send", 0, 1),
    (Knob::SnatReroute, "snat_reroute", 1, 1),
    (Knob::PmtuDisc, "pmtu_disc", 1, 1),
    (Knob::IgnoreTunneled, "ignore_tunneled", 0, 1),
    (Knob::LblcExpiration, "lblc_expiration", 24 * 60 * 60, u32::MAX),
    (Knob::LblcrExpiration, "lblcr_expiration", 24 * 60 * 60, u32::MAX),
];

/// Parameters whose default is all that is emulated: setting another value is refused by name.
const FIXED: [(&str, u32); 8] = [
    ("amemthresh", 1024),
    ("backup_only", 0),
    ("cache_bypass", 0),
    ("drop_entry", 0),
    ("run_estimation", 1),
    ("schedule_icmp", 0),
    ("secure_tcp", 0),
    ("sync_version", 1),
];

const PREFIX: &str = "net.ipv4.vs.";

/// Seconds, as `ipvsadm -L --timeout` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub tcp: u32,
    pub tcp_fin: u32,
    pub udp: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { tcp: 15 * 60, tcp_fin: 2 * 60, udp: 5 * 60 }
    }
}

/// Why a sysctl was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysctlError {
    Unknown,
    Invalid,
}

impl fmt::Display for SysctlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "not emulated",
            Self::Invalid => "not a value it takes",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    values: [u32; KNOBS.len()],
    pub timeouts: Timeouts,
}

impl Default for Config {
    fn default() -> Self {
        Self { values: KNOBS.map(|(_, _, default, _)| default), timeouts: Timeouts::default() }
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

    /// Reads `net.ipv4.vs.NAME`.
    pub fn get(&self, name: &str) -> Option<u32> {
        let leaf = name.strip_prefix(PREFIX)?;
        let knob = KNOBS.iter().find(|(_, known, _, _)| *known == leaf);
        knob.map(|(knob, ..)| self.value(*knob))
            .or_else(|| FIXED.iter().find(|(known, _)| *known == leaf).map(|(_, value)| *value))
    }

    /// Writes `net.ipv4.vs.NAME`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SysctlError> {
        let leaf = name.strip_prefix(PREFIX).ok_or(SysctlError::Unknown)?;
        let value: u32 = value.trim().parse().map_err(|_| SysctlError::Invalid)?;
        if let Some((knob, _, _, max)) = KNOBS.iter().find(|(_, known, _, _)| *known == leaf) {
            if value > *max {
                return Err(SysctlError::Invalid);
            }
            self.put(*knob, value);
            return Ok(());
        }
        match FIXED.iter().find(|(known, _)| *known == leaf) {
            Some((_, fixed)) if *fixed == value => Ok(()),
            _ => Err(SysctlError::Unknown),
        }
    }

    /// Lifetime of a TCP connection in `state` (`tcp_timeouts`).
    pub const fn tcp_timeout(&self, state: TcpState) -> Duration {
        Duration::from_secs(match state {
            TcpState::None => 2,
            TcpState::Established => self.timeouts.tcp as u64,
            TcpState::SynSent | TcpState::TimeWait | TcpState::Listen | TcpState::SynAck => 120,
            TcpState::SynRecv | TcpState::CloseWait => 60,
            TcpState::FinWait => self.timeouts.tcp_fin as u64,
            TcpState::Close => 10,
            TcpState::LastAck => 30,
        })
    }

    pub const fn udp_timeout(&self) -> Duration {
        Duration::from_secs(self.timeouts.udp as u64)
    }

    /// Lifetime of an SCTP association in `state` (`sctp_timeouts`).
    pub const fn sctp_timeout(&self, state: SctpState) -> Duration {
        Duration::from_secs(match state {
            SctpState::None => 2,
            SctpState::Init1 | SctpState::Rejected => 4,
            SctpState::Established => 15 * 60,
            SctpState::Init
            | SctpState::CookieSent
            | SctpState::CookieReplied
            | SctpState::CookieWait
            | SctpState::Cookie
            | SctpState::CookieEchoed
            | SctpState::ShutdownSent
            | SctpState::ShutdownReceived
            | SctpState::ShutdownAckSent
            | SctpState::Closed => 61,
        })
    }

    /// `ipvsadm --set`: zero leaves a value as it is.
    pub const fn set_timeouts(&mut self, tcp: u32, tcp_fin: u32, udp: u32) {
        if tcp != 0 {
            self.timeouts.tcp = tcp;
        }
        if tcp_fin != 0 {
            self.timeouts.tcp_fin = tcp_fin;
        }
        if udp != 0 {
            self.timeouts.udp = udp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_stand_in_the_order_of_their_table() {
        for (at, (knob, name, default, _)) in KNOBS.into_iter().enumerate() {
            assert_eq!(knob as usize, at, "{name}");
            assert_eq!(Config::default().get(&format!("{PREFIX}{name}")), Some(default));
        }
    }

    #[test]
    fn what_is_not_emulated_takes_its_default_only() {
        let mut config = Config::default();
        assert_eq!(config.set("net.ipv4.vs.secure_tcp", "0"), Ok(()));
        assert_eq!(config.set("net.ipv4.vs.secure_tcp", "3"), Err(SysctlError::Unknown));
        assert_eq!(config.set("net.ipv4.vs.conntrack", "x"), Err(SysctlError::Invalid));
        assert_eq!(config.set("net.ipv4.vs.conntrack", "1"), Ok(()));
        assert!(config.on(Knob::Conntrack));
    }
}
