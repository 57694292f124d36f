//! `chainwalk`: the command line over the engine.
//!
//! Owns arguments, files and exit codes. What it prints is made by [`chainwalk_engine::replay`].

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use chainwalk_engine::replay;

/// Shows what a Linux node's kernel does to a packet.
#[derive(Debug, Parser)]
#[command(name = "chainwalk", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one node and its packets from a JSON case, and print one JSON object.
    Replay(ReplayArgs),
}

#[derive(Debug, Args)]
struct ReplayArgs {
    /// The case, format chainwalk.replay/1; `-` reads standard input.
    case: PathBuf,
    /// List every rule evaluated, not only those that matched.
    #[arg(long)]
    all: bool,
    /// With each rule its tests: the packet's value beside the wanted one.
    #[arg(long)]
    why: bool,
    /// Indent the output.
    #[arg(long)]
    pretty: bool,
}

/// Exit status for input that could not be read; 1 is left to a broken pipe and the like.
const UNREADABLE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let printed = match cli.command {
        Command::Replay(args) => replay_case(&args),
    };
    match printed {
        Ok(text) => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(message) => {
            // Nothing is left to say when standard error is closed too.
            let _ = writeln!(std::io::stderr().lock(), "{message}");
            ExitCode::from(UNREADABLE)
        }
    }
}

/// A file's text, `-` for standard input.
fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let got = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    got.map_err(|error| format!("{}: {error}", path.display()))?;
    String::from_utf8(bytes).map_err(|error| {
        format!("{}: not a text: byte {} is not UTF-8", path.display(), error.utf8_error().valid_up_to())
    })
}

fn replay_case(args: &ReplayArgs) -> Result<String, String> {
    let name = args.case.display();
    let text = read(&args.case)?;
    let options = replay::Options { all: args.all, why: args.why };
    let report = replay::parse(&text)
        .and_then(|case| replay::run(&case, &options))
        .map_err(|error| format!("{name}: {error}"))?;
    let text =
        if args.pretty { serde_json::to_string_pretty(&report) } else { serde_json::to_string(&report) };
    text.map(|text| text + "\n").map_err(|error| format!("{name}: {error}"))
}
