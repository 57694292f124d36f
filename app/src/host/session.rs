//! One reader's session with the engine: the ruleset loaded, the packets sent.

use chainwalk_engine::base::{KernelVersion, PLANES};
use chainwalk_engine::netfilter::{Table, TableState};
use chainwalk_engine::netns::Netns;
use chainwalk_engine::packet::Family;
use chainwalk_engine::replay::{self, FactInput, Facts, Paste, line};
use chainwalk_engine::text::diag::{self, Diag};
use chainwalk_engine::text::xt::{ParseOptions, parse_with};
use chainwalk_engine::trace::Level;
use chainwalk_engine::view::story::{
    Rules, VisitIndex, chain_rows, find_chain, node_view, sent_view, visit_rows,
};
use chainwalk_engine::view::{ProblemView, RuleWindow, Severity, problem_view, problem_views, ruleset_view};

use super::manifest;
use crate::fidelity::ledger;
use crate::lesson::host::{LessonHost, SENT_BASE};
use crate::link;
use crate::planes::host::{PlanesHost, manifest_problem};
use crate::protocol::{FamilyChoice, Follow, Input, NodeFacts, PROTOCOL, Request, Response, WINDOW_ROWS_MAX};

/// Seed of all draws: the same question has the same answer.
const SEED: u64 = 1;

/// Packets a session keeps: each holds the events of every rule it was compared with.
const SENT_MAX: usize = 40;

/// What is loaded and what was sent.
#[derive(Debug, Default)]
pub struct Session {
    session: Option<replay::Session>,
    /// By packet sent.
    visits: Vec<VisitIndex>,
    lessons: LessonHost,
    planes: PlanesHost,
}

impl Session {
    /// Answers one request; `text` travelled beside it. `say` hears progress and, last, the answer.
    pub fn handle(&mut self, request: Request, text: Option<String>, say: &mut dyn FnMut(Response)) {
        let answer = match request {
            Request::Hello => Response::Hello { protocol: PROTOCOL },
            Request::Load { family } => self.load(family, &text.unwrap_or_default(), say),
            Request::RunProxy { node, mode } if PLANES => {
                match manifest::run_proxy(&text.unwrap_or_default(), &node, mode) {
                    Ok(state) => Response::Proxied(Box::new(state)),
                    Err(message) => Response::Refused(about(Input::Rules, vec![placeless(&message)])),
                }
            }
            Request::MakeLink(mut state) => {
                state.rules = text.unwrap_or(state.rules);
                Response::Link(link::write(&state))
            }
            Request::ReadLink(text) => {
                let (state, problems) = link::read(&text);
                match state {
                    Some(state) => Response::Opened { state, problems },
                    None => Response::Refused(about(Input::Link, problems)),
                }
            }
            Request::Fidelity if PLANES => Response::Fidelity(ledger::sections()),
            Request::Lesson(ask) if PLANES || !ask.needs_planes() => {
                Response::Lesson(Box::new(self.lessons.answer(&ask, say)))
            }
            Request::Planes(ask) if PLANES => Response::Planes(Box::new(self.planes.answer(*ask))),
            Request::RunProxy { .. } | Request::Fidelity | Request::Lesson(_) | Request::Planes(_) => {
                Response::NeedsPlanes
            }
            Request::VisitRows { sent, visit, from, len } if sent >= SENT_BASE => {
                Response::Rows(self.lessons.rows(sent, visit, from, len))
            }
            Request::Trace { packet, facts } => self.trace(&packet, facts),
            Request::Follow(follow) => self.follow(follow),
            Request::VisitRows { sent, visit, from, len } => {
                Response::Rows(self.visit_rows(sent, visit, from, len))
            }
            Request::ChainRows { table, chain, from, len } => {
                Response::Rows(self.chain_rows(&table, &chain, from, len))
            }
        };
        say(answer);
    }

