//! The same runs in WebAssembly, in headless Chromium: they have to give the digests that this machine gives natively.
//!
//! `cargo xtask test wasm` runs these; elsewhere they compile to nothing.

#![cfg(target_arch = "wasm32")]

use chainwalk_portable::digests;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn digests_are_those_of_the_native_run() {
    let native = digests::native();
    assert!(!native.is_empty(), "built without the native digests: run `cargo xtask test wasm`");
    let cases = native.iter().filter(|(name, _)| name.starts_with("case ")).count();
    assert!(cases >= 200, "{cases}");
    let here = digests::all();
    assert_eq!(here.len(), native.len());
    let different: Vec<_> = here
        .iter()
        .zip(&native)
        .filter(|((name, digest), native)| (name.as_str(), digest.as_str()) != **native)
        .collect();
    assert!(different.is_empty(), "{different:#?}");
}
