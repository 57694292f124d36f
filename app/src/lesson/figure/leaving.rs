//! Shares of a table of slots before and after a server leaves, and the slots that moved between those who stay.

use std::rc::Rc;

use chainwalk_lessons::leaving::{Leaving, Shared};
use yew::prelude::*;

use super::super::sheet::Sheet;
use super::shares::grouped;

const WIDTH: f64 = 640.0;
const LABEL: f64 = 120.0;
const NUMBERS: f64 = 180.0;
const BAR: f64 = WIDTH - LABEL - NUMBERS;
const ROW: f64 = 26.0;
const TITLE: f64 = 38.0;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) leaving: Rc<Leaving>,
}

/// See the module.
#[component]
pub(super) fn LeavingFigure(props: &Props) -> Html {
    let leaving = &props.leaving;
    // Of each table a title, a row a server, and the row of what moved.
    let block = TITLE + ROW * (leaving.servers.len() + 1) as f64;
    let label = leaving.tables.iter().map(|table| {
        let each = shares(leaving, table)
            .map(|(name, before, after)| format!("{name} {before:.1} % then {after:.1} %"));
        format!("{}: {}; {:.1} % moved", table.title, each.collect::<Vec<_>>().join(", "), moved(table))
    });
    html! {
        <>
            <svg class="shares" viewBox={format!("0 0 {WIDTH} {}", block * leaving.tables.len() as f64)} role="img"
                aria-label={label.collect::<Vec<_>>().join(". ")}>
                { for leaving.tables.iter().enumerate().map(|(at, table)| table_rows(leaving, table, block * at as f64)) }
            </svg>
            <p class="shares-key muted">
                { format!("Bar: share of the slots before {} leaves. Line: share after. Outlined: slots that changed although their server stayed.", leaving.leaves) }
            </p>
            <details>
                <summary>{ "The same as a table" }</summary>
                <Sheet label="Slots of each server" head={head(leaving)} rows={leaving.tables.iter().map(sheet_row).collect::<Vec<_>>()} />
            </details>
        </>
    }
}

fn table_rows(leaving: &Leaving, table: &Shared, top: f64) -> Html {
    let x = |percent: f64| LABEL + BAR * percent / 100.0;
    let line = |at: usize,
                name: &str,
                class: &'static str,
                percent: f64,
                numbers: String,
                mark: Option<f64>| {
        let top = top + TITLE + ROW * at as f64;
        let middle = (top + 18.0).to_string();
        html! {
            <>
                <text class="shares-name" x="0" y={middle.clone()}>{ name.to_owned() }</text>
                <rect {class} x={LABEL.to_string()} y={(top + 4.0).to_string()}
                    width={(x(percent) - LABEL).to_string()} height={(ROW - 8.0).to_string()} />
                if let Some(mark) = mark {
                    <line class="shares-mark" x1={x(mark).to_string()} x2={x(mark).to_string()}
                        y1={(top + 1.0).to_string()} y2={(top + ROW - 1.0).to_string()} />
                }
                <text class="shares-number" x={WIDTH.to_string()} y={middle} text-anchor="end">{ numbers }</text>
            </>
        }
    };
    html! {
        <g key={table.name.clone()}>
            <text class="shares-name" x="0" y={(top + 26.0).to_string()}>
                { format!("{}, {} slots", table.title, grouped(u64::from(table.slots))) }
            </text>
            { for shares(leaving, table).enumerate().map(|(at, (name, before, after))| {
                line(at, name, "shares-bar", before, format!("{before:.1} % → {after:.1} %"), Some(after))
            }) }
            { line(leaving.servers.len(), "moved", "leaving-moved", moved(table), format!("{:.1} %", moved(table)), None) }
        </g>
    }
}

/// Name, share before and share after of each server, in percent.
fn shares<'a>(leaving: &'a Leaving, table: &'a Shared) -> impl Iterator<Item = (&'a str, f64, f64)> {
    let percent = |slots: &u32| percent(*slots, table);
    let each = leaving.servers.iter().zip(table.before.iter().zip(&table.after));
    each.map(move |(name, (before, after))| (name.as_str(), percent(before), percent(after)))
}

fn moved(table: &Shared) -> f64 {
    percent(table.moved, table)
}

fn percent(slots: u32, table: &Shared) -> f64 {
    f64::from(slots) * 100.0 / f64::from(table.slots.max(1))
}

fn head(leaving: &Leaving) -> Vec<String> {
    let mut head = vec!["Table".to_owned(), "Slots".to_owned()];
    head.extend(leaving.servers.iter().cloned());
    head.push("Moved between those who stay".to_owned());
    head
}

fn sheet_row(table: &Shared) -> Vec<String> {
    let number = |slots: u32| grouped(u64::from(slots));
    let mut row = vec![table.title.clone(), number(table.slots)];
    row.extend(
        table.before.iter().zip(&table.after).map(|(b, a)| format!("{} → {}", number(*b), number(*a))),
    );
    row.push(number(table.moved));
    row
}
