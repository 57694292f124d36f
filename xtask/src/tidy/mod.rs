//! Rules about the tree that neither rustc nor clippy can state. Reads files, compiles nothing, takes milliseconds.
//!
//! Each rule is one function from the tree to complaints; [`RULES`] is the list. Layers of the engine: [`layers`].

mod layers;

use std::fs;
use std::path::Path;

use crate::failure::{About, Result};
use crate::watch::files_under;

/// A text file of the clone.
struct File {
    /// Relative to the clone, with `/` between folders.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn complaint(&self, line_index: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{}: {what}", self.path, line_index + 1)
    }
}

struct Rule {
    name: &'static str,
    check: fn(&[File]) -> Vec<String>,
}

const RULES: &[Rule] = &[
    Rule { name: "engine modules use lower layers only", check: layers::check },
    Rule { name: "every file opens with what it owns", check: opening },
    Rule { name: "containers iterate in a stated order", check: ordered_containers },
    Rule { name: "files stay readable in one sitting", check: length },
    Rule { name: "nothing names one person's machine", check: machine_paths },
    Rule { name: "nothing is copied from the kernel", check: foreign_licences },
    Rule { name: "every dependency has a reason", check: dependency_reasons },
];

/// A state machine or a table may be long; nothing is longer than this.
const MAX_LINES: usize = 900;

/// Folders that hold no sources of ours.
const SKIPPED_FOLDERS: &[&str] = &["target", "dist", "node_modules", ".git"];

/// Checks every rule. Gives how many there are, and what is wrong.
pub(crate) fn check(root: &Path) -> Result<(usize, Vec<String>)> {
    let mut files = Vec::new();
    for path in files_under(root, SKIPPED_FOLDERS)? {
        // In a second work tree `.git` is a file that points elsewhere.
        if path.ends_with(".git") {
            continue;
        }
        let bytes = fs::read(&path).about(path.display())?;
        // Pictures and compressed fixtures are not text.
        if let Ok(text) = String::from_utf8(bytes) {
            let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(File { path, text });
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let complaints = RULES
        .iter()
        .flat_map(|rule| (rule.check)(&files).into_iter().map(|what| format!("{what}  [{}]", rule.name)))
        .collect();
    Ok((RULES.len(), complaints))
}

fn opening(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.is_rust() && !file.text.starts_with("//!"))
        .map(|file| file.complaint(0, "opens without `//!`"))
        .collect()
}

fn ordered_containers(files: &[File]) -> Vec<String> {
    let names = [concat!("Hash", "Map"), concat!("Hash", "Set")];
    lines(files, |path| path.starts_with("engine/src/") || path.starts_with("lessons/src/"))
        .filter(|(_, _, line)| !line.trim_start().starts_with("//"))
        .filter_map(|(file, index, line)| {
            let name = names.iter().find(|name| line.contains(**name))?;
            Some(file.complaint(index, format!("{name}: iteration order differs between runs")))
        })
        .collect()
}

fn length(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, count)| *count > MAX_LINES)
        .map(|(file, count)| file.complaint(0, format!("{count} lines, the most is {MAX_LINES}")))
        .collect()
}

fn machine_paths(files: &[File]) -> Vec<String> {
    let paths = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];
    lines(files, |_| true)
        .filter_map(|(file, index, line)| {
            let path = paths.iter().find(|path| names_folder(line, path))?;
            Some(file.complaint(index, format!("a path below {path}")))
        })
        .collect()
}

/// Whether the text is an absolute path, and not the middle of a relative one or of an address.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(index, _)| {
        !line[..index].ends_with(|before: char| {
            before.is_alphanumeric() || matches!(before, '.' | '-' | '_' | '/' | '}')
        })
    })
}

fn foreign_licences(files: &[File]) -> Vec<String> {
    let marks = [
        concat!("GNU General ", "Public License"),
        concat!("Identifier: ", "GPL"),
        concat!("MODULE_", "LICENSE"),
    ];
    lines(files, |_| true)
        .filter_map(|(file, index, line)| {
            let mark = marks.iter().find(|mark| line.contains(**mark))?;
            Some(file.complaint(index, format!("`{mark}`")))
        })
        .collect()
}

/// A dependency is explained where its version is stated: a comment directly above it.
fn dependency_reasons(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        let mut in_dependencies = false;
        let mut previous = "";
        for (index, line) in file.text.lines().enumerate() {
            if line.starts_with('[') {
                in_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            } else if in_dependencies
                && line.contains('=')
                && !line.starts_with('#')
                && !line.contains("workspace = true")
                && !line.contains("path = ")
                && !previous.starts_with('#')
            {
                let name = line.split([' ', '=']).next().unwrap_or_default();
                found.push(file.complaint(index, format!("`{name}` has no line above it that says why")));
            }
            previous = line;
        }
    }
    found
}

fn lines<'files>(
    files: &'files [File],
    wanted: impl Fn(&str) -> bool + 'files,
) -> impl Iterator<Item = (&'files File, usize, &'files str)> {
    files
        .iter()
        .filter(move |file| wanted(&file.path))
        .flat_map(|file| file.text.lines().enumerate().map(move |(index, line)| (file, index, line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        let files = [File { path: path.to_owned(), text: text.to_owned() }];
        RULES.iter().map(|rule| (rule.check)(&files).len()).sum()
    }

    #[test]
    fn each_rule_finds_its_breach() {
        let map = format!("//! x\nuse std::collections::{};\n", concat!("Hash", "Map"));
        assert_eq!(complaints("engine/src/base/a.rs", &map), 1);
        assert_eq!(complaints("xtask/src/a.rs", &map), 0);
        assert_eq!(complaints("app/src/a.rs", "fn main() {}\n"), 1);
        assert_eq!(complaints("app/src/a.rs", &format!("//! x\n{}", "\n".repeat(MAX_LINES))), 1);
        assert_eq!(complaints("a.md", concat!("see /ro", "ot/x")), 1);
        assert_eq!(complaints("a.md", concat!("see doc/ro", "ot/x and host.example/wo", "rk/")), 0);
        assert_eq!(
            complaints("a/Cargo.toml", "[dependencies]\n# why\na = \"1\"\nb = \"1\"\nc.workspace = true\n"),
            1
        );
    }

    /// So that a plain `cargo test` knows the rules too.
    #[test]
    fn the_tree_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let (_, complaints) = check(root).expect("a readable tree");
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
