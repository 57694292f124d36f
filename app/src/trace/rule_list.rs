//! The rules of an open chain, windowed: 20,000 rules scroll as easily as 20.
//!
//! Only the rows on screen are in the document, asked from the engine by the page of 100. Rows have one height,
//! so the scroll bar is right; what does not fit is in the explanation of the selected rule.

use std::collections::BTreeSet;
use std::rc::Rc;

use chainwalk_engine::view::{RuleFate, RuleRow};
use yew::prelude::*;

use super::row_pages::Pages;
use super::rule_row;
use super::why::Why;
use crate::backend::Engine;
use crate::protocol::{Request, Response};
use crate::rows::{PAGE_ROWS, SPARE_ROWS, bring_into_view, follow_scroll, space};

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct RuleListProps {
    pub engine: Engine,
    pub sent: u32,
    pub visit: u32,
    /// Rules in the chain.
    pub rules: u32,
    /// Rules walked at this step: those behind are still ahead.
    pub walked: u32,
    /// The rule that this step is about.
    pub current: Option<u32>,
    pub name: AttrValue,
}

/// See the module.
#[component]
pub(super) fn RuleList(props: &RuleListProps) -> Html {
    let scroll = use_node_ref();
    let first = use_state(|| 0_u32);
    let shown_rows = use_state(|| 16_u32);
    let selected = use_state(|| props.current.unwrap_or(1));
    let pages = use_reducer(Pages::default);
    let asked = use_mut_ref(BTreeSet::<u32>::new);

    let from = first.saturating_sub(SPARE_ROWS);
    let to = (*first + *shown_rows + SPARE_ROWS).min(props.rules);
    {
        let (engine, pages, sent, visit) =
            (props.engine.clone(), pages.dispatcher(), props.sent, props.visit);
        use_effect_with((from / PAGE_ROWS, to / PAGE_ROWS), move |(first_page, last_page)| {
            for page in *first_page..=*last_page {
                if !asked.borrow_mut().insert(page) {
                    continue;
                }
                let pages = pages.clone();
                engine.ask(
                    Request::VisitRows { sent, visit, from: page * PAGE_ROWS, len: PAGE_ROWS },
                    Callback::from(move |answer| {
                        if let Response::Rows(window) = answer {
                            pages.dispatch((page, Rc::new(window)));
                        }
                    }),
                );
            }
        });
    }
    {
        // The rule of the step is selected and brought into view.
        let (selected, scroll) = (selected.setter(), scroll.clone());
        use_effect_with(props.current, move |current| {
            if let Some(number) = current {
                selected.set(*number);
                bring_into_view(&scroll, *number - 1);
            }
        });
    }
    let onscroll = follow_scroll(&scroll, &first, &shown_rows);
    let onkeydown = {
        let (selected, scroll, rules) = (selected.clone(), scroll.clone(), props.rules);
        Callback::from(move |event: KeyboardEvent| {
            let number = match event.key().as_str() {
                "ArrowDown" => *selected + 1,
                "ArrowUp" => selected.saturating_sub(1),
                "PageDown" => *selected + 10,
                "PageUp" => selected.saturating_sub(10),
                "Home" => 1,
                "End" => rules,
                _ => return,
            };
            event.prevent_default();
            let number = number.clamp(1, rules);
            selected.set(number);
            bring_into_view(&scroll, number - 1);
        })
    };
    let active = (from + 1..=to).contains(&*selected).then(|| rule_row::id(*selected));
    html! {
        <>
            <ul class="rules-list" role="listbox" tabindex="0" ref={scroll} aria-label={&props.name}
                aria-activedescendant={active} {onscroll} {onkeydown}>
                { space(from) }
                { for (from..to).map(|at| {
                    let number = at + 1;
                    let onclick = {
                        let selected = selected.setter();
                        Callback::from(move |_: MouseEvent| selected.set(number))
                    };
                    rule_row::row(&rule_row::Row {
                        number,
                        of: props.rules,
                        rule: pages.row(at),
                        is_ahead: number > props.walked,
                        is_current: props.current == Some(number),
                        is_selected: *selected == number,
                        onclick,
                    })
                }) }
                { space(props.rules - to) }
            </ul>
            { why(pages.row(selected.saturating_sub(1)), props.walked) }
        </>
    }
}

fn why(rule: Option<&RuleRow>, walked: u32) -> Html {
    let Some(rule) = rule else { return html! {} };
    let is_ahead = rule.number > walked;
    let rule = if is_ahead && rule.fate != RuleFate::NotReached {
        RuleRow { fate: RuleFate::NotReached, checks: Vec::new(), ..rule.clone() }
    } else {
        rule.clone()
    };
    html! { <Why rule={Rc::new(rule)} {is_ahead} /> }
}
