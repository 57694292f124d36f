//! One case a match: packets on both sides of what it decides.

use super::{Named, case};

/// Connections, protocols and sizes that most matches tell apart.
const MIXED: &str = "c0 10.1.0.2:40000 > 10.2.0.2:80 S seq=1000 win=64240 mss=1460
c0 10.1.0.3:1023 > 10.2.0.3:443 S seq=1000 win=64240 mss=536 len=10
s0 10.2.0.2:80 > 10.1.0.2:40000 SA seq=5000 ack=1001 win=65160
c0 10.1.0.2:40000 > 10.2.0.2:80 A seq=1001 ack=5001 win=64240
c0 10.1.0.2:40000 > 10.2.0.2:80 PA seq=1001 ack=5001 win=64240 len=100 tos=8
c0 udp 10.1.0.2:5353 > 10.2.0.2:53 len=40 tos=184
c0 udp 10.1.0.4:53 > 10.1.0.1:8080 len=1000 ttl=5
c0 icmp 10.1.0.2 > 10.2.0.2 8/0 id=9 seq=1 len=56 ttl=200
s0 icmp 10.2.0.2 > 10.1.0.2 0/0 id=9 seq=1 len=56
s0 icmp 10.2.0.2 > 10.1.0.2 3/3 about=udp,10.1.0.2:5353,10.2.0.2:53,len=40
c0 10.1.0.2:40000 > 10.2.0.2:80 FA seq=1101 ack=5001 win=64240 tos=3
local udp 10.2.0.1:7 > 10.2.0.2:9 len=3";

