//! An archive in the "newc" form, which Linux unpacks into its first file system. What goes into it is `guest`'s.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::failure::{About, Result};
use crate::process::ask;

/// The archive so far.
#[derive(Default)]
pub(super) struct Cpio {
    bytes: Vec<u8>,
    made: Vec<String>,
}

impl Cpio {
    pub(super) fn folder(&mut self, path: &str) {
        if path.is_empty() || self.made.iter().any(|known| known == path) {
            return;
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
        self.made.push(path.to_owned());
        self.entry(path, 0o040_755, &[]);
    }

    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        if self.made.iter().any(|known| known == path) {
            return;
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
        self.made.push(path.to_owned());
        self.entry(path, 0o100_000 | mode, content);
    }

    /// A program or library, with the libraries it loads.
    pub(super) fn program(&mut self, path: &Path, place: &str) -> Result<()> {
        self.file(place, 0o755, &fs::read(path).about(path.display())?);
        let libraries = ask(Command::new("ldd").arg(path)).unwrap_or_default();
        for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            self.file(&inside(Path::new(library)), 0o755, &fs::read(library).about(library)?);
        }
        Ok(())
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        let number = self.made.len();
        let (size, name_size) = (content.len(), path.len() + 1);
        // Magic, inode, mode, owner, group, links, time, size, four device numbers, length of the name, no checksum.
        let header = format!(
            "070701{number:08x}{mode:08x}{:08x}{:08x}{:08x}{:08x}{size:08x}{:08x}{:08x}{:08x}{:08x}{name_size:08x}{:08x}",
            0, 0, 1, 0, 0, 0, 0, 0, 0
        );
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

/// An absolute path as it is named in the archive.
pub(super) fn inside(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}
