//! The few DOM calls that need care: listeners that end with their owner, and URLs under any path.

use wasm_bindgen::prelude::*;
use web_sys::{Event, EventTarget, Url, Window};

/// The window.
///
/// # Panics
/// Outside a page, where nothing is drawn.
pub fn window() -> Window {
    web_sys::window().expect("the page has a window")
}

/// Resolves `relative` against the page's base, so that the lab works under any path.
pub fn base_url(relative: &str) -> Result<String, JsValue> {
    let base =
        window().document().and_then(|document| document.base_uri().ok().flatten()).unwrap_or_default();
    Ok(Url::new_with_base(relative, &base)?.href())
}

/// The build that the page is of, as `cargo xtask build` stamped it on the boot script: it keeps a cached engine
/// of another build away.
pub fn build_id() -> String {
    let script = window().document().and_then(|document| document.get_element_by_id("boot-script"));
    script.and_then(|script| script.get_attribute("data-build")).unwrap_or_default()
}

/// An event listener that is removed when dropped.
pub struct Listener {
    target: EventTarget,
    kind: &'static str,
    closure: Closure<dyn FnMut(Event)>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Listener {
    /// Listens for `kind` on `target`.
    pub fn new(target: &EventTarget, kind: &'static str, on_event: impl FnMut(Event) + 'static) -> Self {
        let closure = Closure::<dyn FnMut(Event)>::new(on_event);
        // Cannot fail: the arguments are a string and a function.
        let _ = target.add_event_listener_with_callback(kind, closure.as_ref().unchecked_ref());
        Self { target: target.clone(), kind, closure }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ =
            self.target.remove_event_listener_with_callback(self.kind, self.closure.as_ref().unchecked_ref());
    }
}

/// Runs `action` once, after `delay_ms`, unless dropped before.
pub struct Timer {
    id: i32,
    _closure: Closure<dyn FnMut()>,
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timer").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Timer {
    /// Starts the clock.
    pub fn new(delay_ms: i32, action: impl FnMut() + 'static) -> Self {
        let closure = Closure::<dyn FnMut()>::new(action);
        let id = window()
            .set_timeout_with_callback_and_timeout_and_arguments_0(closure.as_ref().unchecked_ref(), delay_ms)
            .unwrap_or_default();
        Self { id, _closure: closure }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        window().clear_timeout_with_handle(self.id);
    }
}

/// Screens that show one part at a time; the style sheets say the same.
pub const NARROW: &str = "(max-width: 767px)";

/// Moves the focus to the element with this id.
pub fn focus_id(id: &str) {
    let element = window().document().and_then(|document| document.get_element_by_id(id));
    // SVG elements focus through their own interface; both have `focus`.
    if let Some(element) = element
        && let Ok(focus) = js_sys::Reflect::get(&element, &"focus".into())
        && let Ok(focus) = focus.dyn_into::<js_sys::Function>()
    {
        let _ = focus.call0(&element);
    }
}

/// Whether a media query holds, now and whenever it changes.
#[yew::hook]
pub fn use_media(query: &'static str) -> bool {
    let list = yew::use_memo(query, |query| window().match_media(query).ok().flatten());
    let holds = yew::use_state(|| list.as_ref().as_ref().is_some_and(web_sys::MediaQueryList::matches));
    {
        let (list, holds) = (list.clone(), holds.setter());
        yew::use_effect_with(query, move |_| {
            let listener = list.as_ref().clone().map(|list| {
                let target = list.clone();
                Listener::new(&target, "change", move |_| holds.set(list.matches()))
            });
            move || drop(listener)
        });
    }
    *holds
}
