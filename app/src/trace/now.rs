//! The packet at this step, what the step changed, and its connection entry.

use std::rc::Rc;

use chainwalk_engine::view::{ChangeView, EntryView, Field, PacketView, TraceView};
use yew::prelude::*;

#[derive(Debug, Clone, PartialEq, Properties)]
pub struct NowProps {
    pub trace: Rc<TraceView>,
    pub step: usize,
}

/// See the module.
#[component]
pub fn Now(props: &NowProps) -> Html {
    let Some(step) = props.trace.steps.get(props.step) else { return html! {} };
    let Some(packet) = props.trace.packets.get(step.packet as usize) else { return html! {} };
    let entry = entry_at(&props.trace, props.step);
    html! {
        <aside class="now" aria-label="Packet and connection at this step">
            <section aria-labelledby="now-packet">
                <h3 class="small-head" id="now-packet">{ "Packet now" }</h3>
                <dl class={classes!("now-fields", packet.is_reply.then_some("now-reply"))}>
                    { for rows(packet, &step.changes) }
                </dl>
            </section>
            <section aria-labelledby="now-entry">
                <h3 class="small-head" id="now-entry">{ "Connection" }</h3>
                { match entry {
                    Some((before, entry)) => entry_rows(before, entry),
                    None => html! { <p class="muted small">{ "No entry yet." }</p> },
                } }
                { table(&props.trace.table) }
            </section>
        </aside>
    }
}

fn rows(packet: &PacketView, changes: &[ChangeView]) -> Vec<Html> {
    let was = |fields: &[Field]| {
        let changed: Vec<_> = changes.iter().filter(|change| fields.contains(&change.field)).collect();
        (!changed.is_empty())
            .then(|| changed.iter().map(|change| change.was.clone()).collect::<Vec<_>>().join(", "))
    };
    let mark = |mark: u32| format!("{mark:#x}");
    let mut rows = vec![
        row("protocol", [packet.proto.as_str(), packet.detail.as_str()].join(" "), None),
        row("from", packet.source(), was(&[Field::Source, Field::SourcePort])),
        row("to", packet.destination(), was(&[Field::Destination, Field::DestinationPort])),
    ];
    if !packet.in_dev.is_empty() {
        rows.push(row("in", packet.in_dev.clone(), None));
    }
    if !packet.out_dev.is_empty() {
        rows.push(row("out", packet.out_dev.clone(), was(&[Field::OutDevice])));
    }
    let changed_mark = was(&[Field::Mark]);
    if packet.mark != 0 || changed_mark.is_some() {
        rows.push(row("mark", mark(packet.mark), changed_mark));
    }
    rows.push(row("TTL", packet.ttl.to_string(), was(&[Field::Ttl])));
    if !packet.ct_state.is_empty() {
        rows.push(row("state", packet.ct_state.clone(), None));
    }
    rows
}

fn row(name: &'static str, value: String, was: Option<String>) -> Html {
    html! {
        <div class={classes!("now-row", was.is_some().then_some("now-changed"))} key={name}>
            <dt>{ name }</dt>
            <dd>
                <span class="now-value">{ value.trim().to_owned() }</span>
                if let Some(was) = was {
                    <span class="now-was">{ "was " }{ was }</span>
                }
            </dd>
        </div>
    }
}

/// The entry as of `step`, and as it was before if this step changed it.
fn entry_at(trace: &TraceView, step: usize) -> Option<(Option<&EntryView>, &EntryView)> {
    if let Some(change) = &trace.steps[step].entry {
        return change.after.as_ref().map(|after| (change.before.as_ref(), after));
    }
    let earlier = trace.steps[..step].iter().rev().find_map(|earlier| earlier.entry.as_ref())?;
    earlier.after.as_ref().map(|after| (None, after))
}

/// The whole table after the packet.
fn table(entries: &[EntryView]) -> Html {
    if entries.len() < 2 {
        return html! {};
    }
    let lines: Vec<_> = entries.iter().map(|entry| entry.line.as_str()).collect();
    html! {
        <details class="now-line">
            <summary>{ format!("All {} connections afterwards", entries.len()) }</summary>
            <pre class="wrap">{ lines.join("\n") }</pre>
        </details>
    }
}

fn entry_rows(before: Option<&EntryView>, entry: &EntryView) -> Html {
    let row = |name: &'static str, of: fn(&EntryView) -> String| {
        let value = of(entry);
        let was = before.map(of).filter(|was| *was != value && !was.is_empty());
        if value.is_empty() {
            html! {}
        } else {
            self::row(name, value, was)
        }
    };
    html! {
        <>
            <dl class="now-fields">
                { row("original", |entry| entry.original.clone()) }
                { row("reply", |entry| entry.reply.clone()) }
                { row("state", |entry| entry.state.clone()) }
                { row("flags", |entry| entry.flags.join(", ")) }
                { row("forgotten in", |entry| if entry.timeout_s == 0 { String::new() } else { format!("{} s", entry.timeout_s) }) }
                { row("confirmed", |entry| if entry.confirmed { "yes".to_owned() } else { "not yet".to_owned() }) }
            </dl>
            <details class="now-line">
                <summary>{ "As conntrack -L prints it" }</summary>
                <pre class="wrap">{ &entry.line }</pre>
            </details>
        </>
    }
}
