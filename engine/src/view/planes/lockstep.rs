//! One packet and its answer through every plane, laid side by side.

use serde::{Deserialize, Serialize};

use crate::proxy::planes::{NotRun, Planes};
use crate::replay::PacketSpec;
use crate::trace::{Check, Level, Trace, TraceKind};
use crate::view::story::sent_view;
use crate::view::{Outcome, Place, StopState, TraceView};

/// The packet in every plane.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LockstepView {
    /// One a mode, in the order of the tabs.
    pub lanes: Vec<LaneView>,
    /// Stations of the first packet, then of its answer, each with a cell a lane.
    pub stations: [Vec<StationRow>; 2],
}

/// One plane's share.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaneView {
    pub name: String,
    /// Why nothing ran; empty when it did.
    pub not_run: String,
    /// The packet, then its answer if there is one.
    pub ways: Vec<WayView>,
}

/// One packet through one plane, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayView {
    pub outcome: Outcome,
    pub sentence: String,
    pub rules: u64,
    /// Questions asked of sets and maps, those of the eBPF programs among them.
    pub lookups: u64,
    /// Entries in the connection table afterwards.
    pub connections: u32,
    /// `10.96.0.1:80 → 10.244.1.10:8080`, in the order they were made.
    pub rewrites: Vec<String>,
    /// Devices and chains, in order.
    pub path: String,
    /// Where it was sent in the end: the endpoint that was chosen, when one was.
    pub destination: String,
    /// The connection as `conntrack -L` prints it; empty when there is none.
    pub entry: String,
}

/// A station, and what each plane did there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationRow {
    pub title: String,
    /// By lane; empty where the packet did not come.
    pub cells: Vec<Vec<String>>,
}

/// Runs the packet through each plane.
pub fn lockstep_view(planes: &mut Planes, spec: &PacketSpec, connection: u32) -> LockstepView {
    let names: Vec<_> = planes.planes().iter().map(|plane| plane.mode.name().to_owned()).collect();
    let mut view = LockstepView::default();
    let mut traces: Vec<Vec<TraceView>> = Vec::new();
    for (at, name) in names.into_iter().enumerate() {
        let mut lane = LaneView { name, ..LaneView::default() };
        let mut ways = Vec::new();
        match planes.start(at, spec, connection) {
            Ok(session) => {
                let mut asked_before = 0;
                while let (Some(sent), Some(trace)) = (session.sent().last(), sent_view(session)) {
                    let asked = session.netns().ebpf.as_ref().map_or(0, |programs| programs.lookups());
                    lane.ways.push(way(&sent.ran.trace, &trace, asked - asked_before));
                    asked_before = asked;
                    ways.push(trace);
                    // The answer, if anybody gives one.
                    if ways.len() == 2 || session.reply(Level::Full).is_err() {
                        break;
                    }
                }
            }
            Err(NotRun::NotEmulated(what)) => lane.not_run = format!("Not emulated yet: {what}."),
            Err(NotRun::Packet(what)) => lane.not_run = what,
        }
        view.lanes.push(lane);
        traces.push(ways);
    }
    view.stations = [0, 1].map(|packet| station_rows(&traces, packet));
    view
}

/// `asked`: map look-ups of the eBPF programs, which leave no rule in the trace.
fn way(trace: &Trace, view: &TraceView, asked: u64) -> WayView {
    let nat = view.steps.iter().flat_map(|step| &step.changes).filter(|change| change.field.is_nat());
    let rewrites =
        nat.map(|change| format!("{} {} → {}", change.field.name(), change.was, change.now)).collect();
    let last = view.emitted.iter().find(|emitted| !emitted.made).map(|emitted| &emitted.packet);
    let last = last.or_else(|| view.packets.last());
    WayView {
        outcome: view.verdict.outcome,
        sentence: view.verdict.sentence.clone(),
        rules: view.rules_walked,
        lookups: lookups(trace) + asked,
        connections: view.table.len() as u32,
        rewrites,
        path: path(view),
        destination: last.map(crate::view::PacketView::destination).unwrap_or_default(),
        entry: view.entry.as_ref().map(|entry| entry.line.clone()).unwrap_or_default(),
    }
}

