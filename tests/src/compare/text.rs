//! Compares the output of the `show` commands.

mod nft;

use super::packet::class;
use super::{Difference, Ports, differ};
use crate::generate::DRAWN_PORTS;

/// Remaining seconds may differ by this much: a run takes real time, and the tools round down.
const SECONDS: i64 = 1;

/// Compares one command's text.
pub(super) fn shown(command: &str, kernel: &str, emulator: &str, ports: &Ports, found: &mut Vec<Difference>) {
    if command.contains("tables") && command.contains("-save") {
        lines(command, &tables(kernel), &tables(emulator), found);
    } else if command.starts_with("conntrack -L") {
        entries(command, kernel, emulator, ports, found);
    } else if command.starts_with("nft") {
        lines(command, &nft::normal(kernel), &nft::normal(emulator), found);
    } else if command.starts_with("ipset") {
        lines(command, &sets(kernel), &sets(emulator), found);
    } else {
        let split = |text: &str| text.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
        lines(command, &split(kernel), &split(emulator), found);
    }
}

/// The tables of a save, sorted by name, without the comments that carry a date.
fn tables(text: &str) -> Vec<String> {
    let mut tables: Vec<Vec<String>> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if line.starts_with('*') || tables.is_empty() {
            tables.push(Vec::new());
        }
        tables.last_mut().expect("one was just pushed").push(line.to_string());
    }
    tables.sort_by(|left, right| left[0].cmp(&right[0]));
    tables.concat()
}

/// Members of a set come in hash order, which the set's random `initval` decides.
fn sets(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.split(" initval ").next().unwrap_or(line).trim_end().to_string())
        .collect();
    lines.sort();
    lines
}

fn lines(command: &str, kernel: &[String], emulator: &[String], found: &mut Vec<Difference>) {
    if kernel.len() == emulator.len() {
        for (theirs, ours) in kernel.iter().zip(emulator).filter(|(theirs, ours)| theirs != ours) {
            differ(found, command.into(), theirs, ours);
        }
        return;
    }
    for line in kernel.iter().filter(|line| !emulator.contains(line)) {
        differ(found, command.into(), line, "no such line");
    }
    for line in emulator.iter().filter(|line| !kernel.contains(line)) {
        differ(found, command.into(), "no such line", line);
    }
    if kernel.iter().all(|line| emulator.contains(line)) && emulator.iter().all(|line| kernel.contains(line))
    {
        differ(found, format!("{command}: lines"), kernel.len(), emulator.len());
    }
}

/// Conntrack lines as a set; seconds within a tolerance.
fn entries(command: &str, kernel: &str, emulator: &str, ports: &Ports, found: &mut Vec<Difference>) {
    let theirs: Vec<Entry> = kernel.lines().filter_map(|line| Entry::read(line, None)).collect();
    let mut ours: Vec<Entry> = emulator.lines().filter_map(|line| Entry::read(line, Some(ports))).collect();
    for entry in &theirs {
        let same =
            ours.iter().position(|other| other.key == entry.key && close(other.seconds, entry.seconds));
        if let Some(index) = same {
            ours.remove(index);
            continue;
        }
        // A drawn port of a packet that did not leave the node shows only here.
        if let Some(index) = ours.iter().position(|other| entry.drawn_like(other, ports)) {
            ours.remove(index);
            continue;
        }
        // The nearest line makes the report readable: same addresses, else none.
        let near = ours.iter().position(|other| other.tuple() == entry.tuple());
        let other = near.map(|index| ours.remove(index).text()).unwrap_or_else(|| "no such line".into());
        differ(found, command.into(), entry.text(), other);
    }
    for entry in ours {
        differ(found, command.into(), "no such line", entry.text());
    }
}

fn close(left: Option<i64>, right: Option<i64>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => (left - right).abs() <= SECONDS,
        (left, right) => left == right,
    }
}

struct Entry {
    /// The line without seconds and `use=`.
    key: Vec<String>,
    seconds: Option<i64>,
}

