//! `conformance`: asks the real kernel and compares it with the emulator. `cargo xtask conformance` calls it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chainwalk_tests::case::{self, Recorded};
use chainwalk_tests::{compare, families, kernel};
use clap::{Parser, Subcommand};

/// Compares the emulator with this machine's kernel.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
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
    /// Record what this kernel answers to the given case files.
    Record { files: Vec<PathBuf> },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(reason) = kernel::unavailable() {
        eprintln!("conformance: no kernel can be asked here: {reason}");
        return ExitCode::from(2);
    }
    let failed = match arguments.command {
        Some(Command::Write { again }) => write(again),
        Some(Command::Record { files }) => files.iter().filter(|path| !report(path, record(path))).count(),
        Some(Command::Confirm { files }) => confirm(files),
        None => 0,
    };
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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

/// Compares the kernel with its own recorded answers; returns how many cases differ.
fn confirm(files: Vec<PathBuf>) -> usize {
    let files = if files.is_empty() { case::list(&case::folder()).unwrap_or_default() } else { files };
    let mut failed = 0;
    for path in &files {
        let differences = case::load(path).and_then(|file| {
            let run = kernel::run(&file)?;
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
