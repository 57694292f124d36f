//! Light, dark, or as the system says. `theme.js` applies the stored choice before the first paint.

use yew::prelude::*;

use crate::dom::window;
use crate::storage;

const KEY: &str = "theme";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    fn stored() -> Self {
        match storage::get(KEY).as_deref() {
            Some("light") => Self::Light,
            Some("dark") => Self::Dark,
            _ => Self::System,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::System => "Auto",
            Self::Light => "Light",
            Self::Dark => "Dark",
        }
    }

    /// Shows the theme; keeps it if the browser lets it.
    fn apply(self) {
        let Some(root) = window().document().and_then(|document| document.document_element()) else { return };
        let _ = match self {
            Self::System => root.remove_attribute("data-theme"),
            Self::Light | Self::Dark => root.set_attribute("data-theme", self.name()),
        };
        if self == Self::System {
            storage::remove(KEY);
        } else {
            storage::set(KEY, self.name());
        }
    }
}

/// Three radio buttons.
#[component]
pub(super) fn ThemeSwitch() -> Html {
    let theme = use_state(Theme::stored);
    html! {
        <fieldset class="segments theme">
            <legend class="hidden">{ "Colours" }</legend>
            { for [Theme::System, Theme::Light, Theme::Dark].map(|choice| {
                let setter = theme.setter();
                let onchange = Callback::from(move |_: Event| {
                    choice.apply();
                    setter.set(choice);
                });
                html! {
                    <label class="segment">
                        <input type="radio" name="theme" value={choice.name()} checked={*theme == choice} {onchange} />
                        <span>{ choice.label() }</span>
                    </label>
                }
            }) }
        </fieldset>
    }
}
