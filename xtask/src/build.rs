//! `cargo xtask build`: from sources to `dist/`, static files that work on any host and under any sub-path.
//!
//! trunk compiles and bundles; this file gives it the tools it needs without a download, stamps the result with a
//! build id, and checks what trunk cannot know: the content security policy, relative addresses, sizes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::failure::{About, Failure, Result};
use crate::process::{must, say};
use crate::workspace::Workspace;
use crate::{html, sizes, tools, watch};

/// The policy the site runs under; the page states it too, for hosts that send no headers.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
     style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; object-src 'none'; \
     base-uri 'self'";

/// What `index.html` holds (by Trunk.toml) where the build id goes. The page adds the id to the address of the engine, whose file
/// name is fixed, so that a new page never meets an old engine from a cache.
const BUILD_ID_PLACEHOLDER: &str = "__BUILD_ID__";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What ships: small, optimised, checked against the size budgets.
    Web,
    /// Compiled fast, for work on the code.
    Dev,
}

/// Builds unless `dist/` is newer than every source. Gives the number of checks that held.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<usize> {
    let started = Instant::now();
    let stamp = Stamp::of(workspace, mode);
    if stamp.is_current(workspace)? {
        say("dist/ is up to date");
    } else {
        bundle(workspace, mode)?;
    }
    let checks = check(workspace, mode)?;
    stamp.write()?;
    say(&format!("dist/ is ready ({:.1} s)", started.elapsed().as_secs_f64()));
    Ok(checks)
}

fn bundle(workspace: &Workspace, mode: Mode) -> Result<()> {
    tools::wasm_target(workspace)?;
    let wasm_bindgen = tools::wasm_bindgen(workspace)?;
    let trunk = tools::trunk(workspace)?;
    let npm_programs = tools::npm_packages(workspace)?.join(".bin");
    let path = tools::path_with(&[&wasm_bindgen, &trunk, &npm_programs])?;

    // trunk runs cargo offline, so whatever the lock file names has to be here before.
    let mut fetch = Command::new("cargo");
    fetch.args(["fetch", "--locked", "--target", tools::WASM_TARGET]).current_dir(workspace.root());
    must(workspace, "dependencies", "fetch", &mut fetch)?;

    let mut command = Command::new(trunk.join("trunk"));
    command.args(["build", "--offline", "--locked"]).current_dir(workspace.root()).env("PATH", path);
    // trunk reads this variable as a flag of its own and refuses the value `1`.
    command.env_remove("NO_COLOR");
    let title = match mode {
        Mode::Web => {
            command.args(["--release", "--cargo-profile", "web"]);
            "page and engine, optimised for size (a few minutes when nothing is built yet)"
        }
        Mode::Dev => {
            command.args(["--cargo-profile", "fast"]);
            "page and engine, quick build"
        }
    };
    must(workspace, title, "trunk", &mut command)?;
    lessons(workspace)?;
    stamp_build_id(workspace)
}

/// Checks every lesson on the engine and writes its page and its compiled form beside the app.
fn lessons(workspace: &Workspace) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(["run", "--locked", "--package", "chainwalk-lessons", "--"]);
    command.arg(workspace.dist().join("lessons")).current_dir(workspace.root());
    must(workspace, "lessons, run and checked", "lessons", &mut command)?;
    Ok(())
}

/// The id is a hash of the page, the engine and the lessons, so equal sources give an equal `dist/`.
fn stamp_build_id(workspace: &Workspace) -> Result<()> {
    let mut files = watch::files_under(&workspace.dist(), &[])?;
    files.sort();
    let mut content = Vec::new();
    let is_fetched = |file: &Path| {
        file.extension().is_some_and(|end| ["wasm", "js", "bin"].iter().any(|fetched| end == *fetched))
    };
    for file in files.iter().filter(|file| is_fetched(file)) {
        content.extend(fs::read(file).about(file.display())?);
    }
    let index = workspace.dist().join("index.html");
    let page = fs::read_to_string(&index).about(index.display())?;
    if !page.contains(BUILD_ID_PLACEHOLDER) {
        return Err(Failure::new(format!(
            "the page has no {BUILD_ID_PLACEHOLDER}; see pattern_script in Trunk.toml"
        )));
    }
    let id = format!("{:016x}", tools::fnv1a(&content));
    fs::write(&index, page.replace(BUILD_ID_PLACEHOLDER, &id)).about(index.display())
}

fn check(workspace: &Workspace, mode: Mode) -> Result<usize> {
    let mut checks = 0;
    let mut complaints = Vec::new();
    for file in watch::files_under(&workspace.dist(), &[])? {
        if file.extension().is_some_and(|end| end == "html") {
            let page = fs::read_to_string(&file).about(file.display())?;
            let name = file.strip_prefix(workspace.dist()).unwrap_or(&file).display().to_string();
            checks += 1;
            complaints.extend(html::complaints(&page).into_iter().map(|what| format!("{name}: {what}")));
        }
    }
    if mode == Mode::Web {
        let report = sizes::measure(workspace)?;
        checks += report.checks;
        complaints.extend(report.complaints);
    }
    if complaints.is_empty() {
        Ok(checks)
    } else {
        Err(Failure::new(format!("dist/ does not hold what it promises:\n  {}", complaints.join("\n  "))))
    }
}

/// Remembers which mode `dist/` was built in, and when.
struct Stamp {
    path: PathBuf,
    mode: Mode,
}

impl Stamp {
    fn of(workspace: &Workspace, mode: Mode) -> Self {
        Self { path: workspace.state().join("dist.stamp"), mode }
    }

    fn is_current(&self, workspace: &Workspace) -> Result<bool> {
        let stamped = match fs::read_to_string(&self.path) {
            Ok(mode) => mode == format!("{:?}", self.mode),
            Err(_) => false,
        };
        if !stamped || !workspace.dist().join("index.html").is_file() {
            return Ok(false);
        }
        let built = modified(&self.path)?;
        Ok(watch::newest_source(workspace)?.is_some_and(|newest| newest < built))
    }

    fn write(&self) -> Result<()> {
        fs::write(&self.path, format!("{:?}", self.mode)).about(self.path.display())
    }
}

fn modified(path: &Path) -> Result<std::time::SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).about(path.display())
}