/// Match words, one rule each; `P:` puts the rule in mangle PREROUTING (default FORWARD), `I:` INPUT, `O:` OUTPUT.
const CASES: &[(&str, &[&str])] = &[
    (
        "address",
        &[
            "-s 10.1.0.2/32",
            "! -s 10.1.0.2/32",
            "-d 10.2.0.0/24",
            "! -d 10.2.0.0/30",
            "-s 10.0.0.0/255.0.255.0",
            "-s 0.0.0.0/0 -d 10.2.0.3/32",
        ],
    ),
    ("interface", &["-i c0", "! -i c0", "-o s+", "! -o s0", "-i c+ -o s0", "-i +", "P:-i c0"]),
    ("protocol", &["-p tcp", "! -p tcp", "-p udp", "-p icmp", "-p 99", "! -p 99", "-p all"]),
    (
        "tcp-ports",
        &[
            "-p tcp -m tcp --sport 40000",
            "-p tcp -m tcp ! --sport 40000",
            "-p tcp -m tcp --dport 80:443",
            "-p tcp -m tcp --dport :80",
            "-p tcp -m tcp --dport 443:",
            "-p tcp -m tcp --sport 1000:2000 --dport 443",
        ],
    ),
    (
        "tcp-flags",
        &[
            "-p tcp -m tcp --syn",
            "-p tcp -m tcp ! --syn",
            "-p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK",
            "-p tcp -m tcp --tcp-flags ALL NONE",
            "-p tcp -m tcp --tcp-flags FIN FIN",
            "-p tcp -m tcp ! --tcp-flags PSH PSH",
        ],
    ),
    (
        "tcp-option",
        &["-p tcp -m tcp --tcp-option 2", "-p tcp -m tcp ! --tcp-option 2", "-p tcp -m tcp --tcp-option 8"],
    ),
    (
        "udp-ports",
        &[
            "-p udp -m udp --sport 5353 --dport 53",
            "-p udp -m udp ! --dport 53",
            "P:-p udp -m udp --dport 8000:9000",
        ],
    ),
    (
        "icmp",
        &[
            "-p icmp -m icmp --icmp-type 8",
            "-p icmp -m icmp --icmp-type 0",
            "-p icmp -m icmp --icmp-type 3/3",
            "-p icmp -m icmp --icmp-type 3",
            "-p icmp -m icmp ! --icmp-type 8",
            "-p icmp -m icmp --icmp-type any",
        ],
    ),
    (
        "multiport",
        &[
            "-p tcp -m multiport --dports 80,443",
            "-p tcp -m multiport --sports 1000:2000,40000",
            "-p tcp -m multiport --ports 1023",
            "-p udp -m multiport ! --dports 53,54",
            "-p tcp -m multiport --dports 1:79,81:442",
        ],
    ),
    ("mark", &["P:-m mark --mark 0", "-m mark --mark 0x0/0xff", "-m mark ! --mark 0x1"]),
    (
        "ctstate",
        &[
            "-m conntrack --ctstate NEW",
            "-m conntrack --ctstate ESTABLISHED",
            "-m conntrack --ctstate RELATED,ESTABLISHED",
            "-m conntrack ! --ctstate NEW",
            "-m conntrack --ctstate INVALID,UNTRACKED",
            "-m conntrack --ctstate SNAT,DNAT",
        ],
    ),
    (
        "ct-tuple",
        &[
            "-m conntrack --ctorigsrc 10.1.0.2/32",
            "-m conntrack --ctorigdst 10.2.0.0/24",
            "-m conntrack --ctreplsrc 10.2.0.2/32",
            "-m conntrack ! --ctrepldst 10.1.0.2/32",
            "-m conntrack --ctproto 6",
            "-m conntrack --ctorigdstport 80",
            "-m conntrack --ctorigsrcport 40000:40001",
        ],
    ),
    (
        "ct-status",
        &[
            "-m conntrack --ctstatus SEEN_REPLY",
            "-m conntrack --ctstatus ASSURED",
            "-m conntrack --ctstatus CONFIRMED",
            "-m conntrack --ctstatus NONE",
            "-m conntrack ! --ctstatus SEEN_REPLY",
        ],
    ),
    ("ct-direction", &["-m conntrack --ctdir ORIGINAL", "-m conntrack --ctdir REPLY"]),
    (
        "ct-expire",
        &[
            "-m conntrack --ctexpire 0:30",
            "-m conntrack --ctexpire 31:500000",
            "-m conntrack ! --ctexpire 60:120",
        ],
    ),
    ("state", &["-m state --state NEW", "-m state --state RELATED,ESTABLISHED", "-m state ! --state NEW"]),
    ("length", &["-m length --length 0:60", "-m length --length 61:", "-m length ! --length 84"]),
    ("ttl", &["-m ttl --ttl-eq 63", "-m ttl --ttl-lt 64", "-m ttl --ttl-gt 100", "-m ttl ! --ttl-eq 63"]),
    ("dscp", &["-m dscp --dscp 0x2e", "-m dscp --dscp-class EF", "-m dscp ! --dscp 0"]),
    ("tos", &["-m tos --tos 0x08/0xff", "-m tos --tos 0x10/0x3f", "-m tos ! --tos 0x00/0xff"]),
    (
        "ecn",
        &["-p tcp -m ecn --ecn-ip-ect 3", "-p tcp -m ecn ! --ecn-ip-ect 0", "-p tcp -m ecn --ecn-tcp-ece"],
    ),
    (
        "iprange",
        &[
            "-m iprange --src-range 10.1.0.2-10.1.0.3",
            "-m iprange --dst-range 10.2.0.3-10.2.0.9",
            "-m iprange ! --src-range 10.1.0.3-10.1.0.9",
        ],
    ),
    (
        "addrtype",
        &[
            "P:-m addrtype --dst-type LOCAL",
            "P:-m addrtype --dst-type UNICAST",
            "P:-m addrtype ! --dst-type LOCAL",
            "P:-m addrtype --src-type UNICAST --dst-type LOCAL",
            "P:-m addrtype --dst-type LOCAL --limit-iface-in",
        ],
    ),
    (
        "pkttype",
        &[
            "P:-m pkttype --pkt-type unicast",
            "P:-m pkttype --pkt-type broadcast",
            "P:-m pkttype ! --pkt-type unicast",
        ],
    ),
    (
        "statistic",
        &[
            "-m statistic --mode nth --every 2 --packet 0",
            "-m statistic --mode nth --every 3 --packet 1",
            "-m statistic --mode random --probability 1",
            "-m statistic --mode random --probability 0",
            "-m statistic --mode nth ! --every 4 --packet 3",
        ],
    ),
    (
        "limit",
        &[
            "-m limit --limit 3/hour --limit-burst 4",
            "-m limit --limit 1/min --limit-burst 1",
            "-m limit --limit 2/day",
        ],
    ),
    (
        "connbytes",
        &[
            "-m connbytes --connbytes 2 --connbytes-mode packets --connbytes-dir original",
            "-m connbytes --connbytes 0:100 --connbytes-mode bytes --connbytes-dir both",
            "-m connbytes --connbytes 1 --connbytes-mode packets --connbytes-dir reply",
        ],
    ),
    ("connmark", &["-m connmark --mark 0", "-m connmark ! --mark 0x7", "-m connmark --mark 0x1/0x1"]),
    ("comment", &["-m comment --comment one", "-m comment --comment \"two words\""]),
    (
        "tcpmss",
        &["-p tcp -m tcp --syn -m tcpmss --mss 1000:1500", "-p tcp -m tcp --syn -m tcpmss ! --mss 536"],
    ),
    ("rpfilter", &["P:-m rpfilter", "P:-m rpfilter --invert", "P:-m rpfilter --loose"]),
    (
        "owner",
        &[
            "O:-m owner --uid-owner 0",
            "O:-m owner --uid-owner 1",
            "O:-m owner ! --uid-owner 1",
            "O:-m owner --gid-owner 0",
        ],
    ),
    ("helper", &["-m helper --helper ftp"]),
    ("u32", &["-m u32 --u32 0x6&0xff=0x11", "-m u32 --u32 0x0>>0x16&0x3c@0x0>>0x10=0x9c40"]),
    (
        "hashlimit",
        &[
            "-m hashlimit --hashlimit-upto 1/hour --hashlimit-burst 2 --hashlimit-mode srcip --hashlimit-name a",
            "-m hashlimit --hashlimit-above 1/hour --hashlimit-burst 2 --hashlimit-mode dstip,dstport --hashlimit-name b",
        ],
    ),
    (
        "connlimit",
        &[
            "-p tcp -m connlimit --connlimit-above 1 --connlimit-mask 24 --connlimit-saddr",
            "-p tcp -m connlimit --connlimit-upto 1 --connlimit-mask 32 --connlimit-daddr",
        ],
    ),
    ("quota", &["-m quota --quota 200"]),
    ("time", &["-m time --utc", "-m time --datestart 2030-01-01T00:00:00 --utc"]),
    (
        "recent",
        &[
            "-m recent --set --name seen --rsource",
            "-m recent --rcheck --hitcount 3 --name seen --rsource",
            "-m recent --update --seconds 60 --name seen --rdest",
            "-m recent --remove --name seen --rsource",
        ],
    ),
    (
        "recent-reap",
        &[
            "-m recent --rcheck --seconds 10800 --reap --name sticky --rsource",
            "-m recent --set --name sticky --rsource",
        ],
    ),
    ("string", &["-m string --algo bm --string nothing"]),
    ("policy", &["-m policy --dir in --pol none", "-m policy --dir in --pol ipsec"]),
];

