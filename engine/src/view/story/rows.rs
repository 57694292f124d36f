//! Windows over the rules of a chain.

use super::VisitIndex;
use super::packet::proto_name;
use crate::base::PLANES;
use crate::netfilter::nft::{self, eval::TABLE_BASE};
use crate::netfilter::rule::Target;
use crate::netfilter::table::TableState;
use crate::netfilter::xt::{Match, TargetExt};
use crate::netfilter::{Rule, Table};
use crate::netns::Netns;
use crate::text::nft::{rule_halves, statements_text};
use crate::text::xt::rule_text;
use crate::trace::{Check, Trace, TraceKind};
use crate::view::chain::{CheckView, RuleFate, RuleRow, RuleWindow};

/// The rules that rows are made of.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Tables of iptables by their number in the namespace, each with what it counted.
    pub tables: &'a [(&'a Table, &'a TableState)],
    pub nft: &'a nft::Ruleset,
}

/// A chain by the numbers of its table and of itself, as traces name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainAt {
    pub table: u16,
    pub chain: u32,
}

/// The chain that views name so: `filter` and `FORWARD`, or `inet filter` and `forward`.
pub fn find_chain(netns: &Netns, table: &str, chain: &str) -> Option<ChainAt> {
    if let Some((family, name)) = table.split_once(' ') {
        let number = netns.nft().find(nft::TableFamily::by_name(family)?, name)?;
        let chain = netns.nft().tables[number].chains.get_index_of(chain)?;
        return Some(ChainAt { table: TABLE_BASE + number as u16, chain: chain as u32 });
    }
    netns.tables().iter().enumerate().filter(|(_, loaded)| loaded.table.name.name() == table).find_map(
        |(number, loaded)| {
            let chain = loaded.table.chains.iter().position(|candidate| &*candidate.name == chain)?;
            Some(ChainAt { table: number as u16, chain: chain as u32 })
        },
    )
}

/// Rows of a chain as `visit` saw them; counters are those of now. Empty when there is no such visit.
pub fn visit_rows(
    trace: &Trace,
    index: &VisitIndex,
    rules: Rules<'_>,
    visit: u32,
    from: u32,
    len: u32,
) -> RuleWindow {
    let at = visit as usize;
    let (Some(&(table, chain)), Some(events)) = (index.chains.get(at), index.events.get(at)) else {
        return RuleWindow::default();
    };
    let mut window = chain_rows(rules, ChainAt { table, chain }, from, len);
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

/// Rows of a chain as loaded; none where there is no such chain.
pub fn chain_rows(rules: Rules<'_>, at: ChainAt, from: u32, len: u32) -> RuleWindow {
    let rows = match at.table.checked_sub(TABLE_BASE) {
        Some(_) if !PLANES => None,
        Some(number) => rules.nft.tables.get(usize::from(number)).and_then(|table| {
            let (_, chain) = table.chains.get_index(at.chain as usize)?;
            Some(nft_rows(table, chain, &rules.nft.state, from, len))
        }),
        None => rules
            .tables
            .get(usize::from(at.table))
            .and_then(|(table, state)| xt_rows(table, state, at.chain, from, len)),
    };
    rows.unwrap_or_default()
}

fn xt_rows(table: &Table, state: &TableState, chain: u32, from: u32, len: u32) -> Option<RuleWindow> {
    let rules = table.chains.get(chain as usize)?;
    let total = rules.rules.len() as u32;
    let rows = (from..from.saturating_add(len).min(total)).map(|index| {
        let rule = &rules.rules[index as usize];
        let counters = state.rules.get((rules.first_rule + index) as usize).copied().unwrap_or_default();
        let (text, target) = rule_text(table, rule);
        RuleRow {
            number: index + 1,
            text,
            target,
            comment: String::new(),
            counts: true,
            packets: counters.packets,
            bytes: counters.bytes,
            line: rule.line,
            fate: RuleFate::NotReached,
            checks: Vec::new(),
            not_emulated: not_emulated(rule),
        }
    });
    Some(RuleWindow { from, total, rows: rows.collect() })
}

fn nft_rows(
    table: &nft::Table,
    chain: &nft::Chain,
    state: &nft::NftState,
    from: u32,
    len: u32,
) -> RuleWindow {
    let total = chain.rules.len() as u32;
    let rows = (from..from.saturating_add(len).min(total)).map(|index| {
        let rule = &chain.rules[index as usize];
        let counters = rule.statements.iter().find_map(|statement| match statement {
            nft::Statement::Counter { slot } => match state.get(*slot) {
                nft::StmtState::Counter(counters) => Some(*counters),
                _ => None,
            },
            _ => None,
        });
        // A chain written in place stands on lines of its own.
        let on_one_line = |text: String| match text.contains('\n') {
            true => text.split_whitespace().collect::<Vec<_>>().join(" "),
            false => text,
        };
        let (text, target) = rule_halves(table, rule, state);
        RuleRow {
            number: index + 1,
            text: on_one_line(text),
            target: on_one_line(target),
            comment: rule.comment.as_deref().unwrap_or_default().to_owned(),
            counts: counters.is_some(),
            packets: counters.map_or(0, |counters| counters.packets),
            bytes: counters.map_or(0, |counters| counters.bytes),
            line: rule.line,
            fate: RuleFate::NotReached,
            checks: Vec::new(),
            not_emulated: nft_not_emulated(table, rule, state),
        }
    });
    RuleWindow { from, total, rows: rows.collect() }
}

/// Parts of an nftables rule that are kept and not emulated: by name, or as printed where they have none.
pub(crate) fn nft_not_emulated(table: &nft::Table, rule: &nft::Rule, state: &nft::NftState) -> Vec<String> {
    let open = rule.statements.iter().filter(|statement| statement.may_be_unknown());
    open.map(|statement| match statement.not_emulated() {
        Some(name) => name.to_owned(),
        None => statements_text(table, std::slice::from_ref(statement), state),
    })
    .collect()
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
pub(super) const NOT_EMULATED: &str = "not emulated";

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
            found: String::new(),
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
        found: check.found.clone().unwrap_or_default(),
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
