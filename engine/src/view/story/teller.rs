//! The walk over the events: stations, stops, visits, steps.

use super::entry::entry_view;
use super::packet::{line, packet_view};
use super::rows::{NOT_EMULATED, is_open, not_emulated};
use super::walk::{Heard, Walk};
use super::{Told, sentence};
use crate::base::Hook;
use crate::netfilter::{Table, nft};
use crate::packet::Packet;
use crate::trace::{Candidate, Change, Check, Disposition, Trace, TraceKind};
use crate::view::chain::RuleRef;
use crate::view::packet::{ChangeView, EntryChangeView, EntryView, Field, PacketView};
use crate::view::trace::{
    CandidateView, Place, StationView, StepKind, StepView, StopState, StopView, TraceView, VerdictView,
    VisitView,
};

/// A packet on its way: the traced one, or one that the node made because of it.
struct Lane {
    number: u16,
    station: usize,
    packet: PacketView,
    entry: Option<EntryView>,
    /// The packet has passed PREROUTING and not yet another hook: a route is a station of its own.
    routes_at_station: bool,
}

/// A part of a rule that is not emulated.
struct OpenPart {
    name: String,
    /// It does something, where others ask.
    is_target: bool,
}

pub(super) struct Teller<'a> {
    tables: &'a [&'a Table],
    nft: &'a nft::Ruleset,
    trace: &'a Trace,
    ct_state: &'static str,
    walk: Walk,
    view: TraceView,
    lanes: Vec<Lane>,
    lanes_made: u16,
    last_rule: Option<String>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(told: &Told<'a>) -> Self {
        let verdict = VerdictView {
            outcome: sentence::outcome(told.disposition),
            sentence: String::new(),
            uncertain: None,
        };
        Self {
            tables: told.tables,
            nft: told.nft,
            trace: told.trace,
            ct_state: told.ct_info.map_or("", |info| info.state_name()),
            walk: Walk::default(),
            view: TraceView {
                packets: Vec::new(),
                stations: Vec::new(),
                visits: Vec::new(),
                steps: Vec::new(),
                verdict,
                emitted: Vec::new(),
                rules_walked: told.trace.rules_evaluated,
                entry: None,
                table: Vec::new(),
                reply_line: String::new(),
            },
            lanes: Vec::new(),
            lanes_made: 0,
            last_rule: None,
        }
    }

    pub(super) fn tell(mut self, told: Told<'a>) -> TraceView {
        let trace = self.trace;
        for (at, event) in trace.events.iter().enumerate() {
            let heard = self.walk.hear(&event.kind);
            self.event(at, &event.kind, heard);
        }
        self.settle();
        let rule = self.last_rule.as_deref();
        self.view.verdict.sentence = sentence::verdict(told.disposition, told.because, rule, &told.emitted);
        if let Some(uncertain) = told.uncertain {
            self.view.verdict.outcome = crate::view::trace::Outcome::Uncertain;
            self.view.verdict.uncertain = Some(uncertain);
        }
        // The last step is the verdict; it says the whole sentence.
        if let Some(last) = self.view.steps.last_mut()
            && last.kind == StepKind::Verdict
        {
            last.sentence.clone_from(&self.view.verdict.sentence);
        }
        self.view.emitted = told.emitted;
        self.view.table = told.table;
        self.view.reply_line = told.reply_line;
        self.view
    }

    fn event(&mut self, at: usize, kind: &TraceKind, heard: Heard) {
        match kind {
            TraceKind::Received { dev, packet } => self.received(dev, packet),
            TraceKind::LocalOut { packet } => self.begins_locally(packet, "A process on the node sends"),
            TraceKind::Hook { hook } => self.hook(*hook),
            TraceKind::Function { name, priority } => self.function(name, priority.0),
            TraceKind::Chain { table, chain, .. } => self.chain(*table, *chain),
            TraceKind::Rule { rule, matched, checks, verdict } => {
                let Heard::Rule { visit } = heard else { return };
                match self.open_part(*rule, *matched, checks) {
                    Some(part) => self.open_rule(visit, rule.index + 1, *matched, &part),
                    None => {
                        let verdict = self.mapping(*rule).map_or(verdict.as_str(), |kind| kind.name());
                        self.rule(visit, rule.index + 1, *matched, verdict);
                    }
                }
            }
            TraceKind::ChainEnd { .. } => self.chain_end("returned at its end", None),
            TraceKind::Policy { verdict, .. } => self.chain_end(&format!("policy {verdict}"), Some(verdict)),
            TraceKind::Rewrite { by, changes } => self.rewrite(by, changes),
            TraceKind::Conntrack { summary, entry, .. } => self.conntrack(summary, entry.as_deref()),
            TraceKind::Nat { summary } => {
                self.summarise(summary);
                self.step(StepKind::Conntrack, format!("NAT: {summary}."));
            }
            TraceKind::Ipvs { summary, entry } => {
                let about = entry.as_ref().map_or(String::new(), |entry| format!(": {entry}"));
                self.summarise(summary);
                self.step(StepKind::Note, format!("IPVS: {summary}{about}."));
            }
            TraceKind::Schedule { scheduler, candidates, because } => {
                self.summarise(because);
                let text = sentence::scheduled(scheduler, candidates, because);
                self.step(StepKind::Note, text);
                if let Some(step) = self.view.steps.last_mut() {
                    step.candidates = candidates.iter().map(candidate).collect();
                }
            }
            TraceKind::Route { summary } => self.route(at, summary),
            TraceKind::Note { text } => self.step(StepKind::Note, format!("{}.", sentence::capital(text))),
            TraceKind::Emitted { dev, packet } => self.emitted(dev, packet),
            TraceKind::Answer { packet, because } => self.answer(packet, because),
            TraceKind::End { disposition, because } => self.end(disposition, because),
        }
    }

    fn lane(&mut self) -> Option<&mut Lane> {
        self.lanes.last_mut()
    }

    /// Opens a station for the current packet.
    fn station(&mut self, place: Place, label: &str) {
        let number = self.lanes.last().map_or(0, |lane| lane.number);
        let station = StationView { place, label: label.to_owned(), lane: number, stops: Vec::new() };
        self.view.stations.push(station);
        let at = self.view.stations.len() - 1;
        if let Some(lane) = self.lane() {
            lane.station = at;
        }
    }

    fn open_lane(&mut self, packet: PacketView) {
        let number = self.lanes_made;
        self.lanes_made += 1;
        self.lanes.push(Lane { number, station: 0, packet, entry: None, routes_at_station: false });
    }

    fn step(&mut self, kind: StepKind, sentence: String) {
        self.step_with(kind, sentence, None, Vec::new(), None);
    }

    fn step_with(
        &mut self,
        kind: StepKind,
        sentence: String,
        rule: Option<RuleRef>,
        changes: Vec<ChangeView>,
        entry: Option<EntryChangeView>,
    ) {
        let Some(lane) = self.lanes.last() else { return };
        if self.view.packets.last() != Some(&lane.packet) {
            self.view.packets.push(lane.packet.clone());
        }
        let stops = self.view.stations.get(lane.station).map_or(0, |station| station.stops.len());
        let in_stop = !matches!(kind, StepKind::Hook | StepKind::Arrive | StepKind::Route | StepKind::Leave);
        let in_chain =
            matches!(kind, StepKind::Chain | StepKind::Rule | StepKind::ChainEnd | StepKind::Rewrite);
        self.view.steps.push(StepView {
            kind,
            sentence,
            station: lane.station as u32,
            stop: (in_stop && stops > 0).then(|| stops as u32 - 1),
            visit: self
                .walk
                .current()
                .filter(|visit| in_chain && self.is_here(*visit))
                .map(|visit| visit as u32),
            rule,
            packet: self.view.packets.len() as u32 - 1,
            changes,
            entry,
            candidates: Vec::new(),
        });
    }

    /// Whether a visit is of the station where the packet is.
    fn is_here(&self, visit: usize) -> bool {
        let station = self.lanes.last().map(|lane| lane.station as u32);
        self.view.visits.get(visit).map(|visit| visit.station) == station
    }

    fn received(&mut self, dev: &str, packet: &Packet) {
        let view = PacketView { in_dev: dev.to_owned(), ..packet_view(packet) };
        let view = PacketView { line: line(&view), ..view };
        match self.lane() {
            // Round through lo: the same packet comes in again.
            Some(lane) => lane.packet = PacketView { ct_state: lane.packet.ct_state.clone(), ..view },
            None => self.open_lane(view),
        }
        self.station(Place::Ingress, dev);
        let text = self.lanes.last().map(|lane| lane.packet.line.clone()).unwrap_or_default();
        self.step(StepKind::Arrive, format!("Arrives on {dev}: {}.", without_device(&text)));
    }

    fn begins_locally(&mut self, packet: &Packet, how: &str) {
        self.open_lane(packet_view(packet));
        self.station(Place::Local, "");
        let text = self.lanes.last().map(|lane| lane.packet.line.clone()).unwrap_or_default();
        self.step(StepKind::Arrive, format!("{how} {text}."));
    }

    fn answer(&mut self, packet: &Packet, because: &str) {
        let view = packet_view(packet);
        let text = format!("The node makes a packet of its own, {} ({because}).", line(&view));
        let text =
            if view.detail.is_empty() { text } else { format!("{} {}", text, capital_detail(&view.detail)) };
        self.open_lane(view);
        self.station(Place::Local, "");
        self.step(StepKind::Made, text);
    }

    fn hook(&mut self, hook: Hook) {
        let place = match hook {
            Hook::Prerouting => Place::Prerouting,
            Hook::Input => Place::Input,
            Hook::Forward => Place::Forward,
            Hook::Output => Place::Output,
            Hook::Postrouting => Place::Postrouting,
        };
        self.station(place, "");
        if let Some(lane) = self.lane() {
            lane.routes_at_station = hook == Hook::Prerouting;
        }
        self.step(StepKind::Hook, String::new());
    }

    fn function(&mut self, name: &str, priority: i32) {
        // `iptables nat`, `nft inet filter`, `conntrack confirm`: the first word says nothing new.
        let known = ["iptables ", "nft ", "conntrack "];
        let title = known.iter().find_map(|tool| name.strip_prefix(tool)).unwrap_or(name);
        let Some(lane) = self.lanes.last() else { return };
        if let Some(station) = self.view.stations.get_mut(lane.station) {
            station.stops.push(StopView {
                title: title.to_owned(),
                priority,
                state: StopState::Asked,
                visits: Vec::new(),
                summary: String::new(),
            });
        }
    }

    fn chain(&mut self, table: u16, chain: u32) {
        let (Some(named), Some(lane)) = (self.named(table, chain), self.lanes.last()) else { return };
        let (table, chain, rules) = named;
        let from =
            self.view.steps.last().and_then(|step| step.rule.clone()).filter(|_| self.walk.depth() > 0);
        self.view.visits.push(VisitView {
            station: lane.station as u32,
            table: table.clone(),
            chain: chain.clone(),
            depth: self.walk.depth(),
            from,
            rules,
            walked: 0,
            matched: Vec::new(),
            outcome: String::new(),
        });
        let visit = self.view.visits.len() as u32 - 1;
        if let Some(stop) =
            self.view.stations.get_mut(lane.station).and_then(|station| station.stops.last_mut())
        {
            stop.visits.push(visit);
        }
        // An empty chain is told by its end alone.
        if rules > 0 {
            let text = sentence::enter(&table, &chain, rules);
            self.step(StepKind::Chain, text);
        }
    }

    /// Table and chain by name, and how many rules the chain has.
    fn named(&self, table: u16, chain: u32) -> Option<(String, String, u32)> {
        if let Some(table) = self.tables.get(usize::from(table)) {
            let chain = table.chains.get(chain as usize)?;
            return Some((table.name.name().to_owned(), chain.name.to_string(), chain.rules.len() as u32));
        }
        let at = table.checked_sub(nft::eval::TABLE_BASE)?;
        let table = self.nft.tables.get(usize::from(at))?;
        let (name, chain) = table.chains.get_index(chain as usize)?;
        Some((format!("{} {}", table.family.name(), table.name), name.to_string(), chain.rules.len() as u32))
    }

    /// The part of a rule that is not emulated and that the packet came to: a match that left the rule open, or
    /// the target of a rule that matched.
    fn open_part(
        &self,
        place: crate::trace::RuleRef,
        matched: Option<bool>,
        checks: &[Check],
    ) -> Option<OpenPart> {
        if self.nft_rule(place).is_some() {
            // Of a statement that does something, this way goes on behind it: the rule did not fail.
            let open = checks.iter().find(|check| check.field == NOT_EMULATED)?;
            return Some(OpenPart { name: open.want.clone(), is_target: matched != Some(false) });
        }
        let chain = self.tables.get(usize::from(place.table))?.chains.get(place.chain as usize)?;
        let names = not_emulated(chain.rules.get(place.index as usize)?);
        let wanted = if is_open(checks) { "-m" } else { "-j" };
        let name = names.into_iter().find(|name| name.starts_with(wanted))?;
        Some(OpenPart { is_target: name.starts_with("-j"), name })
    }

    fn nft_rule(&self, place: crate::trace::RuleRef) -> Option<&nft::Rule> {
        let at = place.table.checked_sub(nft::eval::TABLE_BASE)?;
        let (_, chain) = self.nft.tables.get(usize::from(at))?.chains.get_index(place.chain as usize)?;
        chain.rules.get(place.index as usize)
    }

    /// The mapping that a rule of nftables makes: its verdict says only that the packet goes on.
    fn mapping(&self, place: crate::trace::RuleRef) -> Option<nft::NatKind> {
        self.nft_rule(place)?.statements.iter().find_map(|statement| match statement {
            nft::Statement::Nat(nat) => Some(nat.kind),
            _ => None,
        })
    }

    /// A rule that a part which is not emulated decides.
    fn open_rule(&mut self, visit: usize, number: u32, matched: Option<bool>, part: &OpenPart) {
        let Some(view) = self.view.visits.get_mut(visit) else { return };
        view.walked += 1;
        // A target that is not emulated is met only by a packet that the rule matched.
        if part.is_target && matched == Some(false) {
            return;
        }
        let place = RuleRef { table: view.table.clone(), chain: view.chain.clone(), number };
        let text = sentence::open(number, &place.chain, &part.name, part.is_target);
        self.step_with(StepKind::Rule, text, Some(place), Vec::new(), None);
    }

    fn rule(&mut self, visit: usize, number: u32, matched: Option<bool>, verdict: &str) {
        let Some(view) = self.view.visits.get_mut(visit) else { return };
        view.walked += 1;
        if matched == Some(false) {
            return;
        }
        view.matched.push(number);
        let place = RuleRef { table: view.table.clone(), chain: view.chain.clone(), number };
        view.outcome = match verdict {
            "ACCEPT" | "accept" => format!("Accepted by rule {number}"),
            "DROP" | "drop" => format!("Dropped by rule {number}"),
            "RETURN" | "return" => format!("Returned by rule {number}"),
            "continue" => String::new(),
            other => match other.split_once(' ') {
                Some(("jump", _)) => String::new(),
                Some(("goto", to)) => format!("Went to {to} by rule {number}"),
                _ => format!("Rule {number}: {other}"),
            },
        };
        self.last_rule = Some(format!("rule {number} of {} {}", view.table, view.chain));
        let text = sentence::matched(number, &place.chain, verdict, matched.is_none());
        self.step_with(StepKind::Rule, text, Some(place), Vec::new(), None);
    }

    fn chain_end(&mut self, how: &str, policy: Option<&str>) {
        let Some(visit) = self.walk.current().and_then(|visit| self.view.visits.get_mut(visit)) else {
            return;
        };
        visit.outcome = sentence::capital(how);
        let name = format!("{} {}", visit.table, visit.chain);
        let none = match (visit.rules, visit.matched.len()) {
            (0, _) => "has no rules",
            (_, 0) => "ends without a match",
            (_, _) => "ends",
        };
        let text = match policy {
            Some(policy) => format!("{name} {none}: policy {policy}."),
            None => format!("{name} {none}: back to the calling chain."),
        };
        self.step(StepKind::ChainEnd, text);
        if let Some(policy) = policy
            && !policy.eq_ignore_ascii_case("accept")
        {
            self.last_rule = None;
        }
    }

    fn rewrite(&mut self, by: &str, changes: &[Change]) {
        let Some(lane) = self.lane() else { return };
        let mut shown = Vec::new();
        for change in changes {
            let Some(field) = sentence::field(change.field) else { continue };
            apply(&mut lane.packet, field, &change.after);
            shown.push(ChangeView { field, was: change.before.clone(), now: change.after.clone() });
        }
        lane.packet.line = line(&lane.packet);
        let is_nat = shown.iter().any(|change| change.field.is_nat());
        if is_nat {
            self.summarise("rewritten");
        }
        self.step_with(StepKind::Rewrite, sentence::rewrite(by, changes), None, shown, None);
    }

    fn conntrack(&mut self, summary: &str, line: Option<&str>) {
        let state = self.ct_state;
        let Some(lane) = self.lanes.last_mut() else { return };
        let confirmed = lane.entry.as_ref().is_some_and(|entry| entry.confirmed)
            || summary.starts_with("confirmed")
            || line.is_some_and(|_| state.starts_with("ESTABLISHED"));
        let after = line.map(|line| entry_view(line, confirmed));
        if lane.number == 0 && lane.packet.ct_state.is_empty() {
            state.clone_into(&mut lane.packet.ct_state);
            lane.packet.is_reply = after.as_ref().is_some_and(|entry| is_reply(entry, &lane.packet));
            // It was a reply from the start; only now it is known.
            for earlier in &mut self.view.packets {
                earlier.is_reply = lane.packet.is_reply;
            }
        }
        let before = std::mem::replace(&mut lane.entry, after.clone());
        let is_first = lane.number == 0;
        if is_first {
            self.view.entry.clone_from(&after);
        }
        // The stop "confirm" needs no other word.
        self.summarise(if summary.starts_with("confirmed") { "" } else { state });
        let change = (before.is_some() || after.is_some()).then_some(EntryChangeView { before, after });
        let text = format!("Conntrack: {}.", summary.trim_end_matches('.'));
        self.step_with(StepKind::Conntrack, text, None, Vec::new(), change);
    }

    /// Says what the current stop did.
    fn summarise(&mut self, summary: &str) {
        let Some(lane) = self.lanes.last() else { return };
        if let Some(stop) =
            self.view.stations.get_mut(lane.station).and_then(|station| station.stops.last_mut())
        {
            summary.clone_into(&mut stop.summary);
        }
    }

    fn route(&mut self, at: usize, summary: &str) {
        let dev = self.next_device(at);
        let Some(lane) = self.lane() else { return };
        if let Some(dev) = dev {
            lane.packet.out_dev = dev;
        }
        if std::mem::take(&mut lane.routes_at_station) {
            self.station(Place::Routing, "");
        }
        self.step(StepKind::Route, format!("Routing: {summary}."));
    }

    /// The device that the packet leaves by after event `at`, unless it is routed again before.
    fn next_device(&self, at: usize) -> Option<String> {
        let mut depth = 0_u32;
        for event in &self.trace.events[at + 1..] {
            match &event.kind {
                TraceKind::Answer { .. } => depth += 1,
                TraceKind::End { .. } if depth > 0 => depth -= 1,
                TraceKind::End { .. } => return None,
                TraceKind::Route { .. } if depth == 0 => return None,
                TraceKind::Emitted { dev, .. } if depth == 0 => return Some(dev.clone()),
                _ => {}
            }
        }
        None
    }

    fn emitted(&mut self, dev: &str, packet: &Packet) {
        let view = packet_view(packet);
        if let Some(lane) = self.lane() {
            dev.clone_into(&mut lane.packet.out_dev);
        }
        self.station(Place::Egress, dev);
        let text = format!("Leaves through {dev}: {}.", line(&view));
        self.step(StepKind::Leave, text);
    }

    fn end(&mut self, disposition: &Disposition, because: &str) {
        if self.lanes.len() > 1 {
            if !matches!(disposition, Disposition::Sent) {
                self.step(StepKind::Made, format!("It ends here: {because}."));
            }
            self.lanes.pop();
            return;
        }
        if matches!(disposition, Disposition::Delivered) {
            self.station(Place::Local, "");
        }
        self.step(StepKind::Verdict, format!("{}.", sentence::capital(because)));
    }

    /// What is known only at the end: which stops a hook had, and which of them asked nothing.
    fn settle(&mut self) {
        let ct_state = self.ct_state;
        for station in &mut self.view.stations {
            for stop in &mut station.stops {
                if stop.title == "nat" && stop.visits.is_empty() {
                    stop.state = sentence::nat_skipped(ct_state);
                }
            }
        }
        for step in &mut self.view.steps {
            if step.kind == StepKind::Hook
                && let Some(station) = self.view.stations.get(step.station as usize)
            {
                step.sentence = sentence::hook(station.place.title(), &station.stops);
            }
        }
        for visit in &mut self.view.visits {
            if visit.outcome.is_empty() {
                visit.outcome = match visit.matched.last() {
                    Some(number) => format!("Decided after rule {number}"),
                    None => String::new(),
                };
            }
        }
    }
}

