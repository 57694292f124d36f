//! What the page and the engine say to each other.
//!
//! Messages are postcard bytes. A text that a person gave (a ruleset of tens of megabytes) travels beside the
//! message as a JavaScript string or file, so that the page never copies it. Every request carries a run id
//! and every response repeats it; a request is answered by any number of `Progress` and then one last word.

use chainwalk_engine::view::{NodeView, ProblemView, RuleWindow, RulesetView, TraceView};
use serde::{Deserialize, Serialize};

use crate::fidelity::ledger::Section;
use crate::lesson::ask::{Ask, Told};
use crate::planes::ask as planes;

/// Changes whenever a message changes its shape. A page refuses an engine with another number.
pub const PROTOCOL: u32 = 4;

/// Longest text read at once. A 210,000-rule dump is about 40 MB.
pub const TEXT_LIMIT_BYTES: u64 = 45 << 20;

/// Most rows a window may ask for; a screen shows about 30.
pub const WINDOW_ROWS_MAX: u32 = 400;

/// Numbers one request and its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(pub u32);

/// Which address family a ruleset is for; the save formats of both tools look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum FamilyChoice {
    /// Decided from the addresses and protocols in the text.
    #[default]
    Auto,
    V4,
    V6,
}

/// What the reader said about the node. Each text is kept as typed and read by the engine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Output of `ip addr` (also `-br` or `-j`).
    pub ip_addr: String,
    /// Output of `ip route`.
    pub ip_route: String,
    /// `DEV=ADDRESS/LEN` each.
    pub addresses: Vec<String>,
    /// `PREFIX=GATEWAY@DEV` each.
    pub routes: Vec<String>,
    /// `NAME=VALUE` each.
    pub sysctls: Vec<String>,
}

/// A mode of kube-proxy whose texts Trace reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProxyMode {
    Iptables,
    Nftables,
    Ipvs,
}

impl ProxyMode {
    /// Each with its name, in the order they are offered.
    pub const ALL: [(&'static str, Self); 3] =
        [("iptables", Self::Iptables), ("nftables", Self::Nftables), ("IPVS", Self::Ipvs)];
}

/// How a connection goes on after its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Follow {
    /// The peer answers what it got.
    Reply,
    /// The first packet again, on the same connection.
    Again,
}

/// Everything the Trace page needs to show the same thing elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SharedState {
    pub packet: String,
    pub follow: Vec<Follow>,
    /// Which of the packets sent is shown, and at which step.
    pub shown: (u32, u32),
    pub family: FamilyChoice,
    pub facts: NodeFacts,
    pub rules: String,
}

/// Which input a problem is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    Rules,
    Packet,
    IpAddr,
    IpRoute,
    /// Position in `NodeFacts::addresses`.
    Address(u32),
    /// Position in `NodeFacts::routes`.
    Route(u32),
    /// Position in `NodeFacts::sysctls`.
    Sysctl(u32),
    Link,
}

/// What the page asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// First message of a page.
    Hello,
    /// Reads the ruleset that travels beside the message.
    Load { family: FamilyChoice },
    /// Runs kube-proxy for the manifests that travel beside the message.
    RunProxy { node: String, mode: ProxyMode },
    /// Sends a packet through a node that has seen none.
    Trace { packet: String, facts: NodeFacts },
    /// Sends one more packet of the same connection.
    Follow(Follow),
    /// Rows of a chain as a visit saw them: `sent` counts packets, `visit` is a position in its trace.
    VisitRows { sent: u32, visit: u32, from: u32, len: u32 },
    /// Rows of a chain as loaded.
    ChainRows { table: String, chain: String, from: u32, len: u32 },
    /// Makes the part of a link after `#/s/`. The ruleset that travels beside the message replaces `rules`.
    MakeLink(SharedState),
    /// Reads the part of a link after `#/s/`.
    ReadLink(String),
    /// The ledger of what is emulated.
    Fidelity,
    /// A question of a lesson page.
    Lesson(Box<Ask>),
    /// A question of the planes page.
    Planes(Box<planes::Ask>),
}

/// What the engine answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Response {
    Hello {
        protocol: u32,
    },
    /// `done` of `total`, in the unit that `what` names.
    Progress {
        what: String,
        done: u64,
        total: u64,
    },
    Loaded(RulesetView),
    /// The text holds Kubernetes objects; nodes that kube-proxy could run on.
    Objects(Vec<String>),
    /// What kube-proxy wrote for them, the node around it, and a packet to one of the Services.
    Proxied(Box<SharedState>),
    Traced {
        sent: u32,
        trace: Box<TraceView>,
        node: Box<NodeView>,
        /// What was said about the node and could not be used.
        notes: Vec<(Input, ProblemView)>,
    },
    Rows(RuleWindow),
    /// The part of a link after `#/s/`.
    Link(String),
    /// A link's state, and what could not be read of it.
    Opened {
        state: SharedState,
        problems: Vec<ProblemView>,
    },
    Fidelity(Vec<Section>),
    /// The answer to a lesson's question.
    Lesson(Box<Told>),
    /// The answer to a question of the planes page.
    Planes(Box<planes::Told>),
    /// The request was understood and its input was not.
    Refused(Vec<(Input, ProblemView)>),
    /// Only the engine with every data plane answers this; [`crate::backend`] asks it instead.
    NeedsPlanes,
    /// The engine stopped; the text says how.
    Failed(String),
    /// The reader cancelled; nothing more comes.
    Cancelled,
}

impl Response {
    /// True when no further answer to the same request follows.
    pub fn is_last(&self) -> bool {
        !matches!(self, Self::Progress { .. })
    }
}

/// A request on its way to the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope<T> {
    pub run: RunId,
    pub body: T,
}

impl<T: Serialize + for<'a> Deserialize<'a>> Envelope<T> {
    /// The bytes to post.
    ///
    /// # Panics
    /// Never: the types hold nothing postcard refuses.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("protocol types hold only what postcard encodes")
    }

    /// Reads posted bytes; `None` when the other side speaks another protocol.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        for body in [
            Request::Hello,
            Request::Load { family: FamilyChoice::V6 },
            Request::Trace { packet: "tcp".to_owned(), facts: NodeFacts::default() },
            Request::Follow(Follow::Again),
            Request::VisitRows { sent: 1, visit: 2, from: 19_000, len: 40 },
            Request::ReadLink("v1.x".to_owned()),
        ] {
            let sent = Envelope { run: RunId(7), body };
            assert_eq!(Envelope::from_bytes(&sent.to_bytes()), Some(sent));
        }
    }

    #[test]
    fn another_protocol_is_not_understood() {
        assert_eq!(Envelope::<Request>::from_bytes(&[1, 200, 3]), None);
    }
}
