//! The text holds Kubernetes objects: kube-proxy can write the ruleset for them.

use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::describe::DeskProps;
use crate::protocol::ProxyMode;

/// See the module.
#[component]
pub(super) fn Offer(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let (node, mode) = (use_node_ref(), use_node_ref());
    let onclick = {
        let (desk, node, mode) = (desk.clone(), node.clone(), mode.clone());
        Callback::from(move |_: MouseEvent| {
            let select = |chosen: &NodeRef| chosen.cast::<HtmlSelectElement>();
            if let (Some(node), Some(mode)) = (select(&node), select(&mode))
                && let Some((_, mode)) = ProxyMode::ALL.get(mode.selected_index() as usize)
            {
                desk.run_proxy(node.value(), *mode);
            }
        })
    };
    html! {
        <div class="problem problem-note" role="status">
            <p>{ "These are Kubernetes objects, not a ruleset. kube-proxy can write the ruleset of a node for them." }</p>
            <div class="samples">
                <label class="inline-field">
                    <span class="field-label">{ "Node" }</span>
                    <select ref={node} id="offer-node">
                        { for desk.state.offer.iter().map(|node| html! { <option value={node.clone()}>{ node }</option> }) }
                    </select>
                </label>
                <label class="inline-field">
                    <span class="field-label">{ "Mode" }</span>
                    <select ref={mode} id="offer-mode">
                        { for ProxyMode::ALL.iter().map(|(name, _)| html! { <option>{ *name }</option> }) }
                    </select>
                </label>
                <button type="button" class="button button-primary" {onclick}>{ "Run kube-proxy and trace" }</button>
                <a href="#/planes">{ "Or compare every mode" }</a>
            </div>
        </div>
    }
}
