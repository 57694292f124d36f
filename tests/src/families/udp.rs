//! UDP, generic and untracked flows (kernel.md 2.7).

use super::{Named, case};

const TRACK: &str = "
*mangle
-A PREROUTING -m conntrack --ctstate INVALID
-A PREROUTING -m conntrack --ctstate NEW
-A PREROUTING -m conntrack --ctstate ESTABLISHED
-A PREROUTING -m conntrack --ctstate RELATED
-A PREROUTING -m conntrack --ctstate UNTRACKED";

pub(super) fn cases() -> Vec<Named> {
    let list: &[(&str, &str, &str)] = &[
        (
            "unreplied",
            "a datagram without an answer: 30 s, NEW each time",
            "c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\nc0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4",
        ),
        (
            "replied-early",
            "an answer within two seconds: still 30 s, not assured",
            "c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\ns0 udp 10.2.0.2:53 > 10.1.0.2:4000 len=9\nc0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4",
        ),
        (
            "stream",
            "traffic after two seconds: 120 s and assured",
            "c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\ns0 udp 10.2.0.2:53 > 10.1.0.2:4000 len=9\n@2200 c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4",
        ),
        (
            "late-first-reply",
            "the first answer after two seconds",
            "c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\n@2200 s0 udp 10.2.0.2:53 > 10.1.0.2:4000 len=9\ns0 udp 10.2.0.2:53 > 10.1.0.2:4000 len=9",
        ),
        (
            "other-port-is-no-reply",
            "an answer from another port is a connection of its own",
            "c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\ns0 udp 10.2.0.2:54 > 10.1.0.2:4000 len=9",
        ),
        ("port-zero", "destination port 0 is legal for UDP", "c0 udp 10.1.0.2:4000 > 10.2.0.2:0 len=4"),
        (
            "icmp-error-is-no-reply",
            "an ICMP error leaves the entry unreplied",
            "c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\ns0 icmp 10.2.0.2 > 10.1.0.2 3/3 about=udp,10.1.0.2:4000,10.2.0.2:53,len=4",
        ),
        (
            "generic",
            "a protocol without a tracker: 600 s, no ports",
            "c0 99 10.1.0.2 > 10.2.0.2 len=20\ns0 99 10.2.0.2 > 10.1.0.2 len=20\nc0 99 10.1.0.2 > 10.2.0.2 len=20",
        ),
        (
            "ipv6",
            "UDP over IPv6",
            "c0 udp [fd00:1::2]:4000 > [fd00:2::2]:53 len=4\ns0 udp [fd00:2::2]:53 > [fd00:1::2]:4000 len=9",
        ),
    ];
    let mut found: Vec<Named> = list
        .iter()
        .map(|(name, purpose, script)| {
            let case = case(&format!("udp/{name}"), purpose);
            let case = if script.contains("fd00") { case.rules6(TRACK) } else { case.rules(TRACK) };
            case.packets(script)
        })
        .collect();
    // An IPv4 header with two bytes behind it: length, protocol and checksum.
    let cut = |proto: &str| {
        let middle = if proto == "udp" { "401166d0" } else { "400666db" };
        format!("c0 {proto} 10.1.0.2 > 10.2.0.2 hex=4500001600010000{middle}0a0100020a0200020001")
    };
    for proto in ["udp", "tcp"] {
        let purpose = format!("a {proto} header cut short is INVALID");
        found.push(case(&format!("udp/truncated-{proto}"), &purpose).rules(TRACK).packets(&cut(proto)));
    }
    found.push(
        case("udp/notrack", "NOTRACK: no entry, state UNTRACKED, both ways")
            .rules(&format!("*raw\n-A PREROUTING -p udp -j NOTRACK\n-A PREROUTING -p tcp -j CT --notrack{TRACK}"))
            .packets("c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\ns0 udp 10.2.0.2:53 > 10.1.0.2:4000 len=4\nc0 10.1.0.2:4000 > 10.2.0.2:53 S seq=1"),
    );
    found.push(
        case("udp/notrack-not-translated", "an untracked packet meets no nat rule")
            .rules("*raw\n-A PREROUTING -p udp -m udp --dport 53 -j NOTRACK\n*nat\n-A PREROUTING -p udp -j DNAT --to-destination 10.2.0.9\n-A POSTROUTING -p udp -j MASQUERADE")
            .packets("c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\nc0 udp 10.1.0.2:4000 > 10.2.0.2:54 len=4"),
    );
    found.push(
        case("udp/zone", "a zone separates equal tuples")
            .rules(&format!("*raw\n-A PREROUTING -i c0 -j CT --zone 5{TRACK}"))
            .packets("c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\ns0 udp 10.2.0.2:53 > 10.1.0.2:4000 len=4"),
    );
    found.push(
        case("udp/empty-nat-table", "an empty nat table does not switch connection tracking on (legacy)")
            .rules("*nat\n*filter\n-A FORWARD -p udp -j ACCEPT")
            .packets("c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4"),
    );
    found.push(
        case("udp/timeouts-by-sysctl", "the timeouts are settings")
            .rules(TRACK)
            .sysctl("net.netfilter.nf_conntrack_udp_timeout", "77")
            .sysctl("net.netfilter.nf_conntrack_generic_timeout", "55")
            .sysctl("net.netfilter.nf_conntrack_icmp_timeout", "33")
            .packets("c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\nc0 99 10.1.0.2 > 10.2.0.2 len=4\nc0 icmp 10.1.0.2 > 10.2.0.2 8/0 id=3"),
    );
    found.push(
        case("udp/accounting", "with nf_conntrack_acct each direction counts packets and bytes")
            .rules(TRACK)
            .sysctl("net.netfilter.nf_conntrack_acct", "1")
            .packets("c0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=4\nc0 udp 10.1.0.2:4000 > 10.2.0.2:53 len=14\ns0 udp 10.2.0.2:53 > 10.1.0.2:4000 len=40"),
    );
    found
}
