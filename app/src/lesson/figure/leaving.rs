//! Shares of a table of slots before and after a server leaves, and the slots that moved between those who stay.

use std::rc::Rc;

use chainwalk_lessons::leaving::{Leaving, Shared};
use yew::prelude::*;

use super::super::sheet::same_as_table;
use super::draw::{self, WIDTH, bar, mark, name, number, view_box};
use crate::trace::grouped;

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
        let each = shares(leaving, table).map(|(name, before, after)| {
            format!("{name} {} then {}", draw::percent(before, 1), draw::percent(after, 1))
        });
        format!(
            "{}: {}; {} moved",
            table.title,
            each.collect::<Vec<_>>().join(", "),
            draw::percent(moved(table), 1)
        )
    });
    html! {
        <>
            <svg class="shares" viewBox={view_box(block * leaving.tables.len() as f64)} role="img"
                aria-label={label.collect::<Vec<_>>().join(". ")}>
                { for leaving.tables.iter().enumerate().map(|(at, table)| table_rows(leaving, table, block * at as f64)) }
            </svg>
            <p class="shares-key muted">
                { format!("Bar: share of the slots before {} leaves. Line: share after. Outlined: slots that changed although their server stayed.", leaving.leaves) }
            </p>
            { same_as_table("Slots of each server", head(leaving), leaving.tables.iter().map(sheet_row).collect()) }
        </>
    }
}

fn table_rows(leaving: &Leaving, table: &Shared, top: f64) -> Html {
    let x = |percent: f64| LABEL + BAR * percent / 100.0;
    let line =
        |at: usize, server: &str, class: &'static str, percent: f64, numbers: String, after: Option<f64>| {
            let top = top + TITLE + ROW * at as f64;
            html! {
                <>
                    { name(top + 18.0, server.to_owned()) }
                    { bar(class, (LABEL, x(percent) - LABEL), (top + 4.0, ROW - 8.0)) }
                    { for after.map(|after| mark(x(after), (top + 1.0, top + ROW - 1.0))) }
                    { number(top + 18.0, numbers) }
                </>
            }
        };
    html! {
        <g key={table.name.clone()}>
            { name(top + 26.0, format!("{}, {} slots", table.title, grouped(u64::from(table.slots)))) }
            { for shares(leaving, table).enumerate().map(|(at, (server, before, after))| {
                let numbers = format!("{} → {}", draw::percent(before, 1), draw::percent(after, 1));
                line(at, server, "shares-bar", before, numbers, Some(after))
            }) }
            { line(leaving.servers.len(), "moved", "leaving-moved", moved(table), draw::percent(moved(table), 1), None) }
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
