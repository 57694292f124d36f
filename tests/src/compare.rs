//! Lists every difference between a kernel's run of a case and the emulator's. Does not own running either.
//!
//! Three things a kernel draws at random and an emulator draws elsewhere: a port that source NAT had to change
//! (judged by its class, then followed consistently), an initial sequence number of the node's own stack
//! (followed, too), and the order of the conntrack table. Everything else is compared for equality; what a drawn
//! port decides beyond the packet itself is for `judge`.

mod packet;
mod text;

use std::fmt;

use crate::case::{CaseFile, Run};

pub use packet::Ports;

/// One thing on which the two arms disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where: a packet and a field, or a command and a line.
    pub at: String,
    pub kernel: String,
    pub emulator: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n    kernel:   {}\n    emulator: {}", self.at, self.kernel, self.emulator)
    }
}

/// Every difference, in the order of the case.
pub fn runs(file: &CaseFile, kernel: &Run, emulator: &Run) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut ports = Ports::default();
    if kernel.packets.len() != emulator.packets.len() {
        differ(&mut found, "packets".into(), kernel.packets.len(), emulator.packets.len());
    }
    for (index, (theirs, ours)) in kernel.packets.iter().zip(&emulator.packets).enumerate() {
        let at = format!("packet {index}");
        let sent = file.case.packets.get(index);
        packet::answers(&at, sent, theirs, ours, &mut ports, &mut found);
    }
    for (command, theirs) in &kernel.show {
        match emulator.show.get(command) {
            Some(ours) => text::shown(command, theirs, ours, &ports, &mut found),
            None => differ(&mut found, command.clone(), "shown", "not shown"),
        }
    }
    let names = kernel.counters.keys().chain(emulator.counters.keys());
    let mut names: Vec<&String> = names.filter(|name| !ignored_counter(name, &ports)).collect();
    names.sort();
    names.dedup();
    for name in names {
        let read = |run: &Run| run.counters.get(name).copied().unwrap_or(0);
        let (theirs, ours) = (read(kernel), read(emulator));
        if theirs != ours {
            differ(&mut found, format!("conntrack -S {name}"), theirs, ours);
        }
    }
    found
}

/// A port search from a random start meets a random number of taken ports; a lockless lookup restarts by chance.
fn ignored_counter(name: &str, ports: &Ports) -> bool {
    name == "search_restart" || name == "found" && !ports.is_empty()
}

fn differ(found: &mut Vec<Difference>, at: String, kernel: impl ToString, emulator: impl ToString) {
    found.push(Difference { at, kernel: kernel.to_string(), emulator: emulator.to_string() });
}

#[cfg(test)]
mod tests;
