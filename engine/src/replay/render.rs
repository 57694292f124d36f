//! A traced packet as text for a terminal: what `chainwalk trace` prints.

use std::fmt::Write as _;

use super::infer::Assumption;
use super::line;
use super::report::{EmittedReport, verdict};
use super::session::Sent;
use super::walk;
use crate::netns::Netns;
use crate::text::xt::rule_text;
use crate::trace::{Entry, TraceKind};

/// Widest column of a label, in characters.
const LABEL: usize = 12;

/// Assumptions, one a line, with the option that states each.
pub fn assumptions(made: &[Assumption]) -> String {
    use super::infer::AssumptionKind as Kind;
    let mut out = String::new();
    if made.is_empty() {
        return out;
    }
    out.push_str("assumed\n");
    for assumption in made {
        let option = match assumption.kind {
            Kind::Address => format!("  [--addr {}]", assumption.value),
            Kind::Route => format!("  [--route {}]", assumption.value),
            Kind::Sysctl => format!("  [--sysctl {}]", assumption.value),
            Kind::InDevice => format!("  [in {}]", assumption.value),
            Kind::Other => String::new(),
        };
        let _ = writeln!(out, "  {}{option}", assumption.sentence);
    }
    out.push('\n');
    out
}

/// The way of one packet, hook by hook, and its end.
pub fn sent(netns: &Netns, sent: &Sent) -> String {
    let mut out = format!("{}\n\n", line::print(&sent.spec));
    let mut depth = 0_usize;
    for event in &sent.ran.trace.events {
        let margin = " ".repeat(2 * depth);
        let mut row = |label: &str, text: &str| {
            let _ = writeln!(out, "{margin}{label:<LABEL$}  {text}");
        };
        match &event.kind {
            TraceKind::Received { dev, packet } => row("in", &format!("{dev}: {}", brief(packet))),
            TraceKind::LocalOut { packet } => row("local", &brief(packet)),
            TraceKind::Hook { hook } => {
                let _ = writeln!(out, "{margin}{}", hook.chain());
            }
            // A table shows by its chains.
            TraceKind::Function { name, .. } if name.starts_with("iptables") || name == "nat" => {}
            TraceKind::Function { .. } => {}
            TraceKind::Chain { table, chain, entry } => {
                let how = match entry {
                    Entry::Hook => "",
                    Entry::Jump => " (jumped to)",
                    Entry::Goto => " (gone to)",
                };
                let (table, chain) = named(netns, *table, *chain);
                row("", &format!("{table} {chain}{how}"));
            }
            TraceKind::Rule { rule, matched, checks, verdict } => {
                let loaded = netns.tables().get(usize::from(rule.table));
                let nft = netns.nft_table(rule.table).and_then(|table| {
                    let (_, chain) = table.chains.get_index(rule.chain as usize)?;
                    let rule = chain.rules.get(rule.index as usize)?;
                    Some(crate::text::nft::rule_text(table, rule, &netns.nft().state))
                });
                let text = nft
                    .or_else(|| {
                        let l = loaded?;
                        let chain = l.table.chains.get(rule.chain as usize)?;
                        let (tests, target) = rule_text(&l.table, chain.rules.get(rule.index as usize)?);
                        Some(format!("{tests} {target}").trim().to_owned())
                    })
                    .unwrap_or_default();
                let mark = match matched {
                    Some(true) => '=',
                    Some(false) => ' ',
                    None => '?',
                };
                row("", &format!("  {mark} {:>4}  {text}", rule.index + 1));
                let failed = checks.iter().filter(|c| !c.pass || matched.is_none());
                for check in failed {
                    row("", &format!("          {} is {}, wanted {}", check.field, check.have, check.want));
                }
                if matched.is_none() {
                    row("", &format!("          not emulated: taken as {verdict}"));
                }
            }
            TraceKind::ChainEnd { table, chain } => {
                let (_, chain) = named(netns, *table, *chain);
                row("", &format!("  end of {chain}: back to its caller"));
            }
            TraceKind::Policy { verdict, .. } => row("", &format!("  policy {verdict}")),
            TraceKind::Rewrite { by, changes } => {
                let changes: Vec<String> =
                    changes.iter().map(|c| format!("{} {} -> {}", c.field, c.before, c.after)).collect();
                row("rewrite", &format!("{} ({by})", changes.join(", ")));
            }
            TraceKind::Conntrack { summary, entry, why } => {
                row("conntrack", summary);
                if let Some(entry) = entry {
                    row("", &format!("  {entry}"));
                }
                for check in why.iter().filter(|c| !c.pass) {
                    row("", &format!("  {} is {}, wanted {}", check.field, check.have, check.want));
                }
            }
            TraceKind::Nat { summary } => row("nat", summary),
            TraceKind::Ipvs { summary, entry } => {
                row("ipvs", summary);
                if let Some(entry) = entry {
                    row("", &format!("  {entry}"));
                }
            }
            TraceKind::Schedule { scheduler, candidates, because } => {
                row("ipvs", &format!("{scheduler}: {because}"));
                for candidate in candidates {
                    row("", &format!("  {}", candidate.line()));
                }
            }
            TraceKind::Route { summary } => row("route", summary),
            TraceKind::Note { text } => row("note", text),
            TraceKind::Emitted { dev, packet } => row("out", &format!("{dev}: {}", brief(packet))),
            TraceKind::Answer { packet, because } => {
                row("answer", &format!("{} ({because})", brief(packet)));
                depth += 1;
            }
            TraceKind::End { because, .. } if depth > 0 => {
                row("", because);
                depth -= 1;
            }
            TraceKind::End { .. } => {}
        }
    }
    let ran = &sent.ran;
    let word = if ran.certain() { verdict(&ran.end.disposition) } else { "uncertain" };
    let _ = writeln!(out, "\n{word}: {}", ran.end.because);
    for unknown in ran.unknowns.iter().filter(|_| !ran.certain()) {
        let _ = writeln!(out, "  depends on {}, which is not emulated", walk::unknown(netns, unknown));
    }
    for other in &ran.alternatives {
        let _ =
            writeln!(out, "  it could also be {}: {}", verdict(&other.end.disposition), other.end.because);
    }
    if let Some(info) = ran.ct_info {
        let _ = writeln!(out, "conntrack state {}", info.state_name());
    }
    let _ = writeln!(out, "{} rules evaluated", ran.trace.rules_evaluated);
    out
}

fn named(netns: &Netns, table: u16, chain: u32) -> (String, String) {
    walk::place(netns, crate::trace::RuleRef { table, chain, index: 0 })
}

/// `tcp 10.1.0.2:40000 > 10.96.0.1:80 [S]`
fn brief(packet: &crate::packet::Packet) -> String {
    let shown = EmittedReport::of(packet);
    let point = |addr: &str, port: Option<u16>| match port {
        Some(port) if addr.contains(':') => format!("[{addr}]:{port}"),
        Some(port) => format!("{addr}:{port}"),
        None => addr.to_owned(),
    };
    let mut out =
        format!("{} {} > {}", shown.proto, point(&shown.src, shown.sport), point(&shown.dst, shown.dport));
    if let Some(flags) = &shown.flags {
        let _ = write!(out, " [{flags}]");
    }
    if let (Some(kind), Some(code)) = (shown.icmp_type, shown.icmp_code) {
        let _ = write!(out, " type {kind} code {code}");
    }
    out
}
