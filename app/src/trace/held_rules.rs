//! A ruleset that is too long for the text field: what it is, and what can be done with it.

use yew::prelude::*;

use super::intake::{self, size_text};
use super::state::{Action, Held};
use crate::protocol::TEXT_LIMIT_BYTES;

#[derive(Debug, Clone, Properties)]
pub(super) struct HeldRulesProps {
    pub(super) held: Held,
    /// Changes with the text.
    pub(super) revision: u32,
    pub(super) on_action: Callback<Action>,
}

impl PartialEq for HeldRulesProps {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision
    }
}

/// See the module.
#[component]
pub(super) fn HeldRules(props: &HeldRulesProps) -> Html {
    let held = &props.held;
    let remove = props.on_action.reform(|_: MouseEvent| Action::TypeRules(AttrValue::default()));
    let edit = {
        let (held, on_action) = (held.clone(), props.on_action.clone());
        Callback::from(move |_: MouseEvent| intake::edit_anyway(&held, on_action.clone()))
    };
    let is_too_long = held.size_bytes > TEXT_LIMIT_BYTES;
    html! {
        <div class="held">
            <p><strong>{ &held.name }</strong>{ ", " }{ size_text(held.size_bytes) }</p>
            <p class="muted">
                { if is_too_long {
                    "Kept as it is."
                } else {
                    "Kept outside the text field, which would be slow to edit at this length. The engine reads all of it."
                } }
            </p>
            <p class="held-actions">
                if !is_too_long {
                    <button type="button" class="button" onclick={edit}>{ "Edit anyway" }</button>
                }
                <button type="button" class="button" onclick={remove}>{ "Remove" }</button>
            </p>
        </div>
    }
}
