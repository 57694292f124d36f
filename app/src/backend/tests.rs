//! Who hears which answer, with a backend that records.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;

#[derive(Default)]
struct Wire {
    sent: RefCell<Vec<Envelope<Request>>>,
    restarts: Cell<u32>,
    enlarged: Cell<u32>,
    incoming: RefCell<Option<Callback<Incoming>>>,
}

struct Recorder(Rc<Wire>);

impl Backend for Recorder {
    fn send(&self, envelope: Envelope<Request>, _: Option<Attachment>) {
        self.0.sent.borrow_mut().push(envelope);
    }
    fn restart(&self, which: Which) {
        let count = match which {
            Which::First => &self.0.restarts,
            Which::Whole => &self.0.enlarged,
        };
        count.set(count.get() + 1);
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

/// What was sent since the larger engine took over.
fn sent_after(wire: &Wire, before: usize) -> Vec<(RunId, Request)> {
    wire.sent.borrow()[before..].iter().map(|sent| (sent.run, sent.body.clone())).collect()
}

fn load() -> Request {
    Request::Load { family: crate::protocol::FamilyChoice::V4 }
}

fn trace(packet: &str) -> Request {
    Request::Trace { packet: packet.to_owned(), facts: crate::protocol::NodeFacts::default() }
}

#[test]
fn the_larger_engine_hears_what_made_the_session_and_what_waits() {
    let (engine, wire, _) = engine();
    answer(&wire, RunId(1), Response::Hello { protocol: PROTOCOL });
    let ask = |request| engine.ask(request, Callback::noop());
    let done = |run| answer(&wire, run, Response::Link(String::new()));
    // A first ruleset with its packet, replaced by another; rows leave nothing behind.
    for request in [load(), trace("old"), load(), trace("tcp")] {
        done(ask(request));
    }
    let again = Request::Follow(crate::protocol::Follow::Again);
    done(ask(again.clone()));
    done(ask(Request::ChainRows { table: String::new(), chain: String::new(), from: 0, len: 1 }));
    let (callback, heard) = heard();
    let run = engine.ask(Request::ReadLink("v1.".to_owned()), callback);
    let before = wire.sent.borrow().len();
    answer(&wire, run, Response::NeedsPlanes);
    assert_eq!(wire.enlarged.get(), 1);
    let wanted = [
        (RunId(4), load()),
        (RunId(5), trace("tcp")),
        (RunId(6), again),
        (run, Request::ReadLink("v1.".to_owned())),
    ];
    assert_eq!(sent_after(&wire, before), wanted);
    // Answers of the session played again reach nobody; the one that waited hears its own.
    done(RunId(4));
    answer(&wire, run, Response::Link("x".to_owned()));
    assert_eq!(*heard.borrow(), [Response::Link("x".to_owned())]);
}

#[test]
fn what_surely_needs_the_larger_engine_is_not_asked_of_the_first() {
    let (engine, wire, _) = engine();
    let run = engine.ask(Request::Fidelity, Callback::noop());
    assert_eq!(wire.enlarged.get(), 1);
    assert_eq!(sent_after(&wire, 1), [(RunId(1), Request::Hello), (run, Request::Fidelity)]);
    engine.ask(Request::Fidelity, Callback::noop());
    engine.cancel();
    assert_eq!((wire.enlarged.get(), wire.restarts.get()), (2, 0), "a restart starts the same engine");
}

#[test]
fn a_lost_session_is_not_played_again() {
    let (engine, wire, _) = engine();
    let run = engine.ask(load(), Callback::noop());
    answer(&wire, run, Response::Link(String::new()));
    engine.cancel();
    let before = wire.sent.borrow().len();
    let fidelity = engine.ask(Request::Fidelity, Callback::noop());
    let hello = RunId(fidelity.0 - 1);
    assert_eq!(sent_after(&wire, before), [(hello, Request::Hello), (fidelity, Request::Fidelity)]);
}

/// A lesson with packets and with choices, asked to run the one with this id.
fn lesson(id: &str) -> Request {
    use chainwalk_lessons::model::{Input, Run};
    let run = |id: &str, input| Run {
        id: id.to_owned(),
        title: String::new(),
        names: Vec::new(),
        input,
        digest: String::new(),
    };
    let spread = chainwalk_lessons::model::SpreadInput {
        rules: String::new(),
        client: String::new(),
        service: String::new(),
        connections: 1,
        batch: 0,
        seed: 1,
    };
    let runs = vec![run("packets", Input::Replay(String::new())), run("many", Input::Spread(spread))];
    let what = crate::lesson::ask::What::Run(id.to_owned());
    Request::Lesson(Box::new(crate::lesson::ask::Ask { runs, what }))
}

#[test]
fn of_lessons_only_packets_are_played_again() {
    let (engine, wire, _) = engine();
    answer(&wire, RunId(1), Response::Hello { protocol: PROTOCOL });
    for id in ["packets", "many"] {
        let run = engine.ask(lesson(id), Callback::noop());
        answer(&wire, run, Response::Link(String::new()));
    }
    let before = wire.sent.borrow().len();
    let fidelity = engine.ask(Request::Fidelity, Callback::noop());
    assert_eq!(sent_after(&wire, before), [(RunId(2), lesson("packets")), (fidelity, Request::Fidelity)]);
}

#[test]
fn when_the_larger_engine_cannot_be_had_the_first_is_there_again() {
    let (engine, wire, _) = engine();
    let incoming = wire.incoming.borrow().clone().expect("made with the engine");
    let (callback, heard) = heard();
    engine.ask(Request::Fidelity, callback);
    incoming.emit(Incoming::Error(EngineError::Stopped("offline".to_owned())));
    assert_eq!(*heard.borrow(), [Response::Failed("offline".to_owned())]);
    engine.ask(load(), Callback::noop());
    assert_eq!((wire.enlarged.get(), wire.restarts.get()), (1, 1));
    // Later it can be had; one that has answered is the engine from then on.
    let run = engine.ask(Request::Fidelity, Callback::noop());
    answer(&wire, run, Response::Fidelity(Vec::new()));
    incoming.emit(Incoming::Error(EngineError::Stopped("out of memory".to_owned())));
    engine.ask(load(), Callback::noop());
    assert_eq!((wire.enlarged.get(), wire.restarts.get()), (3, 1));
}
