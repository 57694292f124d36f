//! What has to be shown by cases is: every transition of the TCP table that a packet can reach, every kind of
//! REJECT, and the facts about netfilter that are most often told wrong. Each is named with its case; a case that
//! is missing, unrecorded or shows something else fails here.

use std::path::PathBuf;

use chainwalk_tests::case::{self, CaseFile};
use chainwalk_tests::coverage::{Area, Coverage, required};

fn load(path: &str) -> CaseFile {
    let file: PathBuf = case::folder().join(format!("{path}.json"));
    let file = case::load(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(file.recorded.is_some(), "{path} is not recorded");
    file
}

/// What the recorded answers of a case show.
fn shown(path: &str) -> Coverage {
    let file = load(path);
    let mut coverage = Coverage::default();
    coverage.add(&file, &file.recorded.as_ref().expect("checked").run);
    coverage
}

#[test]
fn at_least_two_hundred_cases_are_written_by_hand() {
    let written = chainwalk_tests::families::all().len();
    assert!(written >= 200, "{written}");
}

#[test]
fn every_tcp_transition_is_a_case() {
    let cells: Vec<_> = required::all().into_iter().filter(|(area, _)| *area == Area::Tcp).collect();
    for item in &cells {
        // `SYN_SENT2   original FIN    -> invalid` is asked by `tcp-states/syn-sent2-original-fin`.
        let words: Vec<&str> = item.1.split_whitespace().collect();
        let [state, direction, kind, ..] = words.as_slice() else { panic!("{}", item.1) };
        let name = format!("{state}-{direction}-{kind}").to_lowercase().replace('_', "-").replace('+', "");
        let path = format!("tcp-states/{name}");
        assert_eq!(shown(&path).count(item), 1, "{path} does not show {:?}", item.1);
    }
    println!("{} transitions, each with a case of its own", cells.len());
    assert_eq!(cells.len(), 95);
}

#[test]
fn every_kind_of_reject_is_a_case() {
    let kinds: Vec<_> = required::all()
        .into_iter()
        .filter(|(area, name)| *area == Area::Target && name.starts_with("REJECT"))
        .collect();
    for item in &kinds {
        let kind = item.1.rsplit(' ').next().unwrap_or_default();
        let paths: &[&str] = match kind {
            "tcp-reset" => &["reject/tcp-reset-syn", "reject/tcp-reset-ack", "reject/tcp-reset-v6"],
            kind => &[&format!("reject/{kind}")],
        };
        for path in paths {
            assert_eq!(shown(path).count(item), 1, "{path} does not show {kind}");
            let file = load(path);
            let answers = &file.recorded.as_ref().expect("checked").run.packets;
            assert!(answers.iter().any(|answer| !answer.emitted.is_empty()), "{path}: nothing was answered");
        }
    }
    assert_eq!(kinds.len(), 14, "seven over IPv4, six over IPv6, and the RST of both");
}

/// What a fact rests on.
enum Evidence {
    Cases(&'static [&'static str]),
    /// Why no case of one kernel and its packets can show it.
    Elsewhere(&'static str),
}
use Evidence::{Cases, Elsewhere};

/// Fifteen things that are often told wrong, in the order of our notes.
const FACTS: [(&str, Evidence); 15] = [
    (
        "insert_failed means a lost tuple at confirm; a full table counts drop",
        Cases(&["nat/masquerade-exhausted-udp", "nat/masquerade-exhausted-tcp", "transcript/t2-port-range"]),
    ),
    (
        "found counts NAT candidates that were taken",
        Cases(&["transcript/t2-port-range", "nat/masquerade-ports"]),
    ),
    (
        "INVALID packets pass, without NAT",
        Cases(&["nat/invalid-not-translated", "transcript/t7-leak", "transcript/t7-drop-invalid"]),
    ),
    (
        "6.1 reclassified old retransmits and late ACKs only",
        Cases(&[
            "tcp-window/old-retransmit",
            "tcp-window/very-old-ack",
            "tcp-window/overshoot-by-a-little",
            "tcp-window/over-upper-bound",
            "transcript/t7-leak",
        ]),
    ),
    (
        "tcp_be_liberal leaves RST check, states and flags",
        Cases(&[
            "tcp-window/rst-below-tcp-be-liberal",
            "tcp-window/rst-below-tcp-ignore-invalid-rst",
            "tcp-window/over-upper-bound-tcp-be-liberal",
        ]),
    ),
    (
        "clashes of parallel datagrams are resolved without loss",
        Elsewhere(
            "two packets of one flow have to be on their way at once; a case sends one after the other",
        ),
    ),
    (
        "an ESTABLISHED entry lives five days only when idle; UDP needs replies and two seconds",
        Cases(&[
            "tcp-window/reply-data-in-flight",
            "tcp-window/reply-data-acked",
            "tcp-window/zero-window",
            "tcp-window/retransmit-thrice",
            "tcp-window/pickup",
            "tcp-window/rst-inexact",
            "udp/replied-early",
            "udp/stream",
        ]),
    ),
    (
        "RST leaves CLOSE for ten seconds, and nothing before any reply",
        Cases(&["tcp-window/rst-exact", "tcp-window/syn-rst"]),
    ),
    (
        "MASQUERADE keeps the port, prefers an existing mapping, stays in its class",
        Cases(&[
            "nat/masquerade-ports",
            "nat/masquerade-same-mapping",
            "nat/masquerade-below-512",
            "nat/masquerade-below-1024",
        ]),
    ),
    (
        "nat rules are asked once a connection; a flow without entry is NEW in its middle",
        Cases(&["transcript/t2-first-packet", "nat/first-packet-only", "tcp-window/pickup"]),
    ),
    (
        "ACCEPT ends one table, DROP ends all",
        Cases(&[
            "eval/accept-is-per-table-legacy",
            "eval/accept-is-per-table-nft",
            "eval/both-flavours",
            "eval/drop-in-raw-legacy",
        ]),
    ),
    (
        "packets are translated while xtables.lock is held",
        Elsewhere("the lock is a file between processes; no packet meets it"),
    ),
    (
        "nftables look-ups are O(1), loading is not",
        Elsewhere("a matter of time, which `cargo xtask bench` measures beside the real kernel"),
    ),
    ("IPVS runs behind INPUT filter", Elsewhere("this kernel has no IPVS")),
    (
        "probabilities are multiples of 2^-31; since 6.5 the first SYNs are a second apart",
        Cases(&["facts/probabilities"]),
    ),
];

/// The four that our notes add in brackets.
const BESIDES: [(&str, &[&str]); 4] = [
    (
        "ct state in raw is INVALID",
        &["eval/state-before-conntrack-legacy", "eval/state-before-conntrack-nft"],
    ),
    ("ICMP errors of REJECT are limited", &["reject/rate-limit", "reject/rate-limit-refills"]),
    ("fifteen nested chains load in both flavours", &["eval/deep-legacy", "eval/deep-nft"]),
    ("a mark does not leave the node", &["facts/mark-stays"]),
];

#[test]
fn each_fact_is_a_case_or_says_why_not() {
    let mut shown = 0;
    for (fact, evidence) in &FACTS {
        match evidence {
            Cases(paths) => {
                assert!(!paths.is_empty(), "{fact}");
                paths.iter().for_each(|path| _ = load(path));
                shown += 1;
            }
            Elsewhere(why) => println!("no case: {fact}: {why}"),
        }
    }
    for (_, paths) in &BESIDES {
        paths.iter().for_each(|path| _ = load(path));
    }
    println!("{shown} of {} facts are cases", FACTS.len());
    assert_eq!(shown, 11);
}
