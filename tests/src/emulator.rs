//! The emulator's arm of a comparison: runs a case through `chainwalk_engine::replay` by way of its JSON, so that
//! the contract is what is tested.

use std::collections::BTreeMap;

use chainwalk_engine::replay::{self, EmittedReport, Options, PacketReport, Report};

use crate::case::{Answer, CaseFile, Run};
use crate::frame::Seen;
use crate::kernel::sum_counters;
use crate::replay::Case;

/// Why the emulator has no answer to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It says by name what it does not emulate; never a wrong answer.
    NotEmulated(String),
    /// It could not run the case.
    Failed(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::NotEmulated(what) => write!(formatter, "not emulated: {what}"),
            Refused::Failed(why) => formatter.write_str(why),
        }
    }
}

/// The command whose sums are compared as counters.
const COUNTERS: &str = "conntrack -S";

/// The case with the fields that are linked to earlier answers, completed packet by packet.
pub fn complete(file: &CaseFile) -> Result<Case, Refused> {
    let mut case = file.case.clone();
    let mut linked: Vec<usize> = file.links.iter().map(|link| link.packet).collect();
    linked.sort_unstable();
    linked.dedup();
    for index in linked {
        let prefix = Case { packets: case.packets[..index].to_vec(), show: Vec::new(), ..case.clone() };
        let answers = read(replay(&prefix)?)?.packets;
        for link in file.links.iter().filter(|link| link.packet == index) {
            link.apply(&mut case.packets[index], &answers);
        }
    }
    Ok(case)
}

/// Runs a case.
pub fn run(file: &CaseFile) -> Result<Run, Refused> {
    let mut case = complete(file)?;
    let asked = case.show.iter().any(|command| command == COUNTERS);
    if !asked {
        case.show.push(COUNTERS.into());
    }
    let mut run = read(replay(&case)?)?;
    let local = case.packets.iter().map(|packet| packet.input == "local");
    for (answer, local) in run.packets.iter_mut().zip(local) {
        // A drop on the way out is an error of the sender's call.
        answer.error = answer.error.take().filter(|_| local);
    }
    let counters = if asked { run.show.get(COUNTERS).cloned() } else { run.show.remove(COUNTERS) };
    run.counters = sum_counters(&counters.unwrap_or_default());
    run.counters.retain(|_, value| *value != 0);
    Ok(run)
}

/// The case as the contract carries it.
pub fn through_json(case: &Case) -> Result<Case, Refused> {
    let text = serde_json::to_string(case).map_err(|error| Refused::Failed(error.to_string()))?;
    replay::parse(&text).map_err(|error| Refused::Failed(error.to_string()))
}

fn replay(case: &Case) -> Result<Report, Refused> {
    let case = through_json(case)?;
    replay::run(&case, &Options::default()).map_err(|error| {
        let text = error.to_string();
        if text.contains("not emulated") { Refused::NotEmulated(text) } else { Refused::Failed(text) }
    })
}

fn read(report: Report) -> Result<Run, Refused> {
    if let Some(what) = report.packets.iter().flat_map(|packet| &packet.not_emulated).next() {
        return Err(Refused::NotEmulated(what.clone()));
    }
    let packets = report.packets.iter().map(answer).collect();
    let show: BTreeMap<String, String> = report.show.into_iter().collect();
    Ok(Run { packets, show, counters: BTreeMap::new() })
}

fn answer(report: &PacketReport) -> Answer {
    Answer {
        emitted: report.emitted.iter().map(seen).collect(),
        delivered: report.verdict == "delivered",
        rejected: report.verdict == "rejected",
        error: matches!(report.verdict, "dropped" | "rejected" | "uncertain")
            .then(|| report.reason.clone())
            .filter(|_| !arrived(report)),
    }
}

/// Whether a local packet was sent, crossed `lo`, and met its end on the way in: its sender knows nothing of it.
fn arrived(report: &PacketReport) -> bool {
    let ended = report.walk.iter().find(|entry| matches!(entry.verdict.as_str(), "drop" | "reject"));
    ended.is_some_and(|entry| matches!(entry.hook, "prerouting" | "input"))
        || ["PREROUTING", "INPUT", "nobody"].iter().any(|word| report.reason.contains(word))
}

fn seen(report: &EmittedReport) -> Seen {
    Seen {
        dev: report.dev.clone(),
        src: report.src.clone(),
        dst: report.dst.clone(),
        proto: report.proto.clone(),
        ttl: report.ttl,
        tos: report.tos,
        sport: report.sport,
        dport: report.dport,
        flags: report.flags.clone(),
        seq: report.seq,
        ack: report.ack,
        win: report.win,
        len: report.len as u16,
        mss: report.mss,
        icmp_type: report.icmp_type,
        icmp_code: report.icmp_code,
        icmp_id: report.icmp_id,
        icmp_seq: report.icmp_seq,
        fragment: report.fragment,
        quoted: report.quoted.as_deref().map(|quoted| Box::new(seen(quoted))),
    }
}
