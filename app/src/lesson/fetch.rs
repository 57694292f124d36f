//! Compiled lessons from the host this page came from.

use chainwalk_lessons::model::{Entry, FORMAT, Lesson};
use js_sys::Uint8Array;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use crate::dom::{base_url, build_id, window};

/// The list of lessons.
pub(super) async fn catalogue() -> Result<Vec<Entry>, String> {
    read("lessons/index.bin").await
}

/// One lesson.
pub(super) async fn lesson(id: &str) -> Result<Lesson, String> {
    // An id is a folder's name: anything else asks for no file.
    if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err(format!("There is no lesson called {id}."));
    }
    let lesson: Lesson = read(&format!("lessons/{id}/lesson.bin")).await?;
    if lesson.format == FORMAT { Ok(lesson) } else { Err(OTHER_BUILD.to_owned()) }
}

const OTHER_BUILD: &str =
    "The lesson and the page are of different versions. Reload the page to get both anew.";

async fn read<T: DeserializeOwned>(path: &str) -> Result<T, String> {
    let bytes = bytes(path).await?;
    postcard::from_bytes(&bytes).map_err(|_| OTHER_BUILD.to_owned())
}

async fn bytes(path: &str) -> Result<Vec<u8>, String> {
    let unreachable = |_: JsValue| "The lesson could not be loaded. Are you offline?".to_owned();
    let url = base_url(&format!("{path}?v={}", build_id())).map_err(unreachable)?;
    let response: Response =
        JsFuture::from(window().fetch_with_str(&url)).await.map_err(unreachable)?.unchecked_into();
    if !response.ok() {
        return Err(match response.status() {
            404 => "There is no such lesson here.".to_owned(),
            status => format!("The lesson could not be loaded: the host answered {status}."),
        });
    }
    let buffer = JsFuture::from(response.array_buffer().map_err(unreachable)?).await.map_err(unreachable)?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
