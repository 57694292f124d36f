//! The page's side of the protocol.
//!
//! Owns: run numbers, who waits for which answer, and cancelling. One `Backend` carries messages; the worker
//! is one, the main-thread twin (feature `main-thread`) is the other. Components see only [`Engine`].

#[cfg(any(test, feature = "main-thread"))]
mod inline;
mod worker;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use yew::Callback;

use crate::protocol::{Envelope, PROTOCOL, Request, Response, RunId};

#[cfg(any(test, feature = "main-thread"))]
pub use inline::InlineBackend;
pub use worker::WorkerBackend;

/// A text that travels beside a message: a JavaScript string or file, never copied by the page.
pub type Attachment = JsValue;

/// Carries requests to an engine. Answers come back through the callback it was made with.
pub trait Backend {
    /// Sends a request.
    fn send(&self, envelope: Envelope<Request>, attachment: Option<Attachment>);
    /// Stops whatever the engine does and starts it anew. Its session is lost.
    fn restart(&self);
}

/// What went wrong with the engine as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineError {
    /// Page and engine are of different builds.
    Mismatch,
    /// The engine could not start or stopped; the text says how.
    Stopped(String),
}

impl EngineError {
    /// A sentence for the reader.
    pub fn sentence(&self) -> String {
        match self {
            Self::Mismatch => {
                "The page and the engine are of different versions. Reload the page to get both anew."
                    .to_owned()
            }
            Self::Stopped(how) => how.clone(),
        }
    }
}

/// An event from below: an answer, or the end of the engine.
#[derive(Debug)]
pub enum Incoming {
    Answer(Box<Envelope<Response>>),
    Error(EngineError),
}

/// Asks the engine and hands each answer to whoever asked.
#[derive(Clone)]
pub struct Engine {
    inner: Rc<Inner>,
}

struct Inner {
    backend: RefCell<Option<Box<dyn Backend>>>,
    next: Cell<u32>,
    waiting: RefCell<BTreeMap<RunId, Callback<Response>>>,
    /// The engine stopped; the next question starts a new one.
    stopped: Cell<bool>,
    on_error: Callback<EngineError>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("waiting", &self.inner.waiting.borrow().len()).finish_non_exhaustive()
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Engine {
    /// Builds the backend with the callback it reports to, and greets the engine.
    pub fn new(
        make: impl FnOnce(Callback<Incoming>) -> Box<dyn Backend>,
        on_error: Callback<EngineError>,
    ) -> Self {
        let inner = Rc::new(Inner {
            backend: RefCell::new(None),
            next: Cell::new(1),
            waiting: RefCell::new(BTreeMap::new()),
            stopped: Cell::new(false),
            on_error,
        });
        let weak = Rc::downgrade(&inner);
        let incoming = Callback::from(move |incoming: Incoming| {
            if let Some(inner) = weak.upgrade() {
                inner.receive(incoming);
            }
        });
        *inner.backend.borrow_mut() = Some(make(incoming));
        let engine = Self { inner };
        engine.greet();
        engine
    }

    /// The engine in its worker.
    pub fn in_worker(on_error: Callback<EngineError>) -> Self {
        Self::new(|incoming| Box::new(WorkerBackend::new(incoming)), on_error)
    }

    /// Asks; every answer goes to `answer`, the last one is `Response::is_last`.
    pub fn ask(&self, request: Request, answer: Callback<Response>) -> RunId {
        self.ask_with(request, None, answer)
    }

    /// Asks with a text beside the message.
    pub fn ask_with(
        &self,
        body: Request,
        attachment: Option<Attachment>,
        answer: Callback<Response>,
    ) -> RunId {
        let run = RunId(self.inner.next.get());
        self.inner.next.set(run.0 + 1);
        self.inner.waiting.borrow_mut().insert(run, answer);
        if let Some(backend) = &*self.inner.backend.borrow() {
            if self.inner.stopped.replace(false) {
                backend.restart();
            }
            backend.send(Envelope { run, body }, attachment);
        }
        run
    }

    /// Stops everything that runs. All who wait hear `Cancelled`; the engine's session starts anew.
    pub fn cancel(&self) {
        if let Some(backend) = &*self.inner.backend.borrow() {
            backend.restart();
        }
        self.inner.tell_all(&Response::Cancelled);
        self.greet();
    }

    fn greet(&self) {
        let on_error = self.inner.on_error.clone();
        self.ask(
            Request::Hello,
            Callback::from(move |answer| {
                if let Response::Hello { protocol } = answer
                    && protocol != PROTOCOL
                {
                    on_error.emit(EngineError::Mismatch);
                }
            }),
        );
    }
}

impl Inner {
    fn receive(&self, incoming: Incoming) {
        match incoming {
            Incoming::Answer(envelope) => {
                let Envelope { run, body } = *envelope;
                let answer = if body.is_last() {
                    self.waiting.borrow_mut().remove(&run)
                } else {
                    self.waiting.borrow().get(&run).cloned()
                };
                // A run that nobody waits for was cancelled.
                if let Some(answer) = answer {
                    answer.emit(body);
                }
            }
            Incoming::Error(error) => {
                self.stopped.set(true);
                self.tell_all(&Response::Failed(error.sentence()));
                self.on_error.emit(error);
            }
        }
    }

    fn tell_all(&self, last: &Response) {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        for (_, answer) in waiting {
            answer.emit(last.clone());
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(all(test, target_arch = "wasm32"))]
mod browser_tests;
