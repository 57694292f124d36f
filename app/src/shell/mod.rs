//! The frame around every page: header, route, engine, theme, and what to say when the engine fails.

mod app;
mod banner;
mod header;
mod theme;

pub use app::App;

/// Mounts the lab in place of the boot screen.
///
/// # Panics
/// When `index.html` has no element `#app`, which a build cannot lose.
pub fn start() {
    std::panic::set_hook(Box::new(|info| {
        web_sys_console_error(&info.to_string());
    }));
    let root = crate::dom::window()
        .document()
        .and_then(|document| document.get_element_by_id("app"))
        .expect("index.html has #app");
    root.set_inner_html("");
    yew::Renderer::<App>::with_root(root).render();
}

fn web_sys_console_error(text: &str) {
    web_sys::console::error_1(&text.into());
}
