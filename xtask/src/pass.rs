//! Commands that other crates implement: built at the right optimisation level, given the arguments as they are.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::failure::{About, Result};
use crate::process::say;
use crate::tools;
use crate::workspace::Workspace;

/// A program of `chainwalk-tests`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Bench,
    Conformance,
    Fuzz,
}

impl Program {
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        match name {
            "bench" => Some(Self::Bench),
            "conformance" => Some(Self::Conformance),
            "fuzz" => Some(Self::Fuzz),
            _ => None,
        }
    }

    /// Figures need what ships; everything else needs a quick build with overflow checks.
    fn target(self) -> (&'static str, &'static str) {
        match self {
            Self::Bench => ("chainwalk-bench", "release"),
            Self::Conformance => ("conformance", "fast"),
            Self::Fuzz => ("fuzz", "fast"),
        }
    }
}

pub(crate) fn run(workspace: &Workspace, program: Program, arguments: &[OsString]) -> Result<ExitCode> {
    if program == Program::Conformance {
        // Without the tools it still compares with the recorded answers.
        if let Err(failure) = tools::netfilter(workspace) {
            say(&failure.to_string());
        }
    }
    let (name, profile) = program.target();
    let status = Command::new("cargo")
        .args([
            "run",
            "--quiet",
            "--locked",
            "--profile",
            profile,
            "-p",
            "chainwalk-tests",
            "--bin",
            name,
            "--",
        ])
        .args(arguments)
        .current_dir(workspace.root())
        .status()
        .about("cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
