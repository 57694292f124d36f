//! Geometry of the river: pure, from a trace and a step to boxes, edges and the capsule.

use chainwalk_engine::view::{Outcome, Place, StationView, StopState, TraceView};

use super::place::{PLACES, WAYS, column, is_lower};
use crate::trace::grouped;

/// Height of a hook user's line in a station.
pub(super) const STOP_PX: u32 = 18;
/// Room for the capsule above or below a row.
const CAPSULE_PX: u32 = 26;
const WIDTH: u32 = 740;
const NARROW_WIDTH: u32 = 358;

/// Which way the river flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orientation {
    Horizontal,
    Vertical,
}

/// How far the packet has come, seen from a station or an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// This packet never comes here.
    Off,
    Ahead,
    Passed,
    Current,
}

/// A hook user's line.
pub(super) struct StopLine {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) class: Option<&'static str>,
}

/// A station as drawn.
pub(super) struct StationBox {
    pub(super) place: Place,
    pub(super) id: String,
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) title: String,
    pub(super) stops: Vec<StopLine>,
    pub(super) reach: Reach,
    /// Class and glyph where the packet's way ends.
    pub(super) end: Option<(&'static str, &'static str)>,
    /// Step to go to; absent for a place off the way.
    pub(super) first_step: Option<usize>,
    pub(super) is_tab_stop: bool,
}

/// A way between two stations.
pub(super) struct Edge {
    pub(super) path: String,
    pub(super) head: String,
    pub(super) reach: Reach,
}

/// The packet at the current station.
pub(super) struct Capsule {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pointer: String,
    pub(super) src: String,
    pub(super) dst: String,
    pub(super) src_changed: bool,
    pub(super) dst_changed: bool,
}

/// Everything to draw.
pub(super) struct Drawing {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) boxes: Vec<StationBox>,
    pub(super) edges: Vec<Edge>,
    pub(super) capsule: Capsule,
    pub(super) is_reply: bool,
    /// Ids of the stations on the way, in the packet's order.
    pub(super) order: Vec<String>,
}

/// Lays the river out.
pub(super) fn draw(trace: &TraceView, step: usize, orientation: Orientation) -> Drawing {
    let at = &trace.steps[step];
    let mut boxes: Vec<_> = PLACES.iter().map(|place| station(trace, *place, at.station as usize)).collect();
    let (width, height) = match orientation {
        Orientation::Horizontal => place_horizontally(&mut boxes),
        Orientation::Vertical => place_vertically(&mut boxes),
    };
    let edges = WAYS.iter().map(|way| edge(trace, &boxes, *way, at.station as usize, orientation)).collect();
    let packet = trace.packets.get(at.packet as usize).cloned().unwrap_or_default();
    let first = trace.packets.first().cloned().unwrap_or_default();
    let here = trace.stations[at.station as usize].place;
    let current = boxes.iter().find(|shown| shown.place == here).unwrap_or(&boxes[0]);
    let (src, dst) = (packet.source(), packet.destination());
    let mut capsule = capsule(current, &src, &dst, width, orientation);
    // A packet that the node made because of this one is another packet: nothing of it was rewritten.
    let is_same = trace.stations[at.station as usize].lane == 0;
    capsule.src_changed = is_same && src != first.source();
    capsule.dst_changed = is_same && dst != first.destination();
    let order = order(trace);
    Drawing { width, height, capsule, is_reply: packet.is_reply, boxes, edges, order }
}

fn id(place: Place) -> String {
    format!("station-{}", place.title().to_ascii_lowercase())
}

fn order(trace: &TraceView) -> Vec<String> {
    let mut order = Vec::new();
    for station in &trace.stations {
        let id = id(station.place);
        if !order.contains(&id) {
            order.push(id);
        }
    }
    order
}

fn station(trace: &TraceView, place: Place, current: usize) -> StationBox {
    let visits: Vec<usize> =
        (0..trace.stations.len()).filter(|at| trace.stations[*at].place == place).collect();
    // A place can be met twice; the visit that is shown is the current one, else the first.
    let shown = visits.iter().copied().find(|at| *at == current).or(visits.first().copied());
    let station = shown.map(|at| &trace.stations[at]);
    let reach = match shown {
        None => Reach::Off,
        Some(at) if at == current => Reach::Current,
        Some(at) if at < current => Reach::Passed,
        Some(_) => Reach::Ahead,
    };
    let last = trace.stations.iter().rposition(|station| station.lane == 0);
    let is_end = last.is_some_and(|last| visits.contains(&last));
    let first_step =
        shown.and_then(|shown| trace.steps.iter().position(|step| step.station as usize == shown));
    let label = station.map(|station| station.label.clone()).unwrap_or_default();
    let title = match (place, label.as_str()) {
        (Place::Ingress | Place::Egress, label) if !label.is_empty() => {
            short(label, if is_end { 7 } else { 8 })
        }
        _ => place.title().to_owned(),
    };
    StationBox {
        place,
        id: id(place),
        x: 0,
        y: 0,
        width: 0,
        height: 0,
        stops: station.map(|station| stops(trace, station)).unwrap_or_default(),
        reach,
        end: is_end.then(|| end(trace.verdict.outcome)),
        first_step,
        is_tab_stop: reach == Reach::Current,
        title,
    }
}

