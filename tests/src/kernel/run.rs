//! Runs a case in a lab, packet by packet, and keeps the kernel's answers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lab::Lab;
use crate::case::{Answer, CaseFile, Run};
use crate::frame::build;
use crate::replay::{Packet, Setup};

/// Builds a lab for the case, on a thread of its own, and runs it.
pub fn run(file: &CaseFile) -> Result<Run, String> {
    let file = file.clone();
    let worker = std::thread::spawn(move || {
        let mut lab = Lab::build(&file.case.node)?;
        run_in(&mut lab, &file)
    });
    worker.join().unwrap_or_else(|_| Err("the lab's thread panicked".into()))
}

/// Runs the case in a lab whose devices already fit it.
pub fn run_in(lab: &mut Lab, file: &CaseFile) -> Result<Run, String> {
    let mut session = Session::start(lab, &file.case.node.setup)?;
    for (index, packet) in file.case.packets.iter().enumerate() {
        let mut packet = packet.clone();
        for link in file.links.iter().filter(|link| link.packet == index) {
            link.apply(&mut packet, session.answers());
        }
        session.send(&packet).map_err(|error| format!("packet {index}: {error}"))?;
    }
    session.finish(&file.case.show)
}

/// One run in progress: the next packet may depend on the answers so far.
#[derive(Debug)]
pub struct Session<'lab> {
    lab: &'lab mut Lab,
    before: BTreeMap<String, i64>,
    clock: Stopwatch,
    answers: Vec<Answer>,
}

impl<'lab> Session<'lab> {
    /// Runs the set-up commands and starts the clock.
    pub fn start(lab: &'lab mut Lab, setup: &[Setup]) -> Result<Session<'lab>, String> {
        for step in setup {
            let output = lab.line(&step.run, &step.stdin)?;
            output
                .expect_success(&step.run)
                .map_err(|error| format!("{error}\n{}", numbered(&step.stdin)))?;
        }
        let before = lab.counters()?;
        lab.settle()?;
        Ok(Session { lab, before, clock: Stopwatch::start(), answers: Vec::new() })
    }

    /// Sends one packet at its time and waits until the kernel has finished with it.
    pub fn send(&mut self, packet: &Packet) -> Result<&Answer, String> {
        self.clock.wait_until(packet.at_ms);
        let bytes = build(packet)?;
        let mac = packet.mac.as_deref().map(read_mac).transpose()?;
        let delivered = self.lab.delivered()?;
        let (emitted, error) = self.lab.send(&packet.input, mac, &bytes)?;
        let delivered = self.lab.delivered()? > delivered;
        self.answers.push(Answer { emitted, delivered, error, rejected: false });
        Ok(self.answers.last().expect("one was just pushed"))
    }

    /// The answers so far.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Reads counters and texts after the last packet.
    pub fn finish(self, show: &[String]) -> Result<Run, String> {
        let mut counters = self.lab.counters()?;
        for (name, value) in self.before {
            *counters.entry(name).or_default() -= value;
        }
        counters.retain(|_, value| *value != 0);
        let mut texts = BTreeMap::new();
        for command in show {
            let text = self.lab.line(command, "")?.expect_success(command)?;
            texts.insert(command.clone(), text);
        }
        Ok(Run { packets: self.answers, show: texts, counters })
    }
}

/// The text with line numbers, for a tool that names one.
fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(at, line)| format!("{:4} {line}\n", at + 1)).collect()
}

fn read_mac(text: &str) -> Result<[u8; 6], String> {
    let bytes: Vec<u8> = text.split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes.try_into().map_err(|_| format!("{text:?} is not a MAC address"))
}

/// Adds up the per-processor lines of `conntrack -S`.
pub fn sum_counters(text: &str) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for pair in text.split_whitespace() {
        if let Some((name, value)) = pair.split_once('=').filter(|(name, _)| *name != "cpu") {
            *sums.entry(name.to_string()).or_insert(0) += value.parse::<i64>().unwrap_or(0);
        }
    }
    sums
}

/// Real time since the first packet: the only clock of the project, because a kernel has no other.
#[derive(Debug)]
struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a real kernel runs in real time")]
    fn start() -> Stopwatch {
        Stopwatch(std::time::Instant::now())
    }

    fn wait_until(&self, at_ms: u64) {
        if let Some(left) = Duration::from_millis(at_ms).checked_sub(self.0.elapsed()) {
            std::thread::sleep(left);
        }
    }
}
