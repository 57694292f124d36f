//! Windows over the rules of a chain.

use super::VisitIndex;
use super::packet::proto_name;
use crate::netfilter::rule::Target;
use crate::netfilter::table::{ChainId, TableState};
use crate::netfilter::xt::{Match, TargetExt};
use crate::netfilter::{Rule, Table};
use crate::text::xt::rule_text;
use crate::trace::{Check, Trace, TraceKind};
use crate::view::chain::{CheckView, RuleFate, RuleRow, RuleWindow};

/// Rows of a chain as `visit` saw them. `tables` are those of the namespace, by number; counters are those of
/// now. Empty when there is no such visit.
pub fn visit_rows(
    trace: &Trace,
    index: &VisitIndex,
    tables: &[(&Table, &TableState)],
    visit: u32,
    from: u32,
    len: u32,
) -> RuleWindow {
    let at = visit as usize;
    let (Some(&(number, chain)), Some(events)) = (index.chains.get(at), index.events.get(at)) else {
        return RuleWindow::default();
    };
    let Some((table, state)) = tables.get(usize::from(number)) else { return RuleWindow::default() };
    let mut window = chain_rows(table, state, ChainId(chain), from, len);
    // Rules of one visit are evaluated in order, so the events of a window stand together.
    let events: Vec<_> = events.iter().filter_map(|at| rule_event(trace, *at)).collect();
    let first = events.partition_point(|(index, ..)| *index < from);
    for (index, matched, checks) in &events[first..] {
        let Some(row) = window.rows.get_mut((index - from) as usize) else { break };
        row.fate = match matched {
            _ if is_open(checks) => RuleFate::Uncertain,
            None => RuleFate::Uncertain,
            Some(true) => RuleFate::Matched,
            Some(false) => RuleFate::Passed,
        };
        row.checks = checks.iter().map(check_view).collect();
    }
    window
}

fn rule_event(trace: &Trace, at: u32) -> Option<(u32, Option<bool>, &[Check])> {
    match &trace.events.get(at as usize)?.kind {
        TraceKind::Rule { rule, matched, checks, .. } => Some((rule.index, *matched, checks)),
        _ => None,
    }
}

/// Rows of a chain as loaded.
pub fn chain_rows(table: &Table, state: &TableState, chain: ChainId, from: u32, len: u32) -> RuleWindow {
    let Some(rules) = table.chains.get(chain.0 as usize) else { return RuleWindow::default() };
    let total = rules.rules.len() as u32;
    let rows = (from..from.saturating_add(len).min(total)).map(|index| {
        let rule = &rules.rules[index as usize];
        let counters = state.rules.get((rules.first_rule + index) as usize).copied().unwrap_or_default();
        let (text, target) = rule_text(table, rule);
        RuleRow {
            number: index + 1,
            text,
            target,
            packets: counters.packets,
            bytes: counters.bytes,
            line: rule.line,
            fate: RuleFate::NotReached,
            checks: Vec::new(),
            not_emulated: not_emulated(rule),
        }
    });
    RuleWindow { from, total, rows: rows.collect() }
}

/// Parts of a rule that are kept and not emulated, as written: `-m recent`, `-j TPROXY`.
pub(crate) fn not_emulated(rule: &Rule) -> Vec<String> {
    let matches = rule.matches.iter().filter(|bound| matches!(bound.m, Match::NotEmulated(_)));
    let mut names: Vec<String> = matches.map(|bound| format!("-m {}", bound.m.name())).collect();
    if let Target::Ext(target @ TargetExt::NotEmulated(_)) = &rule.target {
        names.push(format!("{} {}", target.flag(), target.name()));
    }
    names
}

/// The field that marks a check of a part that is not emulated.
const NOT_EMULATED: &str = "not emulated";

/// Whether a match that is not emulated left the rule open.
pub(super) fn is_open(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.field == NOT_EMULATED)
}

fn check_view(check: &Check) -> CheckView {
    if check.field == NOT_EMULATED {
        return CheckView {
            text: check.want.clone(),
            field: check.want.clone(),
            have: String::new(),
            want: String::new(),
            pass: None,
            not_emulated: Some(check.want.clone()),
        };
    }
    let value = |text: &str| if check.field == "-p" { protocol(text) } else { text.to_owned() };
    let (have, want) = (value(&check.have), value(&check.want));
    CheckView {
        text: option(&check.field, &want),
        field: field_name(&check.field).to_owned(),
        have,
        want,
        pass: Some(check.pass),
        not_emulated: None,
    }
}

/// `! -s 10.0.0.0/8`, as iptables-save writes a negation.
fn option(field: &str, want: &str) -> String {
    match want.strip_prefix("! ") {
        Some(want) => format!("! {field} {want}"),
        None => format!("{field} {want}"),
    }
}

/// `6` as `tcp`, `! 17` as `! udp`.
fn protocol(text: &str) -> String {
    let (not, number) = text.strip_prefix("! ").map_or(("", text), |number| ("! ", number));
    number.parse().map_or_else(|_| text.to_owned(), |number| format!("{not}{}", proto_name(number)))
}

fn field_name(option: &str) -> &str {
    match option {
        "-s" => "source",
        "-d" => "destination",
        "-i" => "in device",
        "-o" => "out device",
        "-p" => "protocol",
        "-f" => "later fragment",
        "--sport" => "source port",
        "--dport" => "destination port",
        "--sports" | "--source-ports" => "source port",
        "--dports" | "--destination-ports" => "destination port",
        "--ctstate" | "--state" => "connection state",
        "--mark" => "mark",
        "--dst-type" => "destination type",
        "--src-type" => "source type",
        "--icmp-type" | "--icmpv6-type" => "ICMP type",
        other => other.trim_start_matches('-'),
    }
}