fn end(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Forwarded | Outcome::Delivered | Outcome::Sent => ("end-accept", "✓"),
        Outcome::Dropped | Outcome::Rejected => ("end-drop", "✕"),
        Outcome::Stolen | Outcome::Uncertain => ("end-wait", "?"),
    }
}

fn stops(trace: &TraceView, station: &StationView) -> Vec<StopLine> {
    let line = |stop: &chainwalk_engine::view::StopView| {
        let walked: u32 = visits(trace, &stop.visits).map(|visit| visit.walked).sum();
        let matched = visits(trace, &stop.visits).any(|visit| !visit.matched.is_empty());
        let (note, class) = match &stop.state {
            StopState::Asked if stop.visits.is_empty() => (short_state(&stop.summary).to_owned(), None),
            StopState::Asked => (rules_text(walked), matched.then_some("stop-matched")),
            StopState::Skipped(_) => ("not asked".to_owned(), Some("stop-skipped")),
            StopState::NotReached => ("–".to_owned(), Some("stop-skipped")),
        };
        StopLine { title: short_title(&stop.title, &note), note, class }
    };
    station.stops.iter().map(line).collect()
}

/// Characters of a stop's title and note that fit beside each other.
const STOP_CHARS: usize = 16;

/// The title as far as there is room: of `ip kube-proxy` the name goes before the family.
fn short_title(title: &str, note: &str) -> String {
    let room = STOP_CHARS.saturating_sub(note.chars().count());
    if title.chars().count() <= room {
        return title.to_owned();
    }
    let name = title.split_once(' ').map_or(title, |(_, name)| name);
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// A device name that fits its box; the step's sentence has the whole one.
fn short(name: &str, chars: usize) -> String {
    if name.chars().count() <= chars {
        return name.to_owned();
    }
    name.chars().take(chars - 1).chain(['…']).collect()
}

/// A connection state that fits beside its stop.
fn short_state(summary: &str) -> &str {
    match summary {
        "ESTABLISHED" => "EST",
        "RELATED" => "REL",
        "INVALID" => "INV",
        "UNTRACKED" => "untracked",
        other => other,
    }
}

fn rules_text(walked: u32) -> String {
    match walked {
        0 => "no rules".to_owned(),
        1 => "1 rule".to_owned(),
        walked => format!("{} rules", grouped(u64::from(walked))),
    }
}

fn visits<'a>(
    trace: &'a TraceView,
    of: &'a [u32],
) -> impl Iterator<Item = &'a chainwalk_engine::view::VisitView> + 'a {
    of.iter().filter_map(|visit| trace.visits.get(*visit as usize))
}

fn box_height(shown: &StationBox) -> u32 {
    if shown.stops.is_empty() { 32 } else { 34 + shown.stops.len() as u32 * STOP_PX }
}

/// Two rows: the way through above, the arm through a process below.
fn place_horizontally(boxes: &mut [StationBox]) -> (u32, u32) {
    let row_height = |boxes: &[StationBox], lower: bool| {
        boxes.iter().filter(|shown| is_lower(shown.place) == lower).map(box_height).max().unwrap_or(32)
    };
    let goes_low = boxes.iter().any(|shown| is_lower(shown.place) && shown.reach != Reach::Off);
    let (upper, lower) = (row_height(boxes, false), row_height(boxes, true));
    let upper_y = CAPSULE_PX + 12;
    let lower_y = upper_y + upper + 30;
    for shown in boxes {
        (shown.x, shown.width) = column(shown.place);
        shown.height = box_height(shown);
        shown.y = if is_lower(shown.place) { lower_y } else { upper_y };
    }
    // The capsule stands below the lower row; a packet that never comes there needs no room for it.
    let below = if goes_low { CAPSULE_PX + 12 } else { 0 };
    (WIDTH, lower_y + lower + below + 2)
}

/// One column for the way through; the arm stands beside FORWARD.
fn place_vertically(boxes: &mut [StationBox]) -> (u32, u32) {
    let gap = 22;
    let heights: Vec<(Place, u32)> = boxes.iter().map(|shown| (shown.place, box_height(shown))).collect();
    let height = |place: Place| heights.iter().find(|(of, _)| *of == place).map_or(32, |(_, height)| *height);
    let top = CAPSULE_PX + 26;
    let prerouting = top + 32 + gap;
    let routing = prerouting + height(Place::Prerouting) + gap;
    let split = routing + 32 + gap;
    let local = split + height(Place::Input) + gap;
    let output = local + height(Place::Local) + gap;
    let join = (split + height(Place::Forward)).max(output + height(Place::Output)) + gap;
    let out = join + height(Place::Postrouting) + gap;
    for shown in boxes {
        let (x, y) = match shown.place {
            Place::Ingress => (0, top),
            Place::Prerouting => (0, prerouting),
            Place::Routing => (0, routing),
            Place::Forward => (0, split),
            Place::Postrouting => (0, join),
            Place::Egress => (0, out),
            Place::Input => (190, split),
            Place::Local => (190, local),
            Place::Output => (190, output),
        };
        (shown.x, shown.y, shown.width, shown.height) = (x, y, 166, box_height(shown));
    }
    (NARROW_WIDTH, out + 34)
}

