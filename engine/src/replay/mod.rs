//! The replay contract `chainwalk.replay/1`: one node, its packets, what came out.
//!
//! [`Case`] is the input as it stands in the file, [`run`] takes it through a [`Netns`], [`Report`] is the
//! answer. [`Session`] keeps the node between packets, for a reader who goes on with the same connection.
//! Reading a packet from one line is in [`line`], guessing the node around a ruleset in [`infer`].

pub mod case;
pub mod facts;
pub mod infer;
pub mod line;
pub mod paste;
pub mod render;
pub mod report;
pub mod session;

mod build;
mod digest;
mod nft;
mod setup;
mod show;
mod walk;

use std::fmt;

pub use build::{Built, node, skb};
pub use case::{Case, InterfaceSpec, NodeSpec, PacketSpec, RouteSpec, SetupSpec};
pub use facts::{FactInput, Facts};
pub use infer::{Assumption, AssumptionKind};
pub use paste::Paste;
pub use report::{EmittedReport, PacketReport, Report, WalkEntry};
pub use session::{Sent, Session};
pub use setup::run as setup;
pub use show::run as show;

use crate::base::{Draws, Instant, PLANES};
use crate::netns::Netns;
use crate::trace::Level;

/// Value of `format`.
pub const FORMAT: &str = "chainwalk.replay/1";

/// What to report beyond the verdicts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// List the rules that did not match too.
    pub all: bool,
    /// Each rule with its tests, both values beside each other.
    pub why: bool,
}

/// Why a case could not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// Which part of the case: `node.setup[0]`, `packets[2]`; empty for the file itself.
    pub part: String,
    /// Line and column inside that part's text, from 1, when it has one.
    pub place: Option<(u32, u32)>,
    pub message: String,
}

impl ReplayError {
    pub(crate) fn new(part: impl Into<String>, message: impl Into<String>) -> Self {
        Self { part: part.into(), place: None, message: message.into() }
    }
}

/// `node.setup[0]: line 3, column 14: unknown option "--dprot"`
impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.part.is_empty() {
            write!(f, "{}: ", self.part)?;
        }
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReplayError {}

/// Reads a case from JSON text.
pub fn parse(text: &str) -> Result<Case, ReplayError> {
    let case: Case = serde_json::from_str(text).map_err(|error| {
        // The position stands apart from the sentence.
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        ReplayError {
            part: String::new(),
            place: Some((error.line() as u32, error.column() as u32)),
            message: message[..end].to_owned(),
        }
    })?;
    if case.format != FORMAT {
        return Err(ReplayError::new("format", format!("expected {FORMAT:?}, found {:?}", case.format)));
    }
    Ok(case)
}

/// Runs a case.
pub fn run(case: &Case, options: &Options) -> Result<Report, ReplayError> {
    let mut netns = node(&case.node, case.seed)?;
    netns.shared.draws = Draws::supplied(case.draws.iter().copied());
    let mut packets = Vec::with_capacity(case.packets.len());
    for (at, spec) in case.packets.iter().enumerate() {
        packets.push(
            packet(&mut netns, spec, options)
                .map_err(|message| ReplayError::new(format!("packets[{at}]"), message))?,
        );
    }
    if PLANES {
        netns.ipvs.advance(netns.now);
    }
    let mut shown = Vec::with_capacity(case.show.len());
    for (at, command) in case.show.iter().enumerate() {
        let text =
            show(&netns, command).map_err(|message| ReplayError::new(format!("show[{at}]"), message))?;
        shown.push((command.clone(), text));
    }
    let digest = digest::of(&packets, &shown);
    Ok(Report { packets, show: shown, digest })
}

/// Takes one packet through the node.
fn packet(netns: &mut Netns, spec: &PacketSpec, options: &Options) -> Result<PacketReport, String> {
    let at = Instant::from_millis(spec.at_ms);
    if at < netns.now {
        return Err(format!("at_ms {} lies before the packet in front of it", spec.at_ms));
    }
    netns.now = at;
    let level = if options.all || options.why { Level::Full } else { Level::Matched };
    let ran = match skb(netns, spec)? {
        build::Built::Received(skb, dev) => netns.run_received(*skb, dev, level),
        build::Built::Local(skb) => netns.run_local(*skb, level),
        build::Built::Malformed(why) => return Ok(PacketReport::malformed(why)),
    };
    Ok(PacketReport::of(netns, &ran, options))
}

#[cfg(test)]
mod tests;
