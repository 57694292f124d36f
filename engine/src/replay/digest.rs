//! The digest of a run: 64 bits of FNV-1a over its canonical text.
//!
//! The text is the JSON of everything that does not depend on [`super::Options`]: a replay that lists more of
//! its walk is the same run.

use super::report::PacketReport;
use crate::base::Fnv;

/// Adds a field and a byte that UTF-8 never contains.
fn add(hash: &mut Fnv, field: &str) {
    hash.write(field.as_bytes());
    hash.write(&[0xff]);
}

pub(super) fn of(packets: &[PacketReport], show: &[(String, String)]) -> String {
    let mut hash = Fnv::default();
    for packet in packets {
        add(&mut hash, packet.verdict);
        add(&mut hash, &packet.reason);
        add(&mut hash, packet.ctstate.unwrap_or(""));
        add(&mut hash, &packet.rules_evaluated.to_string());
        add(&mut hash, &serde_json::to_string(&packet.emitted).unwrap_or_default());
        add(&mut hash, &serde_json::to_string(&packet.alternatives).unwrap_or_default());
    }
    for (command, text) in show {
        add(&mut hash, command);
        add(&mut hash, text);
    }
    format!("{:016x}", hash.finish())
}
