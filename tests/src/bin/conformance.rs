//! `conformance`: asks the real kernel and compares it with the emulator. `cargo xtask conformance` calls it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use chainwalk_tests::case::{self, Recorded};
use chainwalk_tests::generate::Flavour;
use chainwalk_tests::{compare, emulator, families, judge, kernel, minimise, random};
use clap::{Parser, Subcommand, ValueEnum};

use tally::Tally;

#[path = "conformance/tally.rs"]
mod tally;

/// The tool that loads the rules.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Tool {
    Legacy,
    /// iptables-nft.
    Nft,
    /// `nft` with the language's own text.
    NftLanguage,
}

impl From<Tool> for Flavour {
    fn from(tool: Tool) -> Flavour {
        match tool {
            Tool::Legacy => Flavour::Legacy,
            Tool::Nft => Flavour::Nft,
            Tool::NftLanguage => Flavour::Language,
        }
    }
}

/// Compares the emulator with this machine's kernel.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Case files to ask the kernel and the emulator about, in place of random cases.
    #[arg(value_name = "CASE.json")]
    files: Vec<PathBuf>,
    /// Seed of the random cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many random cases.
    #[arg(long, default_value_t = 200)]
    cases: u64,
    /// Only these of the random cases, whatever their numbers.
    #[arg(long, value_delimiter = ',', value_name = "N,N,...")]
    only: Vec<u64>,
    /// Which tool loads the rules.
    #[arg(long, value_enum, default_value_t = Tool::Legacy)]
    flavour: Tool,
    /// How many differing cases are minimised and printed.
    #[arg(long, default_value_t = 3)]
    show: usize,
    /// Stop after this many minutes, if there are cases left.
    #[arg(long)]
    minutes: Option<u64>,
    /// Folder in which every differing case is stored as it was found.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Labs side by side.
    #[arg(long, default_value_t = 2)]
    workers: usize,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Store the hand-written cases and record what this kernel answers.
    Write {
        /// Record again what is recorded already.
        #[arg(long)]
        again: bool,
    },
    /// Ask this kernel again and compare with what is recorded.
    Confirm { files: Vec<PathBuf> },
    /// Compare the emulator with what is recorded.
    Check { files: Vec<PathBuf> },
    /// Make a case that differs small, and print it.
    Minimise { file: PathBuf },
    /// Record what this kernel answers to the given case files.
    Record { files: Vec<PathBuf> },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let needs_kernel = !matches!(arguments.command, Some(Command::Check { .. }));
    if let Some(reason) = kernel::unavailable().filter(|_| needs_kernel) {
        eprintln!("conformance: no kernel can be asked here: {reason}");
        return ExitCode::from(2);
    }
    let failed = match &arguments.command {
        Some(Command::Write { again }) => write(*again),
        Some(Command::Minimise { file }) => usize::from(!smaller(file)),
        Some(Command::Record { files }) => files.iter().filter(|path| !report(path, record(path))).count(),
        Some(Command::Confirm { files }) => against_recorded(files, kernel::run),
        Some(Command::Check { files }) => {
            against_recorded(files, |file| emulator::run(file).map_err(|refused| refused.to_string()))
        }
        None if arguments.files.is_empty() => random(&arguments),
        None => arguments.files.iter().filter(|path| !agrees(path)).count(),
    };
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Asks both arms about one case file and prints what differs.
fn agrees(path: &Path) -> bool {
    let result = case::load(path).and_then(|file| {
        let theirs = kernel::run(&file)?;
        let found = judge::differences(&file, &theirs).map_err(|refused| refused.to_string())?;
        Ok((found, file.case.packets.len()))
    });
    match result {
        Ok((found, packets)) => {
            // `cargo xtask conformance --ipvs` counts these lines.
            println!("{}: {} differences in {packets} packets", path.display(), found.len());
            found.iter().for_each(|difference| println!("  {difference}"));
            found.is_empty()
        }
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            false
        }
    }
}

fn random(arguments: &Arguments) -> usize {
    let cases = match (arguments.only.iter().min(), arguments.only.iter().max()) {
        (Some(first), Some(last)) => *first..last.saturating_add(1),
        _ => 0..arguments.cases,
    };
    let options = random::Options {
        seed: arguments.seed,
        cases,
        only: arguments.only.clone(),
        packets: None,
        time: arguments.minutes.map(|minutes| Duration::from_secs(minutes * 60)),
        flavour: arguments.flavour.into(),
        workers: arguments.workers,
    };
    let tally = Tally::new(arguments, &options);
    let ran = random::run(&options, |index, file, run| tally.judge(index, file, run));
    let result = tally.finish(arguments.show);
    match ran {
        Ok(_) => result,
        Err(error) => {
            eprintln!("conformance: {error}");
            result.max(1)
        }
    }
}

/// Stores every hand-written case; returns how many could not be recorded.
fn write(again: bool) -> usize {
    let mut failed = 0;
    for named in families::all() {
        let path = case::folder().join(format!("{}.json", named.path));
        let known = case::load(&path).ok().filter(|known| {
            !again
                && known.case == named.file.case
                && known.links == named.file.links
                && known.recorded.is_some()
        });
        if known.is_some_and(|known| known.purpose == named.file.purpose) {
            continue;
        }
        let stored = answer(named.file).and_then(|file| store(&path, &file));
        failed += usize::from(!report(&path, stored));
    }
    failed
}

/// Prints the smallest case that differs like this one; false when it cannot be read.
fn smaller(path: &Path) -> bool {
    match case::load(path) {
        Ok(file) => {
            let small = minimise::minimise(&file);
            minimise::differences(&small)
                .unwrap_or_default()
                .iter()
                .for_each(|difference| eprintln!("{difference}"));
            print!("{}", case::to_text(&small));
            true
        }
        Err(error) => {
            eprintln!("{error}");
            false
        }
    }
}

/// Compares an arm with the recorded answers; returns how many cases differ.
fn against_recorded(files: &[PathBuf], arm: fn(&case::CaseFile) -> Result<case::Run, String>) -> usize {
    let files =
        if files.is_empty() { case::list(&case::folder()).unwrap_or_default() } else { files.to_vec() };
    let mut failed = 0;
    for path in &files {
        let differences = case::load(path).and_then(|file| {
            let run = arm(&file)?;
            let recorded = file.recorded.as_ref().ok_or("nothing is recorded")?;
            Ok(compare::runs(&file, &recorded.run, &run))
        });
        match differences {
            Ok(differences) if differences.is_empty() => {}
            Ok(differences) => {
                failed += 1;
                println!("{}", path.display());
                differences.iter().for_each(|difference| println!("  {difference}"));
            }
            Err(error) => {
                failed += 1;
                eprintln!("{}: {error}", path.display());
            }
        }
    }
    println!("{} cases, {failed} differ", files.len());
    failed
}

fn record(path: &Path) -> Result<(), String> {
    store(path, &answer(case::load(path)?)?)
}

fn answer(mut file: case::CaseFile) -> Result<case::CaseFile, String> {
    let run = kernel::run(&file)?;
    file.recorded = Some(Recorded { kernel: kernel::release(), tools: kernel::tool_versions(), run });
    Ok(file)
}

fn store(path: &Path, file: &case::CaseFile) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    std::fs::write(path, case::to_text(file)).map_err(|error| error.to_string())
}

fn report(path: &Path, result: Result<(), String>) -> bool {
    match result {
        Ok(()) => println!("recorded {}", path.display()),
        Err(ref error) => eprintln!("{}: {error}", path.display()),
    }
    result.is_ok()
}
