//! Every scheduler on the same arrivals: a table of choices, and for one scheduler the scores behind each.

use std::rc::Rc;

use chainwalk_lessons::picks::{Arrival, Pick, Picks, Scheduled};
use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::super::sheet::sheet;

#[derive(Debug, Clone, PartialEq, Properties)]
pub(super) struct Props {
    pub(super) picks: Rc<Picks>,
}

/// See the module.
#[component]
pub(super) fn PicksFigure(props: &Props) -> Html {
    let picks = &props.picks;
    let shown = use_state(|| 0_usize);
    let choose = {
        let shown = shown.setter();
        Callback::from(move |event: Event| {
            if let Some(list) = event.target_dyn_into::<HtmlSelectElement>() {
                shown.set(list.selected_index().max(0) as usize);
            }
        })
    };
    let Some(scheduled) = picks.schedulers.get(*shown).or_else(|| picks.schedulers.first()) else {
        return Html::default();
    };
    html! {
        <>
            if picks.schedulers.len() > 1 {
                { sheet("The server each scheduler chose", head(picks), picks.schedulers.iter().map(|one| row(picks, one)).collect()) }
                <p>
                    <label class="picks-choose">
                        <span class="field-label">{ "Scores of" }</span>
                        <select onchange={choose}>
                            { for picks.schedulers.iter().enumerate().map(|(at, one)| html! {
                                <option selected={at == *shown}>{ format!("{}, {}", one.name, one.title) }</option>
                            }) }
                        </select>
                    </label>
                </p>
            }
            <p class="muted">{ format!("{}: {}.", scheduled.name, scheduled.rule) }</p>
            { sheet(&format!("Scores of {}", scheduled.name), score_head(picks), scores(picks, scheduled)) }
        </>
    }
}

fn head(picks: &Picks) -> Vec<String> {
    let mut head = vec!["Scheduler".to_owned()];
    head.extend((1..=picks.arrivals.len()).map(|number| number.to_string()));
    head.extend(picks.servers.iter().map(|server| format!("to {server}")));
    head
}

fn row(picks: &Picks, scheduled: &Scheduled) -> Vec<String> {
    let mut row = vec![scheduled.name.clone()];
    row.extend(scheduled.picks.iter().map(|pick| pick.server.clone()));
    row.extend(picks.servers.iter().zip(&scheduled.counts).map(|(_, count)| count.to_string()));
    row
}

fn score_head(picks: &Picks) -> Vec<String> {
    let mut head = ["Arrival", "At", "Open for", "Client", "Goes to"].map(str::to_owned).to_vec();
    head.extend(picks.servers.iter().cloned());
    head.push("Because".to_owned());
    head
}

fn scores(picks: &Picks, scheduled: &Scheduled) -> Vec<Vec<String>> {
    let row = |(number, (arrival, pick)): (usize, (&Arrival, &Pick))| {
        let mut row = vec![
            (number + 1).to_string(),
            format!("{} ms", arrival.at_ms),
            format!("{} ms", arrival.for_ms),
            arrival.from.clone(),
            pick.server.clone(),
        ];
        row.extend(
            pick.scores.iter().map(|score| if score.is_empty() { "–".to_owned() } else { score.clone() }),
        );
        row.push(pick.because.clone());
        row
    };
    picks.arrivals.iter().zip(&scheduled.picks).enumerate().map(row).collect()
}
