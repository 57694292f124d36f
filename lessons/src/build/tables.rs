//! The table beside each figure, made from the facts of its run: what the page shows without scripts.

use serde_json::Value;

use super::scenario::Scenarios;
use crate::lookups::Form;
use crate::model::{Input, Picture, Table};

pub(super) fn table(
    picture: Picture,
    scenarios: &Scenarios,
    run: &str,
    packet: u32,
) -> Result<Table, String> {
    let facts = scenarios.facts.get(run).ok_or_else(|| format!("the scenario `{run}` did not run"))?;
    let input = scenarios.get(run).map(|run| &run.input);
    match (picture, input) {
        (Picture::River, Some(Input::Replay(case))) => river(facts, case, packet),
        (Picture::Shares, Some(Input::Spread(_))) => Ok(rows(facts, "endpoints", SHARES)),
        (Picture::Walked, Some(Input::Spread(_))) => Ok(rows(facts, "endpoints", WALKED)),
        (Picture::Draws, Some(Input::Spread(_))) => Ok(draws(facts)),
        (Picture::Picks, Some(Input::Picks(_))) => Ok(picks(facts)),
        (Picture::Times, Some(Input::Queue(_))) => Ok(rows(facts, "schedulers", TIMES)),
        (Picture::Backlog, Some(Input::Queue(_))) => Ok(backlog(facts)),
        (Picture::Lookups, Some(Input::Lookups(_))) => Ok(lookups(facts)),
        (Picture::Leaving, Some(Input::Leaving(_))) => Ok(leaving(facts)),
        (Picture::River, _) => Err("a river needs a scenario with packets".to_owned()),
        (Picture::Picks, _) => Err("this figure needs a scenario with `[picks]`".to_owned()),
        (Picture::Times | Picture::Backlog, _) => {
            Err("this figure needs a scenario with a `[queue]`".to_owned())
        }
        (Picture::Lookups, _) => Err("this figure needs a scenario with `[lookups]`".to_owned()),
        (Picture::Leaving, _) => Err("this figure needs a scenario with `[leaving]`".to_owned()),
        (Picture::Shares | Picture::Walked | Picture::Draws, _) => {
            Err("this figure needs a scenario with a `[spread]`".to_owned())
        }
    }
}

/// Matched rules of one packet, then how it left.
fn river(facts: &Value, case: &str, packet: u32) -> Result<Table, String> {
    let about = &facts["packets"][packet as usize];
    if about.is_null() {
        return Err(format!("the run has no packet {packet}"));
    }
    let rules: Vec<String> = rule_texts(case);
    let mut rows = Vec::new();
    for step in about["walk"].as_array().into_iter().flatten().filter(|step| step["matched"] == true) {
        let (chain, number) = (word(&step["chain"]), step["rule"].as_u64().unwrap_or(0));
        let text = nth_rule(&rules, &word(&step["table"]), &chain, number as usize);
        rows.push(vec![word(&step["hook"]), word(&step["table"]), format!("{chain} {number}"), text]);
    }
    let left = match about["emitted"].as_array().and_then(|list| list.first()) {
        Some(out) => format!(
            "{}, to {}: {} → {}",
            word(&about["verdict"]),
            word(&out["dev"]),
            end_point(out, "src", "sport"),
            end_point(out, "dst", "dport")
        ),
        None => format!("{}: {}", word(&about["verdict"]), word(&about["reason"])),
    };
    rows.push(vec!["out".to_owned(), String::new(), String::new(), left]);
    Ok(Table { head: ["Hook", "Table", "Rule", "What it says"].map(str::to_owned).to_vec(), rows })
}

/// The lines of every ruleset the case loads.
fn rule_texts(case: &str) -> Vec<String> {
    let case: Value = serde_json::from_str(case).unwrap_or_default();
    let setup = case["node"]["setup"].as_array().cloned().unwrap_or_default();
    setup.iter().filter_map(|step| step["stdin"].as_str()).flat_map(str::lines).map(str::to_owned).collect()
}

