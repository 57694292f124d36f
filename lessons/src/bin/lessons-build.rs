//! `lessons-build [--content DIR] [--update] OUT`: checks every lesson and writes what is served.
//!
//! With `--update` transcripts are first rewritten with the engine's own output; look at the difference before
//! you commit it. Exit status 1 when a lesson does not hold; the problems are on standard error.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chainwalk_lessons::build::{build, update_transcripts, write};

const USAGE: &str = "usage: lessons-build [--content DIR] [--update] OUT";

#[expect(clippy::print_stderr, reason = "this is the program's report")]
fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(summary) => {
            eprintln!("{summary}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let mut content = Path::new(env!("CARGO_MANIFEST_DIR")).join("content");
    let mut update = false;
    let mut out: Option<PathBuf> = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--content" => content = arguments.next().ok_or(USAGE)?.into(),
            "--update" => update = true,
            _ if argument.starts_with('-') || out.is_some() => return Err(USAGE.to_owned()),
            _ => out = Some(argument.into()),
        }
    }
    let out = out.ok_or(USAGE)?;
    let read = |content: &Path| build(content).map_err(|error| format!("{}: {error}", content.display()));
    let mut built = read(&content)?;
    if update && update_transcripts(&built).map_err(|error| error.to_string())? > 0 {
        built = read(&content)?;
    }
    if !built.problems.is_empty() {
        return Err(format!("{}{} problems", built.report(), built.problems.len()));
    }
    write(&built, &out).map_err(|error| format!("{}: {error}", out.display()))?;
    let largest = built.pages.iter().map(String::len).max().unwrap_or(0);
    Ok(format!("{} lessons, largest page {largest} bytes", built.lessons.len()))
}
