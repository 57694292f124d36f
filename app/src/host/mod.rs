//! The engine's side of the protocol.
//!
//! Owns: the session (what is loaded, what was sent) and the answers to requests. Does NOT own a clock, a
//! document or a thread: `worker` puts it in a worker, `backend::InlineBackend` on the main thread.

mod manifest;
mod session;
pub mod worker;

pub use session::Session;
