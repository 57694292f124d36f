//! A table of texts: the equal of a figure for whoever reads rather than looks.

use yew::prelude::*;

/// The table, in a region that scrolls.
pub(super) fn sheet(label: &str, head: Vec<String>, rows: Vec<Vec<String>>) -> Html {
    html! {
        <div class="lesson-sheet" tabindex="0" role="region" aria-label={label.to_owned()}>
            <table>
                <thead><tr>{ for head.into_iter().map(|head| html! { <th scope="col">{ head }</th> }) }</tr></thead>
                <tbody>
                    { for rows.into_iter().map(|row| html! {
                        <tr>{ for row.into_iter().map(|cell| html! { <td>{ cell }</td> }) }</tr>
                    }) }
                </tbody>
            </table>
        </div>
    }
}

/// The table below a drawing, folded.
pub(super) fn same_as_table(label: &str, head: Vec<String>, rows: Vec<Vec<String>>) -> Html {
    html! {
        <details>
            <summary>{ "The same as a table" }</summary>
            { sheet(label, head, rows) }
        </details>
    }
}
