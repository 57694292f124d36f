//! The page's side of the protocol.
//!
//! Owns: run numbers, who waits for which answer, and cancelling. One `Backend` carries messages; the worker
//! is one, the main-thread twin (feature `main-thread`) is the other. Components see only [`Engine`].
//!
//! There are two engines: the one a page begins with, and one with every data plane, which is larger. When the first says
//! that it cannot answer, or the page asks what it surely cannot, the second takes over: it hears all that made the
//! session, then what waits. Nobody who asked notices anything but the time it takes to load.

#[cfg(any(test, feature = "main-thread"))]
mod inline;
mod journal;
mod worker;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use yew::Callback;

use self::journal::Journal;
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
    /// Stops whatever runs and starts an engine. The session is lost.
    fn restart(&self, which: Which);
}

/// The two engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The one that a page begins with.
    First,
    /// The one with every data plane.
    Whole,
}

/// How far the larger engine has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    First,
    /// The larger one is loading. When it cannot be had, the first one is there again for the next question.
    Loading,
    Whole,
}

impl Stage {
    const fn which(self) -> Which {
        match self {
            Self::First => Which::First,
            Self::Loading | Self::Whole => Which::Whole,
        }
    }
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
    stage: Cell<Stage>,
    /// What the first engine has heard; empty once the larger one has taken over.
    journal: RefCell<Journal>,
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
            stage: Cell::new(Stage::First),
            journal: RefCell::default(),
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
        if surely_needs_planes(&body) {
            self.inner.enlarge();
        }
        self.inner.waiting.borrow_mut().insert(run, answer);
        let envelope = Envelope { run, body };
        if let Some(backend) = &*self.inner.backend.borrow() {
            if self.inner.stopped.replace(false) {
                backend.restart(self.inner.stage.get().which());
            }
            if self.inner.stage.get() == Stage::First {
                self.inner.journal.borrow_mut().ask(envelope.clone(), attachment.clone());
            }
            backend.send(envelope, attachment);
        }
        run
    }

    /// Stops everything that runs. All who wait hear `Cancelled`; the engine's session starts anew.
    pub fn cancel(&self) {
        if let Some(backend) = &*self.inner.backend.borrow() {
            backend.restart(self.inner.stage.get().which());
        }
        self.inner.journal.take();
        self.inner.tell_all(|| Response::Cancelled);
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
                if matches!(body, Response::NeedsPlanes) && self.enlarge() {
                    return;
                }
                if self.stage.get() == Stage::Loading {
                    self.stage.set(Stage::Whole);
                }
                if body.is_last() {
                    self.journal.borrow_mut().answered(run);
                }
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
                self.journal.take();
                if self.stage.get() == Stage::Loading {
                    self.stage.set(Stage::First);
                }
                self.tell_all(|| Response::Failed(error.sentence()));
                self.on_error.emit(error);
            }
        }
    }

    /// Lets the engine with every data plane take over. False when it has already.
    fn enlarge(&self) -> bool {
        if self.stage.get() != Stage::First {
            return false;
        }
        self.stage.set(Stage::Loading);
        self.stopped.set(false);
        if let Some(backend) = &*self.backend.borrow() {
            backend.restart(Which::Whole);
            for asked in self.journal.take().into_asked() {
                backend.send(asked.envelope, asked.attachment);
            }
        }
        true
    }

    fn tell_all(&self, last: impl Fn() -> Response) {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        for (_, answer) in waiting {
            answer.emit(last());
        }
    }
}

/// What no first engine answers. It knows better about everything else, and says so.
const fn surely_needs_planes(request: &Request) -> bool {
    matches!(request, Request::Planes(_) | Request::RunProxy { .. } | Request::Fidelity)
}

#[cfg(test)]
mod tests;

#[cfg(all(test, target_arch = "wasm32"))]
mod browser_tests;
