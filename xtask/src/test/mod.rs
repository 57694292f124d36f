//! `cargo xtask test`: every suite in order, the fast ones first, then one line of counts.
//!
//! A suite whose tools cannot be had is skipped, with the command that would help; the others still run.

mod browser;
mod count;
mod licences;
mod rust;

use std::process::ExitCode;
use std::time::Instant;

use crate::failure::{Failure, Result};
use crate::process::say;
use crate::workspace::Workspace;
use crate::{build, tidy, tools};
use count::Counts;

#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Names of suites; all when empty.
    pub(crate) only: Vec<String>,
    pub(crate) list: bool,
}

/// A group of checks that needs the same tools.
struct Suite {
    name: &'static str,
    what: &'static str,
    /// Makes the tools be there. A failure skips the suite.
    prepare: fn(&Workspace) -> Result<()>,
    run: fn(&Workspace) -> Result<Counts>,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "format",
        what: "rustfmt changes nothing",
        prepare: |workspace| tools::rust_component(workspace, "rustfmt"),
        run: rust::format,
    },
    Suite { name: "tidy", what: "the rules of xtask/src/tidy", prepare: |_| Ok(()), run: tidy },
    Suite {
        name: "licences",
        what: "every dependency may be shipped under our licence",
        prepare: |_| Ok(()),
        run: licences::run,
    },
    Suite {
        name: "lint",
        what: "clippy without a warning, for this machine and for the browser",
        prepare: |workspace| {
            tools::rust_component(workspace, "clippy")?;
            tools::wasm_target(workspace)
        },
        run: rust::lint,
    },
    Suite {
        name: "rust",
        what: "tests of all crates; those that ask the kernel say so when they cannot",
        prepare: |workspace| {
            // The tests run without these tools as well, on recorded answers.
            if let Err(failure) = tools::netfilter(workspace) {
                say(&failure.to_string());
            }
            Ok(())
        },
        run: rust::tests,
    },
    Suite {
        name: "fuzz",
        what: "100,000 mutated inputs for each reader: no panic, no hang, no broken law",
        prepare: |_| Ok(()),
        run: rust::fuzz,
    },
    Suite {
        name: "wasm",
        what: "tests of the WebAssembly side in headless Chromium",
        prepare: |workspace| {
            tools::wasm_target(workspace)?;
            tools::wasm_bindgen(workspace)?;
            tools::browser(workspace)
        },
        run: rust::wasm_tests,
    },
    Suite {
        name: "build",
        what: "dist/ builds, keeps its policy and its size budgets",
        prepare: |workspace| {
            tools::wasm_target(workspace)?;
            tools::wasm_bindgen(workspace)?;
            tools::trunk(workspace)?;
            tools::npm_packages(workspace).map(drop)
        },
        run: |workspace| build::run(workspace, build::Mode::Web).map(Counts::passed),
    },
    Suite {
        name: "browser",
        what: "the site in Chromium, at / and under a sub-path: tests/browser",
        prepare: |workspace| {
            tools::npm_packages(workspace)?;
            tools::node(workspace)?;
            tools::browser(workspace)
        },
        run: browser::run,
    },
];

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if options.list {
        for suite in SUITES {
            println!("{:<10} {}", suite.name, suite.what);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = options.only.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        return Err(Failure::new(format!("no suite is called `{unknown}`")).hint("cargo xtask test --list"));
    }

    let mut total = Counts::default();
    let started = Instant::now();
    for suite in SUITES {
        if !options.only.is_empty() && options.only.iter().all(|name| name != suite.name) {
            continue;
        }
        say(&format!("\n== {}: {}", suite.name, suite.what));
        let begun = Instant::now();
        let counts = match (suite.prepare)(workspace) {
            Ok(()) => (suite.run)(workspace).unwrap_or_else(|failure| {
                say(&failure.to_string());
                Counts::failed(1)
            }),
            Err(failure) => {
                say(&format!("skipped: {failure}"));
                Counts::skipped(1)
            }
        };
        say(&format!("== {}: {counts} ({:.1} s)", suite.name, begun.elapsed().as_secs_f64()));
        total += counts;
    }
    say(&format!("\nall suites: {:.1} s", started.elapsed().as_secs_f64()));
    println!("{total}");
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tidy(workspace: &Workspace) -> Result<Counts> {
    let (rules, complaints) = tidy::check(workspace.root())?;
    for complaint in &complaints {
        say(complaint);
    }
    let broken = complaints.len().min(rules);
    Ok(Counts { passed: rules - broken, failed: broken, skipped: 0 })
}