    fn load(&mut self, family: FamilyChoice, text: &str, say: &mut dyn FnMut(Response)) -> Response {
        self.session = None;
        self.visits.clear();
        if text.trim().is_empty() {
            let message = "There is no ruleset yet: paste the output of iptables-save or nft list ruleset, or take a sample.";
            return Response::Refused(about(Input::Rules, vec![placeless(message)]));
        }
        if manifest::is_manifest(text) {
            if !PLANES {
                return Response::NeedsPlanes;
            }
            return match manifest::nodes(text) {
                Ok(nodes) => Response::Objects(nodes),
                Err(error) => Response::Refused(about(Input::Rules, vec![manifest_problem(&error, text)])),
            };
        }
        let refused = |diag: &Diag| Response::Refused(about(Input::Rules, vec![problem_view(diag, text)]));
        let paste = Paste::split(text);
        if !PLANES && paste.needs_planes() {
            return Response::NeedsPlanes;
        }
        let mut netns = Netns::new(KernelVersion::default(), SEED);
        if let Err(diag) = paste.load_before(&mut netns) {
            return refused(&diag);
        }
        let options = ParseOptions {
            family: match family {
                FamilyChoice::Auto => None,
                FamilyChoice::V4 => Some(Family::V4),
                FamilyChoice::V6 => Some(Family::V6),
            },
            ..ParseOptions::default()
        };
        let (ruleset, mut diags) = match paste.iptables() {
            None => (None, Vec::new()),
            Some(rules) => {
                let (ruleset, diags) = parse_with(rules, &options, &mut |done, total| {
                    let what = "Reading the ruleset".to_owned();
                    say(Response::Progress { what, done: done as u64, total: total as u64 });
                    true
                });
                (Some(ruleset), diags)
            }
        };
        diags.extend_from_slice(paste.notes());
        let mut view = ruleset_view(ruleset.as_ref(), &diags, text);
        let mut session = replay::Session::on(netns, ruleset.into_iter().collect());
        match paste.load_nft(&mut session) {
            Ok(notes) => view.problems.extend(problem_views(&notes, text)),
            // What the reader of the other part said is as much worth reading.
            Err(diag) => {
                view.problems.insert(0, problem_view(&diag, text));
                return Response::Refused(about(Input::Rules, view.problems));
            }
        }
        view.add_node(session.netns());
        if view.is_unusable() {
            let mut problems = view.problems;
            if problems.is_empty() {
                problems.push(placeless(
                    "This text holds no table: iptables-save begins each with a line like *filter, nft with one like \
                     table inet filter {.",
                ));
            }
            return Response::Refused(about(Input::Rules, problems));
        }
        self.session = Some(session);
        Response::Loaded(view)
    }

    fn trace(&mut self, packet: &str, facts: NodeFacts) -> Response {
        // The refusal of the ruleset has been heard.
        let Some(session) = &mut self.session else { return Response::Refused(Vec::new()) };
        let spec = match line::parse(packet) {
            Ok(spec) => spec,
            Err(diag) => return Response::Refused(about(Input::Packet, vec![problem_view(&diag, packet)])),
        };
        let is_seen = spec.dst.is_none_or(|dst| sees(session.netns(), Family::of(&dst)));
        let (addresses, address_at) = filled(facts.addresses);
        let (routes, route_at) = filled(facts.routes);
        let (sysctls, sysctl_at) = filled(facts.sysctls);
        let facts = Facts { ip_addr: facts.ip_addr, ip_route: facts.ip_route, addresses, routes, sysctls };
        let input = |of: FactInput| match of {
            FactInput::IpAddr => Input::IpAddr,
            FactInput::IpRoute => Input::IpRoute,
            FactInput::Address(at) => Input::Address(address_at[at]),
            FactInput::Route(at) => Input::Route(route_at[at]),
            FactInput::Sysctl(at) => Input::Sysctl(sysctl_at[at]),
        };
        let notes = match session.start(spec, &facts, Level::Full) {
            Ok(notes) => notes,
            Err(message) => {
                return Response::Refused(about(Input::Packet, vec![placeless(&capital(&message))]));
            }
        };
        let has_errors = notes.iter().any(|(_, diag)| diag.severity == diag::Severity::Error);
        let notes = notes
            .into_iter()
            .map(|(of, diag)| (input(of), problem_view(&diag, text_of(of, &facts))))
            .collect();
        if has_errors {
            return Response::Refused(notes);
        }
        self.visits.clear();
        let mut notes: Vec<_> = notes;
        if !is_seen {
            let message =
                "The packet and the ruleset are of different address families: no rule sees this packet.";
            notes.push((Input::Packet, ProblemView { severity: Severity::Warning, ..placeless(message) }));
        }
        self.answer(notes)
    }

