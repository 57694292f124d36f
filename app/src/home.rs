//! The first page: what this is, the lessons, and the way to one's own ruleset.

use yew::prelude::*;

use crate::lesson::LessonList;

/// See the module.
#[component]
pub fn Home() -> Html {
    html! {
        <div class="page home">
            <section class="home-lead" aria-labelledby="home-title">
                <h1 id="home-title">{ "Where does the packet go, and why?" }</h1>
                <p class="lead">
                    { "An emulation of what a Linux node's kernel does to a packet: iptables, connection tracking and NAT, \
                       judged against the real kernel. Each decision shows the value it looked at." }
                </p>
                <p class="home-actions">
                    <a class="button button-primary" href="#/trace">{ "Trace a packet" }</a>
                    <span class="muted">{ "Paste the " }<code>{ "iptables-save" }</code>{ " of your node, or take a sample." }</span>
                </p>
            </section>
            <section class="home-planes" aria-labelledby="home-planes">
                <h2 id="home-planes">{ "Four data planes" }</h2>
                <p class="lead">
                    { "Give Services and EndpointSlices, and see what kube-proxy writes into a node in each mode, why each rule \
                       is there, and the same packet crossing them side by side." }
                </p>
                <p class="home-actions"><a class="button" href="#/planes">{ "Compare the data planes" }</a></p>
            </section>
            <section aria-labelledby="home-lessons">
                <h2 id="home-lessons">{ "Lessons" }</h2>
                <LessonList />
            </section>
            <p class="muted home-foot">
                { "Everything runs in this tab. Nothing you paste leaves it. " }
                <a href="#/fidelity">{ "What is exact, what is simplified, what is not emulated" }</a>
            </p>
        </div>
    }
}
