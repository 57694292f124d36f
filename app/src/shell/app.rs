//! The root component: which page is shown, and the engine that all pages share.

use yew::prelude::*;

use super::banner::Banner;
use super::header::Header;
use crate::backend::{Engine, EngineError};
use crate::dom::{Listener, window};
use crate::fidelity::FidelityPage;
use crate::home::Home;
use crate::lesson::LessonPage;
use crate::planes::PlanesPage;
use crate::route::Route;
use crate::trace::TracePage;

fn current_route() -> Route {
    Route::read(&window().location().hash().unwrap_or_default())
}

/// See the module.
#[component]
pub fn App() -> Html {
    let route = use_state(current_route);
    let error = use_state(|| None::<EngineError>);
    let engine = {
        let error = error.setter();
        use_memo((), move |()| Engine::in_worker(Callback::from(move |what| error.set(Some(what)))))
    };
    {
        let route = route.setter();
        use_effect_with((), move |()| {
            let listener = Listener::new(&window(), "hashchange", move |_| {
                route.set(current_route());
                move_to_top();
            });
            move || drop(listener)
        });
    }
    use_effect_with((*route).clone(), |route| {
        if let Some(document) = window().document() {
            document.set_title(title(route));
        }
    });
    let dismiss = {
        let error = error.setter();
        Callback::from(move |()| error.set(None))
    };
    html! {
        <ContextProvider<Engine> context={(*engine).clone()}>
            <a class="skip" href="#main" onclick={skip_to_main}>{ "Skip to the page" }</a>
            <Header route={(*route).clone()} />
            if let Some(error) = &*error {
                <Banner text={error.sentence()} on_dismiss={dismiss} />
            }
            <main id="main" class="main" tabindex="-1">
                { page(&route) }
            </main>
        </ContextProvider<Engine>>
    }
}

fn page(route: &Route) -> Html {
    match route {
        Route::Home => html! { <Home /> },
        Route::Trace => html! { <TracePage shared={None::<AttrValue>} /> },
        Route::Shared(state) => html! { <TracePage shared={Some(AttrValue::from(state.clone()))} /> },
        Route::Fidelity => html! { <FidelityPage /> },
        Route::Planes(state) => html! { <PlanesPage shared={state.clone().map(AttrValue::from)} /> },
        Route::Lesson(id) => html! { <LessonPage key={id.clone()} id={id.clone()} /> },
        Route::Unknown(hash) => html! {
            <div class="page prose">
                <h1>{ "No such page" }</h1>
                <p>{ "The address ends in " }<code>{ hash }</code>{ ", which names no page of the lab." }</p>
                <p><a href="#/">{ "Lessons" }</a>{ " · " }<a href="#/trace">{ "Trace a packet" }</a></p>
            </div>
        },
    }
}

fn title(route: &Route) -> &'static str {
    match route {
        Route::Home => "Chainwalk",
        Route::Trace | Route::Shared(_) => "Trace · Chainwalk",
        Route::Fidelity => "Fidelity · Chainwalk",
        Route::Planes(_) => "Four data planes · Chainwalk",
        Route::Lesson(_) => "Lesson · Chainwalk",
        Route::Unknown(_) => "No such page · Chainwalk",
    }
}

/// A new page starts at its top, for eyes and for screen readers.
fn move_to_top() {
    window().scroll_to_with_x_and_y(0.0, 0.0);
    focus_main();
}

fn focus_main() {
    use wasm_bindgen::JsCast;
    let main = window().document().and_then(|document| document.get_element_by_id("main"));
    if let Some(main) = main.and_then(|main| main.dyn_into::<web_sys::HtmlElement>().ok()) {
        let _ = main.focus();
    }
}

/// The hash holds the route, so the skip link moves the focus itself.
fn skip_to_main(event: MouseEvent) {
    event.prevent_default();
    focus_main();
}
