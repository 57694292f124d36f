//! The endpoint rules of a Service chain as text: which they are, where they lead, and edits of them.
//!
//! An edit changes the text, and the engine reads the result like any other ruleset.

use crate::model::{Edit, SpreadInput};

/// `input` with the endpoint rules of its chain changed as `edit` says.
///
/// # Errors
/// The chain is not there, or the edit does not have one probability for each endpoint rule.
pub fn edit(input: &SpreadInput, edit: &Edit) -> Result<SpreadInput, String> {
    let chain = chain_of(&input.rules, &input.service)?;
    let mut rules = String::with_capacity(input.rules.len());
    let mut at = 0;
    for line in input.rules.lines() {
        if !is_endpoint_rule(line, &chain) {
            rules.push_str(line);
            rules.push('\n');
            continue;
        }
        let number = at;
        at += 1;
        if edit.dropped.contains(&number) {
            continue;
        }
        let wanted = edit.probabilities.get(number).ok_or_else(|| {
            format!(
                "the edit has {} probabilities; the chain has more endpoint rules",
                edit.probabilities.len()
            )
        })?;
        rules.push_str(&with_probability(line, wanted));
        rules.push('\n');
    }
    if at != edit.probabilities.len() {
        return Err(format!(
            "the edit has {} probabilities; the chain has {at} endpoint rules",
            edit.probabilities.len()
        ));
    }
    Ok(SpreadInput { rules, ..input.clone() })
}

/// The endpoint rules of the chain as an [`Edit`] that changes nothing, and where each leads.
///
/// # Errors
/// The ruleset has no Service chain for the address.
pub fn rules_of(input: &SpreadInput) -> Result<(Edit, Vec<String>), String> {
    let chain = chain_of(&input.rules, &input.service)?;
    let lines: Vec<&str> = input.rules.lines().filter(|line| is_endpoint_rule(line, &chain)).collect();
    let probability = |line: &&str| after(line, "--probability ").unwrap_or_default();
    let target = |line: &&str| {
        let sep = after(line, " -j ").unwrap_or_default();
        let dnat = format!("-A {sep} ");
        let to =
            input.rules.lines().find(|rule| rule.starts_with(&dnat) && rule.contains("--to-destination "));
        to.and_then(|rule| after(rule, "--to-destination ")).unwrap_or(sep)
    };
    let edit = Edit { probabilities: lines.iter().map(probability).collect(), dropped: Vec::new() };
    Ok((edit, lines.iter().map(target).collect()))
}

/// The chain that the rule for `service` (`address:port`) jumps to.
pub(super) fn chain_of(rules: &str, service: &str) -> Result<String, String> {
    let (address, port) =
        service.rsplit_once(':').ok_or_else(|| format!("`{service}` is not an address and a port"))?;
    let (to, at) = (format!("-d {address}/32 "), format!("--dport {port} "));
    let found = rules.lines().find(|line| {
        line.starts_with("-A KUBE-SERVICES ")
            && line.contains(&to)
            && line.contains(&at)
            && line.contains("-j KUBE-SVC-")
    });
    found
        .and_then(|line| after(line, " -j "))
        .ok_or_else(|| format!("no rule of KUBE-SERVICES is about {service}"))
}

fn is_endpoint_rule(line: &str, chain: &str) -> bool {
    line.strip_prefix("-A ")
        .and_then(|rest| rest.strip_prefix(chain))
        .is_some_and(|rest| rest.starts_with(' ') && rest.contains(" -j KUBE-SEP-"))
}

/// The word after `key`.
fn after(line: &str, key: &str) -> Option<String> {
    let (_, rest) = line.split_once(key)?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// `line` with its statistic match replaced; none for an empty probability.
fn with_probability(line: &str, probability: &str) -> String {
    let (head, target) = line.split_once(" -j ").unwrap_or((line, ""));
    let head = head.split_once(" -m statistic").map_or(head, |(head, _)| head);
    if probability.is_empty() {
        format!("{head} -j {target}")
    } else {
        format!("{head} -m statistic --mode random --probability {probability} -j {target}")
    }
}
