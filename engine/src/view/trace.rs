//! One packet's way through a node, as a reader sees it.
//!
//! Owns: the stations of the river, the visits to chains, the list of steps that transport moves over, and
//! the verdict in a sentence. Does NOT own rules of chains (`chain`): a visit says how many were walked and
//! which matched, and its rows are asked for by window.
//!
//! Indices between the lists are positions in the vectors of the same `TraceView`.

use serde::{Deserialize, Serialize};

use super::chain::RuleRef;
use super::packet::{ChangeView, EntryChangeView, EntryView, PacketView};

/// Where on the river a station lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// The device a packet arrives on.
    Ingress,
    Prerouting,
    /// The routing decision.
    Routing,
    Input,
    Forward,
    /// A process on the node: the end of a delivered packet, the start of a local one.
    Local,
    Output,
    Postrouting,
    /// The device a packet leaves by.
    Egress,
}

impl Place {
    /// The name printed at the station.
    pub fn title(self) -> &'static str {
        match self {
            Self::Ingress => "in",
            Self::Prerouting => "PREROUTING",
            Self::Routing => "routing",
            Self::Input => "INPUT",
            Self::Forward => "FORWARD",
            Self::Local => "process",
            Self::Output => "OUTPUT",
            Self::Postrouting => "POSTROUTING",
            Self::Egress => "out",
        }
    }
}

/// A station the packet came to, in order of arrival. The same place can occur twice: a RST that the node
/// itself makes passes OUTPUT and POSTROUTING after the packet that caused it passed INPUT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationView {
    pub place: Place,
    /// Device or process name where the place has one; empty elsewhere.
    pub label: String,
    /// 0 for the traced packet; 1, 2, ... for packets the node made because of it.
    pub lane: u16,
    /// Hook users in priority order; empty for places that are not hooks.
    pub stops: Vec<StopView>,
}

/// What happened at a hook user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopState {
    Asked,
    /// Registered, but not consulted for this packet; the sentence says why (nat rules are asked once a
    /// connection, a `NOTRACK` packet skips conntrack).
    Skipped(String),
    /// An earlier stop ended the packet's way.
    NotReached,
}

/// A hook user at a station: a table, conntrack, NAT's own bookkeeping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopView {
    /// `nat`, `filter`, `conntrack`.
    pub title: String,
    /// The kernel's priority.
    pub priority: i32,
    pub state: StopState,
    /// Chains walked here, in order.
    pub visits: Vec<u32>,
    /// What the stop did in a few words: `accepted`, `destination rewritten`, `NEW`.
    pub summary: String,
}

/// One walk through one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitView {
    pub station: u32,
    pub table: String,
    pub chain: String,
    /// 0 for the chain on the hook, 1 for a chain it jumped to, ...
    pub depth: u16,
    /// The rule that jumped here.
    pub from: Option<RuleRef>,
    /// Rules in the chain.
    pub rules: u32,
    /// Rules evaluated in this visit.
    pub walked: u32,
    /// Numbers (from 1) of the rules that matched.
    pub matched: Vec<u32>,
    /// How the visit ended: `accepted by rule 3`, `returned at the end`, `policy ACCEPT`.
    pub outcome: String,
}

/// What a step is about; transport's "next hook" and "next rewrite" look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// The packet arrived on a device, or a process sent it.
    Arrive,
    /// A hook begins.
    Hook,
    /// Conntrack looked the packet up, made or changed an entry.
    Conntrack,
    /// A chain is entered.
    Chain,
    /// A rule matched.
    Rule,
    /// A chain ended without a verdict: return, or policy.
    ChainEnd,
    /// A header field was rewritten.
    Rewrite,
    /// A routing decision.
    Route,
    /// A hook user was not consulted.
    Skip,
    /// The node made a packet of its own (RST, ICMP error, echo reply).
    Made,
    /// The packet left through a device.
    Leave,
    /// Something a reader should know: a log line, an assumption.
    Note,
    /// The end of the way.
    Verdict,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepView {
    pub kind: StepKind,
    /// What happened, as one sentence.
    pub sentence: String,
    pub station: u32,
    /// Position in the station's `stops`.
    pub stop: Option<u32>,
    pub visit: Option<u32>,
    pub rule: Option<RuleRef>,
    /// Position in `TraceView::packets` of the packet as it is after the step.
    pub packet: u32,
    /// Fields this step changed.
    pub changes: Vec<ChangeView>,
    pub entry: Option<EntryChangeView>,
    /// Where IPVS asked a scheduler: the servers as it saw them, in the order of the kernel's list.
    pub candidates: Vec<CandidateView>,
}

/// A server that an IPVS scheduler could choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateView {
    pub server: String,
    pub weight: u32,
    /// Connections before this one.
    pub active: u32,
    pub inactive: u32,
    /// What it was judged by, or why it was passed over; empty when the scheduler did not look at it.
    pub score: String,
    pub chosen: bool,
}

/// How a packet's way ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Forwarded,
    Delivered,
    /// A local process's packet left by a device.
    Sent,
    Dropped,
    Rejected,
    Stolen,
    /// Something that is not emulated decides; see `VerdictView::uncertain`.
    Uncertain,
}

impl Outcome {
    /// The word printed beside the verdict.
    pub fn word(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Delivered => "delivered",
            Self::Sent => "sent",
            Self::Dropped => "dropped",
            Self::Rejected => "rejected",
            Self::Stolen => "stolen",
            Self::Uncertain => "uncertain",
        }
    }
}

/// One of the ways an uncertain packet could go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PossibilityView {
    /// `if "match recent" of rule 4 in filter INPUT matches`.
    pub condition: String,
    pub outcome: Outcome,
    pub sentence: String,
}

/// Why a verdict is uncertain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncertainView {
    /// What is not emulated: `match recent`.
    pub name: String,
    pub rule: RuleRef,
    pub possibilities: Vec<PossibilityView>,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictView {
    pub outcome: Outcome,
    /// One sentence: what becomes of the packet and why.
    pub sentence: String,
    pub uncertain: Option<UncertainView>,
}

/// A packet that left the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmittedView {
    pub dev: String,
    pub packet: PacketView,
    /// True for packets the node made itself (RST, ICMP).
    pub made: bool,
}

/// The whole way of one packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceView {
    /// The packet at each moment it differed; the first is the packet as it came.
    pub packets: Vec<PacketView>,
    pub stations: Vec<StationView>,
    pub visits: Vec<VisitView>,
    /// Never empty.
    pub steps: Vec<StepView>,
    pub verdict: VerdictView,
    pub emitted: Vec<EmittedView>,
    /// Rules evaluated in all chains.
    pub rules_walked: u64,
    /// The packet's connection entry after the last step.
    pub entry: Option<EntryView>,
    /// The connection table after the last step, as `conntrack -L` prints it.
    pub table: Vec<EntryView>,
    /// The line that would send the answer a peer gives to what left the node (or to what was delivered);
    /// empty when nothing can be answered.
    pub reply_line: String,
}
