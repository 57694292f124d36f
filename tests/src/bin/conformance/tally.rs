//! A run's account while it goes on: progress, differences, and what was exercised.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use chainwalk_tests::case::{self, CaseFile, Run};
use chainwalk_tests::compare::Difference;
use chainwalk_tests::coverage::{Coverage, Table};
use chainwalk_tests::emulator::Refused;
use chainwalk_tests::generate::Flavour;
use chainwalk_tests::{judge, minimise, random};

use super::Arguments;

/// How often a line of progress is printed.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

/// What the judges of all labs write to.
pub(super) struct Tally {
    seed: u64,
    flavour: Flavour,
    total: u64,
    keep: Option<PathBuf>,
    title: String,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    coverage: Coverage,
    cases: u64,
    packets: u64,
    not_emulated: u64,
    /// Differed once, but not when asked again.
    passing: Vec<u64>,
    found: Vec<(u64, CaseFile, Vec<Difference>)>,
    printed: Option<Instant>,
}

#[expect(clippy::disallowed_methods, reason = "a real kernel runs in real time")]
fn now() -> Instant {
    Instant::now()
}

impl Tally {
    pub(super) fn new(arguments: &Arguments, options: &random::Options) -> Tally {
        Tally {
            seed: options.seed,
            flavour: options.flavour,
            total: match options.only.len() {
                0 => options.cases.end - options.cases.start,
                some => some as u64,
            },
            keep: arguments.keep.clone(),
            title: format!("seed {}, {:?}", options.seed, options.flavour).to_lowercase(),
            started: now(),
            state: Mutex::new(State { printed: Some(now()), ..State::default() }),
        }
    }

    /// Compares the kernel's answers to one case with the emulator's.
    pub(super) fn judge(&self, index: u64, file: &CaseFile, run: &Run) {
        let outcome = judge::differences(file, run);
        let mut coverage = Coverage::default();
        coverage.add(file, run);
        let differences = match &outcome {
            Ok(found) => found.clone(),
            Err(Refused::NotEmulated(_)) => Vec::new(),
            Err(Refused::Failed(error)) => {
                vec![Difference { at: "emulator".into(), kernel: "ran".into(), emulator: error.clone() }]
            }
        };
        let passing = !differences.is_empty() && !minimise::differs_again(file);
        let mut state = self.state.lock().expect("no judge panics");
        state.cases += 1;
        state.packets += file.case.packets.len() as u64;
        state.coverage.merge(&coverage);
        if let Err(Refused::NotEmulated(what)) = &outcome {
            state.not_emulated += 1;
            println!("case {index}: not emulated: {what}");
        }
        if passing {
            println!("case {index}: differed once, not when asked again: {}", differences[0]);
            state.passing.push(index);
        } else if !differences.is_empty() {
            println!("case {index} differs: {}", differences[0]);
            self.store(index, file);
            state.found.push((index, file.clone(), differences));
        }
        if state.printed.is_none_or(|at| at.elapsed() > PROGRESS_EVERY) {
            state.printed = Some(now());
            self.progress(&state);
        }
    }

    fn store(&self, index: u64, file: &CaseFile) {
        let Some(folder) = &self.keep else { return };
        let path = folder.join(format!("{}-{index}.json", self.title.replace(", ", "-").replace(' ', "-")));
        let stored =
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, case::to_text(file)));
        if let Err(error) = stored {
            eprintln!("{}: {error}", path.display());
        }
    }

    fn progress(&self, state: &State) {
        let seconds = self.started.elapsed().as_secs().max(1);
        let left = (self.total - state.cases) * seconds / state.cases.max(1);
        println!(
            "{}: {} of {} cases, {} packets, {} a second, {} differ, {} s gone, about {left} s left",
            self.title,
            state.cases,
            self.total,
            state.packets,
            state.packets / seconds,
            state.found.len(),
            seconds,
        );
    }

    /// Prints the account and up to `show` cases made small; returns how many cases differ.
    pub(super) fn finish(self, show: usize) -> usize {
        let state = self.state.into_inner().expect("no judge panics");
        for (index, file, differences) in state.found.iter().take(show) {
            println!("seed {} case {index} differs:", self.seed);
            differences.iter().for_each(|difference| println!("  {difference}"));
            let small = minimise::minimise(file);
            if let Some(differences) = minimise::differences(&small) {
                println!("minimised:");
                differences.iter().for_each(|difference| println!("  {difference}"));
            }
            print!("{}", case::to_text(&small));
        }
        print!("{}", Table { flavour: self.flavour, random: &state.coverage, folder: &folder() });
        let seconds = self.started.elapsed().as_secs();
        println!(
            "{}: {} cases, {} packets in {seconds} s; {} cases not emulated, {} differed once and not again, {} differ",
            self.title,
            state.cases,
            state.packets,
            state.not_emulated,
            state.passing.len(),
            state.found.len(),
        );
        state.found.len()
    }
}

/// What the recorded cases exercise.
fn folder() -> Coverage {
    let mut coverage = Coverage::default();
    for path in case::list(&case::folder()).unwrap_or_default() {
        if let Ok(file) = case::load(&path)
            && let Some(recorded) = &file.recorded
        {
            coverage.add(&file, &recorded.run);
        }
    }
    coverage
}
