//! The engine's entry point in the worker that knows every data plane. See `worker.rs`.

fn main() {
    chainwalk_app::host::worker::start();
}