/// The `number`-th rule (from 1) of `chain`, without the leading `-A CHAIN` and without its comment.
fn nth_rule(lines: &[String], table: &str, chain: &str, number: usize) -> String {
    let mut here = "";
    let head = format!("-A {chain} ");
    let mut seen = 0;
    for line in lines {
        if let Some(name) = line.strip_prefix('*') {
            here = name;
        } else if let Some(rule) = line.strip_prefix(&head).filter(|_| here == table) {
            seen += 1;
            if seen == number {
                return without_comment(rule);
            }
        }
    }
    String::new()
}

fn without_comment(rule: &str) -> String {
    let Some((before, after)) = rule.split_once("-m comment --comment ") else { return rule.to_owned() };
    let rest = match after.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map_or("", |(_, rest)| rest),
        None => after.split_once(' ').map_or("", |(_, rest)| rest),
    };
    format!("{}{}", before, rest.trim_start())
}

type Column = (&'static str, fn(&Value) -> String);

const SHARES: &[Column] = &[
    ("Endpoint", |e| word(&e["to"])),
    ("Rule's probability", |e| {
        let text = word(&e["probability"]);
        if text.is_empty() { "the rest".to_owned() } else { text }
    }),
    ("Expected", |e| format!("{:.0}", e["expected"].as_f64().unwrap_or(0.0))),
    ("Observed", |e| word(&e["observed"])),
    ("Share", |e| format!("{:.2} %", 100.0 * e["share"].as_f64().unwrap_or(0.0))),
];

const WALKED: &[Column] = &[
    ("Endpoint", |e| word(&e["to"])),
    ("Endpoint rules read", |e| word(&e["endpoint_rules"])),
    ("Connections", |e| word(&e["observed"])),
    ("Share", |e| format!("{:.2} %", 100.0 * e["share"].as_f64().unwrap_or(0.0))),
];

const TIMES: &[Column] = &[
    ("Scheduler", |s| word(&s["name"])),
    ("Half within", |s| seconds(&s["times"]["p50"])),
    ("90 % within", |s| seconds(&s["times"]["p90"])),
    ("99 % within", |s| seconds(&s["times"]["p99"])),
    ("Published for 99 %", |s| {
        if s["published"].is_null() { "none".to_owned() } else { seconds(&s["published"]) }
    }),
    ("Waited", |s| word(&s["waited"])),
    ("Waited beside an idle pod", |s| word(&s["beside_idle"])),
];

/// `4.32 s` of milliseconds.
fn seconds(ms: &Value) -> String {
    format!("{:.2} s", ms.as_f64().unwrap_or(0.0) / 1000.0)
}

/// A scheduler a row, an arrival a column: the server and what it was judged by.
fn picks(facts: &Value) -> Table {
    let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let arrivals = list(&facts["arrivals"]);
    let mut head = vec!["Scheduler".to_owned()];
    head.extend(arrivals.iter().map(|arrival| format!("{} ms", word(&arrival["at_ms"]))));
    let cell = |pick: &Value| match word(&pick["score"]).as_str() {
        "" => word(&pick["server"]),
        score => format!("{}: {score}", word(&pick["server"])),
    };
    let row = |scheduled: &Value| {
        let mut row = vec![word(&scheduled["name"])];
        row.extend(list(&scheduled["picks"]).iter().map(cell));
        row
    };
    Table { head, rows: list(&facts["schedulers"]).iter().map(row).collect() }
}

/// Every second moment of the window: requests at each pod, by scheduler.
fn backlog(facts: &Value) -> Table {
    let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let schedulers = list(&facts["schedulers"]);
    let window = list(&facts["window"]);
    let from = window.first().and_then(Value::as_f64).unwrap_or(0.0);
    let mut head = vec!["Second".to_owned()];
    for scheduler in &schedulers {
        head.extend(
            (1..=list(&scheduler["backlog"]).len())
                .map(|pod| format!("{}, pod {pod}", word(&scheduler["name"]))),
        );
    }
    let row = |(at, moment): (usize, &Value)| {
        let mut row = vec![format!("{:.0}", (moment.as_f64().unwrap_or(0.0) - from) / 1000.0)];
        let lanes = schedulers.iter().flat_map(|scheduler| list(&scheduler["backlog"]));
        row.extend(lanes.map(|lane| word(&lane[at])));
        row
    };
    Table { head, rows: window.iter().enumerate().step_by(2).map(row).collect() }
}

fn lookups(facts: &Value) -> Table {
    let rows = facts["rows"].as_array().cloned().unwrap_or_default();
    let forms = [Form::Iptables, Form::NftList, Form::NftMap, Form::Ipvs];
    let members = forms.map(|form| (form, serde_json::to_value(form).unwrap_or_default()));
    let asked = |member: &Value| rows.iter().any(|row| !row[member.as_str().unwrap_or_default()].is_null());
    let columns: Vec<_> = members.into_iter().filter(|(_, member)| asked(member)).collect();
    let mut head = vec!["Services".to_owned()];
    head.extend(columns.iter().map(|(form, _)| format!("{}: at worst", form.title())));
    let row = |row: &Value| {
        let mut cells = vec![word(&row["services"])];
        cells.extend(
            columns.iter().map(|(_, member)| word(&row[member.as_str().unwrap_or_default()]["worst"])),
        );
        cells
    };
    Table { head, rows: rows.iter().map(row).collect() }
}

/// A table a row: each server's slots before and after, and how many slots changed without need.
fn leaving(facts: &Value) -> Table {
    let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let mut head = vec!["Table".to_owned(), "Slots".to_owned()];
    head.extend(list(&facts["servers"]).iter().map(word));
    head.push("Moved between those who stay".to_owned());
    let row = |table: &Value| {
        let mut row = vec![word(&table["title"]), word(&table["slots"])];
        let both = list(&table["before"]).into_iter().zip(list(&table["after"]));
        row.extend(both.map(|(before, after)| format!("{} → {}", word(&before), word(&after))));
        row.push(word(&table["moved"]));
        row
    };
    Table { head, rows: list(&facts["tables"]).iter().map(row).collect() }
}

fn rows(facts: &Value, member: &str, columns: &[Column]) -> Table {
    let list = facts[member].as_array().cloned().unwrap_or_default();
    Table {
        head: columns.iter().map(|(head, _)| (*head).to_owned()).collect(),
        rows: list.iter().map(|e| columns.iter().map(|(_, cell)| cell(e)).collect()).collect(),
    }
}

/// The first batch, one connection a row.
fn draws(facts: &Value) -> Table {
    let size = facts["batches"]["size"].as_u64().unwrap_or(0) as usize;
    let list = facts["first"].as_array().cloned().unwrap_or_default();
    let rows =
        list.iter().take(size).enumerate().map(|(i, to)| vec![(i + 1).to_string(), word(to)]).collect();
    Table { head: vec!["Connection".to_owned(), "Went to".to_owned()], rows }
}

fn end_point(packet: &Value, address: &str, port: &str) -> String {
    match packet[port].as_u64() {
        Some(port) => format!("{}:{port}", word(&packet[address])),
        None => word(&packet[address]),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        other => crate::expr::text(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_table_chain_and_number() {
        let lines: Vec<String> = "*filter\n-A FORWARD -j A\nCOMMIT\n*nat\n-A A -s 1.1.1.1/32 -m comment --comment \"x -j y\" -j B\n-A A -m comment --comment z -j C\n"
            .lines()
            .map(str::to_owned)
            .collect();
        assert_eq!(nth_rule(&lines, "nat", "A", 1), "-s 1.1.1.1/32 -j B");
        assert_eq!(nth_rule(&lines, "nat", "A", 2), "-j C");
        assert_eq!(nth_rule(&lines, "filter", "A", 1), "");
    }
}
