//! The page: the UI on the main thread. The engine lives in the worker (`bin/worker.rs`).

fn main() {
    chainwalk_app::shell::start();
}
