//! What inputs are made from: the rulesets of the cases, dumps, public dumps where they are at hand.

use std::fs;
use std::path::Path;

use chainwalk_portable::dump::Dump;
use serde_json::Value;

/// Grammar of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// iptables-save and iptables-restore.
    Xt,
    /// The replay contract.
    Replay,
}

/// Texts by grammar.
#[derive(Debug, Default)]
pub struct Corpus {
    xt: Vec<String>,
    replay: Vec<String>,
}

impl Corpus {
    /// Reads `tests/cases` and, beside the clone, `shared/peer`; the latter may be absent.
    pub fn load() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut corpus = Self::default();
        corpus.xt.push(Dump { services: 3, endpoints: 3 }.text());
        for text in files_under(&root.join("tests/cases"), "json") {
            corpus.add_case(&text);
        }
        for folder in ["iptables-save", "malformed"] {
            corpus.xt.extend(files_under(&root.join("../shared/peer/dumps").join(folder), "txt"));
        }
        corpus
    }

    pub fn of(&self, kind: Kind) -> &[String] {
        match kind {
            Kind::Xt => &self.xt,
            Kind::Replay => &self.replay,
        }
    }

    fn add_case(&mut self, text: &str) {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return };
        let case = value.get("case").unwrap_or(&value);
        self.replay.push(case.to_string());
        for step in case["node"]["setup"].as_array().into_iter().flatten() {
            if let Some(stdin) = step["stdin"].as_str().filter(|stdin| stdin.starts_with('*')) {
                self.xt.push(stdin.to_owned());
            }
        }
    }
}

/// The texts of a folder and its subfolders, in the order of their paths; empty when it is not there.
fn files_under(folder: &Path, ending: &str) -> Vec<String> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .flat_map(|path| {
            if path.is_dir() {
                files_under(path, ending)
            } else if path.extension().is_some_and(|end| end == ending) {
                fs::read_to_string(path).into_iter().collect()
            } else {
                Vec::new()
            }
        })
        .collect()
}
