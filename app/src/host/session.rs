//! One reader's session with the engine.

use crate::link;
use crate::protocol::{Input, PROTOCOL, Request, Response};

/// What is loaded and what was sent.
#[derive(Debug, Default)]
pub struct Session {}

impl Session {
    /// Answers one request; `text` travelled beside it.
    pub fn handle(&mut self, request: Request, text: Option<String>, say: &mut dyn FnMut(Response)) {
        let answer = match request {
            Request::Hello => Response::Hello { protocol: PROTOCOL },
            Request::MakeLink(mut state) => {
                state.rules = text.unwrap_or(state.rules);
                Response::Link(link::write(&state))
            }
            Request::ReadLink(text) => {
                let (state, problems) = link::read(&text);
                match state {
                    Some(state) => Response::Opened { state, problems },
                    None => Response::Refused(
                        problems.into_iter().map(|problem| (Input::Link, problem)).collect(),
                    ),
                }
            }
            _ => Response::Failed(String::new()),
        };
        say(answer);
    }
}
