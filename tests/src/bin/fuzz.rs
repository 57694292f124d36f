//! `fuzz`: reads mutated inputs until something breaks. `cargo xtask fuzz` builds and runs it.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use chainwalk_tests::bench::row::time;
use chainwalk_tests::fuzz::corpus::Corpus;
use chainwalk_tests::fuzz::targets::{TARGETS, Target};
use chainwalk_tests::fuzz::{input, run, shrink};

const HELP: &str = "\
Gives mutated inputs to everything that reads text, and looks for panics, hangs and broken laws.

usage: fuzz [--seed N] [--inputs N | --seconds N] [TARGET ...]

  --seed N      what inputs to make (default 1); a failure is found again with the same seed
  --inputs N    how many for each target (default 100000)
  --seconds N   as many as fit in this time, for each target
  --list        name the targets
";

/// A few of the same kind say enough.
const FAILURES_MAX: usize = 5;

struct Options {
    seed: u64,
    inputs: u64,
    limit: Duration,
    targets: Vec<&'static Target>,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to its user")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        TARGETS.iter().for_each(|target| println!("{:<10} {}", target.name, target.what));
        return ExitCode::SUCCESS;
    }
    let Some(options) = parse(&words) else {
        print!("{HELP}");
        return ExitCode::from(if words.iter().any(|word| word == "--help") { 0 } else { 2 });
    };
    let corpus = Corpus::load();
    let mut failures = 0;
    for target in &options.targets {
        let (count, failed) = attack(target, &corpus, &options);
        println!("{:<10} {count} inputs, {} failures", target.name, failed.len());
        for (number, complaint) in &failed {
            eprintln!("{} --seed {} input {number}: {complaint}", target.name, options.seed);
        }
        failures += failed.len();
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the inputs of one target. Failing ones are made small and written below `target/fuzz`.
fn attack(target: &Target, corpus: &Corpus, options: &Options) -> (u64, Vec<(u64, String)>) {
    let mut spent = Duration::ZERO;
    let mut failed = Vec::new();
    for number in 0..options.inputs {
        let text = input(target, corpus, options.seed, number);
        let (took, outcome) = time(|| run(target, &text));
        spent += took;
        if let Err(complaint) = outcome {
            let small = shrink(target, &text);
            let path = format!("target/fuzz/{}-{}-{number}.txt", target.name, options.seed);
            let written =
                fs::create_dir_all(Path::new("target/fuzz")).and_then(|()| fs::write(&path, &small));
            let place = if written.is_ok() { path } else { format!("{small:?}") };
            failed.push((number, format!("{complaint}\n  smallest: {place}")));
        }
        if spent > options.limit || failed.len() == FAILURES_MAX {
            return (number + 1, failed);
        }
    }
    (options.inputs, failed)
}

fn parse(words: &[String]) -> Option<Options> {
    let mut options = Options { seed: 1, inputs: 100_000, limit: Duration::MAX, targets: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--inputs" => options.inputs = words.next()?.parse().ok()?,
            "--seconds" => {
                options.limit = Duration::from_secs(words.next()?.parse().ok()?);
                options.inputs = u64::MAX;
            }
            name => options.targets.push(TARGETS.iter().find(|target| target.name == name)?),
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.iter().collect();
    }
    Some(options)
}
