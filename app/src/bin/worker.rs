//! The engine's entry point in its worker.

fn main() {
    chainwalk_app::host::worker::start();
}
