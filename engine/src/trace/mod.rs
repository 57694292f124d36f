//! What happened to a packet, as data. The path, the evaluator and conntrack write events; views, tests and
//! the command line read them. Nothing here decides anything.

use std::borrow::Cow;
use std::net::SocketAddr;

use crate::base::{Hook, Instant, hook::Priority};
use crate::packet::Packet;

/// How much a [`Trace`] records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing: for mass runs.
    #[default]
    Off,
    /// Everything but the rules that did not match.
    Matched,
    /// Every rule evaluated, each with its checks.
    Full,
}

/// The record of one packet's way.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub level: Level,
    pub events: Vec<TraceEvent>,
    /// Rules evaluated, counted at every level, as the linear walk counts them.
    pub rules_evaluated: u64,
}

impl Trace {
    pub const fn new(level: Level) -> Self {
        Self { level, events: Vec::new(), rules_evaluated: 0 }
    }

    pub const fn on(&self) -> bool {
        !matches!(self.level, Level::Off)
    }

    pub const fn full(&self) -> bool {
        matches!(self.level, Level::Full)
    }

    /// Records what `kind` builds, unless recording is off.
    pub fn record(&mut self, at: Instant, kind: impl FnOnce() -> TraceKind) {
        if self.on() {
            self.events.push(TraceEvent { at, kind: kind() });
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TraceEvent {
    pub at: Instant,
    pub kind: TraceKind,
}

/// One test inside a rule: the packet's value beside the wanted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is compared, in the rule's own words: `-d`, `--dport`, `--ctstate`, `ip daddr`.
    pub field: Cow<'static, str>,
    /// The packet's value.
    pub have: String,
    /// The rule's value, with `!` when negated.
    pub want: String,
    /// The element of a set or map that holds the packet's value, where one was looked up and found.
    pub found: Option<String>,
    pub pass: bool,
}

/// Collects the checks of one rule when a trace wants them; costs a branch otherwise.
#[derive(Debug, Default)]
pub struct Why {
    pub on: bool,
    pub checks: Vec<Check>,
}

impl Why {
    pub const fn off() -> Self {
        Self { on: false, checks: Vec::new() }
    }

    pub const fn on() -> Self {
        Self { on: true, checks: Vec::new() }
    }

    /// Notes a test and hands its result back, so that a match reads as a chain of `&&`.
    pub fn check(
        &mut self,
        pass: bool,
        field: &'static str,
        have: impl FnOnce() -> String,
        want: impl FnOnce() -> String,
    ) -> bool {
        if self.on {
            self.checks.push(Check { field: field.into(), have: have(), want: want(), found: None, pass });
        }
        pass
    }
}

/// Which rule of which chain of which table of the namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleRef {
    pub table: u16,
    pub chain: u32,
    /// Position in the chain, from 0.
    pub index: u32,
}

/// How a chain was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Hook,
    Jump,
    Goto,
}

/// A header or metadata field that something rewrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `src`, `dst`, `sport`, `dport`, `ttl`, `mark`, `tos`, `id`, ...
    pub field: &'static str,
    pub before: String,
    pub after: String,
}

/// A destination as an IPVS scheduler saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub server: SocketAddr,
    pub weight: u32,
    /// Connections before this one.
    pub active: u32,
    pub inactive: u32,
    /// What it was judged by, or why it was passed over; none when the scheduler did not look at it.
    pub score: Option<String>,
    pub chosen: bool,
}

impl Candidate {
    /// `= 10.0.0.1:80 weight 2, 1 active, 0 inactive: 257/2 = 128.50`; the equals sign marks the chosen one.
    pub fn line(&self) -> String {
        let mark = if self.chosen { '=' } else { ' ' };
        let score = self.score.as_deref().unwrap_or("not looked at");
        let (server, weight) = (self.server, self.weight);
        format!(
            "{mark} {server} weight {weight}, {} active, {} inactive: {score}",
            self.active, self.inactive
        )
    }
}

/// Why a packet ended inside the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A rule said DROP.
    Rule,
    /// The policy of a base chain.
    Policy,
    /// REJECT: an error was sent, then the packet dropped.
    Rejected,
    /// A match asked for it (`hotdrop`): a header too short for the test.
    Hotdrop,
    NoRoute,
    /// A route of type blackhole, unreachable or prohibit.
    RouteType,
    /// Source address that cannot be: martian or `rp_filter`.
    Martian,
    TtlExceeded,
    /// Longer than the MTU with DF set.
    PacketTooBig,
    ForwardingDisabled,
    /// Confirm lost a race or its tuple was taken (`insert_failed`).
    InsertFailed,
    /// `nf_conntrack: table full`.
    TableFull,
    /// The tracker said drop.
    Conntrack,
    /// MASQUERADE found no address on the device.
    NoAddress,
    /// Malformed at the IP level: length, version, checksum.
    Malformed,
    /// Waiting for the rest of a fragmented packet, or its reassembly failed.
    Fragment,
    /// More passes through the node than the engine follows.
    Loop,
    /// IPVS: no destination, a removed one, or a connection that has to start over.
    Ipvs,
    /// The node has nobody for this transport protocol.
    NoProtocol,
    /// Handed to something that is not emulated.
    NotEmulated,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    Forwarded,
    /// Sent by the node itself.
    Sent,
    Delivered,
    Dropped(DropReason),
    Rejected,
    /// Taken over: queued to user space, or held for reassembly.
    Stolen,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TraceKind {
    /// Arrived on a device.
    Received { dev: String, packet: Packet },
    /// Made by a local process.
    LocalOut { packet: Packet },
    /// A hook begins.
    Hook { hook: Hook },
    /// A function of the current hook begins: `iptables nat`, `conntrack`, `conntrack confirm`.
    Function { name: String, priority: Priority },
    /// A chain begins.
    Chain { table: u16, chain: u32, entry: Entry },
    /// A rule was evaluated. `matched` is none when a part that is not emulated left it open.
    Rule { rule: RuleRef, matched: Option<bool>, checks: Vec<Check>, verdict: String },
    /// A user chain ended without a verdict: back to its caller.
    ChainEnd { table: u16, chain: u32 },
    /// A base chain ended with its policy.
    Policy { table: u16, chain: u32, verdict: String },
    /// Header or metadata fields changed.
    Rewrite { by: String, changes: Vec<Change> },
    /// What conntrack decided: the entry as `conntrack -L` shows it, and the arithmetic behind it.
    Conntrack { summary: String, entry: Option<String>, why: Vec<Check> },
    /// The mapping NAT chose, or that none was asked for.
    Nat { summary: String },
    /// What IPVS decided, and the connection it speaks of.
    Ipvs { summary: String, entry: Option<String> },
    /// An IPVS scheduler was asked: every destination in the order of the kernel's list, the newest first.
    Schedule { scheduler: &'static str, candidates: Vec<Candidate>, because: String },
    /// A routing decision.
    Route { summary: String },
    /// Something a reader should know: a log line, an assumption, a part that is not emulated.
    Note { text: String },
    /// Left through a device.
    Emitted { dev: String, packet: Packet },
    /// The node answers by itself: RST, ICMP error, echo reply.
    Answer { packet: Packet, because: String },
    /// The end of this packet's way.
    End { disposition: Disposition, because: String },
}
