//! Makes a differing case small: fewer packets, fewer rules, shorter rules, plainer packets, as long as the two
//! arms still disagree about the same kind of thing.

use crate::case::CaseFile;
use crate::compare::Difference;
use crate::{judge, kernel};

/// Runs both arms afresh; `None` when one of them cannot run the case.
pub fn differences(file: &CaseFile) -> Option<Vec<Difference>> {
    let theirs = kernel::run(file).ok()?;
    judge::differences(file, &theirs).ok()
}

/// Whether the arms differ in two more runs as well: a busy machine stretches pauses.
pub fn differs_again(file: &CaseFile) -> bool {
    (0..2).all(|_| differences(file).is_none_or(|found| !found.is_empty()))
}

/// The smallest case found that still differs like `file` does; `file` itself if it does not differ again.
pub fn minimise(file: &CaseFile) -> CaseFile {
    let Some(kind) = differences(file).and_then(|found| found.first().map(kind)) else { return file.clone() };
    let differs = |file: &CaseFile| {
        differences(file).is_some_and(|found| found.iter().any(|one| self::kind(one) == kind))
    };
    let mut best = file.clone();
    loop {
        let before = best.clone();
        packets(&mut best, &differs);
        rules(&mut best, &differs);
        words(&mut best, &differs);
        settings(&mut best, &differs);
        fields(&mut best, &differs);
        if best == before {
            return best;
        }
    }
}

/// What a difference is about, without packet numbers.
fn kind(difference: &Difference) -> String {
    let missing = [&difference.kernel, &difference.emulator].map(|text| text == "no such line");
    let at: String = difference.at.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    format!("{at} {missing:?}")
}

/// Keeps `candidate` if it still differs.
fn keep(best: &mut CaseFile, candidate: CaseFile, differs: &dyn Fn(&CaseFile) -> bool) -> bool {
    let better = candidate != *best && differs(&candidate);
    if better {
        *best = candidate;
    }
    better
}

/// Removes runs of packets, long runs first.
fn packets(best: &mut CaseFile, differs: &dyn Fn(&CaseFile) -> bool) {
    let mut length = best.case.packets.len();
    while length > 0 {
        let mut start = best.case.packets.len().saturating_sub(length);
        loop {
            let candidate = without_packets(best, start, length);
            keep(best, candidate, differs);
            if start == 0 {
                break;
            }
            start = start.saturating_sub(length);
        }
        length /= 2;
    }
}

fn without_packets(file: &CaseFile, start: usize, length: usize) -> CaseFile {
    let mut file = file.clone();
    let end = (start + length).min(file.case.packets.len());
    file.case.packets.drain(start..end);
    let moved = |index: usize| match index {
        index if index < start => Some(index),
        index if index < end => None,
        index => Some(index - (end - start)),
    };
    file.links.retain_mut(|link| match (moved(link.packet), moved(link.from)) {
        (Some(packet), Some(from)) => {
            (link.packet, link.from) = (packet, from);
            true
        }
        _ => false,
    });
    file
}

/// Removes lines of the set-up, long runs first, then tables that are empty.
fn rules(best: &mut CaseFile, differs: &dyn Fn(&CaseFile) -> bool) {
    for step in 0..best.case.node.setup.len() {
        let count = |file: &CaseFile| file.case.node.setup[step].stdin.lines().count();
        let mut length = count(best);
        while length > 0 {
            let mut start = 0;
            while start < count(best) {
                let mut candidate = best.clone();
                let stdin = &mut candidate.case.node.setup[step].stdin;
                let removable = |line: &str| line.starts_with('-') || line.starts_with("add ");
                let kept = stdin
                    .lines()
                    .enumerate()
                    .filter(|(at, line)| !(start..start + length).contains(at) || !removable(line))
                    .map(|(_, line)| format!("{line}\n"))
                    .collect();
                *stdin = kept;
                keep(best, candidate, differs);
                start += length;
            }
            length /= 2;
        }
        empty_tables(best, step, differs);
    }
}

fn empty_tables(best: &mut CaseFile, step: usize, differs: &dyn Fn(&CaseFile) -> bool) {
    let blocks: Vec<String> =
        best.case.node.setup[step].stdin.split_inclusive("COMMIT\n").map(str::to_string).collect();
    for block in blocks {
        let mut candidate = best.clone();
        let stdin = &mut candidate.case.node.setup[step].stdin;
        *stdin = stdin.replacen(&block, "", 1);
        keep(best, candidate, differs);
        // Or only its chain lines.
        for line in block.lines().filter(|line| line.starts_with(':')) {
            let mut candidate = best.clone();
            let stdin = &mut candidate.case.node.setup[step].stdin;
            *stdin = stdin.replacen(&format!("{line}\n"), "", 1);
            keep(best, candidate, differs);
        }
    }
}

/// Removes single matches of rules: each word with a leading dash starts a part.
fn words(best: &mut CaseFile, differs: &dyn Fn(&CaseFile) -> bool) {
    for step in 0..best.case.node.setup.len() {
        let lines: Vec<String> = best.case.node.setup[step].stdin.lines().map(str::to_string).collect();
        for mut line in lines.into_iter().filter(|line| line.starts_with("-A ")) {
            let mut part = 1;
            while let Some(shorter) = without_part(&line, part) {
                let mut candidate = best.clone();
                let stdin = &mut candidate.case.node.setup[step].stdin;
                *stdin = stdin.replacen(&format!("{line}\n"), &format!("{shorter}\n"), 1);
                if keep(best, candidate, differs) {
                    line = shorter;
                } else {
                    part += 1;
                }
            }
        }
    }
}

/// The rule without its `part`th part (`-m ...` with its options, `-s X`, `-p X`, `-j X ...`).
fn without_part(line: &str, part: usize) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut pending = String::new();
    for word in line.split(' ') {
        let starts = word.starts_with('-') && !word.starts_with("--");
        if word == "!" {
            pending = format!("{word} ");
            continue;
        }
        if starts || parts.is_empty() {
            parts.push(format!("{pending}{word}"));
        } else if let Some(last) = parts.last_mut() {
            *last += &format!(" {pending}{word}");
        }
        pending.clear();
    }
    (part < parts.len()).then(|| {
        parts.remove(part);
        parts.join(" ")
    })
}

fn settings(best: &mut CaseFile, differs: &dyn Fn(&CaseFile) -> bool) {
    let names: Vec<String> = best.case.node.sysctls.keys().cloned().collect();
    for name in names {
        let mut candidate = best.clone();
        candidate.case.node.sysctls.remove(&name);
        keep(best, candidate, differs);
    }
    let mut candidate = best.clone();
    candidate.case.node.listen.clear();
    keep(best, candidate, differs);
    for step in (0..best.case.node.setup.len()).rev() {
        let mut candidate = best.clone();
        candidate.case.node.setup.remove(step);
        keep(best, candidate, differs);
    }
}

/// Leaves out optional fields of packets.
fn fields(best: &mut CaseFile, differs: &dyn Fn(&CaseFile) -> bool) {
    for index in 0..best.case.packets.len() {
        let changes: [fn(&mut crate::replay::Packet); 7] = [
            |packet| packet.tos = None,
            |packet| packet.ttl = None,
            |packet| packet.mss = None,
            |packet| packet.wscale = None,
            |packet| packet.sack_ok = None,
            |packet| packet.len = packet.len.map(|_| 0),
            |packet| packet.at_ms = 0,
        ];
        for change in changes {
            let mut candidate = best.clone();
            change(&mut candidate.case.packets[index]);
            keep(best, candidate, differs);
        }
    }
}
