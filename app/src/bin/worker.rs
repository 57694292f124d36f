//! The engine's entry point in the worker that a page begins with: iptables, connections, what stands on them.
//!
//! The same code as `worker_planes.rs`; the feature `planes` is off where this one is built for the browser.

fn main() {
    chainwalk_app::host::worker::start();
}
