//! What lists of thousands of rows share: only the rows on screen are in the document, asked from the engine by the page.
//!
//! Rows have one height, so the scroll bar is right. Owns where rows are; not what they show, nor how they are asked for.

use web_sys::HtmlElement;
use yew::prelude::*;

/// Height of a row; `chain.css` and `planes.css` say the same.
const ROW_PX: u32 = 46;
/// Rows kept above and below the visible ones.
pub const SPARE_ROWS: u32 = 12;
/// Rows asked for at once.
pub const PAGE_ROWS: u32 = 100;

/// Room for rows that are not in the document. The attribute of an SVG sizes it: the policy allows no style.
pub fn space(rows: u32) -> Html {
    html! {
        <li role="presentation" class="rules-space">
            <svg width="1" height={(rows * ROW_PX).to_string()} aria-hidden="true" />
        </li>
    }
}

/// Scrolls the list so that `row`, counted from 0, is seen.
pub fn bring_into_view(scroll: &NodeRef, row: u32) {
    let Some(list) = scroll.cast::<HtmlElement>() else { return };
    let at = i32::try_from(row * ROW_PX).unwrap_or(i32::MAX);
    let (top, height, row_px) = (list.scroll_top(), list.client_height(), ROW_PX as i32);
    if at < top {
        list.set_scroll_top(at - row_px / 2);
    } else if at + row_px > top + height {
        list.set_scroll_top(at - height + row_px + row_px / 2);
    }
}

/// Keeps the first row on screen and the number of rows there. A few rows of scrolling change nothing in the document.
pub fn follow_scroll(
    scroll: &NodeRef,
    first: &UseStateHandle<u32>,
    shown: &UseStateHandle<u32>,
) -> Callback<Event> {
    let (scroll, first, shown) = (scroll.clone(), first.clone(), shown.clone());
    Callback::from(move |_| {
        let Some(list) = scroll.cast::<HtmlElement>() else { return };
        let top = u32::try_from(list.scroll_top()).unwrap_or(0) / ROW_PX;
        let rows = u32::try_from(list.client_height()).unwrap_or(0) / ROW_PX + 2;
        if top.abs_diff(*first) >= SPARE_ROWS / 2 {
            first.set(top);
        }
        if rows != *shown {
            shown.set(rows);
        }
    })
}