pub(super) fn cases() -> Vec<Named> {
    let mut found: Vec<Named> = CASES
        .iter()
        .map(|(name, rules)| {
            let mut text = String::from("*mangle\n");
            for rule in *rules {
                let (chain, words) = match rule.split_once(':') {
                    Some(("P", words)) => ("PREROUTING", words),
                    Some(("O", words)) => ("OUTPUT", words),
                    _ => ("FORWARD", *rule),
                };
                text += &format!("-A {chain} {words}\n");
            }
            let purpose = format!("match {name}: each spelling counts the packets it should");
            case(&format!("match/{name}"), &purpose).rules(&text).packets(MIXED)
        })
        .collect();
    found.push(
        case("match/mac-given", "match mac on frames of two hosts")
            .rules("*mangle\n-A PREROUTING -m mac --mac-source 02:00:00:00:99:99\n-A PREROUTING -m mac ! --mac-source 02:00:00:00:99:99\n-A FORWARD -m mac --mac-source 02:00:00:00:99:98")
            .packets("c0 udp 10.1.0.2:5 > 10.2.0.2:6 mac=02:00:00:00:99:99\nc0 udp 10.1.0.2:5 > 10.2.0.2:6 mac=02:00:00:00:99:98"),
    );
    found.push(
        case("match/nfacct", "match nfacct counts and matches, once the object exists")
            .run("nfacct add web", "")
            .rules("*mangle\n-A FORWARD -p tcp -m nfacct --nfacct-name web -j MARK --set-mark 1\n-A FORWARD -m mark --mark 1")
            .packets(MIXED),
    );
    found.extend(sets());
    found.push(
        case("match/icmp6", "match icmp6 and IPv6 header fields")
            .rules6("*mangle\n-A FORWARD -p icmpv6 -m icmp6 --icmpv6-type 128\n-A FORWARD -p icmpv6 -m icmp6 --icmpv6-type 1/4\n-A FORWARD -p icmpv6 -m icmp6 ! --icmpv6-type 129\n-A FORWARD -m hl --hl-eq 63\n-A FORWARD -m hl --hl-lt 10\n-A FORWARD -m hl --hl-gt 63\n-A FORWARD -m length --length 0:60\n-A FORWARD -m dscp --dscp 46\n-A FORWARD -p udp -m multiport --dports 53\n-A FORWARD -m addrtype --dst-type UNICAST\n-A FORWARD -m iprange --src-range fd00:1::1-fd00:1::9")
            .packets("c0 icmpv6 fd00:1::2 > fd00:2::2 128/0 id=9 seq=1 len=30\ns0 icmpv6 fd00:2::2 > fd00:1::2 129/0 id=9 seq=1 len=30\nc0 udp [fd00:1::2]:5 > [fd00:2::2]:53 len=4 tos=184\ns0 icmpv6 fd00:2::2 > fd00:1::2 1/4 about=udp,[fd00:1::2]:5,[fd00:2::2]:53,len=4\nc0 udp [fd00:1::2]:5 > [fd00:2::2]:54 len=4 ttl=9"),
    );
    found
}

