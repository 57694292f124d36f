//! Who hears which answer, with a backend that records.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;

#[derive(Default)]
struct Wire {
    sent: RefCell<Vec<Envelope<Request>>>,
    restarts: Cell<u32>,
    incoming: RefCell<Option<Callback<Incoming>>>,
}

struct Recorder(Rc<Wire>);

impl Backend for Recorder {
    fn send(&self, envelope: Envelope<Request>, _: Option<Attachment>) {
        self.0.sent.borrow_mut().push(envelope);
    }
    fn restart(&self) {
        self.0.restarts.set(self.0.restarts.get() + 1);
    }
}

fn engine() -> (Engine, Rc<Wire>, Rc<RefCell<Vec<EngineError>>>) {
    let wire = Rc::new(Wire::default());
    let errors = Rc::new(RefCell::new(Vec::new()));
    let (wire_in, errors_in) = (wire.clone(), errors.clone());
    let engine = Engine::new(
        move |incoming| {
            *wire_in.incoming.borrow_mut() = Some(incoming);
            Box::new(Recorder(wire_in))
        },
        Callback::from(move |error| errors_in.borrow_mut().push(error)),
    );
    (engine, wire, errors)
}

fn answer(wire: &Wire, run: RunId, body: Response) {
    let incoming = wire.incoming.borrow().clone().expect("made with the engine");
    incoming.emit(Incoming::Answer(Box::new(Envelope { run, body })));
}

fn heard() -> (Callback<Response>, Rc<RefCell<Vec<Response>>>) {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let into = heard.clone();
    (Callback::from(move |response| into.borrow_mut().push(response)), heard)
}

#[test]
fn progress_comes_before_the_last_word_and_nothing_after_it() {
    let (engine, wire, _) = engine();
    let (callback, heard) = heard();
    let run = engine.ask(Request::ReadLink("v1.".to_owned()), callback);
    let progress = Response::Progress { what: "lines".to_owned(), done: 1, total: 2 };
    answer(&wire, run, progress.clone());
    answer(&wire, run, Response::Link("x".to_owned()));
    answer(&wire, run, Response::Link("late".to_owned()));
    assert_eq!(*heard.borrow(), [progress, Response::Link("x".to_owned())]);
}

#[test]
fn cancel_restarts_the_engine_and_tells_everybody() {
    let (engine, wire, _) = engine();
    let (callback, heard) = heard();
    let run = engine.ask(Request::Follow(crate::protocol::Follow::Again), callback);
    engine.cancel();
    answer(&wire, run, Response::Link("too late".to_owned()));
    assert_eq!(wire.restarts.get(), 1);
    assert_eq!(*heard.borrow(), [Response::Cancelled]);
    let greetings = wire.sent.borrow().iter().filter(|sent| sent.body == Request::Hello).count();
    assert_eq!(greetings, 2, "once at the start, once after the restart");
}

#[test]
fn an_engine_of_another_protocol_is_refused() {
    let (_engine, wire, errors) = engine();
    answer(&wire, RunId(1), Response::Hello { protocol: PROTOCOL + 1 });
    assert_eq!(*errors.borrow(), [EngineError::Mismatch]);
}

#[test]
fn a_stopped_engine_answers_all_who_wait() {
    let (engine, wire, errors) = engine();
    let (callback, heard) = heard();
    engine.ask(Request::ReadLink(String::new()), callback);
    let incoming = wire.incoming.borrow().clone().expect("made with the engine");
    incoming.emit(Incoming::Error(EngineError::Stopped("out of memory".to_owned())));
    assert_eq!(*heard.borrow(), [Response::Failed("out of memory".to_owned())]);
    assert_eq!(*errors.borrow(), [EngineError::Stopped("out of memory".to_owned())]);
    engine.ask(Request::ReadLink(String::new()), Callback::noop());
    assert_eq!(wire.restarts.get(), 1, "the next question starts a new engine");
}
