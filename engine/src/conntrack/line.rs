//! The line `conntrack -L` prints for an entry (libnetfilter_conntrack's default output).
//!
//! Owns the pieces of the line; the tool's options and filters live in `text::conntrack`.

use std::fmt::{self, Write};

use super::entry::{Acct, Entry, Proto, Status};
use super::{L4Part, Tuple};
use crate::base::Instant;
use crate::packet::{Family, proto};

/// What the parts of the line depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// `conntrack -L`: the time left, counters, the mark always, the zone if set, the references.
    List,
    /// `conntrack -E`, new or changed: the mark only if set, no counters, no references.
    Event,
    /// `conntrack -E`, destroyed: counters, and the time left only if there was any.
    Destroy,
    /// `/proc/net/nf_conntrack`: the zone always, one reference more for the one who reads.
    Proc,
}

impl Entry {
    /// As `conntrack -L` shows it at `now`.
    pub fn line(&self, now: Instant) -> String {
        let mut line = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut line, LineForm::List, now);
        line
    }

    /// Writes the line, without the family columns that some forms have before it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write, form: LineForm, now: Instant) -> fmt::Result {
        write!(out, "{:<8} {}", proto_name(self.original.proto), self.original.proto)?;
        let secs = self.remaining(now).as_secs();
        if form != LineForm::Destroy || secs != 0 {
            write!(out, " {secs}")?;
        }
        if form == LineForm::Proc && self.original.proto == proto::GRE {
            // The kernel keeps both of an entry's timeouts; without a helper they are the defaults.
            write!(out, " timeout=30, stream_timeout=180")?;
        }
        if let Some(state) = self.state_name() {
            write!(out, " {state}")?;
        }
        let acct = self.acct.filter(|_| form != LineForm::Event);
        tuple(out, &self.original)?;
        counters(out, acct.map(|a| a[0]))?;
        if !self.status.has(Status::SEEN_REPLY) {
            out.write_str(" [UNREPLIED]")?;
        }
        tuple(out, &self.reply)?;
        counters(out, acct.map(|a| a[1]))?;
        if self.status.has(Status::ASSURED) {
            out.write_str(" [ASSURED]")?;
        }
        if matches!(form, LineForm::List | LineForm::Proc) || self.mark != 0 {
            write!(out, " mark={}", self.mark)?;
        }
        if form == LineForm::Proc || self.zone != 0 {
            write!(out, " zone={}", self.zone)?;
        }
        if let Some(start) = self.confirmed_at.filter(|_| form != LineForm::Event) {
            write!(out, " delta-time={}", now.since(start).as_secs())?;
        }
        match form {
            LineForm::List => out.write_str(" use=1"),
            LineForm::Proc => out.write_str(" use=2"),
            LineForm::Event | LineForm::Destroy => Ok(()),
        }
    }

    /// Name of the state, for protocols that have one.
    pub const fn state_name(&self) -> Option<&'static str> {
        match &self.proto {
            Proto::Tcp(tcp) => Some(tcp.state.name()),
            Proto::Sctp(sctp) => Some(sctp.state.name()),
            Proto::Udp { .. } | Proto::None => None,
        }
    }
}

fn tuple(out: &mut impl Write, t: &Tuple) -> fmt::Result {
    write!(out, " src={} dst={}", t.src, t.dst)?;
    match t.l4 {
        L4Part::Ports { src, dst } => write!(out, " sport={src} dport={dst}"),
        L4Part::Icmp { id, kind, code } => write!(out, " type={kind} code={code} id={id}"),
        L4Part::Gre { src_key, dst_key } => write!(out, " srckey=0x{src_key:x} dstkey=0x{dst_key:x}"),
        L4Part::None => Ok(()),
    }
}

fn counters(out: &mut impl Write, acct: Option<Acct>) -> fmt::Result {
    match acct {
        Some(Acct { packets, bytes }) => write!(out, " packets={packets} bytes={bytes}"),
        None => Ok(()),
    }
}

/// As the conntrack tool names protocols.
pub const fn proto_name(number: u8) -> &'static str {
    match number {
        proto::ICMP => "icmp",
        proto::TCP => "tcp",
        proto::UDP => "udp",
        proto::DCCP => "dccp",
        proto::GRE => "gre",
        proto::ICMPV6 => "icmpv6",
        proto::SCTP => "sctp",
        proto::UDPLITE => "udplite",
        _ => "unknown",
    }
}

/// `ipv4     2`, `ipv6     10`: the columns of `-o extended` and of /proc.
pub const fn family_columns(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4     2",
        Family::V6 => "ipv6     10",
    }
}
