//! The one way to the browser's storage. Storage may be denied, full or cleared at any moment: every access is
//! guarded and the lab works without it.

use crate::dom::window;

const PREFIX: &str = "chainwalk.";

/// What is stored under `key`.
pub fn get(key: &str) -> Option<String> {
    let storage = window().local_storage().ok()??;
    storage.get_item(&format!("{PREFIX}{key}")).ok()?
}

/// Stores `value` under `key`; false when the browser refuses.
pub fn set(key: &str, value: &str) -> bool {
    let Ok(Some(storage)) = window().local_storage() else { return false };
    storage.set_item(&format!("{PREFIX}{key}"), value).is_ok()
}

/// Forgets `key`.
pub fn remove(key: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.remove_item(&format!("{PREFIX}{key}"));
    }
}
