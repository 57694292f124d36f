//! One reader's session with the engine.

use chainwalk_engine::packet::Family;
use chainwalk_engine::text::xt::{ParseOptions, Ruleset, parse_with};
use chainwalk_engine::view::{ProblemView, Severity, ruleset_view};

use crate::lesson::host::{LessonHost, SENT_BASE};
use crate::link;
use crate::protocol::{FamilyChoice, Input, PROTOCOL, Request, Response};

/// What is loaded and what was sent.
#[derive(Debug, Default)]
pub struct Session {
    ruleset: Option<Ruleset>,
    lessons: LessonHost,
}

impl Session {
    /// Answers one request; `text` travelled beside it. `say` hears progress and, last, the answer.
    pub fn handle(&mut self, request: Request, text: Option<String>, say: &mut dyn FnMut(Response)) {
        let answer = match request {
            Request::Hello => Response::Hello { protocol: PROTOCOL },
            Request::Load { family } => self.load(family, &text.unwrap_or_default(), say),
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
            Request::Lesson(ask) => Response::Lesson(Box::new(self.lessons.answer(&ask, say))),
            Request::VisitRows { sent, visit, from, len } if sent >= SENT_BASE => {
                Response::Rows(self.lessons.rows(sent, visit, from, len))
            }
            _ => Response::Failed(String::new()),
        };
        say(answer);
    }

    fn load(&mut self, family: FamilyChoice, text: &str, say: &mut dyn FnMut(Response)) -> Response {
        self.ruleset = None;
        if text.trim().is_empty() {
            let message = "There is no ruleset yet: paste the output of iptables-save, or take a sample.";
            return Response::Refused(about(Input::Rules, vec![placeless(message)]));
        }
        let options = ParseOptions {
            family: match family {
                FamilyChoice::Auto => None,
                FamilyChoice::V4 => Some(Family::V4),
                FamilyChoice::V6 => Some(Family::V6),
            },
            ..ParseOptions::default()
        };
        let (ruleset, diags) = parse_with(text, &options, &mut |done, total| {
            let what = "Reading the ruleset".to_owned();
            say(Response::Progress { what, done: done as u64, total: total as u64 });
            true
        });
        let view = ruleset_view(&ruleset, &diags, text);
        if view.is_unusable() {
            let mut problems = view.problems;
            if problems.is_empty() {
                problems.push(placeless(
                    "This text holds no table: iptables-save begins each with a line like *filter.",
                ));
            }
            return Response::Refused(about(Input::Rules, problems));
        }
        self.ruleset = Some(ruleset);
        Response::Loaded(view)
    }
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