    fn follow(&mut self, follow: Follow) -> Response {
        let Some(session) = &mut self.session else { return Response::Refused(Vec::new()) };
        if session.sent().len() >= SENT_MAX {
            let message = format!("A session keeps {SENT_MAX} packets. Press Trace to start anew.");
            return Response::Refused(about(Input::Packet, vec![placeless(&message)]));
        }
        let sent = match follow {
            Follow::Reply => session.reply(Level::Full),
            Follow::Again => session.again(Level::Full),
        };
        match sent.map(|_| ()) {
            Ok(()) => self.answer(Vec::new()),
            Err(message) => Response::Refused(about(Input::Packet, vec![placeless(&capital(&message))])),
        }
    }

    /// The packet sent last, as the page sees it.
    fn answer(&mut self, notes: Vec<(Input, ProblemView)>) -> Response {
        let Some(session) = &self.session else { return Response::Refused(notes) };
        let (Some(sent), Some(trace)) = (session.sent().last(), sent_view(session)) else {
            return Response::Refused(notes);
        };
        self.visits.push(VisitIndex::of(&sent.ran.trace));
        let sent = session.sent().len() as u32 - 1;
        Response::Traced { sent, trace: Box::new(trace), node: Box::new(node_view(session)), notes }
    }

    fn tables(&self) -> Vec<(&Table, &TableState)> {
        let loaded = self.session.iter().flat_map(|session| session.netns().tables());
        loaded.map(|loaded| (&*loaded.table, &loaded.state)).collect()
    }

    fn visit_rows(&self, sent: u32, visit: u32, from: u32, len: u32) -> RuleWindow {
        let index = self.visits.get(sent as usize);
        let packet =
            self.session.as_ref().and_then(|session| Some((session, session.sent().get(sent as usize)?)));
        let (Some(index), Some((session, packet))) = (index, packet) else { return RuleWindow::default() };
        let tables = self.tables();
        let rules = Rules { tables: &tables, nft: session.netns().nft() };
        visit_rows(&packet.ran.trace, index, rules, visit, from, len.min(WINDOW_ROWS_MAX))
    }

    fn chain_rows(&self, table: &str, chain: &str, from: u32, len: u32) -> RuleWindow {
        let Some(session) = &self.session else { return RuleWindow::default() };
        let Some(at) = find_chain(session.netns(), table, chain) else { return RuleWindow::default() };
        let tables = self.tables();
        let rules = Rules { tables: &tables, nft: session.netns().nft() };
        chain_rows(rules, at, from, len.min(WINDOW_ROWS_MAX))
    }
}

/// Whether anything that was loaded is asked about packets of a family.
fn sees(netns: &Netns, family: Family) -> bool {
    netns.tables().iter().any(|loaded| loaded.table.family == family)
        || netns.nft().tables.iter().any(|table| table.family.sees(family))
        || netns.ipvs.services().any(|(key, _)| key.family() == family)
}

/// Statements that say something, and where each stood among all.
fn filled(texts: Vec<String>) -> (Vec<String>, Vec<u32>) {
    (0..).zip(texts).filter(|(_, text)| !text.trim().is_empty()).map(|(at, text)| (text, at)).unzip()
}

/// The text that a message is about.
fn text_of(input: FactInput, facts: &Facts) -> &str {
    match input {
        FactInput::IpAddr => &facts.ip_addr,
        FactInput::IpRoute => &facts.ip_route,
        FactInput::Address(at) => &facts.addresses[at],
        FactInput::Route(at) => &facts.routes[at],
        FactInput::Sysctl(at) => &facts.sysctls[at],
    }
}

fn capital(message: &str) -> String {
    let mut message = format!("{}.", message.trim_end_matches('.'));
    if let Some(first) = message.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    message
}

fn about(input: Input, problems: Vec<ProblemView>) -> Vec<(Input, ProblemView)> {
    problems.into_iter().map(|problem| (input, problem)).collect()
}

/// A problem that no place in the text has.
fn placeless(message: &str) -> ProblemView {
    ProblemView {
        severity: Severity::Error,
        line: 0,
        column: 0,
        len: 0,
        message: message.to_owned(),
        hint: String::new(),
        excerpt: String::new(),
        excerpt_column: 0,
    }
}

#[cfg(test)]
mod tests;
