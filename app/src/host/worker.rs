//! The session in a worker: messages in, messages out.
//!
//! A file that travels beside a message is read here, synchronously: only a worker may.

use std::cell::RefCell;

use js_sys::{Array, JsString, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{Blob, DedicatedWorkerGlobalScope, FileReaderSync, MessageEvent};

use super::Session;
use crate::protocol::{Envelope, Request, Response, RunId};

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Listens for requests until the worker is terminated.
pub fn start() {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    std::panic::set_hook(Box::new(|info| web_sys_error(&info.to_string())));
    let port = scope.clone();
    let on_message =
        Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| answer(&port, &event.data()));
    let _ = scope.add_event_listener_with_callback("message", on_message.as_ref().unchecked_ref());
    // The listener lives as long as the worker.
    on_message.forget();
}

/// Reports a panic to the page: the worker's `error` event carries no text of a trap.
fn web_sys_error(text: &str) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let message = format!("The engine stopped: {text}. What you typed is still here.");
    let _ = scope.post_message(&JsValue::from_str(&message));
}

fn answer(scope: &DedicatedWorkerGlobalScope, data: &JsValue) {
    let parts: &Array = data.unchecked_ref();
    let bytes = parts.get(0).dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec()).unwrap_or_default();
    let Some(Envelope { run, body }) = Envelope::<Request>::from_bytes(&bytes) else {
        say(scope, RunId(0), Response::Failed("The engine did not understand the page.".to_owned()));
        return;
    };
    let text = match attached_text(&parts.get(1)) {
        Ok(text) => text,
        Err(how) => return say(scope, run, Response::Failed(how)),
    };
    SESSION.with_borrow_mut(|session| session.handle(body, text, &mut |body| say(scope, run, body)));
}

fn say(scope: &DedicatedWorkerGlobalScope, run: RunId, body: Response) {
    let bytes = Uint8Array::from(Envelope { run, body }.to_bytes().as_slice());
    let _ = scope.post_message_with_transfer(&bytes, &Array::of1(&bytes.buffer()));
}

/// The text beside a message; a sentence when it cannot be read. Bytes that are not UTF-8 become U+FFFD, which the ruleset reader reports by place.
pub fn attached_text(value: &JsValue) -> Result<Option<String>, String> {
    if let Some(text) = value.dyn_ref::<JsString>() {
        return Ok(Some(String::from(text)));
    }
    let Some(blob) = value.dyn_ref::<Blob>() else { return Ok(None) };
    let read = FileReaderSync::new().and_then(|reader| reader.read_as_array_buffer(blob));
    match read {
        Ok(buffer) => {
            let bytes = Uint8Array::new(&buffer).to_vec();
            Ok(Some(
                String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ))
        }
        Err(_) => {
            Err("The file could not be read. It may have been moved or changed since it was chosen."
                .to_owned())
        }
    }
}
