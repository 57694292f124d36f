//! The files that a build depends on, found by walking the tree. Polling is enough: a walk takes milliseconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::failure::{About, Result};
use crate::workspace::Workspace;

/// Sources of the site.
const SOURCES: &[&str] =
    &["app", "engine", "lessons", "public", "Cargo.toml", "Cargo.lock", "Trunk.toml", "xtask/npm"];

/// Every file below a folder, in no particular order, without the folders named in `skip`.
pub(crate) fn files_under(folder: &Path, skip: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).about(folder.display())? {
            let entry = entry.about(folder.display())?;
            let kind = entry.file_type().about(entry.path().display())?;
            if kind.is_file() {
                files.push(entry.path());
            } else if kind.is_dir() && !skip.iter().any(|name| entry.file_name() == *name) {
                folders.push(entry.path());
            }
        }
    }
    Ok(files)
}

/// When a source of the site last changed.
pub(crate) fn newest_source(workspace: &Workspace) -> Result<Option<SystemTime>> {
    let mut newest = None;
    for source in SOURCES {
        let path = workspace.root().join(source);
        let files = if path.is_dir() { files_under(&path, &["target"])? } else { vec![path] };
        for file in files {
            // An editor may have removed a temporary file since the walk.
            if let Ok(modified) = fs::metadata(&file).and_then(|metadata| metadata.modified()) {
                newest = newest.max(Some(modified));
            }
        }
    }
    Ok(newest)
}
