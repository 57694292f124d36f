//! The extensions of iptables: one file a match or target family, and the registry that lists them.
//!
//! To add a match: write `xt/NAME.rs` with a type that implements [`MatchExt`] (its options, how
//! `iptables-save` and `iptables -L` print it, how it decides) and name it in the list at the end of this
//! file. A target is the same with [`TargetExt`]. What is known but not emulated is listed in
//! [`not_emulated`].
//!
//! Mirrors `net/netfilter/xt_*.c`, `net/ipv4/netfilter/ipt_*.c`, `net/ipv6/netfilter/ip6t_*.c` and the
//! `libxt_*` of iptables 1.8.9.

pub mod ext;
pub mod not_emulated;
#[macro_use]
mod registry;

mod args;
mod header;
mod jiffies;
mod names;
mod ports;
mod prelude;
mod rate;

mod addrtype;
mod audit;
mod checksum;
mod classify;
mod comment;
mod connbytes;
mod connlimit;
mod connmark;
mod conntrack;
mod ct;
mod ctstate;
mod dscp;
mod ecn;
mod hashlimit;
mod helper;
mod icmp;
mod iprange;
mod length;
mod limit;
mod log;
mod mac;
mod mark;
mod masquerade;
mod multiport;
mod nat;
mod netmap;
mod nfacct;
mod nflog;
mod owner;
mod physdev;
mod pkttype;
mod policy;
mod quota;
mod recent;
mod redirect;
mod reject;
mod rpfilter;
mod sctp;
mod set;
mod spi;
mod statistic;
mod string;
mod tcp;
mod tcpmss;
mod tcpoptstrip;
mod time;
mod tos;
mod trace;
mod ttl;
mod u32;
mod udp;

#[cfg(test)]
mod tests;

pub use args::parse_number;
pub use comment::Comment;
pub use connlimit::Counted as CountedConnections;
pub use ctstate::States;
pub use ext::{
    ArgError, Errno, ExtSpec, Fidelity, ListFlags, MatchExt, MatchResult, Next, Opt, OptSpec, Parsed,
    Refusal, TargetExt as TargetRules, Values,
};
pub use hashlimit::Tables as HashlimitTables;
pub(in crate::netfilter) use log::packet_line;
pub use names::{protocol_by_name, protocol_name, service_by_name, service_name};
pub use not_emulated::NotEmulated;
pub use ports::PortTest;
pub use recent::Lists as RecentLists;
pub use statistic::Statistic;
pub use tcp::Tcp;
pub use udp::Udp;

/// Which error REJECT sends (`enum ipt_reject_with`, `enum ip6t_reject_with`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectWith {
    /// ICMP or ICMPv6 error of the packet's family, by type and code.
    Icmp {
        kind: u8,
        code: u8,
    },
    TcpReset,
    /// `echo-reply` of old ip6tables; refused by the kernel.
    EchoReply,
}

use registry::read;

match_registry! {
    Addrtype: addrtype::Addrtype,
    Ah: spi::Ah,
    Comment: comment::Comment,
    Connbytes: connbytes::Connbytes,
    Connlimit: connlimit::Connlimit,
    Connmark: connmark::ConnmarkMatch,
    Conntrack: conntrack::Conntrack,
    Dccp: sctp::Dccp,
    Dscp: dscp::Dscp,
    Ecn: ecn::Ecn,
    Esp: spi::Esp,
    Hashlimit: hashlimit::Hashlimit,
    Helper: helper::Helper,
    Hl: ttl::Hl,
    Icmp: icmp::Icmp,
    Icmp6: icmp::Icmp6,
    Iprange: iprange::Iprange,
    Length: length::Length,
    Limit: limit::Limit,
    Mac: mac::Mac,
    Mark: mark::MarkMatch,
    Multiport: multiport::Multiport,
    Nfacct: nfacct::Nfacct,
    Owner: owner::Owner,
    Physdev: physdev::Physdev,
    Pkttype: pkttype::Pkttype,
    Policy: policy::Policy,
    Quota: quota::Quota,
    Recent: recent::Recent,
    Rpfilter: rpfilter::Rpfilter,
    Sctp: sctp::Sctp,
    Set: set::SetMatch,
    State: ctstate::State,
    Statistic: statistic::Statistic,
    Str: string::StringMatch,
    Tcp: tcp::Tcp,
    Tcpmss: tcpmss::Tcpmss,
    Time: time::Time,
    Tos: tos::Tos,
    Ttl: ttl::Ttl,
    U32: u32::U32,
    Udp: udp::Udp,
}

target_registry! {
    Audit: audit::Audit,
    Checksum: checksum::Checksum,
    Classify: classify::Classify,
    Connmark: connmark::ConnmarkTarget,
    Ct: ct::Ct,
    Dnat: nat::Dnat,
    Dscp: dscp::DscpTarget,
    Ecn: ecn::EcnTarget,
    Hl: ttl::HlTarget,
    Log: log::Log,
    Mark: mark::MarkTarget,
    Masquerade: masquerade::Masquerade,
    Netmap: netmap::Netmap,
    Nflog: nflog::Nflog,
    Notrack: ct::Notrack,
    Redirect: redirect::Redirect,
    Reject: reject::Reject,
    Set: set::SetTarget,
    Snat: nat::Snat,
    Tcpmss: tcpmss::TcpmssTarget,
    Tcpoptstrip: tcpoptstrip::Tcpoptstrip,
    Tos: tos::TosTarget,
    Trace: trace::Trace,
    Ttl: ttl::TtlTarget,
}
