//! The node around the ruleset: pasted from the real one, stated in a small form, or assumed.

use chainwalk_engine::view::NodeView;
use web_sys::{HtmlInputElement, HtmlTextAreaElement};
use yew::prelude::*;

use super::assumptions::Assumptions;
use super::controller::Desk;
use super::describe::DeskProps;
use super::problems::Problems;
use super::state::Action;
use crate::protocol::{Input, NodeFacts};

/// See the module.
#[component]
pub(super) fn NodePanel(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let facts = &desk.state.facts;
    let given = facts.addresses.len()
        + facts.routes.len()
        + facts.sysctls.len()
        + usize::from(!facts.ip_addr.is_empty())
        + usize::from(!facts.ip_route.is_empty());
    html! {
        <section class="panel" aria-labelledby="node-title">
            <div class="panel-head">
                <h2 id="node-title">{ "Node" }</h2>
                <span class="muted small">{ if given == 0 { "nothing given: inferred" } else { "given; the rest is inferred" } }</span>
            </div>
            <Assumptions desk={desk.clone()} />
            if let Some(node) = &desk.state.node { { in_use(node) } }
            <details class="node-facts">
                <summary>{ "Devices, addresses, routes" }</summary>
                { list(desk, LISTS[0]) }
                { list(desk, LISTS[1]) }
                { list(desk, LISTS[2]) }
                { paste(desk, "Output of ip addr", "ip-addr", Input::IpAddr, &facts.ip_addr, |facts, text| facts.ip_addr = text) }
                { paste(desk, "Output of ip route", "ip-route", Input::IpRoute, &facts.ip_route, |facts, text| facts.ip_route = text) }
            </details>
        </section>
    }
}

/// The node that the packet went through.
fn in_use(node: &NodeView) -> Html {
    let assumed = |is: bool| {
        if is {
            html! { <span class="assumed">{ " assumed" }</span> }
        } else {
            html! {}
        }
    };
    html! {
        <details class="node-used">
            <summary>{ "The node as used" }</summary>
            <dl class="now-fields">
                { for node.devices.iter().map(|device| html! {
                    <div class="now-row" key={device.name.clone()}>
                        <dt>{ &device.name }</dt>
                        <dd>
                            if device.addresses.is_empty() { <span class="muted">{ "no address" }</span> }
                            { for device.addresses.iter().map(|address| html! {
                                <div>{ &address.text }{ assumed(address.assumed) }</div>
                            }) }
                        </dd>
                    </div>
                }) }
                <div class="now-row">
                    <dt>{ "routes" }</dt>
                    <dd>
                        if node.routes.is_empty() { <span class="muted">{ "none" }</span> }
                        { for node.routes.iter().map(|route| html! { <div>{ &route.text }{ assumed(route.assumed) }</div> }) }
                    </dd>
                </div>
            </dl>
        </details>
    }
}

/// A list of short statements about the node.
#[derive(Clone, Copy)]
struct List {
    label: &'static str,
    id: &'static str,
    example: &'static str,
    of: fn(&mut NodeFacts) -> &mut Vec<String>,
    input: fn(u32) -> Input,
}

const LISTS: [List; 3] = [
    List {
        label: "Address",
        id: "node-address",
        example: "eth0=10.0.0.1/24",
        of: |facts| &mut facts.addresses,
        input: Input::Address,
    },
    List {
        label: "Route",
        id: "node-route",
        example: "default=10.0.0.254@eth0",
        of: |facts| &mut facts.routes,
        input: Input::Route,
    },
    List {
        label: "Setting",
        id: "node-sysctl",
        example: "net.ipv4.ip_forward=1",
        of: |facts| &mut facts.sysctls,
        input: Input::Sysctl,
    },
];

fn list(desk: &Desk, list: List) -> Html {
    let mut facts = desk.state.facts.clone();
    let values = (list.of)(&mut facts).clone();
    let row = |at: usize, value: &str| {
        let change = {
            let desk = desk.clone();
            Callback::from(move |event: InputEvent| {
                let input: HtmlInputElement = event.target_unchecked_into();
                let mut facts = desk.state.facts.clone();
                let values = (list.of)(&mut facts);
                match values.get_mut(at) {
                    Some(value) => *value = input.value(),
                    None => values.push(input.value()),
                }
                desk.act(Action::GiveFacts(facts));
            })
        };
        let remove = {
            let desk = desk.clone();
            Callback::from(move |_: MouseEvent| {
                let mut facts = desk.state.facts.clone();
                (list.of)(&mut facts).remove(at);
                desk.act(Action::GiveFacts(facts));
            })
        };
        let problems = desk.state.problems_of((list.input)(at as u32));
        let label = format!("{} {}", list.label, at + 1);
        let problems_id = format!("{}-{at}-problems", list.id);
        html! {
            <div class="fact" key={at}>
                <input type="text" class="input-mono" aria-label={label.clone()} placeholder={list.example}
                    spellcheck="false" autocomplete="off" autocapitalize="off"
                    aria-invalid={(!problems.is_empty()).then_some("true")} aria-describedby={problems_id.clone()}
                    value={value.to_owned()} oninput={change} />
                if at < values.len() {
                    <button type="button" class="button" aria-label={format!("Remove {label}")} onclick={remove}>{ "✕" }</button>
                }
                <Problems {problems} id={problems_id} />
            </div>
        }
    };
    html! {
        <fieldset class="facts">
            <legend class="field-label">{ match list.label { "Address" => "Addresses", "Route" => "Routes", _ => "Settings" } }</legend>
            { for values.iter().enumerate().map(|(at, value)| row(at, value)) }
            { row(values.len(), "") }
        </fieldset>
    }
}

fn paste(
    desk: &Desk,
    label: &'static str,
    id: &'static str,
    of: Input,
    value: &str,
    set: fn(&mut NodeFacts, String),
) -> Html {
    let oninput = {
        let desk = desk.clone();
        Callback::from(move |event: InputEvent| {
            let field: HtmlTextAreaElement = event.target_unchecked_into();
            let mut facts = desk.state.facts.clone();
            set(&mut facts, field.value());
            desk.act(Action::GiveFacts(facts));
        })
    };
    let problems = desk.state.problems_of(of);
    let problems_id = format!("{id}-problems");
    html! {
        <>
            <label class="field">
                <span class="field-label">{ label }</span>
                <textarea {id} rows="4" spellcheck="false" autocomplete="off" wrap="off"
                    aria-describedby={problems_id.clone()} aria-invalid={(!problems.is_empty()).then_some("true")}
                    value={value.to_owned()} {oninput} />
            </label>
            <Problems {problems} id={problems_id} />
        </>
    }
}
