//! One target of `chainwalk_tests::fuzz`, named by CHAINWALK_FUZZ_TARGET, under libFuzzer.
//!
//! `cargo xtask fuzz` needs no coverage and runs anywhere; this goes deeper:
//! `CHAINWALK_FUZZ_TARGET=paste RUSTC_BOOTSTRAP=1 cargo fuzz run -s none --no-cfg-fuzzing any`. (With `cfg(fuzzing)`
//! smoltcp takes every checksum for right, and a packet with a wrong one is not the same when it is read again.)
#![no_main]

use std::sync::OnceLock;

use chainwalk_tests::fuzz::targets::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

fn target() -> &'static Target {
    static CHOSEN: OnceLock<&Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("CHAINWALK_FUZZ_TARGET").unwrap_or_default();
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        let found = TARGETS.iter().find(|target| target.name == name);
        found.unwrap_or_else(|| panic!("CHAINWALK_FUZZ_TARGET={name:?} is not one of {names:?}"))
    })
}

fuzz_target!(|text: &str| {
    if let Err(law) = (target().read)(text) {
        panic!("{law}");
    }
});