/// Whether a test of a rule asks a set or a map: `--match-set` of iptables, `@name` and `{ ... }` of nft.
fn is_lookup(check: &Check) -> bool {
    &*check.field == "--match-set" || check.want.trim_start_matches("!= ").starts_with(['@', '{'])
}

fn lookups(trace: &Trace) -> u64 {
    let count = trace.events.iter().map(|event| match &event.kind {
        TraceKind::Rule { checks, .. } => checks.iter().filter(|check| is_lookup(check)).count(),
        _ => 0,
    });
    count.sum::<usize>() as u64
}

fn path(view: &TraceView) -> String {
    let names = view.stations.iter().filter(|station| station.lane == 0).map(|station| match station.place {
        Place::Ingress | Place::Egress | Place::Local if !station.label.is_empty() => station.label.clone(),
        place => place.title().to_owned(),
    });
    names.collect::<Vec<_>>().join(" → ")
}

/// Stations of packet number `packet`, in the order of the first plane that passes each.
fn station_rows(traces: &[Vec<TraceView>], packet: usize) -> Vec<StationRow> {
    let views: Vec<Option<&TraceView>> = traces.iter().map(|ways| ways.get(packet)).collect();
    let mut order: Vec<(u16, Place)> = Vec::new();
    for view in views.iter().flatten() {
        let mut behind = 0;
        for station in &view.stations {
            let key = (station.lane, station.place);
            match order.iter().position(|known| *known == key) {
                Some(at) => behind = at + 1,
                None => {
                    order.insert(behind, key);
                    behind += 1;
                }
            }
        }
    }
    order
        .into_iter()
        .map(|key| StationRow {
            title: if key.0 == 0 {
                key.1.title().to_owned()
            } else {
                format!("{} (the node's own packet)", key.1.title())
            },
            cells: views.iter().map(|view| view.map(|view| cell(view, key)).unwrap_or_default()).collect(),
        })
        .filter(|row| row.cells.iter().any(|cell| !cell.is_empty()))
        .collect()
}

fn cell(view: &TraceView, key: (u16, Place)) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, station) in (0..).zip(&view.stations) {
        if (station.lane, station.place) != key {
            continue;
        }
        if !station.label.is_empty() {
            lines.push(station.label.clone());
        }
        lines.extend(station.stops.iter().filter_map(|stop| stop_line(view, stop)));
        let here = view.steps.iter().filter(|step| step.station == at);
        lines.extend(here.filter(|step| is_told(step.kind)).map(|step| step.sentence.clone()));
    }
    lines
}

const fn is_told(kind: crate::view::StepKind) -> bool {
    use crate::view::StepKind as Kind;
    matches!(kind, Kind::Rewrite | Kind::Route | Kind::Made | Kind::Verdict)
}

/// `nat: 5 rules, KUBE-SERVICES › KUBE-SVC-… › KUBE-SEP-…`
fn stop_line(view: &TraceView, stop: &crate::view::StopView) -> Option<String> {
    match &stop.state {
        StopState::NotReached => None,
        StopState::Skipped(why) => Some(format!("{}: not asked, {why}", stop.title)),
        StopState::Asked => {
            let visits: Vec<_> = stop.visits.iter().filter_map(|at| view.visits.get(*at as usize)).collect();
            let rules: u32 = visits.iter().map(|visit| visit.walked).sum();
            if visits.is_empty() {
                return (!stop.summary.is_empty()).then(|| format!("{}: {}", stop.title, stop.summary));
            }
            let chains: Vec<_> =
                visits.iter().filter(|visit| visit.depth > 0).map(|visit| visit.chain.as_str()).collect();
            let way = if chains.is_empty() { String::new() } else { format!(", {}", chains.join(" › ")) };
            let word = if rules == 1 { "rule" } else { "rules" };
            Some(format!("{}: {rules} {word}{way}", stop.title))
        }
    }
}
