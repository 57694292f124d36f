//! How tables and chains are walked: order, RETURN, goto, policies, counters; both flavours of the tool.

use super::{Named, case};

const PING: &str = "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.3:5000 > 10.2.0.2:53 len=10\nc0 udp 10.1.0.2:5000 > 10.1.0.1:53 len=1";

/// Name, purpose, rules; the packets are always the three above.
const CASES: &[(&str, &str, &str)] = &[
    (
        "order-of-tables",
        "raw, mangle, nat, filter, security at each hook",
        "*raw\n-A PREROUTING\n*mangle\n-A PREROUTING\n-A INPUT\n-A FORWARD\n-A POSTROUTING\n*nat\n-A PREROUTING\n-A POSTROUTING\n-A INPUT\n*filter\n-A INPUT\n-A FORWARD\n*security\n-A INPUT\n-A FORWARD",
    ),
    (
        "drop-in-raw",
        "a drop in raw leaves no trace behind it",
        "*raw\n-A PREROUTING -s 10.1.0.2/32 -j DROP\n*nat\n-A PREROUTING -j ACCEPT\n*filter\n-A FORWARD",
    ),
    (
        "accept-is-per-table",
        "ACCEPT ends one table only",
        "*mangle\n-A FORWARD -j ACCEPT\n*filter\n-A FORWARD -j DROP",
    ),
    (
        "policy-drop",
        "a policy of DROP",
        "*filter\n:FORWARD DROP [0:0]\n:INPUT DROP [0:0]\n-A FORWARD -s 10.1.0.3/32 -j ACCEPT",
    ),
    (
        "policy-counters-start",
        "restored policy counters go on counting",
        "*filter\n:FORWARD ACCEPT [100:2000]\n:INPUT ACCEPT [0:0]\n-A FORWARD -s 10.1.0.3/32 -j ACCEPT",
    ),
    (
        "rule-counters-start",
        "counters before a rule are restored with -c only",
        "*filter\n[7:700] -A FORWARD -s 10.1.0.3/32 -j ACCEPT",
    ),
    (
        "return-in-base",
        "RETURN in a built-in chain means its policy",
        "*filter\n:FORWARD DROP [0:0]\n-A FORWARD -s 10.1.0.2/32 -j RETURN\n-A FORWARD -j ACCEPT",
    ),
    (
        "return-in-user",
        "RETURN goes to the rule behind the jump",
        "*filter\n:A - [0:0]\n-A FORWARD -j A\n-A FORWARD -s 10.1.0.2/32 -j DROP\n-A A -s 10.1.0.2/32 -j RETURN\n-A A -j DROP",
    ),
    (
        "end-of-user-chain",
        "the end of a user chain returns",
        "*filter\n:A - [0:0]\n:B - [0:0]\n-A FORWARD -j A\n-A FORWARD\n-A A -j B\n-A A\n-A B -s 10.9.0.0/16 -j DROP",
    ),
    (
        "goto",
        "goto does not come back to its caller",
        "*filter\n:A - [0:0]\n:B - [0:0]\n-A FORWARD -j A\n-A FORWARD -s 10.1.0.3/32 -j DROP\n-A A -g B\n-A A -j DROP\n-A B -s 10.1.0.2/32 -j ACCEPT\n-A B -j RETURN",
    ),
    (
        "goto-from-base",
        "goto from a built-in chain ends in its policy",
        "*filter\n:FORWARD DROP [0:0]\n:A - [0:0]\n-A FORWARD -g A\n-A FORWARD -j ACCEPT\n-A A -s 10.1.0.2/32 -j ACCEPT",
    ),
    (
        "goto-nested",
        "goto inside goto returns to the last jump",
        "*filter\n:A - [0:0]\n:B - [0:0]\n:C - [0:0]\n-A FORWARD -j A\n-A FORWARD -j DROP\n-A A -g B\n-A B -g C\n-A C -s 10.1.0.2/32 -j ACCEPT\n-A C",
    ),
    (
        "deep",
        "fifteen nested chains",
        "*filter\n:C1 - [0:0]\n:C2 - [0:0]\n:C3 - [0:0]\n:C4 - [0:0]\n:C5 - [0:0]\n:C6 - [0:0]\n:C7 - [0:0]\n:C8 - [0:0]\n:C9 - [0:0]\n:D0 - [0:0]\n:D1 - [0:0]\n:D2 - [0:0]\n:D3 - [0:0]\n:D4 - [0:0]\n:D5 - [0:0]\n-A FORWARD -j C1\n-A C1 -j C2\n-A C2 -j C3\n-A C3 -j C4\n-A C4 -j C5\n-A C5 -j C6\n-A C6 -j C7\n-A C7 -j C8\n-A C8 -j C9\n-A C9 -j D0\n-A D0 -j D1\n-A D1 -j D2\n-A D2 -j D3\n-A D3 -j D4\n-A D4 -j D5\n-A D5 -s 10.1.0.2/32 -j DROP",
    ),
    (
        "rule-without-target",
        "a rule without a target counts and goes on",
        "*filter\n-A FORWARD -s 10.1.0.2/32\n-A FORWARD -s 10.1.0.0/24\n-A FORWARD -j DROP",
    ),
    (
        "mark-then-match",
        "a mark set in mangle is seen in filter",
        "*mangle\n-A PREROUTING -s 10.1.0.2/32 -j MARK --set-mark 5\n*filter\n-A FORWARD -m mark --mark 5 -j DROP",
    ),
    ("unreferenced-chain", "a chain nobody calls counts nothing", "*filter\n:A - [0:0]\n-A A -j DROP"),
    (
        "state-before-conntrack",
        "in raw every packet is INVALID",
        "*raw\n-A PREROUTING -m conntrack --ctstate NEW\n-A PREROUTING -m conntrack --ctstate INVALID\n*filter\n-A FORWARD -m conntrack --ctstate NEW\n-A FORWARD -m conntrack --ctstate INVALID",
    ),
    ("loop-by-return", "a chain called twice", "*filter\n:A - [0:0]\n-A FORWARD -j A\n-A FORWARD -j A\n-A A"),
    (
        "long-names",
        "names of 28 characters and comments",
        "*filter\n:ABCDEFGHIJKLMNOPQRSTUVWXYZ12 - [0:0]\n-A FORWARD -m comment --comment \"a \\\"quoted\\\" remark\" -j ABCDEFGHIJKLMNOPQRSTUVWXYZ12\n-A ABCDEFGHIJKLMNOPQRSTUVWXYZ12 -m comment --comment plain",
    ),
];

