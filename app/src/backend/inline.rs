//! The engine on the main thread: for tests, and for pages opened from a file, where no worker can start.
//!
//! Answers come in a later turn of the event loop, as a worker's would.

use std::cell::RefCell;
use std::rc::Rc;

use yew::Callback;

use super::{Attachment, Backend, Incoming, Which};
use crate::host::Session;
use crate::protocol::{Envelope, Request, Response};

/// See the module.
pub struct InlineBackend {
    incoming: Callback<Incoming>,
    session: Rc<RefCell<Session>>,
}

impl std::fmt::Debug for InlineBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InlineBackend").finish_non_exhaustive()
    }
}

impl InlineBackend {
    /// A session that has seen nothing.
    pub fn new(incoming: Callback<Incoming>) -> Self {
        Self { incoming, session: Rc::new(RefCell::new(Session::default())) }
    }
}

impl Backend for InlineBackend {
    fn send(&self, envelope: Envelope<Request>, attachment: Option<Attachment>) {
        let (incoming, session) = (self.incoming.clone(), self.session.clone());
        let text = attachment.and_then(|text| text.as_string());
        wasm_bindgen_futures::spawn_local(async move {
            let run = envelope.run;
            let mut answers = Vec::new();
            session.borrow_mut().handle(envelope.body, text, &mut |body: Response| answers.push(body));
            for body in answers {
                incoming.emit(Incoming::Answer(Box::new(Envelope { run, body })));
            }
        });
    }

    /// There is only one engine here; it holds what the page was built with.
    fn restart(&self, _: Which) {
        *self.session.borrow_mut() = Session::default();
    }
}
