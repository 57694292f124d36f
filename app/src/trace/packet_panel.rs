//! The packet: in one line, and in fields. Both are always the same packet.

use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::controller::Desk;
use super::describe::DeskProps;
use super::packet_line::PacketFields;
use super::problems::Problems;
use super::state::Action;
use super::working::Working;
use crate::protocol::Input;

const PROTOCOLS: [&str; 5] = ["tcp", "udp", "icmp", "icmpv6", "sctp"];

/// See the module.
#[component]
pub(super) fn PacketPanel(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let problems = desk.state.problems_of(Input::Packet);
    let on_line = {
        let desk = desk.clone();
        Callback::from(move |event: InputEvent| {
            let input: HtmlInputElement = event.target_unchecked_into();
            desk.act(Action::TypeLine(input.value().into()));
        })
    };
    html! {
        <section class="panel" aria-labelledby="packet-title">
            <div class="panel-head"><h2 id="packet-title">{ "Packet" }</h2></div>
            <label class="field">
                <span class="field-label">{ "In one line" }</span>
                <input type="text" class="input-mono" id="packet-line" spellcheck="false" autocomplete="off" autocapitalize="off"
                    placeholder="tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0"
                    aria-describedby="packet-problems" aria-invalid={(!problems.is_empty()).then_some("true")}
                    value={&desk.state.packet_line} oninput={on_line} />
            </label>
            <Problems {problems} id="packet-problems" />
            <fieldset class="packet-fields">
                <legend class="hidden">{ "The same packet in fields" }</legend>
                { protocol(desk) }
                { field(desk, "From", "field-src", &desk.state.packet.src, |fields, value| fields.src = value) }
                { port(desk, "Port", "field-sport", &desk.state.packet.sport, |fields, value| fields.sport = value) }
                { field(desk, "To", "field-dst", &desk.state.packet.dst, |fields, value| fields.dst = value) }
                { port(desk, "Port", "field-dport", &desk.state.packet.dport, |fields, value| fields.dport = value) }
                { in_device(desk) }
                { field(desk, "Also (flags, mark, …)", "field-rest", &desk.state.packet.rest, |fields, value| fields.rest = value) }
            </fieldset>
            <div class="run">
                <button type="submit" class="button button-primary">{ "Trace" }</button>
                <Working desk={desk.clone()} />
            </div>
        </section>
    }
}

fn change(desk: &Desk, value: String, set: fn(&mut PacketFields, String)) {
    let mut fields = desk.state.packet.clone();
    set(&mut fields, value);
    desk.act(Action::TypeFields(fields));
}

fn input(desk: &Desk, id: &'static str, value: &str, set: fn(&mut PacketFields, String)) -> Html {
    let desk = desk.clone();
    let oninput = Callback::from(move |event: InputEvent| {
        let input: HtmlInputElement = event.target_unchecked_into();
        change(&desk, input.value().replace(char::is_whitespace, " "), set);
    });
    let list = (id == "field-in").then_some("devices");
    html! {
        <input type="text" class="input-mono" {id} {list} spellcheck="false" autocomplete="off" autocapitalize="off"
            value={value.to_owned()} {oninput} />
    }
}

fn field(
    desk: &Desk,
    label: &'static str,
    id: &'static str,
    value: &str,
    set: fn(&mut PacketFields, String),
) -> Html {
    html! {
        <label class={classes!("field", id)}>
            <span class="field-label">{ label }</span>
            { input(desk, id, value, set) }
        </label>
    }
}

fn port(
    desk: &Desk,
    label: &'static str,
    id: &'static str,
    value: &str,
    set: fn(&mut PacketFields, String),
) -> Html {
    if desk.state.packet.has_ports() {
        field(desk, label, id, value, set)
    } else {
        html! {}
    }
}

fn in_device(desk: &Desk) -> Html {
    let devices = desk.state.ruleset.as_ref().map(|ruleset| ruleset.devices.clone()).unwrap_or_default();
    html! {
        <>
            { field(desk, "Arrives on", "field-in", &desk.state.packet.in_dev, |fields, value| fields.in_dev = value) }
            <datalist id="devices">
                <option value="local">{ "sent by this node" }</option>
                { for devices.into_iter().map(|device| html! { <option value={device} /> }) }
            </datalist>
        </>
    }
}

fn protocol(desk: &Desk) -> Html {
    let proto = desk.state.packet.proto.clone();
    let onchange = {
        let desk = desk.clone();
        Callback::from(move |event: Event| {
            let select: HtmlSelectElement = event.target_unchecked_into();
            change(&desk, select.value(), |fields, value| {
                fields.proto = value;
                if !fields.has_ports() {
                    fields.sport.clear();
                    fields.dport.clear();
                }
            });
        })
    };
    let other = (!PROTOCOLS.contains(&proto.as_str())).then(|| proto.clone());
    html! {
        <label class="field field-proto">
            <span class="field-label">{ "Protocol" }</span>
            <select id="field-proto" {onchange}>
                if let Some(other) = other {
                    <option value={other.clone()} selected=true>{ if other.is_empty() { "choose" } else { &other } }</option>
                }
                { for PROTOCOLS.map(|name| html! { <option value={name} selected={proto == name}>{ name }</option> }) }
            </select>
        </label>
    }
}
