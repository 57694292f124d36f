//! TCP transitions: state, direction and kind of segment, and what became of the connection. The kernel shows
//! only the states at the end; the engine, whose answers were compared with the kernel's, names each step.

use std::collections::BTreeSet;

use chainwalk_engine::base::Instant;
use chainwalk_engine::conntrack::Direction;
use chainwalk_engine::conntrack::tcp::states::{self, Kind, State, Step};
use chainwalk_engine::replay::{self, Built};
use chainwalk_engine::trace::{Check, Level, TraceKind};

use super::{Area, Item};
use crate::case::CaseFile;
use crate::emulator;

/// Flag sets without SYN, FIN, RST and ACK are refused before the table is asked (`tcp_valid_flags`).
pub(super) const KINDS: [Kind; 5] = [Kind::Syn, Kind::SynAck, Kind::Fin, Kind::Ack, Kind::Rst];

/// Every cell of the table that a packet can reach: a packet without a connection has no reply direction.
pub(super) fn cells() -> impl Iterator<Item = String> {
    let directions = [Direction::Original, Direction::Reply];
    let states = State::ALL.into_iter().flat_map(move |state| directions.map(|direction| (state, direction)));
    states.filter(|cell| *cell != (State::None, Direction::Reply)).flat_map(|(state, direction)| {
        KINDS.map(|kind| {
            let to = match states::step(direction, kind, state) {
                Step::To(to) => to.name(),
                Step::Ignore => "ignore",
                Step::Invalid => "invalid",
            };
            name(&[state.name(), direction.name(), kind.name()], to)
        })
    })
}

fn name([state, direction, kind]: &[&str; 3], to: &str) -> String {
    format!("{state:11} {direction:8} {kind:6} -> {to}")
}

/// Runs the packets of a case and collects their steps. A case the engine cannot run has none.
pub(super) fn collect(file: &CaseFile, found: &mut BTreeSet<Item>) {
    let Ok(case) = emulator::complete(file) else { return };
    let Ok(mut netns) = emulator::through_json(&case).and_then(|case| {
        replay::node(&case.node, case.seed).map_err(|error| emulator::Refused::Failed(error.to_string()))
    }) else {
        return;
    };
    for spec in &case.packets {
        netns.now = netns.now.max(Instant::from_millis(spec.at_ms));
        let ran = match replay::skb(&netns, spec) {
            Ok(Built::Received(skb, dev)) => netns.run_received(*skb, dev, Level::Matched),
            Ok(Built::Local(skb)) => netns.run_local(*skb, Level::Matched),
            Ok(Built::Malformed(_)) | Err(_) => continue,
        };
        for event in &ran.trace.events {
            if let TraceKind::Conntrack { why, .. } = &event.kind {
                found.extend(steps(why).map(|step| (Area::Tcp, step)));
            }
        }
    }
}

/// The steps that one account of the tracker holds: what the table says, and where it went otherwise.
fn steps(why: &[Check]) -> impl Iterator<Item = String> {
    let table = why.iter().find(|check| check.field == "state").and_then(|check| {
        let (kind, rest) = check.have.split_once(" in the ")?;
        let (direction, state) = rest.split_once(" direction, ")?;
        Some(([state, direction, kind], check.want.as_str()))
    });
    let moved = why.iter().find(|check| check.field == "state now").map(|check| check.have.as_str());
    table
        .into_iter()
        .flat_map(move |(cell, to)| {
            let other = moved.filter(|state| *state != to);
            let other = other.map(|state| format!("{} (by an exception)", name(&cell, state)));
            [Some(name(&cell, to)), other]
        })
        .flatten()
}
