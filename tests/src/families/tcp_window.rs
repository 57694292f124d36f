//! Window tracking, RST rules, timeouts and flags of TCP entries (kernel.md 2.6).

use super::tcp_states::RULES;
use super::{Named, case};

const OPEN: &str = "c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=1000 win=64240 mss=1460 ws=7 sack
s0 10.2.0.2:8080 > 10.1.0.2:40000 SA seq=5000 ack=1001 win=65160 mss=1460 ws=7 sack
c0 10.1.0.2:40000 > 10.96.0.1:80 A seq=1001 ack=5001 win=502
";

/// Name, purpose, packets after the handshake; `C` and `S` stand for the two directions.
const CASES: &[(&str, &str, &str)] = &[
    (
        "reply-data-in-flight",
        "unacknowledged data leaves 300 s on an ESTABLISHED entry",
        "S PA seq=5001 ack=1001 win=509 len=1000",
    ),
    (
        "reply-data-acked",
        "an ACK of everything brings the entry back to five days",
        "S PA seq=5001 ack=1001 win=509 len=1000\nC A seq=1001 ack=6001 win=502",
    ),
    (
        "old-retransmit",
        "data far below the window is passed and translated (since 6.1)",
        "S PA seq=5001 ack=1001 win=509 len=1000\nC A seq=1001 ack=6001 win=502\nC PA seq=4294768297 ack=6001 win=502 len=10",
    ),
    (
        "over-upper-bound",
        "a sequence number beyond the window is INVALID and leaks untranslated",
        "S PA seq=10005001 ack=1001 win=509 len=10",
    ),
    (
        "overshoot-by-a-little",
        "data a little beyond the window is passed (since 6.1)",
        "S A seq=5001 ack=1001 win=509\nC PA seq=66160 ack=5001 win=502 len=100",
    ),
    (
        "ack-of-unseen-data",
        "an ACK of data that was never seen is INVALID",
        "S A seq=5001 ack=501001 win=509",
    ),
    (
        "very-old-ack",
        "a very old ACK is passed (since 6.1)",
        "S PA seq=5001 ack=1001 win=509 len=1000\nC A seq=1001 ack=6001 win=502\nC A seq=1001 ack=4294873297 win=502",
    ),
    ("zero-window", "a closed window leaves 300 s", "S A seq=5001 ack=1001 win=0"),
    (
        "zero-window-opens",
        "the window opens again",
        "S A seq=5001 ack=1001 win=0\nS A seq=5001 ack=1001 win=500",
    ),
    (
        "retransmit-thrice",
        "three equal ACKs put the entry on the retransmission timeout",
        "C A seq=1001 ack=5001 win=502\nC A seq=1001 ack=5001 win=502\nC A seq=1001 ack=5001 win=502",
    ),
    (
        "data-retransmit",
        "data sent four times, then acknowledged",
        "C PA seq=1001 ack=5001 win=502 len=5\nC PA seq=1001 ack=5001 win=502 len=5\nC PA seq=1001 ack=5001 win=502 len=5\nC PA seq=1001 ack=5001 win=502 len=5\nS A seq=5001 ack=1006 win=509",
    ),
    ("rst-exact", "an exact RST closes", "S RA seq=5001 ack=1001 win=0"),
    (
        "rst-below",
        "an RST below what the peer acknowledged is INVALID",
        "S PA seq=5001 ack=1001 win=509 len=1000\nC A seq=1001 ack=6001 win=502\nS R seq=5500 win=0",
    ),
    (
        "rst-inexact",
        "an RST inside the window but not exact passes, the state stays, 10 s remain",
        "S R seq=5501 win=0",
    ),
    (
        "rst-inexact-then-data",
        "a good packet after an inexact RST restores the timeout",
        "S R seq=5501 win=0\nC PA seq=1001 ack=5001 win=502 len=10\nS A seq=5001 ack=1011 win=509",
    ),
    ("rst-beyond", "an RST beyond the window is INVALID", "S R seq=10005001 win=0"),
    ("rst-seq-zero", "an RST with sequence number 0 on an assured connection", "S R seq=0 win=0"),
    (
        "challenge-ack",
        "SYN in ESTABLISHED, challenge ACK from the server, RST from the client",
        "C S seq=900000 win=64240 mss=1460 ws=7 sack\nS A seq=5001 ack=1001 win=509\nC R seq=1001 win=0",
    ),
    (
        "stale-entry-reused",
        "a SYN-ACK that answers an ignored SYN restarts the entry",
        "C S seq=900000 win=64240 mss=1460 ws=7 sack\nS SA seq=70000 ack=900001 win=65160 mss=1460 ws=7 sack\nC A seq=900001 ack=70001 win=502",
    ),
    (
        "keepalive",
        "a keepalive probe and its answer",
        "C A seq=1000 ack=5001 win=502 len=1\nS A seq=5001 ack=1001 win=509",
    ),
    (
        "half-close",
        "the client closes, the server goes on sending",
        "C FA seq=1001 ack=5001 win=502\nS A seq=5001 ack=1002 win=509\nS PA seq=5001 ack=1002 win=509 len=100\nC A seq=1002 ack=5101 win=502\nS FA seq=5101 ack=1002 win=509\nC A seq=1002 ack=5102 win=502",
    ),
    (
        "simultaneous-close",
        "both sides close at once",
        "C FA seq=1001 ack=5001 win=502\nS FA seq=5001 ack=1001 win=509\nC A seq=1002 ack=5002 win=502\nS A seq=5002 ack=1002 win=509",
    ),
    (
        "server-closes-first",
        "the server closes first",
        "S FA seq=5001 ack=1001 win=509\nC A seq=1001 ack=5002 win=502\nC FA seq=1001 ack=5002 win=502\nS A seq=5002 ack=1002 win=509",
    ),
    (
        "reopen-after-time-wait",
        "a new SYN after TIME_WAIT makes a fresh entry and meets the nat rules again",
        "C FA seq=1001 ack=5001 win=502\nS FA seq=5001 ack=1002 win=509\nC A seq=1002 ack=5002 win=502\nC S seq=200000 win=64240",
    ),
    (
        "reopen-after-close",
        "a new SYN after an RST makes a fresh entry",
        "S RA seq=5001 ack=1001 win=0\nC S seq=200000 win=64240",
    ),
    (
        "reopen-after-own-rst",
        "a new SYN after the client's own RST",
        "C R seq=1001 win=0\nC S seq=200000 win=64240",
    ),
    (
        "reply-syn-after-time-wait",
        "the server opens the same ports after TIME_WAIT",
        "C FA seq=1001 ack=5001 win=502\nS FA seq=5001 ack=1002 win=509\nC A seq=1002 ack=5002 win=502\nS S seq=200000 win=64240",
    ),
    (
        "invalid-fin-both-ways",
        "out-of-window FIN and RST from both sides cut the timeout to 300 s (since 6.1)",
        "C FA seq=90001001 ack=5001 win=502\nS FA seq=90005001 ack=1001 win=509",
    ),
    (
        "urgent-data",
        "urgent data passes",
        "C PAU seq=1001 ack=5001 win=502 len=3\nS A seq=5001 ack=1004 win=509",
    ),
    (
        "window-fill",
        "data up to the last byte of the offered window",
        "C A seq=1001 ack=5001 win=502 len=1400\nC PA seq=2401 ack=5001 win=502 len=1400\nS A seq=5001 ack=3801 win=509",
    ),
    (
        "gap",
        "a segment is missing in between; a later ACK covers all",
        "C PA seq=1501 ack=5001 win=502 len=500\nC PA seq=1001 ack=5001 win=502 len=500\nS A seq=5001 ack=2001 win=509",
    ),
];