pub(super) fn cases() -> Vec<Named> {
    let mut found = Vec::new();
    for (name, purpose, rules) in CASES {
        for (flavour, tool) in [("legacy", "iptables-legacy"), ("nft", "iptables-nft")] {
            let built = case(&format!("eval/{name}-{flavour}"), &format!("{purpose} ({flavour})"))
                .restore(tool, rules);
            found.push(built.packets(PING));
        }
    }
    found.push(
        case("eval/both-flavours", "legacy and nft rules side by side: both are asked, drop is final")
            .restore(
                "iptables-legacy",
                "*filter\n-A FORWARD -s 10.1.0.2/32 -j ACCEPT\n-A FORWARD -s 10.1.0.3/32 -j DROP",
            )
            .restore("iptables-nft", "*filter\n-A FORWARD -s 10.1.0.2/32 -j DROP\n-A FORWARD")
            .packets(PING),
    );
    found.push(
        case("eval/both-flavours-nft-first", "of tables at equal priority the one loaded last is asked first")
            .restore("iptables-nft", "*filter\n-A FORWARD\n*nat\n-A PREROUTING -j ACCEPT")
            .restore("iptables-legacy", "*filter\n-A FORWARD -s 10.1.0.3/32 -j DROP\n*nat\n-A PREROUTING -s 10.1.0.2/32 -j DNAT --to-destination 10.2.0.3")
            .packets(PING),
    );
    found.push(
        case(
            "eval/both-flavours-nat",
            "nat rules of both flavours: the dispatcher stops at the first mapping",
        )
        .restore("iptables-legacy", "*nat\n-A PREROUTING -j DNAT --to-destination 10.2.0.3")
        .restore("iptables-nft", "*nat\n-A PREROUTING -s 10.1.0.2/32 -j DNAT --to-destination 10.2.0.4")
        .packets(PING),
    );
    found.push(
        case("eval/noflush", "--noflush empties only the chains that are named")
            .run("iptables-legacy-restore", "*filter\n:A - [0:0]\n:B - [0:0]\n-A FORWARD -j A\n-A A -s 10.1.0.2/32\n-A B -j DROP\nCOMMIT\n")
            .run("iptables-legacy-restore --noflush", "*filter\n:A - [0:0]\n-A A -s 10.1.0.3/32\n-A FORWARD -j B\nCOMMIT\n")
            .show("iptables-legacy-save -c")
            .packets(PING),
    );
    found.push(
        case("eval/v6", "an IPv6 ruleset sees IPv6 packets only")
            .rules("*filter\n-A FORWARD -j DROP")
            .rules6("*filter\n:FORWARD DROP [0:0]\n:OK - [0:0]\n-A FORWARD -s fd00:1::2/128 -j OK\n-A OK -p udp -m udp --dport 53 -j ACCEPT")
            .packets("c0 udp [fd00:1::2]:5 > [fd00:2::2]:53 len=1\nc0 udp [fd00:1::3]:5 > [fd00:2::2]:53 len=1\nc0 udp 10.1.0.2:5 > 10.2.0.2:53 len=1"),
    );
    found
}
