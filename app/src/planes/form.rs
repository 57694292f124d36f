//! The small form: a Service's policies and endpoints, changed in the text beside it.

use chainwalk_engine::view::planes::{EndpointForm, FORM_FIELDS, ServiceForm};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::ask::Edit;
use super::controller::Desk;
use super::page::DeskProps;
use super::state::About;

/// See the module.
#[component]
pub(super) fn ObjectsForm(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let chosen = use_state(String::new);
    let Some(view) = &desk.state.view else { return Html::default() };
    let Some(form) = view.forms.iter().find(|form| form.name == *chosen).or_else(|| view.forms.first())
    else {
        return Html::default();
    };
    // A text that cannot be read cannot be changed by form either.
    let is_off = !desk.state.problems[About::Objects as usize].is_empty();
    html! {
        <details class="planes-form">
            <summary>{ "Change it by a form" }</summary>
            <fieldset disabled={is_off}>
                <legend class="hidden">{ "A Service" }</legend>
                <div class="planes-form-fields">
                    { select("Service", "form-service", &form.name, view.forms.iter().map(|form| form.name.as_str()), {
                        let chosen = chosen.setter();
                        Callback::from(move |name| chosen.set(name))
                    }) }
                    { for FORM_FIELDS.iter().zip(&form.values).map(|((field, values), value)| {
                        let (desk, service) = (desk.clone(), form.name.clone());
                        select(field, field, value, values.iter().copied(), Callback::from(move |value| {
                            desk.edit(Edit::Set { service: service.clone(), field: (*field).to_owned(), value });
                        }))
                    }) }
                </div>
                <ul class="planes-endpoints" aria-label="Endpoints">
                    { for form.endpoints.iter().map(|endpoint| endpoint_row(desk, form, endpoint)) }
                </ul>
                <div class="planes-add">
                    { for view.nodes.iter().take(6).map(|node| {
                        let (desk, edit) = (desk.clone(), Edit::AddEndpoint { service: form.name.clone(), node: node.clone() });
                        html! {
                            <button type="button" class="button" onclick={Callback::from(move |_: MouseEvent| desk.edit(edit.clone()))}>
                                { "Add an endpoint on " }{ node }
                            </button>
                        }
                    }) }
                </div>
            </fieldset>
        </details>
    }
}

fn endpoint_row(desk: &Desk, form: &ServiceForm, endpoint: &EndpointForm) -> Html {
    let (service, address) = (form.name.clone(), endpoint.address.clone());
    let remove = Edit::RemoveEndpoint { service: service.clone(), address: address.clone() };
    let on_remove = {
        let desk = desk.clone();
        Callback::from(move |_: MouseEvent| desk.edit(remove.clone()))
    };
    let on_ready = {
        let (desk, address) = (desk.clone(), address.clone());
        Callback::from(move |event: Event| {
            let input: HtmlInputElement = event.target_unchecked_into();
            desk.edit(Edit::Ready {
                service: service.clone(),
                address: address.clone(),
                ready: input.checked(),
            });
        })
    };
    html! {
        <li key={address.clone()}>
            <span class="mono">{ &endpoint.address }</span>
            <span class="muted small">{ &endpoint.node }</span>
            <label class="check-field">
                <input type="checkbox" checked={endpoint.ready} onchange={on_ready} />
                { "ready" }<span class="hidden">{ ": " }{ &endpoint.address }</span>
            </label>
            <button type="button" class="button button-quiet" onclick={on_remove}>
                { "Remove" }<span class="hidden">{ " " }{ &endpoint.address }</span>
            </button>
        </li>
    }
}

fn select<'a>(
    label: &str,
    id: &str,
    chosen: &str,
    values: impl Iterator<Item = &'a str>,
    on_choice: Callback<String>,
) -> Html {
    let onchange = Callback::from(move |event: Event| {
        let select: HtmlSelectElement = event.target_unchecked_into();
        on_choice.emit(select.value());
    });
    html! {
        <label class="field">
            <span class="field-label">{ label.to_owned() }</span>
            <select id={format!("form-{id}")} {onchange}>
                { for values.map(|value| html! {
                    <option value={value.to_owned()} selected={value == chosen}>{ value.to_owned() }</option>
                }) }
            </select>
        </label>
    }
}
