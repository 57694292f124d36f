//! The glue in a browser: the main-thread twin end to end, a worker that cannot start, listeners, storage.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;
use yew::Callback;

use super::*;
use crate::dom::{Listener, Timer, window};
use crate::protocol::{FamilyChoice, Follow, Input, NodeFacts};
use crate::storage;

const RULES: &str = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n\
                     -A INPUT -p tcp -m tcp --dport 22 -j DROP\nCOMMIT\n";

async fn pause(ms: i32) {
    let promise = Promise::new(&mut |resolve, _| {
        let _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms);
    });
    let _ = JsFuture::from(promise).await;
}

fn inline() -> Engine {
    Engine::new(|incoming| Box::new(InlineBackend::new(incoming)), Callback::noop())
}

/// Asks and waits for the last word.
async fn ask(engine: &Engine, request: Request, text: Option<&str>) -> Response {
    let heard = Rc::new(RefCell::new(None));
    let into = heard.clone();
    let answer = Callback::from(move |response: Response| {
        if response.is_last() {
            *into.borrow_mut() = Some(response);
        }
    });
    engine.ask_with(request, text.map(JsValue::from_str), answer);
    for _ in 0..500 {
        if let Some(response) = heard.borrow_mut().take() {
            return response;
        }
        pause(10).await;
    }
    panic!("no answer within five seconds");
}

#[wasm_bindgen_test]
async fn a_session_runs_on_the_main_thread() {
    let engine = inline();
    let loaded = ask(&engine, Request::Load { family: FamilyChoice::Auto }, Some(RULES)).await;
    assert!(matches!(loaded, Response::Loaded(view) if view.rules == 1));
    let packet = "tcp 10.0.0.2:40000 > 10.0.0.1:22 in eth0".to_owned();
    let facts = NodeFacts { addresses: vec!["eth0=10.0.0.1/24".to_owned()], ..NodeFacts::default() };
    let traced = ask(&engine, Request::Trace { packet: packet.clone(), facts }, None).await;
    let Response::Traced { trace, .. } = traced else { panic!("{traced:?}") };
    assert_eq!(trace.verdict.sentence, "Dropped by rule 1 of filter INPUT. The sender hears nothing.");
    let refused = ask(&engine, Request::Follow(Follow::Reply), None).await;
    assert!(matches!(refused, Response::Refused(_)));
    let rows = ask(&engine, Request::VisitRows { sent: 0, visit: 0, from: 0, len: 9 }, None).await;
    assert!(matches!(rows, Response::Rows(window) if window.rows.len() == 1));
    let wrong = Request::Trace { packet: packet.replace(":22", ":70000"), facts: NodeFacts::default() };
    let refused = ask(&engine, wrong, None).await;
    let Response::Refused(problems) = refused else { panic!("{refused:?}") };
    assert_eq!((problems[0].0, problems[0].1.line), (Input::Packet, 1));
    assert!(problems[0].1.column > 20, "{problems:?}");
}

#[wasm_bindgen_test]
async fn a_link_survives_the_wire() {
    let engine = inline();
    let state = crate::protocol::SharedState { packet: "tcp".to_owned(), ..Default::default() };
    let made = ask(&engine, Request::MakeLink(state.clone()), Some(RULES)).await;
    let Response::Link(link) = made else { panic!("{made:?}") };
    let opened = ask(&engine, Request::ReadLink(link), None).await;
    let Response::Opened { state: read, problems } = opened else { panic!("{opened:?}") };
    assert_eq!((read.rules.as_str(), read.packet.as_str()), (RULES, "tcp"));
    assert!(problems.is_empty());
}

#[wasm_bindgen_test]
async fn a_worker_that_cannot_be_loaded_says_so() {
    let errors = Rc::new(RefCell::new(Vec::new()));
    let into = errors.clone();
    // The test page has no engine-worker.js beside it.
    let engine = Engine::in_worker(Callback::from(move |error| into.borrow_mut().push(error)));
    let answer = ask(&engine, Request::ReadLink(String::new()), None).await;
    assert!(matches!(answer, Response::Failed(_)), "{answer:?}");
    assert!(matches!(errors.borrow().as_slice(), [EngineError::Stopped(_), ..]));
}

#[wasm_bindgen_test]
async fn listeners_and_timers_end_with_their_owner() {
    let heard = Rc::new(Cell::new(0));
    let (on_event, on_time) = (heard.clone(), heard.clone());
    let listener = Listener::new(&window(), "chainwalk-test", move |_| on_event.set(on_event.get() + 1));
    let fire = || {
        let _ = window().dispatch_event(&web_sys::Event::new("chainwalk-test").expect("an event"));
    };
    fire();
    drop(listener);
    fire();
    drop(Timer::new(1, move || on_time.set(100)));
    pause(30).await;
    assert_eq!(heard.get(), 1);
}

#[wasm_bindgen_test]
fn storage_gives_back_what_it_took() {
    assert!(storage::set("test", "x"));
    assert_eq!(storage::get("test").as_deref(), Some("x"));
    storage::remove("test");
    assert_eq!(storage::get("test"), None);
}
