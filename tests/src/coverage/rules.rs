//! What the kernel's own texts show: rules whose counters moved, entries of the connection list.

use std::collections::{BTreeMap, BTreeSet};

use super::{Area, Item};
use crate::case::{CaseFile, Run};

/// Options whose values are kinds of their own.
const VALUED: &[&str] = &[
    "--reject-with",
    "--mode",
    "--ctdir",
    "--pkt-type",
    "--connbytes-dir",
    "--connbytes-mode",
    "--hashlimit-mode",
    "--algo",
    "--pol",
];
/// The same, where the value is a list.
const LISTED: &[&str] = &["--ctstate", "--state", "--ctstatus", "--dst-type", "--src-type"];
/// Whether a name is that of a generated user chain: `F0`, unlike `CT` and `HL`.
fn is_user_chain(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, digit] if letter.is_ascii_uppercase() && digit.is_ascii_digit())
}

pub(super) fn collect(file: &CaseFile, run: &Run, found: &mut BTreeSet<Item>) {
    let sets = sets(file);
    for (command, text) in &run.show {
        if command.contains("tables") && command.contains("-save") {
            text.lines().for_each(|line| rule(line, &sets, found));
        } else if command == "nft list ruleset" {
            super::nft::collect(text, found);
        } else if command.starts_with("conntrack -L") {
            text.lines().for_each(|line| entry(line, found));
        }
    }
    if run.counters.get("insert_failed").is_some_and(|failed| *failed > 0) {
        found.insert((Area::Nat, "no tuple left (insert_failed)".into()));
    }
    for (packet, answer) in file.case.packets.iter().zip(&run.packets) {
        let mut saw = |what: &str| _ = found.insert((Area::Traffic, what.into()));
        for seen in &answer.emitted {
            if seen.fragment.is_some() {
                saw("fragments sent");
            }
            if seen.quoted.is_some() && packet.raw_hex.is_some() {
                saw("ICMP error forwarded, translated inside");
            }
            if answer.delivered && seen.flags.as_deref() == Some("SA") {
                saw("SYN-ACK of a listening socket");
            }
            if answer.delivered && seen.flags.as_deref().is_some_and(|flags| flags.contains('R')) {
                saw("RST of the node");
            }
            if answer.delivered && seen.quoted.is_some() {
                saw("ICMP error of the node");
            }
        }
        if packet.input == "local" {
            saw("local sender");
        }
    }
}

/// Type of each set that the case creates.
fn sets(file: &CaseFile) -> BTreeMap<&str, &str> {
    let lines = file.case.node.setup.iter().flat_map(|step| step.stdin.lines());
    lines
        .filter_map(|line| {
            let mut words = line.strip_prefix("create ")?.split(' ');
            Some((words.next()?, words.next()?))
        })
        .collect()
}

/// A rule that matched at least once: `[3:156] -A FORWARD -m tcp --dport 80 -j DROP`.
fn rule(line: &str, sets: &BTreeMap<&str, &str>, found: &mut BTreeSet<Item>) {
    let Some((counters, rule)) = line.split_once("] -A ") else { return };
    if counters.starts_with("[0:") {
        return;
    }
    let words: Vec<&str> = rule.split_whitespace().collect();
    let Some((chain, words)) = words.split_first() else { return };
    let (mut owner, mut area) = ("", Area::Match);
    for (at, word) in words.iter().enumerate() {
        let value = || words.get(at + 1).copied().unwrap_or_default();
        match *word {
            "-m" | "-j" => {
                area = if *word == "-j" { Area::Target } else { Area::Match };
                owner = value();
                if area == Area::Target && is_user_chain(owner) {
                    owner = "a user chain";
                }
                found.insert((area, owner.into()));
            }
            "-g" => _ = found.insert((Area::Target, "goto".into())),
            "-s" | "-d" | "-i" | "-o" | "-p" | "-f" => _ = found.insert((Area::Match, (*word).into())),
            option if option.starts_with("--") => {
                found.insert((area, format!("{owner} {option}")));
                if VALUED.contains(&option) {
                    found.insert((area, format!("{owner} {option} {}", value())));
                } else if LISTED.contains(&option) {
                    found.extend(value().split(',').map(|one| (area, format!("{owner} {option} {one}"))));
                }
                if matches!(option, "--match-set" | "--add-set" | "--del-set")
                    && let Some(kind) = sets.get(value())
                {
                    found.insert((Area::Set, format!("{option} {kind}")));
                }
            }
            _ => {}
        }
    }
    nat(chain, words, found);
}

/// Which kind of mapping a nat rule made.
fn nat(chain: &str, words: &[&str], found: &mut BTreeSet<Item>) {
    let after = |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1));
    let Some(target) = after("-j")
        .filter(|target| matches!(**target, "DNAT" | "SNAT" | "MASQUERADE" | "REDIRECT" | "NETMAP"))
    else {
        return;
    };
    let mut saw = |what: &str| _ = found.insert((Area::Nat, format!("{target} {what}")));
    saw(&format!("in {}", if is_user_chain(chain) { "a user chain" } else { chain }));
    for (flag, name) in
        [("--random", "random"), ("--random-fully", "random-fully"), ("--persistent", "persistent")]
    {
        if words.contains(&flag) {
            saw(name);
        }
    }
    if let Some(ports) = after("--to-ports") {
        saw(if ports.contains('-') { "port range" } else { "port" });
    }
    if let Some(to) = after("--to-destination").or_else(|| after("--to-source")) {
        let (address, ports) = host(to);
        saw(if address.contains('-') { "address range" } else { "address" });
        match ports {
            Some(ports) if ports.contains('/') => saw("port range by offset"),
            Some(ports) if ports.contains('-') => saw("port range"),
            Some(_) => saw("port"),
            None => {}
        }
    }
}

/// `10.0.0.1-10.0.0.9:80-90` and `[fd00::1]:80` in two.
fn host(text: &str) -> (&str, Option<&str>) {
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, ports)) => (address, ports.strip_prefix(':')),
        None if text.matches(':').count() == 1 => {
            text.split_once(':').map_or((text, None), |(address, ports)| (address, Some(ports)))
        }
        None => (text, None),
    }
}

/// What a line of `conntrack -L` says of its mapping.
fn entry(line: &str, found: &mut BTreeSet<Item>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(proto) = words.first().filter(|_| words.iter().any(|word| word.starts_with("src="))) else {
        return;
    };
    let values =
        |name: &str| -> Vec<&str> { words.iter().filter_map(|word| word.strip_prefix(name)).collect() };
    let (src, dst) = (values("src="), values("dst="));
    let key = |tuple: usize, name: &str| values(name).get(tuple).map(|value| value.to_string());
    let ([from, to], [reply_from, reply_to]) = ([src.first(), dst.first()], [src.get(1), dst.get(1)]);
    let source_port =
        key(0, "sport=").or_else(|| key(0, "id=")) != key(1, "dport=").or_else(|| key(1, "id="));
    let destination_port = key(0, "dport=") != key(1, "sport=");
    let changes = [
        (from != reply_to, "entry: source address"),
        (to != reply_from, "entry: destination address"),
        (source_port, "entry: source port or identifier"),
        (destination_port, "entry: destination port"),
        (source_port && from == reply_to, "entry: port changed by a null binding"),
        (from != reply_to && to != reply_from, "entry: both addresses"),
    ];
    found.extend(
        changes.into_iter().filter(|(changed, _)| *changed).map(|(_, what)| (Area::Nat, what.into())),
    );
    found.insert((Area::Traffic, format!("connection of {proto}")));
}
