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

mod comment;
mod mark;
mod statistic;

pub use comment::Comment;
pub use ext::{
    ArgError, ExtSpec, Fidelity, ListFlags, MatchExt, MatchResult, Next, Opt, OptSpec, Parsed,
    TargetExt as TargetRules, Values,
};
pub use not_emulated::NotEmulated;

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

match_registry! {
    Comment: comment::Comment,
    Mark: mark::MarkMatch,
    Statistic: statistic::Statistic,
}

target_registry! {
    Mark: mark::MarkTarget,
}