pub(super) fn cases() -> Vec<Named> {
    let mut found: Vec<Named> = CASES
        .iter()
        .map(|(name, purpose, script)| {
            case(&format!("tcp-window/{name}"), purpose)
                .rules(RULES)
                .packets(&format!("{OPEN}{}", both(script)))
        })
        .collect();
    for (sysctl, value) in [("tcp_be_liberal", "1"), ("tcp_ignore_invalid_rst", "1"), ("tcp_loose", "0")] {
        for name in ["over-upper-bound", "ack-of-unseen-data", "rst-below", "rst-beyond", "rst-seq-zero"] {
            let (_, purpose, script) = CASES.iter().find(|(other, ..)| *other == name).expect("a known name");
            let path = format!("tcp-window/{name}-{}", sysctl.replace('_', "-"));
            let case = case(&path, &format!("{purpose}; with {sysctl}={value}"))
                .rules(RULES)
                .sysctl(&format!("net.netfilter.nf_conntrack_{sysctl}"), value);
            found.push(case.packets(&format!("{OPEN}{}", both(script))));
        }
    }
    found.extend(without_handshake());
    found
}

fn both(script: &str) -> String {
    let line = |line: &str| match line.split_at(1) {
        ("C", rest) => format!("c0 10.1.0.2:40000 > 10.96.0.1:80{rest}\n"),
        (_, rest) => format!("s0 10.2.0.2:8080 > 10.1.0.2:40000{rest}\n"),
    };
    script.lines().map(|text| line(text.trim())).collect()
}

