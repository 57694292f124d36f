//! The rows of a plane, windowed, and the explanation of the selected one.
//!
//! Only the rows on screen are in the document, asked from the engine by the page. Rows have one height, so the
//! scroll bar is right; what does not fit is in the explanation.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use chainwalk_engine::view::planes::{HeldChange, HeldRow, HeldWindow, RowQuery};
use yew::prelude::*;

use super::ask::{Ask, Told};
use crate::backend::Engine;
use crate::protocol::{Request, Response};
use crate::rows::{PAGE_ROWS, SPARE_ROWS, bring_into_view, follow_scroll, space};
use crate::trace::brief;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct HeldListProps {
    pub(super) engine: Engine,
    pub(super) query: RowQuery,
    /// The row to begin with.
    pub(super) start: u32,
    pub(super) name: AttrValue,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Pages {
    total: u32,
    pages: BTreeMap<u32, Rc<HeldWindow>>,
}

impl Pages {
    fn row(&self, index: u32) -> Option<&HeldRow> {
        self.pages.get(&(index / PAGE_ROWS))?.rows.get((index % PAGE_ROWS) as usize)
    }
}

impl Reducible for Pages {
    type Action = HeldWindow;

    fn reduce(self: Rc<Self>, window: HeldWindow) -> Rc<Self> {
        let mut pages = Rc::unwrap_or_clone(self);
        pages.total = window.total;
        pages.pages.insert(window.from / PAGE_ROWS, Rc::new(window));
        Rc::new(pages)
    }
}

/// See the module.
#[component]
pub(super) fn HeldList(props: &HeldListProps) -> Html {
    let scroll = use_node_ref();
    let top = use_state(|| props.start);
    let height_rows = use_state(|| 10_u32);
    let selected = use_state(|| props.start);
    let pages = use_reducer(Pages::default);
    let asked = use_mut_ref(BTreeSet::<u32>::new);

    // Before the first answer the total is unknown: the page around the start is asked for.
    let total = if pages.pages.is_empty() { props.start + 1 } else { pages.total };
    let from = top.saturating_sub(SPARE_ROWS).min(total);
    let to = (*top + *height_rows + SPARE_ROWS).min(total);
    {
        let (engine, query, pages) = (props.engine.clone(), props.query.clone(), pages.dispatcher());
        use_effect_with((from / PAGE_ROWS, to / PAGE_ROWS), move |(first, last)| {
            for page in *first..=*last {
                if !asked.borrow_mut().insert(page) {
                    continue;
                }
                let pages = pages.clone();
                let rows = Ask::Rows(RowQuery { from: page * PAGE_ROWS, len: PAGE_ROWS, ..query.clone() });
                engine.ask(
                    Request::Planes(Box::new(rows)),
                    Callback::from(move |answer| {
                        if let Response::Planes(told) = answer
                            && let Told::Rows(window) = *told
                        {
                            pages.dispatch(window);
                        }
                    }),
                );
            }
        });
    }
    {
        let (scroll, start) = (scroll.clone(), props.start);
        use_effect_with(pages.pages.is_empty(), move |_| bring_into_view(&scroll, start));
    }
    let onscroll = follow_scroll(&scroll, &top, &height_rows);
    let onkeydown = {
        let (selected, scroll) = (selected.clone(), scroll.clone());
        Callback::from(move |event: KeyboardEvent| {
            let to = match event.key().as_str() {
                "ArrowDown" => *selected + 1,
                "ArrowUp" => selected.saturating_sub(1),
                "PageDown" => *selected + 8,
                "PageUp" => selected.saturating_sub(8),
                "Home" => 0,
                "End" => total,
                _ => return,
            };
            event.prevent_default();
            let to = to.min(total.saturating_sub(1));
            selected.set(to);
            bring_into_view(&scroll, to);
        })
    };
    html! {
        <div class="held-split">
            <ul class="rules-list held-list" role="listbox" tabindex="0" ref={scroll} aria-label={&props.name}
                aria-activedescendant={(from..to).contains(&*selected).then(|| row_id(*selected))} {onscroll} {onkeydown}>
                { space(from) }
                { for (from..to).map(|at| {
                    let selected = selected.clone();
                    row(at, total, pages.row(at), *selected == at, Callback::from(move |_| selected.set(at)))
                }) }
                { space(total - to) }
            </ul>
            { pages.row(*selected).map(why).unwrap_or_default() }
        </div>
    }
}

fn row_id(at: u32) -> String {
    format!("held-{at}")
}

fn row(
    at: u32,
    total: u32,
    held: Option<&HeldRow>,
    is_selected: bool,
    onclick: Callback<MouseEvent>,
) -> Html {
    let (class, glyph, word) = match held.and_then(|held| held.change.as_ref()) {
        None => ("", "", ""),
        Some(HeldChange::Added) => ("held-added", "+", "added: "),
        Some(HeldChange::Removed) => ("held-removed", "−", "removed: "),
        Some(HeldChange::Changed { .. }) => ("held-changed", "~", "changed: "),
    };
    html! {
        <li key={at} id={row_id(at)} role="option" class={classes!("held-row", class)} aria-selected={is_selected.to_string()}
            aria-posinset={(at + 1).to_string()} aria-setsize={total.to_string()} {onclick}>
            <span class="held-glyph" aria-hidden="true">{ glyph }</span>
            <span class="rule-body">
                if let Some(held) = held {
                    <span class="rule-text"><span class="hidden">{ word }</span>{ brief(&held.text) }</span>
                    <span class="rule-why">
                        <span class="held-holder">{ &held.holder }</span>{ " · " }{ &held.purpose }
                    </span>
                } else {
                    <span class="rule-text muted">{ "…" }</span>
                }
            </span>
        </li>
    }
}

/// The object and the field behind a row, and the reason.
fn why(held: &HeldRow) -> Html {
    let fact = |name: &'static str, value: &str| {
        if value.is_empty() {
            return Html::default();
        }
        html! { <div class="held-fact"><dt>{ name }</dt><dd>{ value.to_owned() }</dd></div> }
    };
    html! {
        <div class="why held-why" aria-live="polite">
            <h3 class="small-head">{ "Why this is here" }</h3>
            <p class="held-purpose">{ &held.purpose }</p>
            <dl class="held-facts">
                { fact("from", &held.object) }
                { fact("field", &held.field) }
                { fact("endpoint", &held.endpoint) }
                { fact("in", &held.holder) }
            </dl>
            if let Some(HeldChange::Changed { was }) = &held.change {
                <p class="small muted">{ "before the edit" }</p>
                <pre class="wrap held-was">{ was }</pre>
                <p class="small muted">{ "now" }</p>
            }
            <pre class="wrap">{ &held.text }</pre>
        </div>
    }
}
