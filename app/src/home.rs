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
            <section aria-labelledby="home-lessons">
                <h2 id="home-lessons">{ "Lessons" }</h2>
                <LessonList />
            </section>
            <p class="muted home-foot">
                { "Everything runs in this tab. Nothing you paste leaves it." }
            </p>
        </div>
    }
}
