//! The worker's glue inside a real worker: a text or a file that travels beside a message.
//!
//! `cargo xtask test wasm` runs these; elsewhere they compile to nothing.

#![cfg(target_arch = "wasm32")]

use chainwalk_app::host::worker::attached_text;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::Blob;

wasm_bindgen_test_configure!(run_in_dedicated_worker);

fn blob(bytes: &[u8]) -> JsValue {
    Blob::new_with_u8_array_sequence(&Array::of1(&Uint8Array::from(bytes))).expect("a blob").into()
}

#[wasm_bindgen_test]
fn a_text_is_taken_as_it_is() {
    assert_eq!(attached_text(&JsValue::from_str("*filter\nü")), Ok(Some("*filter\nü".to_owned())));
    assert_eq!(attached_text(&JsValue::UNDEFINED), Ok(None));
}

#[wasm_bindgen_test]
fn a_file_is_read_whole() {
    let text = "-A INPUT -j ACCEPT\n".repeat(100_000);
    assert_eq!(attached_text(&blob(text.as_bytes())), Ok(Some(text)));
}

#[wasm_bindgen_test]
fn bytes_that_are_no_text_are_marked() {
    let text = attached_text(&blob(b"*filter\n\xff\xfe\0x")).expect("readable").expect("a text");
    assert_eq!(text, "*filter\n\u{fffd}\u{fffd}\0x");
}
