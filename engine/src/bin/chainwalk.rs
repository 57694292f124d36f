//! `chainwalk`: the command line over the engine.
fn main() {}
