//! `iptables -L` and `-S` (`print_firewall`, `print_header` of `xshared.c`).

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use super::build::Workbench;
use super::protocols;
use super::save;
use crate::netfilter::rule::{Net, Not};
use crate::netfilter::table::ChainId;
use crate::netfilter::xt::ListFlags;
use crate::netfilter::{Counters, Rule, Target};
use crate::packet::Family;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Columns {
    /// `-n`
    pub numeric: bool,
    /// `-v`: counters and devices.
    pub verbose: bool,
    /// `-x`: counters in full.
    pub exact: bool,
    pub line_numbers: bool,
}

/// `-L`: the chains, or one rule of one chain.
pub(super) fn list(bench: &Workbench, chains: &[ChainId], number: Option<u32>, columns: Columns) -> String {
    let mut out = String::new();
    for (at, &id) in chains.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if number.is_none() {
            header(&mut out, bench, id, columns);
        }
        let counters = &bench.counters.rules[id.0 as usize];
        for (position, rule) in bench.table.chain(id).rules.iter().enumerate() {
            if number.is_none_or(|n| n as usize == position + 1) {
                print_rule(&mut out, bench, rule, counters[position], position + 1, columns);
            }
        }
    }
    out
}

/// `-S`: the same as commands.
pub(super) fn list_rules(
    bench: &Workbench,
    chains: &[ChainId],
    number: Option<u32>,
    counters: bool,
) -> String {
    let mut out = String::new();
    let shown = |c: Counters| format!(" -c {} {}", c.packets, c.bytes);
    if number.is_none() {
        for &id in chains {
            let chain = bench.table.chain(id);
            let policy = bench.counters.policies[id.0 as usize];
            let _ = match &chain.base {
                Some(base) => {
                    let count = if counters { shown(policy) } else { String::new() };
                    writeln!(out, "-P {} {}{count}", chain.name, save::policy_name(&base.policy))
                }
                None => writeln!(out, "-N {}", chain.name),
            };
        }
    }
    for &id in chains {
        for (position, rule) in bench.table.chain(id).rules.iter().enumerate() {
            if number.is_none_or(|n| n as usize == position + 1) {
                let count = counters.then(|| bench.counters.rules[id.0 as usize][position]);
                save::print_rule(&mut out, &bench.table, id, rule, count);
                out.push('\n');
            }
        }
    }
    out
}

fn header(out: &mut String, bench: &Workbench, id: ChainId, columns: Columns) {
    let chain = bench.table.chain(id);
    let _ = write!(out, "Chain {}", chain.name);
    let _ = match &chain.base {
        Some(base) => {
            let policy = save::policy_name(&base.policy);
            if columns.verbose {
                let Counters { packets, bytes } = bench.counters.policies[id.0 as usize];
                let number = |n: u64| if columns.exact { n.to_string() } else { short_number(n) };
                writeln!(out, " (policy {policy} {} packets, {} bytes)", number(packets), number(bytes))
            } else {
                writeln!(out, " (policy {policy})")
            }
        }
        None => writeln!(out, " ({} references)", bench.references(id)),
    };
    if columns.line_numbers {
        out.push_str("num  ");
    }
    match (columns.verbose, columns.exact) {
        (false, _) => {}
        (true, false) => out.push_str(" pkts bytes "),
        (true, true) => out.push_str("    pkts      bytes "),
    }
    out.push_str("target     prot opt");
    if columns.verbose {
        out.push_str(" in     out    ");
    }
    out.push_str(" source               destination         \n");
}

/// One line of `-L`.
pub(super) fn print_rule(
    out: &mut String,
    bench: &Workbench,
    rule: &Rule,
    counters: Counters,
    number: usize,
    columns: Columns,
) {
    let table = &bench.table;
    if columns.line_numbers {
        let _ = write!(out, "{number:<4} ");
    }
    if columns.verbose {
        for count in [counters.packets, counters.bytes] {
            let _ = if columns.exact {
                write!(out, "{count:8} ")
            } else {
                write!(out, "{:>5} ", short_number(count))
            };
        }
    }
    let _ = write!(out, "{:<9} ", target_name(bench, &rule.target));
    let mark = |inverted: bool| if inverted { '!' } else { ' ' };
    let proto = rule.head.proto.unwrap_or(Not { value: 0, inverted: false });
    let _ = write!(out, "{}{:<4} ", mark(proto.inverted), protocol(proto.value, columns.numeric));
    out.push_str(fragment(rule));
    out.push(' ');
    if columns.verbose {
        let any = if columns.numeric { "*" } else { "any" };
        let device = |test: &Option<Not<crate::netfilter::IfName>>| match test {
            None => any.to_owned(),
            Some(Not { value, inverted }) => format!("{}{value}", if *inverted { "!" } else { "" }),
        };
        let _ = write!(out, " {:<6} {:<6} ", device(&rule.head.in_dev), device(&rule.head.out_dev));
    }
    for test in [rule.head.src, rule.head.dst] {
        let shown = address(test.map(|t| t.value), table.family, columns.numeric);
        let _ = write!(out, "{}{shown:<19} ", mark(test.is_some_and(|t| t.inverted)));
    }
    print_extensions(out, rule, columns.numeric);
}

