//! Owns the case file: one purpose line, one replay case, links between its packets, and the recorded answers
//! of a real kernel. Does not own running a case (`kernel`, `emulator`) or comparing answers (`compare`).
//!
//! `tests/cases/<area>/<name>.json` is written by `conformance record` and never edited by hand below
//! `recorded`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::frame::Seen;
pub use crate::replay::{Case, Packet};

/// One case as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// What the case shows, in one line.
    pub purpose: String,
    /// The input of `chainwalk replay`.
    pub case: Case,
    /// Fields that are only known once an earlier packet has been answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What a real kernel answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
}

/// Copies a field of an emitted packet into a later packet: the port that masquerading chose, or the initial
/// sequence number of a listening socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Index of the packet that is completed.
    pub packet: usize,
    /// The field that is set: `sport`, `dport`, `seq`, `ack`, `icmp_id`.
    pub set: String,
    /// Index of the earlier packet whose first emitted packet supplies the value.
    pub from: usize,
    /// The field that is read, same names.
    pub field: String,
    /// Added to the value, modulo 2^32.
    #[serde(default)]
    pub add: u32,
}

impl Link {
    /// Completes `packet` from what was emitted earlier; leaves it alone when nothing was.
    pub fn apply(&self, packet: &mut Packet, earlier: &[Answer]) {
        let Some(seen) = earlier.get(self.from).and_then(|answer| answer.emitted.first()) else { return };
        let value = match self.field.as_str() {
            "sport" => seen.sport.map(u32::from),
            "dport" => seen.dport.map(u32::from),
            "icmp_id" => seen.icmp_id.map(u32::from),
            "seq" => seen.seq,
            "ack" => seen.ack,
            _ => None,
        };
        let Some(value) = value.map(|value| value.wrapping_add(self.add)) else { return };
        let port = (value & 0xffff) as u16;
        match self.set.as_str() {
            "sport" => packet.sport = Some(port),
            "dport" => packet.dport = Some(port),
            "icmp_id" => packet.icmp_id = Some(port),
            "seq" => packet.seq = Some(value),
            "ack" => packet.ack = Some(value),
            _ => {}
        }
    }
}

/// The answers of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// `uname -r`.
    pub kernel: String,
    /// Versions of the tools that printed the texts.
    pub tools: BTreeMap<String, String>,
    /// The run itself.
    #[serde(flatten)]
    pub run: Run,
}

/// What one arm (a kernel, or the emulator) made of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// One answer a packet, in order.
    pub packets: Vec<Answer>,
    /// Output of the `show` commands.
    #[serde(default)]
    pub show: BTreeMap<String, String>,
    /// `conntrack -S` summed over the processors, after minus before, zero counters left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, i64>,
}

/// What happened to one packet, as far as it can be seen from outside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Every packet that left the node, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emitted: Vec<Seen>,
    /// The node's own stack took the packet (`InDelivers`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delivered: bool,
    /// The local sender's error, by its name (`EPERM`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A REJECT ended the packet; only the emulator can tell.
    #[serde(skip)]
    pub rejected: bool,
}

/// The folder of the shipped cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Every case file below `folder`, sorted by path.
pub fn list(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads one case file.
pub fn load(path: &Path) -> Result<CaseFile, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The text of a case file, as it is stored.
pub fn to_text(file: &CaseFile) -> String {
    let mut text = serde_json::to_string_pretty(file).expect("a case has only string keys");
    text.push('\n');
    text
}
