//! How a ruleset comes in: typed, pasted, dropped or chosen as a file.
//!
//! A long text never enters the text field, which would freeze on it, nor the page's memory: it is held as the
//! JavaScript string or file it came as, and the engine reads it from there.

use js_sys::{Function, JsString, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ClipboardEvent, File};
use yew::Callback;

use super::state::{Action, Held};

/// Longest text the text field takes; a longer one is held beside it.
pub(super) const FIELD_LIMIT_BYTES: u64 = 256 << 10;

/// Takes a paste over when it is long; `None` leaves it to the text field.
pub(super) fn from_paste(event: &ClipboardEvent) -> Option<Action> {
    let data = event.clipboard_data()?;
    if let Some(file) = data.files().and_then(|files| files.get(0)) {
        return Some(hold_file(&file));
    }
    // `DataTransfer::get_data` would copy the text into the page's memory before its length is known.
    let get_data: Function = Reflect::get(&data, &"getData".into()).ok()?.dyn_into().ok()?;
    let text: JsString = get_data.call1(&data, &"text/plain".into()).ok()?.dyn_into().ok()?;
    let size_bytes = u64::from(text.length());
    (size_bytes > FIELD_LIMIT_BYTES)
        .then(|| Action::HoldRules(Held { name: "Pasted text".into(), size_bytes, body: text.into() }))
}

/// Reads a short text file into the field; holds any other.
pub(super) fn from_file(file: File, on_action: Callback<Action>) {
    if file.size() as u64 > FIELD_LIMIT_BYTES {
        on_action.emit(hold_file(&file));
        return;
    }
    spawn_local(async move {
        let text = JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string());
        on_action.emit(match text {
            // The engine names the place of what is no text, from the file itself.
            Some(text) if !text.contains(['\0', '\u{fffd}']) => Action::TypeRules(text.into()),
            _ => hold_file(&file),
        });
    });
}

fn hold_file(file: &File) -> Action {
    Action::HoldRules(Held { name: file.name().into(), size_bytes: file.size() as u64, body: file.into() })
}

/// Puts a held text into the field after all; `on_action` hears it.
pub(super) fn edit_anyway(held: &Held, on_action: Callback<Action>) {
    if let Some(text) = held.body.as_string() {
        on_action.emit(Action::TypeRules(text.into()));
        return;
    }
    let Some(file) = held.body.dyn_ref::<File>().cloned() else { return };
    spawn_local(async move {
        if let Some(text) = JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string()) {
            on_action.emit(Action::TypeRules(text.into()));
        }
    });
}

/// `30.1 MB`, `412 KB`.
pub(super) fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::size_text;

    #[test]
    fn sizes_read_well() {
        let sizes = [0, 999, 1_000, 412_345, 30_145_000, 52_428_800].map(size_text);
        assert_eq!(sizes, ["0 bytes", "999 bytes", "1 KB", "412 KB", "30.1 MB", "52.4 MB"]);
    }
}
