//! The engine in a Web Worker.
//!
//! A message is `[bytes, attachment]`; the bytes' buffer is transferred. A string instead of bytes is the
//! worker's boot script saying that the engine did not start.

use std::cell::RefCell;

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};
use yew::Callback;

use super::{Attachment, Backend, EngineError, Incoming, Which};
use crate::dom::{Listener, base_url, build_id};
use crate::protocol::{Envelope, Request};

struct Running {
    worker: Worker,
    _listeners: [Listener; 2],
}

impl Drop for Running {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// See the module.
pub struct WorkerBackend {
    incoming: Callback<Incoming>,
    running: RefCell<Option<Running>>,
}

impl std::fmt::Debug for WorkerBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerBackend")
            .field("running", &self.running.borrow().is_some())
            .finish_non_exhaustive()
    }
}

impl WorkerBackend {
    /// Starts the worker.
    pub fn new(incoming: Callback<Incoming>) -> Self {
        let backend = Self { incoming, running: RefCell::new(None) };
        backend.restart(Which::First);
        backend
    }

    fn start(&self, which: Which) -> Result<Running, JsValue> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        // As `engine-worker.js` knows them.
        let engine = match which {
            Which::First => "chainwalk-worker",
            Which::Whole => "chainwalk-worker-planes",
        };
        let url = base_url(&format!("engine-worker.js?v={}&engine={engine}", build_id()))?;
        let worker = Worker::new_with_options(&url, &options)?;
        let incoming = self.incoming.clone();
        let on_message = Listener::new(&worker, "message", move |event| {
            let data = event.unchecked_into::<MessageEvent>().data();
            incoming.emit(read(&data));
        });
        let incoming = self.incoming.clone();
        let on_error = Listener::new(&worker, "error", move |event| {
            let text = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).unwrap_or_default();
            let how = match text.as_str() {
                "" => "The engine's worker could not be loaded. Reload the page to try again.".to_owned(),
                text => format!(
                    "The engine stopped ({text}). What you typed is still here; press Trace to run again."
                ),
            };
            incoming.emit(Incoming::Error(EngineError::Stopped(how)));
        });
        Ok(Running { worker, _listeners: [on_message, on_error] })
    }
}

fn read(data: &JsValue) -> Incoming {
    if let Some(how) = data.as_string() {
        return Incoming::Error(EngineError::Stopped(how));
    }
    let bytes = data.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec).unwrap_or_default();
    match Envelope::from_bytes(&bytes) {
        Some(envelope) => Incoming::Answer(Box::new(envelope)),
        None => Incoming::Error(EngineError::Mismatch),
    }
}

impl Backend for WorkerBackend {
    fn send(&self, envelope: Envelope<Request>, attachment: Option<Attachment>) {
        let running = self.running.borrow();
        let Some(running) = &*running else { return };
        let bytes = Uint8Array::from(envelope.to_bytes().as_slice());
        let message = Array::of2(&bytes, &attachment.unwrap_or(JsValue::UNDEFINED));
        if let Err(error) = running.worker.post_message_with_transfer(&message, &Array::of1(&bytes.buffer()))
        {
            let how = format!("The text could not be handed to the engine ({error:?}).");
            self.incoming.emit(Incoming::Error(EngineError::Stopped(how)));
        }
    }

    fn restart(&self, which: Which) {
        self.running.take();
        match self.start(which) {
            Ok(running) => *self.running.borrow_mut() = Some(running),
            Err(error) => {
                let how = format!("This browser could not start a worker ({error:?}).");
                self.incoming.emit(Incoming::Error(EngineError::Stopped(how)));
            }
        }
    }
}
