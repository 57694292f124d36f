//! Compiled lessons to files: `index.bin`, `index.html`, and a folder for each lesson.

use std::path::Path;
use std::{fs, io};

use super::compile::Built;
use super::page;
use crate::model::Entry;

/// Style of the static pages; the app has its own.
const STYLE: &str = include_str!("lesson.css");

/// Writes every lesson of `built` below `out`: `<id>/index.html` (read), `<id>/lesson.bin` (run).
///
/// # Errors
/// A file that cannot be written.
pub fn write(built: &Built, out: &Path) -> io::Result<()> {
    let entries: Vec<Entry> = built.lessons.iter().map(|lesson| lesson.entry.clone()).collect();
    fs::create_dir_all(out)?;
    fs::write(out.join("index.bin"), bytes(&entries)?)?;
    fs::write(out.join("index.html"), page::index(&entries))?;
    fs::write(out.join("lesson.css"), STYLE)?;
    for (lesson, page) in built.lessons.iter().zip(&built.pages) {
        let dir = out.join(&lesson.entry.id);
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("index.html"), page)?;
        fs::write(dir.join("lesson.bin"), bytes(lesson)?)?;
    }
    Ok(())
}

fn bytes<T: serde::Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(io::Error::other)
}

/// Puts the engine's own output into the transcripts of every lesson where it differs. Returns the files changed.
///
/// # Errors
/// A file that cannot be written.
pub fn update_transcripts(built: &Built) -> io::Result<usize> {
    for (path, text) in &built.stale {
        fs::write(path, text)?;
    }
    Ok(built.stale.len())
}
