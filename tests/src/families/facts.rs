//! Facts that are often told wrong and that no other family shows (see `tests/tests/evidence.rs`), and what the
//! generator cannot ask by chance.

use super::{Named, case};

const FLOWS: &str = "c0 10.1.0.2:40000 > 10.2.0.2:80 S seq=1
s0 10.2.0.2:80 > 10.1.0.2:40000 SA seq=5 ack=2
@20 c0 10.1.0.2:40001 > 10.2.0.2:80 S seq=1
@40 c0 10.1.0.3:40000 > 10.2.0.2:80 S seq=1
@60 c0 10.1.0.3:40001 > 10.2.0.3:80 S seq=1
@80 c0 10.1.0.2:40000 > 10.2.0.2:80 A seq=2 ack=6
@100 c0 10.1.0.2:40000 > 10.2.0.2:80 R seq=2
@120 c0 10.1.0.2:40003 > 10.2.0.2:80 S seq=1";

pub(super) fn cases() -> Vec<Named> {
    let thirds = "0.5 0.3333333333 0.25 0.2 0.16666666651 0.142857 0.125 0.1111111 0.1 0.7 0.9999999999";
    let rules: String = thirds
        .split(' ')
        .map(|p| format!("-A NOBODY -m statistic --mode random --probability {p} -j ACCEPT\n"))
        .collect();
    let mut found = vec![
        case("facts/probabilities", "probabilities are kept as multiples of 2^-31 and printed as such")
            .rules(&format!("*filter\n:NOBODY - [0:0]\n{rules}"))
            .packets("c0 udp 10.1.0.2:1 > 10.2.0.2:2"),
        case("facts/mark-stays", "a mark ends with the packet: the answer of the other side has none")
            .rules(
                "*mangle\n-A PREROUTING -i c0 -j MARK --set-mark 0x4000\n-A POSTROUTING -m mark --mark 0x4000\n\
                 -A PREROUTING -i s0 -m mark --mark 0x0",
            )
            .packets("c0 udp 10.1.0.2:1 > 10.2.0.2:2\ns0 udp 10.2.0.2:2 > 10.1.0.2:1"),
        case("facts/endpoint-kept", "a SYN sent again keeps its endpoint; a RST lets the next SYN choose anew")
            .rules(
                "*nat\n-A PREROUTING -d 10.96.0.1/32 -p tcp -m statistic --mode nth --every 2 --packet 0 -j DNAT \
                 --to-destination 10.2.0.2:80\n-A PREROUTING -d 10.96.0.1/32 -p tcp -j DNAT --to-destination \
                 10.2.0.3:80",
            )
            .packets(
                "c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=1
                 c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=1
                 s0 10.2.0.2:80 > 10.1.0.2:40000 RA seq=0 ack=2
                 c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=9",
            ),
        case("facts/connlimit", "connections counted by source and by destination, with time between packets")
            .rules(
                "*mangle\n-A FORWARD -p tcp -m connlimit --connlimit-above 1 --connlimit-mask 32 \
                 --connlimit-saddr\n-A FORWARD -p tcp -m connlimit --connlimit-upto 2 --connlimit-mask 32 \
                 --connlimit-daddr\n-A FORWARD -p tcp -m connlimit --connlimit-above 2 --connlimit-mask 24 \
                 --connlimit-saddr",
            )
            .packets(FLOWS),
        case("facts/ctevents", "a connection that may announce only some events is tracked like any other")
            .rules(
                "*raw\n-A PREROUTING -p udp -j CT --ctevents new,destroy\n-A PREROUTING -p tcp -j CT --ctevents \
                 assured,protoinfo --zone 3\n-A PREROUTING -m conntrack --ctstate NEW\n-A PREROUTING -m conntrack \
                 --ctstatus CONFIRMED --ctdir ORIGINAL\n-A PREROUTING -m conntrack --ctorigsrc 0.0.0.0\n\
                 -A PREROUTING -m connmark --mark 0x0\n-A PREROUTING -m state --state NEW",
            )
            .packets(FLOWS),
        case("facts/snat-ranges", "SNAT to a range of addresses: by the source, by both ends, and kept per client")
            .rules(
                "*nat\n-A POSTROUTING -p udp -m udp --dport 53 -j SNAT --to-source 10.2.0.70-10.2.0.79\n\
                 -A POSTROUTING -p udp -m udp --dport 54 -j SNAT --to-source 10.2.0.70-10.2.0.79 --persistent\n\
                 -A POSTROUTING -p tcp -j SNAT --to-source 10.2.0.70-10.2.0.71:3000-3001",
            )
            .packets(
                "c0 udp 10.1.0.2:1 > 10.2.0.2:53
                 c0 udp 10.1.0.2:1 > 10.2.0.3:53
                 c0 udp 10.1.0.3:1 > 10.2.0.2:53
                 c0 udp 10.1.0.2:1 > 10.2.0.2:54
                 c0 udp 10.1.0.2:1 > 10.2.0.3:54
                 c0 udp 10.1.0.3:1 > 10.2.0.2:54
                 c0 10.1.0.2:3000 > 10.2.0.2:80 S seq=1
                 c0 10.1.0.3:3001 > 10.2.0.2:80 S seq=1",
            ),
    ];
    for (flavour, name) in [("iptables-legacy", "legacy"), ("iptables-nft", "nft")] {
        found.push(
            case(
                &format!("facts/security-order-{name}"),
                "iptables-nft puts security behind nat INPUT, legacy in front of it",
            )
            .restore(
                flavour,
                "*nat\n-A INPUT -p udp -j SNAT --to-source 10.1.0.99\n*security\n-A INPUT -p udp -j DROP",
            )
            .packets("c0 udp 10.1.0.2:5 > 10.1.0.1:53"),
        );
    }
    found
}