/// `tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0` without the device.
fn without_device(line: &str) -> &str {
    line.split_once(" in ").map_or(line, |(packet, _)| packet)
}

fn capital_detail(detail: &str) -> String {
    format!("{}.", sentence::capital(detail))
}

fn candidate(seen: &Candidate) -> CandidateView {
    CandidateView {
        server: seen.server.to_string(),
        weight: seen.weight,
        active: seen.active,
        inactive: seen.inactive,
        score: seen.score.clone().unwrap_or_default(),
        chosen: seen.chosen,
    }
}

/// Whether the packet's source is where replies of the entry come from.
fn is_reply(entry: &EntryView, packet: &PacketView) -> bool {
    let from = format!("{} →", packet.source());
    entry.reply.starts_with(&from) && !entry.original.starts_with(&from)
}

fn apply(packet: &mut PacketView, field: Field, now: &str) {
    match field {
        Field::Source => now.clone_into(&mut packet.src),
        Field::Destination => now.clone_into(&mut packet.dst),
        Field::SourcePort => packet.sport = now.parse().ok().or(packet.sport),
        Field::DestinationPort => packet.dport = now.parse().ok().or(packet.dport),
        Field::Ttl => packet.ttl = now.parse().unwrap_or(packet.ttl),
        Field::Mark => packet.mark = number(now).unwrap_or(packet.mark),
        Field::OutDevice => now.clone_into(&mut packet.out_dev),
        Field::Tos | Field::ConnMark | Field::TcpOption | Field::IcmpId => {}
    }
}

/// `0x4000` or `16384`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
