//! `cargo xtask bench`: the budgets, measured natively, in WebAssembly and on the page, side by side.
//!
//! Builds the rows as the engine's worker is built (profile, bindings, wasm-opt), has Chromium run them and use the
//! site, and hands the figures to `chainwalk-bench`, which measures the rest and prints the table. With arguments,
//! or where there is no browser, only the native figures are taken.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::build::{self, Mode};
use crate::failure::{About, Failure, Result};
use crate::pass::{self, Program};
use crate::process::{capture, must, say};
use crate::serve::{self, Base};
use crate::tools;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[OsString]) -> Result<ExitCode> {
    if !arguments.is_empty() {
        return pass::run(workspace, Program::Bench, arguments);
    }
    match browser(workspace) {
        Ok(figures) => pass::run(workspace, Program::Bench, &["--browser".into(), figures.into()]),
        Err(failure) => {
            say(&failure.to_string());
            say("only the native figures follow");
            pass::run(workspace, Program::Bench, &[])
        }
    }
}

/// Measures in Chromium; gives the file with the figures.
fn browser(workspace: &Workspace) -> Result<PathBuf> {
    tools::browser(workspace)?;
    build::run(workspace, Mode::Web)?;
    let rows = rows(workspace)?;
    let chromium = tools::locate("chromium").ok_or_else(|| Failure::new("no chromium"))?;
    let site = serve::start(serve::listen(0)?, workspace.dist(), Base::parse("/")?)?;
    let rows = serve::start(serve::listen(0)?, rows, Base::parse("/")?)?;
    let mut command = Command::new("node");
    command
        .arg("tests/browser/bench.mjs")
        .current_dir(workspace.root())
        .env("CHAINWALK_URL", format!("http://{site}/"))
        .env("CHAINWALK_ROWS_URL", format!("http://{rows}/"))
        .env("CHAINWALK_CHROMIUM", chromium)
        .env("CHAINWALK_NODE_MODULES", tools::npm_packages(workspace)?);
    let measured = capture(workspace, "rows and pages in Chromium", "bench-browser", &mut command)?;
    if !measured.success {
        return Err(Failure::new("the browser did not measure"));
    }
    let path = workspace.state().join("bench-browser.tsv");
    fs::write(&path, measured.lines.join("\n")).about(path.display())?;
    Ok(path)
}

/// The rows as a worker in a folder of their own.
fn rows(workspace: &Workspace) -> Result<PathBuf> {
    const NAME: &str = "chainwalk-rows";
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--profile", "web", "--target", tools::WASM_TARGET]);
    cargo.args(["-p", "chainwalk-portable", "--bin", NAME]).current_dir(workspace.root());
    must(workspace, "the rows for WebAssembly", "bench-build", &mut cargo)?;

    let folder = workspace.state().join("rows");
    let built = workspace.root().join("target").join(tools::WASM_TARGET).join("web").join(NAME);
    let mut bindgen = Command::new(tools::wasm_bindgen(workspace)?.join("wasm-bindgen"));
    bindgen.args(["--target", "web", "--no-typescript", "--out-name", "rows", "--out-dir"]);
    bindgen.arg(&folder).arg(built.with_extension("wasm"));
    must(workspace, "their bindings", "bench-bindgen", &mut bindgen)?;

    let wasm = folder.join("rows_bg.wasm");
    let mut optimise = Command::new(tools::npm_packages(workspace)?.join(".bin/wasm-opt"));
    optimise.args(worker_flags(workspace.root())?).arg(&wasm).arg("-o").arg(&wasm);
    must(workspace, "their wasm-opt", "bench-opt", &mut optimise)?;

    for (name, text) in [
        ("index.html", "<!doctype html><title>Rows</title>"),
        ("worker.js", "import start from \"./rows.js\";\nawait start();\n"),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).about(path.display())?;
    }
    Ok(folder)
}

/// The level of wasm-opt that the page asks of trunk for the engine's worker.
fn worker_flags(root: &Path) -> Result<Vec<String>> {
    let path = root.join("app/index.html");
    let page = fs::read_to_string(&path).about(path.display())?;
    let level = page
        .lines()
        .find(|line| line.contains("data-bin=\"chainwalk-worker\""))
        .and_then(|line| line.split("data-wasm-opt=\"").nth(1)?.split('"').next())
        .ok_or_else(|| Failure::new("app/index.html does not say how the worker is optimised"))?;
    Ok(vec![format!("-O{level}")])
}
