//! The suites that cargo runs: format, lints, native tests, tests in the browser's WebAssembly.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{About, Failure, Result};
use crate::process::{ask, capture, must};
use crate::tools::{self, WASM_TARGET};
use crate::workspace::Workspace;

use super::count::Counts;

/// One profile for lints and tests, so that dependencies are built once.
const PROFILE: &[&str] = &["--locked", "--profile", "fast"];

pub(super) fn format(workspace: &Workspace) -> Result<Counts> {
    let checked =
        capture(workspace, "cargo fmt --check", "fmt", &mut cargo(workspace, &["fmt", "--all", "--check"]))?;
    Ok(Counts::of(checked.success))
}

pub(super) fn lint(workspace: &Workspace) -> Result<Counts> {
    let mut command = cargo(workspace, &["clippy", "--workspace", "--all-targets", "--all-features"]);
    command.args(PROFILE).args(["--", "-D", "warnings"]);
    let mut counts = Counts::of(capture(workspace, "clippy", "clippy", &mut command)?.success);

    let mut command =
        cargo(workspace, &["clippy", "-p", "chainwalk-app", "-p", "chainwalk-portable", "--all-targets"]);
    command.args(PROFILE).args(["--target", WASM_TARGET, "--", "-D", "warnings"]);
    counts += Counts::of(capture(workspace, "clippy for the browser", "clippy-wasm", &mut command)?.success);
    Ok(counts)
}

/// Tests and documentation tests of all crates.
pub(super) fn tests(workspace: &Workspace) -> Result<Counts> {
    let mut command = cargo(workspace, &["test", "--workspace", "--all-features", "--no-fail-fast"]);
    command.args(PROFILE);
    Ok(Counts::read(&capture(workspace, "cargo test", "test", &mut command)?))
}

/// The same inputs each time: what fails here fails everywhere. `cargo xtask fuzz --seed N` makes others.
pub(super) fn fuzz(workspace: &Workspace) -> Result<Counts> {
    let mut command = cargo(workspace, &["run", "--quiet", "-p", "chainwalk-tests", "--bin", "fuzz"]);
    command.args(PROFILE);
    Ok(Counts::of(capture(workspace, "mutated inputs", "fuzz", &mut command)?.success))
}

/// Crates with `wasm-bindgen-test` tests. They compile to nothing elsewhere.
const WASM_TESTED: &[&str] = &["chainwalk-app", "chainwalk-portable"];

pub(super) fn wasm_tests(workspace: &Workspace) -> Result<Counts> {
    let digests = native_digests(workspace)?;
    let runner = tools::wasm_bindgen(workspace)?.join("wasm-bindgen-test-runner");
    let driver = tools::locate("chromedriver").ok_or_else(|| Failure::new("no chromedriver"))?;
    let mut command = cargo(workspace, &["test", "--no-fail-fast", "--target", WASM_TARGET]);
    command.args(PROFILE).args(WASM_TESTED.iter().flat_map(|package| ["-p", package]));
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner);
    // The runner reads the flags for Chromium from webdriver.json in the crate's folder.
    command.env("CHROMEDRIVER", driver).env("WASM_BINDGEN_TEST_TIMEOUT", "300");
    command.env("CHAINWALK_DIGESTS", digests);
    Ok(Counts::read(&capture(workspace, "cargo test in Chromium", "wasm-test", &mut command)?))
}

/// The digests of this machine's own runs, in a file: the WebAssembly build takes them in.
fn native_digests(workspace: &Workspace) -> Result<PathBuf> {
    let which = ["-p", "chainwalk-portable", "--bin", "chainwalk-digests"];
    let mut build = cargo(workspace, &["build"]);
    must(workspace, "native digests", "digests", build.args(which).args(PROFILE))?;
    let printed = ask(cargo(workspace, &["run", "--quiet"]).args(which).args(PROFILE))
        .ok_or_else(|| Failure::new("the native digests could not be computed"))?;
    let path = workspace.state().join("digests.txt");
    // Written only when different: cargo builds again what includes the file.
    if fs::read_to_string(&path).is_ok_and(|before| before == printed) {
        return Ok(path);
    }
    fs::write(&path, printed).about(path.display())?;
    Ok(path)
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace.root()).env("CARGO_TERM_COLOR", "never");
    command
}
