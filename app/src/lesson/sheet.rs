//! A table of texts: the equal of a figure for whoever reads rather than looks.

use yew::prelude::*;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) label: AttrValue,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// See the module.
#[component]
pub(super) fn Sheet(props: &Props) -> Html {
    html! {
        <div class="lesson-sheet" tabindex="0" role="region" aria-label={props.label.clone()}>
            <table>
                <thead><tr>{ for props.head.iter().map(|head| html! { <th scope="col">{ head }</th> }) }</tr></thead>
                <tbody>
                    { for props.rows.iter().map(|row| html! {
                        <tr>{ for row.iter().map(|cell| html! { <td>{ cell }</td> }) }</tr>
                    }) }
                </tbody>
            </table>
        </div>
    }
}