/// The line of a box that edges follow.
fn axis(shown: &StationBox) -> u32 {
    shown.y + 16
}

/// The station at `to` that a packet came to from `from`. Packets that the node makes on the way stand between.
fn arrival(trace: &TraceView, from: Place, to: Place) -> Option<usize> {
    let stations = &trace.stations;
    (0..stations.len()).filter(|at| stations[*at].place == to).find(|at| {
        let before = stations[..*at].iter().rev().find(|before| before.lane == stations[*at].lane);
        before.is_some_and(|before| before.place == from)
    })
}

fn edge(
    trace: &TraceView,
    boxes: &[StationBox],
    (from, to): (Place, Place),
    current: usize,
    orientation: Orientation,
) -> Edge {
    let reach = match arrival(trace, from, to) {
        None => Reach::Off,
        Some(at) if at <= current => Reach::Passed,
        Some(_) => Reach::Ahead,
    };
    let find = |place| boxes.iter().find(|shown| shown.place == place).unwrap_or(&boxes[0]);
    let (a, b) = (find(from), find(to));
    let (path, head) = match orientation {
        Orientation::Horizontal => horizontal_path(a, b),
        Orientation::Vertical => vertical_path(a, b),
    };
    Edge { path, head, reach }
}

fn horizontal_path(a: &StationBox, b: &StationBox) -> (String, String) {
    let (right, left) = (a.x + a.width, b.x);
    match (is_lower(a.place), is_lower(b.place)) {
        (false, true) => {
            let x = a.x + a.width / 2;
            down(x, a.y + a.height, b.y)
        }
        (true, false) => {
            let x = a.x + a.width / 2;
            up(x, a.y, b.y + b.height)
        }
        _ => {
            let (from, to) = (axis(a), axis(b));
            let middle = u32::midpoint(right, left);
            let path = if from == to {
                format!("M{right} {from}H{}", left - 4)
            } else {
                format!("M{right} {from}H{middle}V{to}H{}", left - 4)
            };
            (path, format!("M{} {}l6 4-6 4z", left - 6, to - 4))
        }
    }
}

fn vertical_path(a: &StationBox, b: &StationBox) -> (String, String) {
    let below = a.y + a.height;
    match (is_lower(a.place), is_lower(b.place)) {
        (false, true) => {
            let (y, x) = (axis(a), b.x + b.width / 2);
            let path = format!("M{} {y}H{x}V{}", a.x + a.width, b.y - 4);
            (path, format!("M{} {}l4 6 4-6z", x - 4, b.y - 6))
        }
        (true, false) => {
            let (x, y) = (a.x + a.width / 2, axis(b));
            let left = b.x + b.width;
            (format!("M{x} {below}V{y}H{}", left + 4), format!("M{} {}l-6 4 6 4z", left + 6, y - 4))
        }
        _ => down(a.x + a.width / 2, below, b.y),
    }
}

fn down(x: u32, from: u32, to: u32) -> (String, String) {
    (format!("M{x} {from}V{}", to - 4), format!("M{} {}l4 6 4-6z", x - 4, to - 6))
}

fn up(x: u32, from: u32, to: u32) -> (String, String) {
    (format!("M{x} {from}V{}", to + 4), format!("M{} {}l4-6 4 6z", x - 4, to + 6))
}

/// Width of a character of the capsule's text, in tenths of a unit.
const CHAR_TENTHS: u32 = 76;

fn capsule(at: &StationBox, src: &str, dst: &str, width: u32, orientation: Orientation) -> Capsule {
    let chars = (src.chars().count() + dst.chars().count() + 3) as u32;
    let wide = (chars * CHAR_TENTHS / 10 + 28).min(width - 4);
    let middle = at.x + at.width / 2;
    let x = match orientation {
        Orientation::Horizontal => middle.saturating_sub(wide / 2).clamp(2, width - wide - 2),
        Orientation::Vertical => (width - wide) / 2,
    };
    let is_below = is_lower(at.place) && orientation == Orientation::Horizontal;
    let y = if is_below { at.y + at.height + 10 } else { 2 };
    let pointer = match (orientation, is_below) {
        (Orientation::Vertical, _) => String::new(),
        (_, true) => format!("M{} {}l6-8 6 8z", middle - 6, y + 1),
        (_, false) => format!("M{} {}l6 8 6-8z", middle - 6, y + CAPSULE_PX - 1),
    };
    Capsule {
        x,
        y,
        width: wide,
        height: CAPSULE_PX,
        pointer,
        src: src.to_owned(),
        dst: dst.to_owned(),
        src_changed: false,
        dst_changed: false,
    }
}

#[cfg(test)]
mod tests;