impl Entry {
    /// `ports` translates the emulator's drawn ports into the kernel's.
    fn read(line: &str, ports: Option<&Ports>) -> Option<Entry> {
        let mut words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        words.retain(|word| !word.starts_with("use="));
        let first = words.iter().position(|word| word.starts_with("src="))?;
        let seconds = words[..first].iter().rev().find_map(|word| word.parse::<i64>().ok());
        // Protocol number, seconds and state precede the tuple; two numbers mean that seconds are printed.
        let numbers = words[..first].iter().filter(|word| word.parse::<i64>().is_ok()).count();
        let seconds = seconds.filter(|_| numbers >= 2);
        if let Some(value) = seconds {
            let at = words.iter().rposition(|word| *word == value.to_string()).filter(|at| *at < first);
            let at = at.or_else(|| words[..first].iter().rposition(|word| *word == value.to_string()))?;
            words.remove(at);
        }
        if let Some(ports) = ports {
            translate(&mut words, ports);
        }
        Some(Entry { key: words, seconds })
    }

    /// Whether the two differ only in the port or id that source NAT drew, of the same class on both arms, and not
    /// the one that was sent.
    fn drawn_like(&self, other: &Entry, ports: &Ports) -> bool {
        let places = |entry: &Entry| {
            let named = |names: [&str; 2]| {
                let found = entry
                    .key
                    .iter()
                    .enumerate()
                    .filter(|(_, word)| names.iter().any(|name| word.starts_with(name)));
                found
                    .filter_map(|(at, word)| Some((at, word.split_once('=')?.1.parse::<u16>().ok()?)))
                    .collect::<Vec<_>>()
            };
            let (sent, drawn) = (named(["sport=", "id="]), named(["dport=", "id="]));
            Some((sent.first()?.1, *drawn.last()?))
        };
        let (Some((sent, theirs)), Some((_, ours))) = (places(self), places(other)) else { return false };
        let mut key = other.key.clone();
        if let (Some((at, theirs)), Some((place, ours))) = (self.answering_port(), other.answering_port())
            && at == place
            && DRAWN_PORTS.contains(&theirs)
            && DRAWN_PORTS.contains(&ours)
            && !ports.seen(theirs)
        {
            key[at].clone_from(&self.key[at]);
            if key == self.key && close(self.seconds, other.seconds) {
                return true;
            }
        }
        key[ours.0].clone_from(&self.key[theirs.0]);
        let drawn = !ports.seen(theirs.1) && theirs.1 != sent && ours.1 != sent && theirs.0 == ours.0;
        drawn && class(theirs.1) == class(ours.1) && key == self.key && close(self.seconds, other.seconds)
    }

    /// Place and value of the port that answers come from: what destination NAT chose.
    fn answering_port(&self) -> Option<(usize, u16)> {
        let mut sports = self.key.iter().enumerate().filter(|(_, word)| word.starts_with("sport="));
        let (at, word) = sports.nth(1)?;
        Some((at, word.split_once('=')?.1.parse().ok()?))
    }

    fn tuple(&self) -> Vec<&String> {
        self.key.iter().filter(|word| word.contains('=')).take(4).collect()
    }

    fn text(&self) -> String {
        let seconds = self.seconds.map(|seconds| format!("{seconds}s ")).unwrap_or_default();
        format!("{seconds}{}", self.key.join(" "))
    }
}

/// A drawn port shows in the reply tuple: `dst=` is the address it was drawn for.
fn translate(words: &mut [String], ports: &Ports) {
    let proto = words[0].clone();
    let (mut source, mut address) = (String::new(), String::new());
    for word in words {
        let Some((name, value)) = word.split_once('=') else { continue };
        match name {
            "src" => source = value.to_string(),
            "dst" => address = value.to_string(),
            "sport" | "dport" | "id" => {
                let host = if name == "sport" { &source } else { &address };
                let drawn = value.parse().ok().and_then(|port| ports.of_kernel(&proto, host, port));
                if let Some(port) = drawn {
                    *word = format!("{name}={port}");
                }
            }
            _ => {}
        }
    }
}
