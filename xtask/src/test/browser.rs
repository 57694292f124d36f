//! The browser suite: serves `dist/` twice, at `/` and under a sub-path, and runs `tests/browser` with Node.js.

use std::fs;
use std::process::Command;

use crate::failure::{About, Failure, Result};
use crate::process::capture;
use crate::serve::{self, Base};
use crate::tools;
use crate::workspace::Workspace;

use super::count::Counts;

/// Deep enough that an address relative to the host, or to its parent, is found out.
const SUB_PATH: &str = "/a/b/";

pub(super) fn run(workspace: &Workspace) -> Result<Counts> {
    let dist = workspace.dist();
    if !dist.join("index.html").is_file() {
        return Err(Failure::new("dist/ is not built").hint("cargo xtask build"));
    }
    let screenshots = workspace.root().join("target/screenshots");
    fs::create_dir_all(&screenshots).about(screenshots.display())?;
    let chromium = tools::locate("chromium").ok_or_else(|| Failure::new("no chromium"))?;

    let root = serve::start(serve::listen(0)?, dist.clone(), Base::parse("/")?)?;
    let sub = serve::start(serve::listen(0)?, dist, Base::parse(SUB_PATH)?)?;

    let mut command = Command::new("node");
    command
        .args(["--test", "--test-reporter=tap"])
        .args(test_files(workspace)?)
        .current_dir(workspace.root())
        .env("CHAINWALK_URL", format!("http://{root}/"))
        .env("CHAINWALK_SUB_URL", format!("http://{sub}{SUB_PATH}"))
        .env("CHAINWALK_CHROMIUM", chromium)
        .env("CHAINWALK_NODE_MODULES", tools::npm_packages(workspace)?)
        .env("CHAINWALK_SCREENSHOTS", screenshots);
    Ok(Counts::read(&capture(workspace, "tests/browser in Chromium", "browser", &mut command)?))
}

fn test_files(workspace: &Workspace) -> Result<Vec<std::path::PathBuf>> {
    let folder = workspace.root().join("tests/browser");
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).about(folder.display())? {
        let path = entry.about(folder.display())?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
