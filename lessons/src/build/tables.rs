//! The table beside each figure, made from the facts of its run: what the page shows without scripts.

use serde_json::Value;

use super::scenario::Scenarios;
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
        (Picture::Shares, Some(Input::Spread(_))) => Ok(endpoints(facts, SHARES)),
        (Picture::Walked, Some(Input::Spread(_))) => Ok(endpoints(facts, WALKED)),
        (Picture::Draws, Some(Input::Spread(_))) => Ok(draws(facts)),
        (Picture::River, _) => Err("a river needs a scenario with packets".to_owned()),
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

fn endpoints(facts: &Value, columns: &[Column]) -> Table {
    let list = facts["endpoints"].as_array().cloned().unwrap_or_default();
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
