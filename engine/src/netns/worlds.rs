//! Running one packet, in every world that parts which are not emulated leave open.
//!
//! A rule whose match or target is not emulated may or may not apply. The packet runs once for each script of
//! answers; when all end alike its fate does not depend on them. The namespace keeps the state of the first
//! world, in which nothing unknown applied.

use super::Netns;
use super::path::{Emitted, End, Run};
use crate::base::limits::WORLDS_MAX;
use crate::netfilter::Assume;
use crate::netfilter::assume::Unknown;
use crate::packet::{CtInfo, DevId, Packet, Skb};
use crate::trace::{Disposition, Level, Trace};

/// What became of one packet.
#[derive(Clone, Debug)]
pub struct Ran {
    pub end: End,
    /// The connection it belonged to, as `--ctstate` names it; none when the family is not tracked.
    pub ct_info: Option<CtInfo>,
    pub emitted: Vec<Emitted>,
    /// The packet as the node's own stack got it, when it was delivered.
    pub delivered: Option<Packet>,
    pub trace: Trace,
    /// What is not emulated and was met; empty when the answer is certain by itself.
    pub unknowns: Vec<Unknown>,
    /// Other ways it could end.
    pub alternatives: Vec<Alternative>,
    /// Every world was looked at; there can be more than the engine follows.
    pub explored: bool,
}

/// Another world's end.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    pub unknowns: Vec<Unknown>,
    pub end: End,
    pub emitted: Vec<Emitted>,
}

impl Ran {
    /// Whether the end does not depend on anything that is not emulated.
    pub const fn certain(&self) -> bool {
        self.explored && self.alternatives.is_empty()
    }
}

/// How a packet enters the node.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Device(DevId),
    Local,
}

impl Netns {
    /// Takes a packet that arrives on `dev` through the node.
    pub fn run_received(&mut self, skb: Skb, dev: DevId, level: Level) -> Ran {
        self.run(skb, Entry::Device(dev), level)
    }

    /// Takes a packet of a local process through the node. An unspecified source is chosen by the route.
    pub fn run_local(&mut self, skb: Skb, level: Level) -> Ran {
        self.run(skb, Entry::Local, level)
    }

    fn run(&mut self, skb: Skb, entry: Entry, level: Level) -> Ran {
        if !self.uncertain() {
            return self.run_once(skb, entry, level, Assume::default()).0;
        }
        let before = self.clone();
        let (mut first, answers) = self.run_once(skb.clone(), entry, level, Assume::default());
        // Depth first over the scripts: flip the last open "no" into "yes".
        let mut scripts = next_scripts(&answers, 0);
        let mut explored = 1;
        while let Some(script) = scripts.pop() {
            if explored >= WORLDS_MAX {
                first.explored = false;
                break;
            }
            explored += 1;
            let fixed = script.len();
            let mut world = before.clone();
            let (other, answers) =
                world.run_once(skb.clone(), entry, Level::Off, Assume::with_script(script));
            scripts.extend(next_scripts(&answers, fixed));
            let differs = other.end.disposition != first.end.disposition || other.emitted != first.emitted;
            let alternative =
                Alternative { unknowns: other.unknowns, end: other.end, emitted: other.emitted };
            if differs && !first.alternatives.iter().any(|a| a.same_outcome(&alternative)) {
                first.alternatives.push(alternative);
            }
        }
        first
    }

    fn run_once(&mut self, mut skb: Skb, entry: Entry, level: Level, mut assume: Assume) -> (Ran, Vec<bool>) {
        let family = skb.family();
        let mut trace = Trace::new(level);
        let mut emitted = Vec::with_capacity(1);
        let mut run = Run {
            trace: &mut trace,
            assume: &mut assume,
            emitted: &mut emitted,
            depth: 0,
            passes: 0,
            sending_icmp: false,
        };
        let end = match entry {
            Entry::Device(dev) => self.receive(&mut run, &mut skb, dev),
            Entry::Local => self.send_local(&mut run, &mut skb),
        };
        let answers = assume.answers();
        let ct_info = self.ct.enabled(family).then_some(skb.ct_info);
        let delivered = (end.disposition == Disposition::Delivered).then_some(skb.packet);
        let unknowns = assume.unknowns;
        let alternatives = Vec::new();
        (Ran { end, ct_info, emitted, delivered, trace, unknowns, alternatives, explored: true }, answers)
    }
}

impl Alternative {
    fn same_outcome(&self, other: &Self) -> bool {
        self.end.disposition == other.end.disposition && self.emitted == other.emitted
    }
}

/// The scripts that differ from `answers` first at one place at or behind `fixed`.
fn next_scripts(answers: &[bool], fixed: usize) -> Vec<Vec<bool>> {
    (fixed..answers.len())
        .filter(|&at| !answers[at])
        .map(|at| {
            let mut script = answers[..at].to_vec();
            script.push(true);
            script
        })
        .collect()
}