/// The line that `-v` prints for a rule it adds or deletes: one blank between words, arrows and labels.
pub(super) fn sentence(bench: &Workbench, rule: &Rule) -> String {
    let mut out = format!("{} ", target_name(bench, &rule.target));
    let mark = |inverted: bool| if inverted { "!" } else { " " };
    let proto = rule.head.proto.unwrap_or(Not { value: 0, inverted: false });
    let device = |test: &Option<Not<crate::netfilter::IfName>>| match test {
        None => "*".to_owned(),
        Some(Not { value, inverted }) => format!("{}{value}", if *inverted { "!" } else { "" }),
    };
    let side = |test: Option<Not<Net>>| {
        let inverted = test.is_some_and(|t| t.inverted);
        (mark(inverted), address(test.map(|t| t.value), bench.table.family, true))
    };
    let ((src_mark, src), (dst_mark, dst)) = (side(rule.head.src), side(rule.head.dst));
    let _ = write!(
        out,
        "{}{} opt {} in {} out {} {src_mark}{src} {dst_mark}-> {dst}  ",
        mark(proto.inverted),
        protocol(proto.value, false),
        fragment(rule),
        device(&rule.head.in_dev),
        device(&rule.head.out_dev),
    );
    print_extensions(&mut out, rule, true);
    out
}

fn print_extensions(out: &mut String, rule: &Rule, numeric: bool) {
    let goto = match &rule.target {
        Target::Ext(target) => target.is_goto(),
        target => matches!(target, Target::Goto(_)),
    };
    if goto {
        out.push_str("[goto] ");
    }
    let flags = ListFlags { numeric };
    for bound in &rule.matches {
        bound.m.list(out, flags);
    }
    if let Target::Ext(target) = &rule.target {
        target.list(out, flags);
    }
    out.push('\n');
}

const fn fragment(rule: &Rule) -> &'static str {
    match rule.head.fragment {
        None => "--",
        Some(true) => "-f",
        Some(false) => "!f",
    }
}

fn target_name<'b>(bench: &'b Workbench, target: &'b Target) -> &'b str {
    match target {
        Target::None => "",
        Target::Accept => "ACCEPT",
        Target::Drop => "DROP",
        Target::Return => "RETURN",
        Target::Queue => "QUEUE",
        Target::Jump(to) | Target::Goto(to) => &bench.table.chain(*to).name,
        Target::Ext(target) => target.name(),
    }
}

/// Only 1.8.9 prints numbers with `-n`.
fn protocol(number: u8, numeric: bool) -> String {
    match (number, numeric) {
        (_, true) => number.to_string(),
        (0, false) => "all".to_owned(),
        (_, false) => protocols::name(number).map_or_else(|| number.to_string(), str::to_owned),
    }
}

/// An address as the tool shows it; without `-n`, names that every Debian knows.
fn address(net: Option<Net>, family: Family, numeric: bool) -> String {
    let Some(net) = net else {
        return match (family, numeric) {
            (_, false) => "anywhere".to_owned(),
            (Family::V4, true) => "0.0.0.0/0".to_owned(),
            (Family::V6, true) => "::/0".to_owned(),
        };
    };
    let host = |addr: IpAddr| {
        let local = addr == IpAddr::V4(Ipv4Addr::LOCALHOST);
        if local && !numeric { "localhost".to_owned() } else { addr.to_string() }
    };
    let network = |addr: IpAddr| match addr {
        // /etc/networks
        IpAddr::V4(a) if !numeric && a == Ipv4Addr::new(127, 0, 0, 0) => "loopback".to_owned(),
        IpAddr::V4(a) if !numeric && a == Ipv4Addr::new(169, 254, 0, 0) => "link-local".to_owned(),
        other => other.to_string(),
    };
    match (net.prefix_len(), net.addr) {
        (Some(32), IpAddr::V4(_)) | (Some(128), IpAddr::V6(_)) => host(net.addr),
        (Some(0), _) if !numeric => "anywhere".to_owned(),
        (Some(len), _) => format!("{}/{len}", network(net.addr)),
        (None, _) => format!("{}/{}", network(net.addr), net.mask),
    }
}

/// Counters in five columns: from 100,000 on in thousands, and so on (`xtables_print_num`).
fn short_number(number: u64) -> String {
    if number <= 99_999 {
        return number.to_string();
    }
    let mut number = number;
    for unit in ["K", "M", "G"] {
        number = number.saturating_add(500) / 1000;
        if number <= 9999 {
            return format!("{number}{unit}");
        }
    }
    format!("{}T", (number + 500) / 1000)
}
