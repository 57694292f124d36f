//! Four data planes: Services and EndpointSlices in, what each mode of kube-proxy programs out, and a packet
//! through all of them.
//!
//! Reading order: `ask` (what page and engine say), `host` and `samples` (the engine's side), `state`,
//! `controller`, then the page from `page` down.

pub mod ask;
mod edit;
pub mod host;
mod samples;

mod controller;
mod state;

mod compare;
mod form;
mod held_list;
mod held_panel;
mod objects_panel;
mod packet_panel;
mod page;

pub use page::PlanesPage;
