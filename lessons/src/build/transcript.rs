//! The `console` blocks of a lesson: which commands they need, and whether the engine prints what they say.

use super::blocks::attribute;
use super::compile::Shows;
use super::console;
use super::problem::{Class, Problems};
use super::scenario::Scenarios;
use super::source::Fence;
use crate::model::{Command, Console};

#[derive(Debug)]
pub(super) struct Transcript {
    /// Line of the opening fence.
    pub(super) line: usize,
    pub(super) console: Console,
    body: String,
}

pub(super) fn read(fences: &[&Fence], problems: &mut Problems) -> Vec<Transcript> {
    let mut found = Vec::new();
    for fence in fences.iter().filter(|fence| fence.kind == "console") {
        let Some(run) = attribute(fence, "run", problems) else { continue };
        let after = match fence.attributes.get("after").map(|text| text.parse::<u32>()) {
            None => None,
            Some(Ok(after)) => Some(after),
            Some(Err(_)) => {
                problems.add(fence.line, Class::BlockSyntax, "`after` is a number of packets");
                continue;
            }
        };
        match console::parse(&fence.body) {
            Ok(entries) => found.push(Transcript {
                line: fence.line,
                console: Console { run, after, entries },
                body: fence.body.clone(),
            }),
            Err(message) => problems.add(fence.line, Class::BlockSyntax, message),
        }
    }
    found
}

/// The commands the engine must show, by run and number of packets.
pub(super) fn shows(transcripts: &[Transcript]) -> Shows {
    let mut shows = Shows::new();
    for Transcript { console, .. } in transcripts {
        let list = shows.entry((console.run.clone(), console.after)).or_default();
        for entry in &console.entries {
            let base = console::base(&entry.command).to_owned();
            if !list.contains(&base) {
                list.push(base);
            }
        }
    }
    shows
}

/// Reports every entry that differs. Returns `text` with the engine's output in place of what differs.
pub(super) fn compare(
    text: &str,
    transcripts: &[Transcript],
    scenarios: &Scenarios,
    problems: &mut Problems,
) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let fresh: Vec<(&Transcript, String)> = transcripts
        .iter()
        .map(|transcript| (transcript, compare_one(transcript, scenarios, problems)))
        .filter(|(transcript, printed)| *printed != transcript.body)
        .collect();
    // From the end, so that the lines in front keep their numbers.
    for (transcript, printed) in fresh.iter().rev() {
        // The body begins on the line after the fence; lines count from 1.
        let body = transcript.line..transcript.line + transcript.body.lines().count();
        lines.splice(body, printed.lines());
    }
    (!fresh.is_empty()).then(|| lines.join("\n") + "\n")
}

/// The transcript as the engine prints it; elisions that agree stay.
fn compare_one(transcript: &Transcript, scenarios: &Scenarios, problems: &mut Problems) -> String {
    let mut fresh = Vec::new();
    for entry in &transcript.console.entries {
        let output = match scenarios.shown(&transcript.console, console::base(&entry.command)) {
            // The scenario itself failed or is unknown: reported there.
            None => entry.output.clone(),
            Some(printed) => match console::filter(&entry.command, printed) {
                Ok(printed) => printed,
                Err(message) => {
                    problems.add(transcript.line, Class::BlockSyntax, message);
                    entry.output.clone()
                }
            },
        };
        if console::agrees(&entry.output, &output) {
            fresh.push(entry.clone());
        } else {
            let message = format!("`$ {}` prints something else", entry.command);
            let diff = console::diff(&entry.output, &output);
            problems.add_diff(transcript.line, Class::TranscriptDiffers, message, diff);
            fresh.push(Command { command: entry.command.clone(), output });
        }
    }
    console::print(&fresh)
}
