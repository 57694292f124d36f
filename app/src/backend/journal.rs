//! What has been asked of the first engine, so that the one with every data plane can take over from it.
//!
//! Owns: which requests made the session as it is, and which still wait for their last answer. Played in order to an engine
//! that has seen nothing, they give the same session, since a run of the engine depends on nothing else.

use super::Attachment;
use crate::protocol::{Envelope, Request, RunId};

/// A request that was sent.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) envelope: Envelope<Request>,
    pub(super) attachment: Option<Attachment>,
    answered: bool,
}

/// What a request leaves behind in the session. A later one of the same rank or a lower number replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Leaves {
    Ruleset,
    FirstPacket,
    Packet,
}

/// See the module. Holds the requests of one ruleset at a time, and those of lessons: a few dozen short texts.
#[derive(Debug, Default)]
pub(super) struct Journal(Vec<Asked>);

impl Journal {
    pub(super) fn ask(&mut self, envelope: Envelope<Request>, attachment: Option<Attachment>) {
        if let Some(new @ (Leaves::Ruleset | Leaves::FirstPacket)) = leaves(&envelope.body) {
            self.0.retain(|old| !old.answered || leaves(&old.envelope.body).is_none_or(|old| old < new));
        }
        self.0.push(Asked { envelope, attachment, answered: false });
    }

    /// The last answer to a request came.
    pub(super) fn answered(&mut self, run: RunId) {
        self.0.retain_mut(|asked| {
            asked.answered |= asked.envelope.run == run;
            !asked.answered || keeps(&asked.envelope.body)
        });
    }

    /// Everything, in order.
    pub(super) fn into_asked(self) -> Vec<Asked> {
        self.0
    }
}

/// Whether the session is another one after this request.
fn keeps(request: &Request) -> bool {
    leaves(request).is_some() || matches!(request, Request::Lesson(ask) if ask.leaves_packets())
}

fn leaves(request: &Request) -> Option<Leaves> {
    match request {
        Request::Load { .. } => Some(Leaves::Ruleset),
        Request::Trace { .. } => Some(Leaves::FirstPacket),
        Request::Follow(_) => Some(Leaves::Packet),
        // Packets of lessons keep their numbers: they are never replaced.
        Request::Lesson(_)
        | Request::Hello
        | Request::RunProxy { .. }
        | Request::VisitRows { .. }
        | Request::ChainRows { .. }
        | Request::MakeLink(_)
        | Request::ReadLink(_)
        | Request::Fidelity
        | Request::Planes(_) => None,
    }
}
