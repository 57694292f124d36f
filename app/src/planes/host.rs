//! The engine's side of the planes page: reads manifests, syncs every mode, keeps what rows are asked of.

use chainwalk_engine::cluster::crowd;
use chainwalk_engine::cluster::manifest::{ManifestError, Objects, Reader};
use chainwalk_engine::proxy::planes::{Planes, remarks};
use chainwalk_engine::replay::line;
use chainwalk_engine::text::diag::{Diag, Severity};
use chainwalk_engine::view::planes::{held_window, lockstep_view, planes_view};
use chainwalk_engine::view::{ProblemView, problem_view};

use super::ask::{Ask, PlanesState, Told};
use super::{edit, samples};
use crate::link;
use crate::protocol::WINDOW_ROWS_MAX;

/// What the page has synced.
#[derive(Debug, Default)]
pub struct PlanesHost {
    reader: Reader,
    planes: Planes,
}

impl PlanesHost {
    /// Answers one question.
    pub fn answer(&mut self, ask: Ask) -> Told {
        match ask {
            Ask::Sample(number) => Told::Opened(samples::state(number as usize), Vec::new()),
            Ask::Update { text, crowd, node } => self.update(&text, crowd, &node),
            Ask::Edit { text, edit } => Told::Edited(edit::apply(&text, &edit)),
            Ask::Rows(mut query) => {
                query.len = query.len.min(WINDOW_ROWS_MAX);
                Told::Rows(held_window(&self.planes, &query))
            }
            Ask::Run { packet, connection } => match line::parse(&packet) {
                Ok(spec) => Told::Ran(Box::new(lockstep_view(&mut self.planes, &spec, connection))),
                Err(diag) => Told::WrongPacket(vec![problem_view(&diag, &packet)]),
            },
            Ask::MakeLink(state) => Told::Link(link::seal(&print(&state))),
            Ask::ReadLink(text) => {
                let (body, problems) = link::open(&text);
                match body {
                    Some(body) => Told::Opened(parse(&body), problems),
                    None => Told::WrongLink(problems),
                }
            }
        }
    }

    fn update(&mut self, text: &str, crowd: u32, node: &str) -> Told {
        let own = match self.reader.read(text) {
            Ok(objects) => objects,
            Err(error) => return Told::Wrong(vec![manifest_problem(&error, text)]),
        };
        let mut remarks = remarks(&own);
        if !own.ignored.is_empty() {
            remarks
                .push(format!("Left out, because kube-proxy does not read it: {}.", own.ignored.join(", ")));
        }
        let mut objects = own;
        self.with_crowd(&mut objects, crowd);
        let synced = self.planes.update(&objects, node);
        Told::Updated(Box::new(planes_view(&self.planes, &objects, synced, remarks)))
    }

    fn with_crowd(&self, objects: &mut Objects, count: u32) {
        if count == 0 {
            return;
        }
        let mut nodes: Vec<String> = objects.nodes.iter().map(|node| node.metadata.name.clone()).collect();
        if nodes.is_empty() {
            nodes.push("node-a".to_owned());
        }
        crowd::add(objects, count, &nodes);
    }
}

/// A mistake in manifests, with its line.
pub(crate) fn manifest_problem(error: &ManifestError, text: &str) -> ProblemView {
    let diag = Diag {
        severity: Severity::Error,
        line: u32::try_from(error.line).unwrap_or(u32::MAX),
        column: u32::try_from(error.column).unwrap_or(u32::MAX),
        len: 1,
        message: error.message.clone(),
    };
    problem_view(&diag, text)
}

/// `key value` lines, the manifests last: a link that was cut still gives the first objects.
fn print(state: &PlanesState) -> String {
    let mut body = String::new();
    for (key, value) in [("node", state.node.as_str()), ("packet", state.packet.as_str())] {
        if !value.is_empty() {
            body.push_str(&format!("{key} {}\n", value.replace('\n', " ")));
        }
    }
    for (key, number) in [("crowd", state.crowd), ("plane", state.plane), ("connection", state.connection)] {
        if number != 0 {
            body.push_str(&format!("{key} {number}\n"));
        }
    }
    body.push_str(&format!("objects {}\n{}\n", state.text.len(), state.text));
    body
}

