//! What is read at worst to find one of many Services: a group of bars for each number of Services. Lengths are
//! logarithmic: from one to tens of thousands.

use std::rc::Rc;

use chainwalk_lessons::lookups::{Lookups, Row};
use yew::prelude::*;

use super::super::sheet::same_as_table;
use super::draw::{WIDTH, bar, name, number, px, view_box};
use crate::trace::grouped;

const LABEL: f64 = 190.0;
const NUMBERS: f64 = 70.0;
const ROW: f64 = 24.0;
const TITLE: f64 = 28.0;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) lookups: Rc<Lookups>,
}

/// See the module.
#[component]
pub(super) fn LookupsFigure(props: &Props) -> Html {
    let lookups = &props.lookups;
    let forms = lookups.rows.first().map(Row::forms).unwrap_or_default();
    let block = TITLE + ROW * forms.len() as f64;
    let height = block * lookups.rows.len() as f64;
    let most =
        lookups.rows.iter().flat_map(|row| counts(row)).map(|(_, count)| count).max().unwrap_or(2).max(2);
    let scale = (WIDTH - LABEL - NUMBERS) / (most as f64).ln_1p();
    let label = lookups.rows.iter().map(|row| {
        let each = counts(row).into_iter().map(|(title, count)| format!("{title} {}", grouped(count)));
        format!("{} Services: {}", grouped(u64::from(row.services)), each.collect::<Vec<_>>().join(", "))
    });
    html! {
        <>
            <svg class="shares" viewBox={view_box(height)} role="img" aria-label={label.collect::<Vec<_>>().join("; ")}>
                { for lookups.rows.iter().enumerate().map(|(at, row)| {
                    let top = block * at as f64;
                    html! {
                        <g key={row.services}>
                            { name(top + 18.0, format!("{} Services", grouped(u64::from(row.services)))) }
                            { for counts(row).into_iter().enumerate().map(|(at, (title, count))| {
                                let top = top + TITLE + ROW * at as f64;
                                html! {
                                    <>
                                        <text class="draws-number" x="0" y={px(top + 16.0)}>{ title }</text>
                                        { bar("shares-bar", (LABEL, scale * (count as f64).ln_1p()), (top + 4.0, ROW - 8.0)) }
                                        { number(top + 16.0, grouped(count)) }
                                    </>
                                }
                            }) }
                        </g>
                    }
                }) }
            </svg>
            <p class="shares-key muted">{ "Rules evaluated, or services compared, for a first packet, at worst. Lengths are logarithmic." }</p>
            { same_as_table("What is read to find a Service", head(), rows(lookups)) }
        </>
    }
}

fn counts(row: &Row) -> Vec<(&'static str, u64)> {
    let forms = row.forms().into_iter();
    forms.filter_map(|form| row.reads(form).map(|reads| (form.title(), reads.worst))).collect()
}

fn head() -> Vec<String> {
    ["Services", "Form", "To the first", "To the middle one", "To the last", "At worst"]
        .map(str::to_owned)
        .to_vec()
}

fn rows(lookups: &Lookups) -> Vec<Vec<String>> {
    let each = lookups.rows.iter().flat_map(|row| row.forms().into_iter().map(move |form| (row, form)));
    each.filter_map(|(row, form)| {
        let reads = row.reads(form)?;
        let mut cells = vec![grouped(u64::from(row.services)), form.title().to_owned()];
        cells.extend([reads.first, reads.middle, reads.last, reads.worst].map(grouped));
        Some(cells)
    })
    .collect()
}