/// The set types of issue 3, each with a member and a stranger.
fn sets() -> Vec<Named> {
    let list: &[(&str, &str, &[&str])] = &[
        (
            "hash-ip",
            "create a hash:ip\nadd a 10.1.0.2\n",
            &["--match-set a src", "! --match-set a src", "--match-set a dst"],
        ),
        (
            "hash-net",
            "create a hash:net\nadd a 10.2.0.0/24\nadd a 10.2.0.2/32 nomatch\n",
            &["--match-set a dst", "--match-set a src"],
        ),
        (
            "hash-ip-port",
            "create a hash:ip,port\nadd a 10.2.0.2,tcp:80\nadd a 10.2.0.2,udp:53\n",
            &["--match-set a dst,dst", "--match-set a src,src"],
        ),
        (
            "hash-ip-port-ip",
            "create a hash:ip,port,ip\nadd a 10.1.0.2,tcp:80,10.2.0.2\n",
            &["--match-set a src,dst,dst", "--match-set a dst,src,src"],
        ),
        (
            "hash-ip-port-net",
            "create a hash:ip,port,net\nadd a 10.2.0.2,tcp:80,10.1.0.0/24\n",
            &["--match-set a dst,dst,src"],
        ),
        (
            "bitmap-port",
            "create a bitmap:port range 0-1024\nadd a 80\nadd a 53\n",
            &["--match-set a dst", "--match-set a src"],
        ),
        (
            "list-set",
            "create a hash:ip\nadd a 10.1.0.2\ncreate b hash:ip\nadd b 10.1.0.3\ncreate l list:set\nadd l a\nadd l b\n",
            &["--match-set l src", "--match-set l dst"],
        ),
        (
            "hash-ip-counters",
            "create a hash:ip counters\nadd a 10.1.0.2\nadd a 10.2.0.2\n",
            &[
                "--match-set a src",
                "--match-set a src --packets-gt 2",
                "--match-set a dst ! --update-counters",
            ],
        ),
    ];
    list.iter()
        .map(|(name, set, matches)| {
            let rules: String = matches.iter().map(|words| format!("-A FORWARD -m set {words}\n")).collect();
            case(&format!("set/{name}"), &format!("ipset {name} with the set match"))
                .run("ipset restore", set)
                .rules(&format!("*mangle\n{rules}"))
                .packets(MIXED)
        })
        .collect()
}