fn parse(mut body: &str) -> PlanesState {
    let mut state = PlanesState::default();
    while !body.is_empty() {
        let (line, rest) = body.split_once('\n').unwrap_or((body, ""));
        body = rest;
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let number = || value.parse().unwrap_or_default();
        match key {
            "node" => value.clone_into(&mut state.node),
            "packet" => value.clone_into(&mut state.packet),
            "crowd" => state.crowd = number(),
            "plane" => state.plane = number(),
            "connection" => state.connection = number(),
            "objects" => state.text = link::take(&mut body, value),
            // A later version's key: what it says cannot be shown here.
            _ => {}
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_its_link() {
        for number in 0..samples::NAMES.len() {
            let mut host = PlanesHost::default();
            let state = PlanesState {
                plane: 1,
                connection: 7,
                packet: "tcp 10.244.0.200:40007 > 10.96.10.20:80 in pod0".to_owned(),
                node: "node-b".to_owned(),
                ..samples::state(number)
            };
            let Told::Link(link) = host.answer(Ask::MakeLink(state.clone())) else { panic!("a link") };
            assert_eq!(host.answer(Ask::ReadLink(link)), Told::Opened(state, Vec::new()));
        }
    }

    #[test]
    fn a_broken_link_opens_nothing() {
        let mut host = PlanesHost::default();
        let Told::Link(link) = host.answer(Ask::MakeLink(samples::state(0))) else { panic!("a link") };
        let told = host.answer(Ask::ReadLink(link[..link.len() / 2].to_owned()));
        let Told::Opened(state, problems) = told else { panic!("{told:?}") };
        assert!(problems.len() == 1 && samples::state(0).text.starts_with(&state.text), "{problems:?}");
        assert!(matches!(host.answer(Ask::ReadLink("nonsense".to_owned())), Told::WrongLink(_)));
    }

    #[test]
    fn samples_sync_and_carry_their_packet() {
        for (number, name) in samples::NAMES.iter().enumerate() {
            let mut host = PlanesHost::default();
            let state = samples::state(number);
            let told = host.answer(Ask::Update { text: state.text, crowd: state.crowd, node: state.node });
            let Told::Updated(view) = told else { panic!("{name}: {told:?}") };
            // Rules come by the dozen, frontends of a map one by one.
            assert!(view.planes.iter().all(|plane| plane.held > 0), "{name}");
            assert!(view.planes[0].held > 20, "{name}");
            let packet = state.packet;
            let told = host.answer(Ask::Run { packet, connection: 1 });
            let Told::Ran(lockstep) = told else { panic!("{name}: {told:?}") };
            assert!(!lockstep.lanes[0].ways.is_empty(), "{name}: {}", lockstep.lanes[0].not_run);
            // Both tables of flows, then the frontend: the programs leave no rules in the trace, but their questions count.
            let ebpf = lockstep.lanes.iter().find(|lane| lane.name == "ebpf").expect("a lane");
            assert!(ebpf.ways[0].lookups >= 3, "{name}: {} look-ups", ebpf.ways[0].lookups);
        }
    }

    #[test]
    fn a_mistake_has_its_line_and_loses_nothing() {
        let mut host = PlanesHost::default();
        let text = samples::state(0).text;
        host.answer(Ask::Update { text: text.clone(), crowd: 0, node: String::new() });
        let wrong = text.replace("port: 80\n", "port: 80000\n");
        let told = host.answer(Ask::Update { text: wrong, crowd: 0, node: String::new() });
        let Told::Wrong(problems) = told else { panic!("{told:?}") };
        assert!(problems[0].excerpt.contains("80000"), "{problems:?}");
        let query = chainwalk_engine::view::planes::RowQuery { len: 10, ..Default::default() };
        let Told::Rows(window) = host.answer(Ask::Rows(query)) else { panic!("rows") };
        assert_eq!(window.rows.len(), 10);
    }
}