fn without_handshake() -> Vec<Named> {
    let pickup = "C A seq=1001 ack=5001 win=64240\nS A seq=5001 ack=1001 win=64240\nC PA seq=1001 ack=5001 win=64240 len=1\nS PA seq=90005001 ack=1002 win=64240 len=1";
    let list: &[(&str, &str, &str)] = &[
        (
            "pickup",
            "an ACK without an entry is picked up: 300 s, liberal, assured on the third packet",
            pickup,
        ),
        (
            "pickup-rst",
            "RST answers a picked-up connection",
            "C A seq=1001 ack=5001 win=64240\nS R seq=5001 win=0",
        ),
        (
            "syn-rst",
            "RST before any reply removes the entry at once",
            "C S seq=1000 win=64240\nS RA seq=0 ack=1001 win=0",
        ),
        (
            "syn-rst-again",
            "after a refused SYN the next one is a new connection",
            "C S seq=1000 win=64240\nS RA seq=0 ack=1001 win=0\nC S seq=3000 win=64240",
        ),
        (
            "simultaneous-open",
            "both sides send SYN",
            "C S seq=1000 win=64240\nS S seq=5000 win=65160\nC SA seq=1000 ack=5001 win=64240\nS SA seq=5000 ack=1001 win=65160\nC A seq=1001 ack=5001 win=64240",
        ),
        (
            "syn-retransmit-new-seq",
            "a second SYN with another sequence number restarts the window",
            "C S seq=1000 win=64240\nC S seq=90001000 win=64240\nS SA seq=5000 ack=90001001 win=65160\nC A seq=90001001 ack=5001 win=64240",
        ),
        (
            "no-window-scale",
            "without window scaling on both sides the scale is off",
            "C S seq=1000 win=64240 ws=7\nS SA seq=5000 ack=1001 win=100\nC A seq=1001 ack=5001 win=502\nC PA seq=1001 ack=5001 win=502 len=100\nC PA seq=1101 ack=5001 win=502 len=300",
        ),
        (
            "syn-with-data",
            "a SYN that carries data",
            "C S seq=1000 win=64240 len=10\nS SA seq=5000 ack=1011 win=65160\nC A seq=1011 ack=5001 win=64240",
        ),
        (
            "sequence-wraps",
            "sequence numbers wrap around",
            "C S seq=4294967290 win=64240\nS SA seq=4294967295 ack=4294967291 win=65160\nC A seq=4294967291 ack=0 win=64240\nC PA seq=4294967291 ack=0 win=64240 len=20\nS A seq=0 ack=15 win=65160",
        ),
        (
            "synack-retransmit",
            "the SYN-ACK is sent twice",
            "C S seq=1000 win=64240\nS SA seq=5000 ack=1001 win=65160\nS SA seq=5000 ack=1001 win=65160\nC A seq=1001 ack=5001 win=64240",
        ),
        (
            "synack-wrong-ack",
            "a SYN-ACK that acknowledges something else",
            "C S seq=1000 win=64240\nS SA seq=5000 ack=999 win=65160\nS SA seq=5000 ack=5001001 win=65160",
        ),
        (
            "syn-sent-challenge",
            "an ACK in SYN_SENT is passed; the RST that answers it closes",
            "C S seq=1000 win=64240\nS A seq=70000 ack=90000 win=65160\nC R seq=90000 win=0\nC S seq=1000 win=64240",
        ),
    ];
    let mut found: Vec<Named> = list
        .iter()
        .map(|(name, purpose, script)| {
            case(&format!("tcp-window/{name}"), purpose).rules(RULES).packets(&both(script))
        })
        .collect();
    found.push(
        case("tcp-window/pickup-not-loose", "with tcp_loose=0 an ACK without an entry is INVALID")
            .rules(RULES)
            .sysctl("net.netfilter.nf_conntrack_tcp_loose", "0")
            .packets(&both(pickup)),
    );
    found.push(
        case("tcp-window/syn-retransmit-keeps-time", "a retransmitted SYN does not refresh SYN_SENT")
            .rules(RULES)
            .packets(&both("C S seq=1000 win=64240\nC S seq=1000 win=64240").replacen(
                "\nc0",
                "\n@2100 c0",
                1,
            )),
    );
    found
}
