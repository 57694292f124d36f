//! One case a target that changes the packet, its mark, its connection or a list.

use super::{Named, case};

const FLOW: &str = "c0 10.1.0.2:40000 > 10.2.0.2:80 S seq=1000 win=64240 mss=1460
s0 10.2.0.2:80 > 10.1.0.2:40000 SA seq=5000 ack=1001 win=65160 mss=1400
c0 10.1.0.2:40000 > 10.2.0.2:80 A seq=1001 ack=5001 win=64240 tos=3
c0 udp 10.1.0.2:5353 > 10.2.0.2:53 len=40 tos=184
c0 udp 10.1.0.3:5353 > 10.2.0.2:53 len=40 ttl=2
c0 udp 10.1.0.3:5353 > 10.1.0.1:53 len=4";

const CASES: &[(&str, &str)] = &[
    (
        "mark-set",
        "*mangle\n-A PREROUTING -j MARK --set-mark 0x12\n-A PREROUTING -m mark --mark 0x12\n-A FORWARD -m mark --mark 0x12/0xff",
    ),
    (
        "mark-ops",
        "*mangle\n-A PREROUTING -j MARK --set-xmark 0xff/0xffffffff\n-A PREROUTING -j MARK --and-mark 0xf0\n-A PREROUTING -m mark --mark 0xf0\n-A PREROUTING -j MARK --or-mark 0x3\n-A PREROUTING -m mark --mark 0xf3\n-A PREROUTING -j MARK --xor-mark 0xff\n-A PREROUTING -m mark --mark 0x0c\n-A PREROUTING -j MARK --set-mark 0x50/0xf0\n-A PREROUTING -m mark --mark 0x5c",
    ),
    (
        "connmark",
        "*mangle\n-A PREROUTING -m conntrack --ctstate NEW -p tcp -j CONNMARK --set-mark 0x7\n-A FORWARD -m connmark --mark 0x7\n-A POSTROUTING -j CONNMARK --restore-mark\n-A POSTROUTING -m mark --mark 0x7",
    ),
    (
        "connmark-save",
        "*mangle\n-A PREROUTING -i c0 -p udp -j MARK --set-mark 0x1f\n-A PREROUTING -j CONNMARK --save-mark --nfmask 0xf --ctmask 0xff\n-A FORWARD -m connmark --mark 0xf\n-A FORWARD -j CONNMARK --set-xmark 0x100/0x0",
    ),
    (
        "connmark-restore-mask",
        "*mangle\n-A PREROUTING -j CONNMARK --set-xmark 0xabcd/0xffffffff\n-A PREROUTING -j MARK --set-mark 0x11110000\n-A PREROUTING -j CONNMARK --restore-mark --nfmask 0xff --ctmask 0xff\n-A PREROUTING -m mark --mark 0x111100cd",
    ),
    ("ttl-set", "*mangle\n-A PREROUTING -j TTL --ttl-set 10"),
    (
        "ttl-inc",
        "*mangle\n-A PREROUTING -p udp -j TTL --ttl-inc 1\n-A POSTROUTING -p tcp -j TTL --ttl-inc 200",
    ),
    ("ttl-dec", "*mangle\n-A PREROUTING -j TTL --ttl-dec 2"),
    (
        "dscp-set",
        "*mangle\n-A FORWARD -p tcp -j DSCP --set-dscp 0x2e\n-A FORWARD -p udp -j DSCP --set-dscp-class CS1",
    ),
    (
        "tos-set",
        "*mangle\n-A FORWARD -p tcp -j TOS --set-tos 0x10\n-A FORWARD -p udp -j TOS --set-tos 0x04/0x0f",
    ),
    (
        "tos-ops",
        "*mangle\n-A FORWARD -p udp -j TOS --or-tos 0x01\n-A FORWARD -p tcp -j TOS --and-tos 0xfe\n-A POSTROUTING -p udp -j TOS --xor-tos 0x08",
    ),
    ("tcpmss-set", "*mangle\n-A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --set-mss 1300"),
    (
        "tcpmss-clamp",
        "*mangle\n-A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu",
    ),
    (
        "log-nflog-trace",
        "*raw\n-A PREROUTING -p tcp -j TRACE\n*filter\n-A FORWARD -j LOG --log-prefix \"fwd \" --log-level 6\n-A FORWARD -j NFLOG --nflog-group 5\n-A FORWARD -j AUDIT --type accept\n-A FORWARD -p udp -j DROP",
    ),
    (
        "checksum-classify",
        "*mangle\n-A POSTROUTING -p udp -j CHECKSUM --checksum-fill\n-A POSTROUTING -j CLASSIFY --set-class 1:2",
    ),
    (
        "ct-zone-and-events",
        "*raw\n-A PREROUTING -p udp -j CT --zone 7\n-A PREROUTING -p tcp -j CT --ctevents new,destroy",
    ),
    ("tcpoptstrip", "*mangle\n-A FORWARD -p tcp -j TCPOPTSTRIP --strip-options mss,wscale"),
    ("ecn-remove", "*mangle\n-A FORWARD -p tcp -j ECN --ecn-tcp-remove"),
    (
        "hmark",
        "*mangle\n-A PREROUTING -p tcp -j MARK --set-mark 0x3\n-A FORWARD -m mark --mark 0x3 -j ACCEPT\n-A FORWARD -j DROP",
    ),
    ("tee-less-drop", "*mangle\n-A PREROUTING -p udp -j DROP"),
];

pub(super) fn cases() -> Vec<Named> {
    let mut found: Vec<Named> = CASES
        .iter()
        .map(|(name, rules)| {
            case(&format!("target/{name}"), &format!("target {name}")).rules(rules).packets(FLOW)
        })
        .collect();
    found.push(
        case("target/hl", "HL over IPv6")
            .rules6("*mangle\n-A PREROUTING -p udp -j HL --hl-set 9\n-A FORWARD -p tcp -j HL --hl-dec 3\n-A POSTROUTING -p tcp -j HL --hl-inc 1")
            .packets("c0 udp [fd00:1::2]:5 > [fd00:2::2]:53 len=4\nc0 [fd00:1::2]:5 > [fd00:2::2]:80 S seq=1"),
    );
    found.push(
        case("target/set-add-del", "the SET target adds and deletes members")
            .run("ipset restore", "create a hash:ip\ncreate b hash:ip,port\nadd a 10.2.0.9\n")
            .rules("*mangle\n-A PREROUTING -m set --match-set a src\n-A PREROUTING -p tcp -j SET --add-set a src\n-A PREROUTING -p udp -j SET --add-set b src,dst\n-A PREROUTING -i s0 -j SET --del-set a dst")
            .packets(FLOW)
            .also_show("ipset save"),
    );
    found.push(
        case("target/mark-reroutes", "a mark set in OUTPUT routes again by the same table")
            .rules("*mangle\n-A OUTPUT -j MARK --set-mark 0x9\n-A POSTROUTING -m mark --mark 0x9")
            .packets("local udp 10.2.0.1:7 > 10.2.0.2:9 len=3"),
    );
    found
}
