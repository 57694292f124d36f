//! The sentences of steps and verdicts.

use crate::trace::{Candidate, Change, Disposition, DropReason};
use crate::view::packet::{Field, PacketView};
use crate::view::trace::{EmittedView, Outcome, StopState, StopView};

/// The field of a [`Change`]; none for a name that views do not show.
pub(super) fn field(name: &str) -> Option<Field> {
    Some(match name {
        "src" => Field::Source,
        "sport" => Field::SourcePort,
        "dst" => Field::Destination,
        "dport" => Field::DestinationPort,
        "ttl" | "hl" => Field::Ttl,
        "tos" | "dscp" | "ecn" => Field::Tos,
        "mark" => Field::Mark,
        "connmark" | "ctmark" => Field::ConnMark,
        "mss" | "options" => Field::TcpOption,
        "id" | "icmp_id" => Field::IcmpId,
        _ => return None,
    })
}

/// `destination 10.96.0.1 becomes 10.2.0.2, destination port 80 becomes 8080 by nat`.
pub(super) fn rewrite(by: &str, changes: &[Change]) -> String {
    let parts: Vec<_> = changes
        .iter()
        .map(|change| {
            let name = field(change.field).map_or(change.field, Field::name);
            format!("{name} {} becomes {}", change.before, change.after)
        })
        .collect();
    let mut text = format!("{} by {by}.", parts.join(", "));
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// `Enters nat KUBE-SERVICES, 5,000 rules.`
pub(super) fn enter(table: &str, chain: &str, rules: u32) -> String {
    let rules = match rules {
        1 => "1 rule".to_owned(),
        count => format!("{count} rules"),
    };
    format!("Enters {table} {chain}, {rules}.")
}

/// What a matched rule's target does, in words.
pub(super) fn matched(number: u32, chain: &str, verdict: &str, uncertain: bool) -> String {
    let does = match verdict {
        "ACCEPT" => "accept: the table lets the packet on".to_owned(),
        "accept" => "accept: the base chain lets the packet on".to_owned(),
        "reject" => "reject: the sender is told".to_owned(),
        "dnat" | "redirect" => format!("{verdict}: the connection gets another destination"),
        "snat" | "masquerade" => format!("{verdict}: the connection gets another source"),
        "DROP" | "drop" => "drop".to_owned(),
        "RETURN" | "return" => "return to the calling chain".to_owned(),
        "continue" => "no target, count and go on".to_owned(),
        other => match other.split_once(' ') {
            Some((how @ ("jump" | "goto"), to)) => format!("{how} to {to}"),
            _ => format!("target {other}"),
        },
    };
    if uncertain {
        format!(
            "Rule {number} of {chain} may match, a part of it is not emulated; taken as matching: {does}."
        )
    } else {
        format!("Rule {number} of {chain} matches: {does}.")
    }
}

/// Which server a scheduler of IPVS chose, and why.
pub(super) fn scheduled(scheduler: &str, candidates: &[Candidate], because: &str) -> String {
    let plural = if candidates.len() == 1 { "" } else { "s" };
    let chosen = candidates.iter().find(|candidate| candidate.chosen);
    let chosen = chosen.map_or_else(|| "none".to_owned(), |candidate| candidate.server.to_string());
    format!(
        "IPVS: of {} server{plural} the scheduler {scheduler} chooses {chosen}: {because}.",
        candidates.len()
    )
}

/// A rule that a part which is not emulated decides: this way goes on as if the part said no.
pub(super) fn open(number: u32, chain: &str, name: &str, is_target: bool) -> String {
    if is_target {
        format!("Rule {number} of {chain} matches; not emulated: {name}. This way goes on behind it.")
    } else {
        format!(
            "Rule {number} of {chain} is open; not emulated: {name}. This way goes on as if it did not match."
        )
    }
}

/// `At PREROUTING the packet meets raw, then conntrack, then nat.`
pub(super) fn hook(title: &str, stops: &[StopView]) -> String {
    let names: Vec<_> = stops.iter().map(|stop| stop.title.as_str()).collect();
    match names.as_slice() {
        [] => format!("At {title} nobody asks for the packet."),
        names => format!("At {title} the packet meets {}.", names.join(", then ")),
    }
}

/// Why the nat rules were not asked.
pub(super) fn nat_skipped(ct_state: &str) -> StopState {
    StopState::Skipped(
        match ct_state {
            "" | "INVALID" => "no connection, so nothing is translated",
            "UNTRACKED" => "not tracked, so nothing is translated",
            _ => "this connection has its mapping; rules are asked once",
        }
        .to_owned(),
    )
}

/// What an end is called.
pub(super) fn outcome(disposition: &Disposition) -> Outcome {
    match disposition {
        Disposition::Forwarded => Outcome::Forwarded,
        Disposition::Sent => Outcome::Sent,
        Disposition::Delivered => Outcome::Delivered,
        Disposition::Dropped(DropReason::NotEmulated) => Outcome::Uncertain,
        Disposition::Dropped(_) => Outcome::Dropped,
        Disposition::Rejected => Outcome::Rejected,
        Disposition::Stolen => Outcome::Stolen,
    }
}

/// The verdict: what becomes of the packet and why. `rule` is the last rule that matched.
pub(super) fn verdict(
    disposition: &Disposition,
    because: &str,
    rule: Option<&str>,
    emitted: &[EmittedView],
) -> String {
    let own = emitted.iter().find(|left| !left.made);
    let made: Vec<_> = emitted.iter().filter(|left| left.made).map(made).collect();
    let answer = match made.as_slice() {
        [] => " The sender hears nothing.".to_owned(),
        made => format!(" The node answers with {}.", made.join(" and ")),
    };
    match disposition {
        Disposition::Forwarded | Disposition::Sent => match own {
            Some(left) => format!("Leaves through {} as {}.", left.dev, way(&left.packet)),
            None => format!("{}.", capital(because)),
        },
        Disposition::Delivered => {
            let answers = if made.is_empty() { "" } else { answer.as_str() };
            format!("Reaches a process on the node: {because}.{answers}")
        }
        Disposition::Dropped(DropReason::Rule) => {
            format!("{}.{answer}", rule.map_or_else(|| capital(because), |rule| format!("Dropped by {rule}")))
        }
        Disposition::Rejected => {
            format!(
                "{}.{answer}",
                rule.map_or_else(|| capital(because), |rule| format!("Rejected by {rule}"))
            )
        }
        Disposition::Dropped(_) => format!("{}.{answer}", capital(because)),
        Disposition::Stolen => format!("{}.", capital(because)),
    }
}

fn made(left: &EmittedView) -> String {
    let what =
        if left.packet.detail.is_empty() { left.packet.proto.clone() } else { left.packet.detail.clone() };
    let what = if left.packet.proto.starts_with("icmp") {
        format!("ICMP \"{what}\"")
    } else {
        format!("a TCP {what}")
    };
    format!("{what} through {}", left.dev)
}

fn way(packet: &PacketView) -> String {
    format!("{} → {}", packet.source(), packet.destination())
}

/// First letter in upper case.
pub(super) fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
