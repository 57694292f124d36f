//! The lab in the browser.
//!
//! Owns: what is drawn (main thread) and the session that answers it (worker). Does NOT own packet behaviour:
//! the page draws `chainwalk_engine::view` models and computes none of them.
//!
//! Reading order: `protocol` (what page and engine say to each other), `host` (the engine's side),
//! `backend` (the page's side), `route`, `shell`, then one module a page.

pub mod protocol;

pub mod host;
pub mod link;

pub mod backend;
pub mod dom;
pub mod route;
pub mod rows;
pub mod storage;

pub mod fidelity;
pub mod figure;
pub mod home;
pub mod lesson;
pub mod planes;
pub mod shell;
pub mod trace;

#[cfg(all(test, target_arch = "wasm32"))]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
