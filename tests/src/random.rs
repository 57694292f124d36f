//! Runs random cases through the kernel, many a lab, and hands each to a judge.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::case::{CaseFile, Run};
use crate::generate::{Family, Flavour, Plan};
use crate::kernel::Lab;

/// A lab keeps what no tool can reset (route exceptions, socket caches); after this many cases it is rebuilt.
const CASES_A_LAB: u32 = 100;
/// The same for its age: incomplete datagrams of earlier cases are told of after half a minute.
const LAB_AGE: Duration = Duration::from_secs(20);

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    pub seed: u64,
    /// First case number, and the number behind the last.
    pub cases: std::ops::Range<u64>,
    /// Only these of them, if any are named.
    pub only: Vec<u64>,
    /// Stop after this many packets, if given.
    pub packets: Option<u64>,
    /// Stop after this time, if given.
    pub time: Option<Duration>,
    pub flavour: Flavour,
    /// Labs side by side.
    pub workers: usize,
}

#[expect(clippy::disallowed_methods, reason = "a real kernel runs in real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Runs every case; `judge` sees each with its number and the kernel's answers. Returns the packets sent.
pub fn run(options: &Options, judge: impl Fn(u64, &CaseFile, &Run) + Sync) -> Result<u64, String> {
    let next = AtomicU64::new(options.cases.start);
    let sent = AtomicU64::new(0);
    let started = now();
    let worker = || -> Result<(), String> {
        let mut labs: BTreeMap<Family, (Lab, u32)> = BTreeMap::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let enough = options.packets.is_some_and(|packets| sent.load(Ordering::Relaxed) >= packets)
                || options.time.is_some_and(|time| started.elapsed() >= time);
            if index >= options.cases.end || enough {
                return Ok(());
            }
            if !options.only.is_empty() && !options.only.contains(&index) {
                continue;
            }
            let plan = Plan::new(options.seed, index, options.flavour);
            let family = plan.family;
            labs.retain(|_, (lab, used)| *used < CASES_A_LAB && lab.age() < LAB_AGE);
            let (lab, used) = match labs.entry(family) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert((Lab::build(&plan.node)?, 0))
                }
            };
            *used += 1;
            lab.settings(&plan.node)?;
            let node = plan.node.clone();
            let (file, answers) = plan.perform(lab).map_err(|error| format!("case {index}: {error}"))?;
            lab.forget(&node)?;
            sent.fetch_add(answers.packets.len() as u64, Ordering::Relaxed);
            judge(index, &file, &answers);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.workers).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
            .collect::<Result<Vec<()>, String>>()
    })?;
    Ok(sent.load(Ordering::Relaxed))
}
