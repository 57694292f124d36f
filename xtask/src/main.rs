//! `cargo xtask`: everything around the code, from a fresh clone to a served page and a tested tree.
//!
//! This file owns the command line. It does not know how anything is done: [`tools`] installs, [`build`] and
//! [`serve`] make and show the site, [`test`] runs the suites, [`pass`] hands over to programs of other crates.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program; the ban is for libraries"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "wall-clock time is what a build tool reports; the ban keeps it out of the engine"
)]

mod bench;
mod build;
mod failure;
mod guest;
mod html;
mod pass;
mod process;
mod serve;
mod sizes;
mod test;
mod tidy;
mod tools;
mod watch;
mod workspace;

use std::process::ExitCode;

use failure::{Failure, Result};
use lexopt::prelude::*;
use workspace::Workspace;

const HELP: &str = "\
Everything around the code of Chainwalk. Tools go into a cache outside the clone
($XDG_CACHE_HOME/chainwalk or ~/.cache/chainwalk) and are installed only when absent.

Usage: cargo xtask <command> [options]

Commands:
  serve        build the lab and serve it on http://127.0.0.1:8080
                 --port N       another port (0 picks a free one)
                 --base /a/b/   serve under a sub-path, as some hosts do
                 --dev          quick build without optimisation, built again on every change
  test         run every check and test; the last line counts them
                 [SUITE ...]    only these suites, in the order of --list
                 --list         name the suites and what each needs
  build        write dist/: static files for any host and any sub-path
                 --dev          quick build without optimisation
  bench        measure the budgets of the design: natively, in WebAssembly, on the page
                 (with arguments, which go to the program: natively; try --help)
  conformance  compare the emulator with this machine's kernel (arguments go to the program)
                 --ipvs [--record]   with a Debian kernel under QEMU, for IPVS
  fuzz         mutate inputs from a seed (arguments go to the program)

`.ci/run` is `cargo xtask test`.
";

/// What the command line asks for.
enum Command {
    Help,
    Serve(serve::Options),
    Test(test::Options),
    Build { dev: bool },
    Pass(pass::Program, Vec<std::ffi::OsString>),
    Guest { record: bool },
}

fn main() -> ExitCode {
    match parse().and_then(run) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    match command {
        Command::Help => print!("{HELP}"),
        Command::Serve(options) => serve::run(&workspace, &options)?,
        Command::Test(options) => return test::run(&workspace, &options),
        Command::Build { dev } => {
            build::run(&workspace, if dev { build::Mode::Dev } else { build::Mode::Web })?;
        }
        Command::Pass(pass::Program::Bench, arguments) => return bench::run(&workspace, &arguments),
        Command::Guest { record } => return guest::run(&workspace, record),
        Command::Pass(program, arguments) => return pass::run(&workspace, program, &arguments),
    }
    Ok(ExitCode::SUCCESS)
}

fn parse() -> Result<Command> {
    let mut parser = lexopt::Parser::from_env();
    let Some(first) = parser.next()? else { return Ok(Command::Help) };
    let name = match first {
        Short('h') | Long("help") => return Ok(Command::Help),
        Value(name) => name.string()?,
        other => return Err(other.unexpected().into()),
    };
    match name.as_str() {
        "help" => Ok(Command::Help),
        "serve" => parse_serve(&mut parser),
        "test" => parse_test(&mut parser),
        "build" => {
            let mut dev = false;
            while let Some(argument) = parser.next()? {
                match argument {
                    Long("dev") => dev = true,
                    Short('h') | Long("help") => return Ok(Command::Help),
                    other => return Err(other.unexpected().into()),
                }
            }
            Ok(Command::Build { dev })
        }
        other => match pass::Program::by_name(other) {
            Some(program) => {
                let arguments: Vec<_> = parser.raw_args()?.collect();
                match arguments.iter().position(|argument| argument == "--ipvs") {
                    Some(_) if program == pass::Program::Conformance => {
                        Ok(Command::Guest { record: arguments.iter().any(|argument| argument == "--record") })
                    }
                    _ => Ok(Command::Pass(program, arguments)),
                }
            }
            None => Err(Failure::new(format!("unknown command `{other}`")).hint("cargo xtask --help")),
        },
    }
}

fn parse_serve(parser: &mut lexopt::Parser) -> Result<Command> {
    let mut options = serve::Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("port") => options.port = parser.value()?.parse()?,
            Long("base") => options.base = serve::Base::parse(&parser.value()?.string()?)?,
            Long("dev") => options.dev = true,
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Serve(options))
}

fn parse_test(parser: &mut lexopt::Parser) -> Result<Command> {
    let mut options = test::Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Value(suite) => options.only.push(suite.string()?),
            Long("list") => options.list = true,
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Test(options))
}
