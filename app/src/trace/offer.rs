//! The text holds Kubernetes objects: kube-proxy can write the ruleset for them.

use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::describe::DeskProps;

/// See the module.
#[component]
pub(super) fn Offer(props: &DeskProps) -> Html {
    let desk = &props.desk;
    let select = use_node_ref();
    let onclick = {
        let (desk, select) = (desk.clone(), select.clone());
        Callback::from(move |_: MouseEvent| {
            let node = select.cast::<HtmlSelectElement>().map(|select| select.value()).unwrap_or_default();
            desk.run_proxy(node);
        })
    };
    html! {
        <div class="problem problem-note" role="status">
            <p>{ "These are Kubernetes objects, not a ruleset. kube-proxy can write the ruleset of a node for them, in iptables mode." }</p>
            <div class="samples">
                <label class="inline-field">
                    <span class="field-label">{ "Node" }</span>
                    <select ref={select} id="offer-node">
                        { for desk.state.offer.iter().map(|node| html! { <option value={node.clone()}>{ node }</option> }) }
                    </select>
                </label>
                <button type="button" class="button button-primary" {onclick}>{ "Run kube-proxy and trace" }</button>
                <a href="#/planes">{ "Or compare every mode" }</a>
            </div>
        </div>
    }
}
