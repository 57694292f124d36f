//! REJECT: every kind, where it is answered and where it is not (kernel.md 1.5, 11.3).

use super::{Named, case};

const KINDS: [&str; 7] = [
    "icmp-net-unreachable",
    "icmp-host-unreachable",
    "icmp-proto-unreachable",
    "icmp-port-unreachable",
    "icmp-net-prohibited",
    "icmp-host-prohibited",
    "icmp-admin-prohibited",
];
const KINDS6: [&str; 6] = [
    "icmp6-no-route",
    "icmp6-adm-prohibited",
    "icmp6-addr-unreachable",
    "icmp6-port-unreachable",
    "icmp6-policy-fail",
    "icmp6-reject-route",
];

pub(super) fn cases() -> Vec<Named> {
    let mut found = Vec::new();
    for kind in KINDS {
        found.push(
            case(&format!("reject/{kind}"), &format!("REJECT --reject-with {kind} in FORWARD and INPUT"))
                .rules(&format!("*filter\n-A INPUT -j REJECT --reject-with {kind}\n-A FORWARD -j REJECT --reject-with {kind}"))
                .packets(
                    "c0 10.1.0.2:40000 > 10.2.0.2:80 S seq=1000 win=64240
                     c0 udp 10.1.0.2:40000 > 10.2.0.2:80 len=40
                     c0 udp 10.1.0.2:40000 > 10.1.0.1:80 len=40",
                ),
        );
    }
    for kind in KINDS6 {
        found.push(
            case(&format!("reject/{kind}"), &format!("REJECT --reject-with {kind} in FORWARD and INPUT"))
                .rules6(&format!("*filter\n-A INPUT -j REJECT --reject-with {kind}\n-A FORWARD -j REJECT --reject-with {kind}"))
                .packets(
                    "c0 [fd00:1::2]:40000 > [fd00:2::2]:80 S seq=1000 win=64240
                     c0 udp [fd00:1::2]:40000 > [fd00:1::1]:80 len=40",
                ),
        );
    }
    let reset = "*filter\n-A INPUT -p tcp -j REJECT --reject-with tcp-reset\n-A FORWARD -p tcp -j REJECT --reject-with tcp-reset";
    let resets: &[(&str, &str, &str)] = &[
        (
            "tcp-reset-syn",
            "tcp-reset answers a SYN: RST+ACK from the dialled address",
            "c0 10.1.0.2:40000 > 10.2.0.2:80 S seq=1000 win=64240",
        ),
        (
            "tcp-reset-syn-data",
            "the ACK counts SYN and payload",
            "c0 10.1.0.2:40000 > 10.2.0.2:80 S seq=1000 win=64240 len=5",
        ),
        (
            "tcp-reset-ack",
            "tcp-reset answers an ACK: RST with its ack as sequence number",
            "c0 10.1.0.2:40000 > 10.2.0.2:80 A seq=1000 ack=777 win=64240",
        ),
        (
            "tcp-reset-fin",
            "tcp-reset answers a FIN",
            "c0 10.1.0.2:40000 > 10.2.0.2:80 F seq=1000 win=64240 len=2",
        ),
        (
            "tcp-reset-rst",
            "an RST is never answered",
            "c0 10.1.0.2:40000 > 10.2.0.2:80 R seq=1000 win=0\nc0 10.1.0.2:40000 > 10.2.0.2:80 RA seq=1000 ack=5 win=0",
        ),
        (
            "tcp-reset-input",
            "tcp-reset in INPUT",
            "c0 10.1.0.2:40000 > 10.1.0.1:80 S seq=1000 win=64240\nc0 10.1.0.2:40000 > 10.2.0.1:80 PA seq=1000 ack=9 win=64240 len=7",
        ),
    ];
    for (name, purpose, script) in resets {
        found.push(case(&format!("reject/{name}"), purpose).rules(reset).packets(script));
    }
    let reset6 = "*filter\n-A FORWARD -p tcp -j REJECT --reject-with tcp-reset";
    found.push(case("reject/tcp-reset-v6", "tcp-reset over IPv6").rules6(reset6).packets(
        "c0 [fd00:1::2]:40000 > [fd00:2::2]:80 S seq=1000 win=64240\nc0 [fd00:1::2]:40000 > [fd00:2::2]:80 PA seq=1000 ack=9 win=64240 len=7",
    ));
    found.push(
        case("reject/dnat-default", "the answer to a DNATed packet comes from the dialled address")
            .rules("*nat\n-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.2.0.2\n*filter\n-A FORWARD -p tcp -j REJECT --reject-with tcp-reset\n-A FORWARD -j REJECT")
            .packets("c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=1000 win=64240\nc0 udp 10.1.0.2:40000 > 10.96.0.1:80 len=9"),
    );
    found.push(
        case("reject/tcp-reset-closes", "tcp-reset on a confirmed connection moves the entry to CLOSE")
            .rules("*filter\n-A FORWARD -p tcp -m tcp --tcp-flags PSH PSH -m conntrack --ctstate ESTABLISHED -j REJECT --reject-with tcp-reset")
            .packets(
                "c0 10.1.0.2:40000 > 10.2.0.2:80 S seq=1000 win=64240
                 s0 10.2.0.2:80 > 10.1.0.2:40000 SA seq=5000 ack=1001 win=65160
                 c0 10.1.0.2:40000 > 10.2.0.2:80 A seq=1001 ack=5001 win=64240
                 c0 10.1.0.2:40000 > 10.2.0.2:80 PA seq=1001 ack=5001 win=64240 len=10",
            ),
    );
    for (name, target) in
        [("default", "REJECT"), ("admin", "REJECT --reject-with icmp-admin-prohibited"), ("drop", "DROP")]
    {
        found.push(
            case(&format!("reject/output-{name}"), &format!("a local sender meets {target} in OUTPUT"))
                .rules(&format!("*filter\n-A OUTPUT -d 10.2.0.2/32 -j {target}"))
                .packets("local udp 10.2.0.1:4000 > 10.2.0.2:53 len=4\nlocal 10.2.0.1:4000 > 10.2.0.2:80 S seq=1 win=100\nlocal udp 10.2.0.1:4000 > 10.2.0.3:53 len=4"),
        );
    }
    found.push(
        case("reject/output-tcp-reset", "a local sender meets tcp-reset in OUTPUT")
            .rules("*filter\n-A OUTPUT -d 10.2.0.2/32 -p tcp -j REJECT --reject-with tcp-reset")
            .packets("local 10.2.0.1:4000 > 10.2.0.2:80 S seq=1 win=100"),
    );
    found.push(
        case("reject/rate-limit", "ICMP errors to one address are limited: six at once, then one a second")
            .rules("*filter\n-A FORWARD -j REJECT")
            .packets(&"c0 udp 10.1.0.2:40000 > 10.2.0.2:80 len=4\n".repeat(9)),
    );
    found.push(
        case("reject/rate-limit-refills", "after a pause one more is sent")
            .rules("*filter\n-A FORWARD -j REJECT")
            .packets(&format!("{}@1100 c0 udp 10.1.0.2:40000 > 10.2.0.2:80 len=4\nc0 udp 10.1.0.2:40000 > 10.2.0.2:80 len=4\nc0 udp 10.1.0.3:40000 > 10.2.0.2:80 len=4", "c0 udp 10.1.0.2:40000 > 10.2.0.2:80 len=4\n".repeat(7))),
    );
    found.push(
        case("reject/broadcast", "nothing answers a broadcast")
            .rules("*filter\n-A INPUT -p udp -j REJECT")
            .packets("c0 udp 10.1.0.2:40000 > 10.1.0.255:80 len=4\nc0 udp 10.1.0.2:40000 > 255.255.255.255:80 len=4\nc0 udp 10.1.0.2:40000 > 224.0.0.1:80 len=4"),
    );
    found.push(
        case("reject/icmp-error", "an ICMP error is not answered by an ICMP error")
            .rules("*filter\n-A FORWARD -j REJECT")
            .packets("c0 icmp 10.1.0.2 > 10.2.0.2 3/3 about=udp,10.2.0.2:5,10.1.0.2:6,len=4\nc0 icmp 10.1.0.2 > 10.2.0.2 8/0 id=5 seq=1"),
    );
    found.push(
        case("reject/established-drop-counter", "rejected first packets leave no entry")
            .rules(
                "*filter\n-A FORWARD -m conntrack --ctstate NEW -j REJECT --reject-with icmp-host-prohibited",
            )
            .packets("c0 udp 10.1.0.2:40000 > 10.2.0.2:80 len=4\ns0 udp 10.2.0.2:80 > 10.1.0.2:40000 len=4"),
    );
    found
}
