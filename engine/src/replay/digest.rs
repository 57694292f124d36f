//! The digest of a run: 64 bits of FNV-1a over its canonical text.
//!
//! The text is the JSON of everything that does not depend on [`super::Options`]: a replay that lists more of
//! its walk is the same run.

use super::report::PacketReport;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

struct Fnv(u64);

impl Fnv {
    fn add(&mut self, text: &str) {
        // A byte that UTF-8 never contains parts the fields.
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
}

pub(super) fn of(packets: &[PacketReport], show: &[(String, String)]) -> String {
    let mut hash = Fnv(OFFSET);
    for packet in packets {
        hash.add(packet.verdict);
        hash.add(&packet.reason);
        hash.add(packet.ctstate.unwrap_or(""));
        hash.add(&packet.rules_evaluated.to_string());
        hash.add(&serde_json::to_string(&packet.emitted).unwrap_or_default());
        hash.add(&serde_json::to_string(&packet.alternatives).unwrap_or_default());
    }
    for (command, text) in show {
        hash.add(command);
        hash.add(text);
    }
    format!("{:016x}", hash.0)
}
