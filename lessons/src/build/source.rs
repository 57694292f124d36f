//! A lesson file cut into front matter, prose and fenced blocks, each with its line.
//!
//! Owns the outer grammar only: `+++` front matter, then Markdown in which a fence whose first word is one of
//! [`KINDS`] is a block with `key=value` attributes. Other fences belong to the prose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use super::problem::{Class, Problems};
use crate::model::Source;

/// Fences that the engine or the page handles.
pub(super) const KINDS: [&str; 7] = ["scenario", "console", "predict", "figure", "quiz", "task", "interview"];

/// Longest lesson file, bytes: past this the page limit is out of reach anyway.
const LESSON_MAX_BYTES: u64 = 400_000;

/// A lesson folder as found on disk.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) dir: PathBuf,
    /// `01-path/02-chain-probabilities/lesson.md`
    pub(super) file: String,
    /// The part's folder without its number: `path`.
    pub(super) part: String,
    /// The lesson's folder without its number.
    pub(super) slug: String,
    pub(super) text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Front {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) summary: String,
    pub(super) minutes: u16,
    #[serde(default)]
    pub(super) requires: Vec<String>,
    pub(super) sources: Vec<Source>,
    /// Numbers that prose may use although no run produces them, each with the reason.
    #[serde(default)]
    pub(super) given: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Prose { line: usize, text: String },
    Fence(Fence),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    /// Line of the opening fence, counted from 1.
    pub(super) line: usize,
    pub(super) kind: String,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) body: String,
}

#[derive(Debug)]
pub(super) struct Document {
    pub(super) front: Front,
    pub(super) pieces: Vec<Piece>,
}

/// Every `NN-part/NN-slug/lesson.md` below `content`, in reading order.
pub(super) fn folders(content: &Path) -> io::Result<Vec<Folder>> {
    let mut found = Vec::new();
    for part in numbered(content)? {
        for lesson in numbered(&part)? {
            let path = lesson.join("lesson.md");
            if fs::metadata(&path)?.len() > LESSON_MAX_BYTES {
                return Err(io::Error::other(format!(
                    "{}: larger than {LESSON_MAX_BYTES} bytes",
                    path.display()
                )));
            }
            let (part, slug) = (folder_name(&part), folder_name(&lesson));
            found.push(Folder {
                text: fs::read_to_string(&path)?,
                file: format!("{part}/{slug}/lesson.md"),
                part: part.split_at(3).1.to_owned(),
                slug: slug.split_at(3).1.to_owned(),
                dir: lesson,
            });
        }
    }
    Ok(found)
}

/// Folders called `NN-name`, sorted. Others are left alone: notes and fixtures may lie beside lessons.
fn numbered(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = folder_name(&path);
        let number_ok = name.len() > 3 && name.as_bytes()[..2].iter().all(u8::is_ascii_digit);
        if path.is_dir() && number_ok && name.as_bytes()[2] == b'-' {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn folder_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Cuts `text`. `None` when there is no usable front matter.
pub(super) fn cut(text: &str, problems: &mut Problems) -> Option<Document> {
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
    if lines.next().map(|(_, line)| line.trim_end()) != Some("+++") {
        problems.add(1, Class::FrontMatter, "a lesson begins with a line `+++`, TOML, and another `+++`");
        return None;
    }
    let mut head = String::new();
    let mut closed = false;
    for (_, line) in lines.by_ref() {
        if line.trim_end() == "+++" {
            closed = true;
            break;
        }
        head.push_str(line);
        head.push('\n');
    }
    if !closed {
        problems.add(1, Class::FrontMatter, "the front matter has no closing `+++`");
        return None;
    }
    match toml::from_str::<Front>(&head) {
        Ok(front) => Some(Document { front, pieces: pieces(lines, problems) }),
        Err(error) => {
            let line = 2 + error.span().map_or(0, |span| head[..span.start].matches('\n').count());
            problems.add(line, Class::FrontMatter, error.message());
            None
        }
    }
}

fn pieces<'a>(lines: impl Iterator<Item = (usize, &'a str)>, problems: &mut Problems) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut prose: Option<(usize, String)> = None;
    let mut block: Option<Fence> = None;
    // A fence of the prose itself (```text): its lines are not looked at.
    let mut plain_fence = false;
    for (number, line) in lines {
        if let Some(open) = &mut block {
            if line.trim_end() == "```" {
                pieces.extend(block.take().map(Piece::Fence));
            } else {
                open.body.push_str(line);
                open.body.push('\n');
            }
            continue;
        }
        let info = line.strip_prefix("```").map(str::trim);
        let kind = info.and_then(|info| info.split_whitespace().next());
        if let Some(kind) = kind.filter(|kind| !plain_fence && KINDS.contains(kind)) {
            pieces.extend(prose.take().map(|(line, text)| Piece::Prose { line, text }));
            let attributes = attributes(info.unwrap_or_default(), number, problems);
            block = Some(Fence { line: number, kind: kind.to_owned(), attributes, body: String::new() });
            continue;
        }
        plain_fence ^= info.is_some();
        let (_, text) = prose.get_or_insert_with(|| (number, String::new()));
        text.push_str(line);
        text.push('\n');
    }
    if let Some(open) = block {
        problems.add(open.line, Class::BlockSyntax, format!("this `{}` block is never closed", open.kind));
    }
    pieces.extend(prose.map(|(line, text)| Piece::Prose { line, text }));
    pieces.retain(|piece| !matches!(piece, Piece::Prose { text, .. } if text.trim().is_empty()));
    pieces
}

fn attributes(info: &str, line: usize, problems: &mut Problems) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for word in info.split_whitespace().skip(1) {
        match word.split_once('=') {
            Some((key, value)) if !value.is_empty() => {
                found.insert(key.to_owned(), value.to_owned());
            }
            _ => problems.add(line, Class::BlockSyntax, format!("`{word}` is not `key=value`")),
        }
    }
    found
}
