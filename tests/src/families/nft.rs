//! nftables: each statement and expression, and how base chains stand to each other.

use super::{Builder, Named, case};

/// Two clients to a server and to the node.
const PING: &str = "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.3:5000 > 10.2.0.2:53 len=10\nc0 udp 10.1.0.2:5000 > 10.1.0.1:53 len=1";
/// One connection: opened, answered, used, closed.
const TALK: &str = "c0 10.1.0.2:4000 > 10.2.0.2:80 S seq=100 mss=1460 sack ws=7
s0 10.2.0.2:80 > 10.1.0.2:4000 SA seq=500 ack=101 mss=1460
c0 10.1.0.2:4000 > 10.2.0.2:80 A seq=101 ack=501
c0 10.1.0.2:4000 > 10.2.0.2:80 PA seq=101 ack=501 len=20
s0 10.2.0.2:80 > 10.1.0.2:4000 A seq=501 ack=121 len=100";
/// Several protocols.
const MIX: &str = "c0 10.1.0.2:4000 > 10.2.0.2:80 S seq=100 mss=1460 ws=7
c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=5
c0 icmp 10.1.0.2 > 10.2.0.2 8/0 id=7 seq=1
c0 47 10.1.0.2 > 10.2.0.2 len=8
c0 udp 10.1.0.3:6000 > 10.2.0.3:123 len=5 tos=184 ttl=5
c0 10.1.0.3:4001 > 10.2.0.2:443 SA seq=100 ack=1";
/// IPv6.
const SIX: &str = "c0 [fd00:1::2]:4000 > [fd00:2::2]:80 S seq=100
c0 udp [fd00:1::2]:5000 > [fd00:2::2]:53 len=5
c0 icmpv6 fd00:1::2 > fd00:2::2 128/0 id=7 seq=1
c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=5";
/// Five new connections, one after the other.
const FIVE: &str = "c0 udp 10.1.0.2:5001 > 10.96.0.1:53 len=1
c0 udp 10.1.0.2:5002 > 10.96.0.1:53 len=1
c0 udp 10.1.0.2:5003 > 10.96.0.1:53 len=1
c0 udp 10.1.0.2:5004 > 10.96.0.1:53 len=1
c0 udp 10.1.0.2:5005 > 10.96.0.1:53 len=1";

/// Name, purpose, what stands in a forward chain of `table ip t`, packets.
const FORWARD: &[(&str, &str, &str, &str)] = &[
    (
        "meta-l4proto",
        "meta l4proto, alone and in a set",
        "meta l4proto tcp counter\nmeta l4proto { tcp, udp } counter\nmeta l4proto != { tcp, udp } counter",
        MIX,
    ),
    (
        "meta-length",
        "meta length with ranges and orders",
        "meta length < 40 counter\nmeta length 28-33 counter\nmeta length >= 40 counter\nmeta length != 28-33 counter",
        MIX,
    ),
    (
        "meta-names",
        "device names, wildcards and a device that is not there",
        "iifname \"c0\" counter\niifname \"c*\" counter\noifname \"s0\" counter\niifname != \"c0\" counter\niif \"c0\" oif \"s0\" counter\niifname { \"c0\", \"x9\" } counter\noifname . iifname { \"s0\" . \"c0\" } counter",
        PING,
    ),
    (
        "meta-mark",
        "marks set, or-ed, masked",
        "udp dport 53 meta mark set 0x10\nmeta mark set meta mark or 0x4000\nmeta mark 0x4010 counter\nmeta mark and 0x10 == 0x10 counter\nmeta mark & 0xff != 0x10 counter\nmeta mark 0x4000-0x4010 counter",
        MIX,
    ),
    (
        "meta-pkttype",
        "meta pkttype, cpu, iiftype",
        "meta pkttype host counter\nmeta pkttype != host counter\nmeta cpu 0-1000 counter\nmeta iiftype ether counter",
        PING,
    ),
    (
        "meta-priority",
        "meta priority of a forwarded packet follows its TOS",
        "meta priority 0 counter\nmeta priority set 1:3\nmeta priority 1:3 counter",
        MIX,
    ),
    (
        "meta-skuid-forward",
        "a forwarded packet has no socket: the rule breaks off, also inverted",
        "meta skuid 0 counter\nmeta skuid != 0 counter\ncounter",
        PING,
    ),
    (
        "ip-fields",
        "fields of the IPv4 header",
        "ip saddr 10.1.0.2 counter\nip saddr != 10.1.0.2 counter\nip daddr 10.2.0.0/24 counter\nip saddr 10.1.0.2-10.1.0.9 counter\nip ttl 63 counter\nip ttl < 10 counter\nip protocol tcp counter\nip protocol { tcp, icmp } counter\nip dscp ef counter\nip length 28-40 counter\nip id 1 counter\nip version 4 counter\nip hdrlength 5 counter\nip frag-off & 0x1fff == 0 counter",
        MIX,
    ),
    (
        "tcp-fields",
        "fields of the TCP header break off for other protocols",
        "tcp dport 80 counter\ntcp dport != 80 counter\ntcp sport 4000-4001 counter\ntcp flags syn counter\ntcp flags & (syn|ack) == syn counter\ntcp flags & (syn|ack) == (syn|ack) counter\ntcp flags != syn counter\ntcp window 65535 counter\ntcp sequence 100 counter\ntcp ackseq 1 counter\ntcp doff 7 counter\ntcp dport { 80, 443 } counter\ntcp dport vmap { 80 : accept, 443 : drop }\ncounter",
        MIX,
    ),
    (
        "udp-fields",
        "fields of the UDP header",
        "udp dport 53 counter\nudp length 13 counter\nudp sport { 5000, 6000-6010 } counter\nudp dport != 53 counter",
        MIX,
    ),
    (
        "th-fields",
        "ports of whatever transport",
        "th dport 53 counter\nth sport 4000-5000 counter\nmeta l4proto { tcp, udp } th dport { 53, 80 } counter\nth dport 9 counter",
        MIX,
    ),
    (
        "raw-payload",
        "payload by offset",
        "@th,16,16 53 counter\n@nh,64,8 63 counter\n@th,0,8 8 counter\n@nh,96,32 0x0a010002 counter\n@th,400,16 0 counter\ncounter",
        MIX,
    ),
    (
        "icmp",
        "ICMP types and echo fields",
        "icmp type echo-request counter\nicmp type { echo-request, echo-reply } counter\nicmp type != echo-request counter\nicmp code 0 counter\nicmp id 7 counter\nicmp sequence 1 counter",
        MIX,
    ),
    (
        "sctp",
        "SCTP ports",
        "sctp dport 9 counter\nsctp sport 7 counter\nsctp vtag 0 counter",
        "c0 sctp 10.1.0.2:7 > 10.2.0.2:9\nc0 udp 10.1.0.2:7 > 10.2.0.2:9 len=1",
    ),
    (
        "tcp-options",
        "TCP options by name",
        "tcp option maxseg size 1460 counter\ntcp option maxseg exists counter\ntcp option maxseg missing counter\ntcp option window count 7 counter\ntcp option sack-perm exists counter\ntcp option sack-perm missing counter\ntcp option maxseg size > 1000 counter",
        "c0 10.1.0.2:4000 > 10.2.0.2:80 S seq=100 mss=1460 sack ws=7\nc0 10.1.0.2:4001 > 10.2.0.2:80 S seq=100\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=5",
    ),
    (
        "ip-options-missing",
        "an IPv4 option that is not there",
        "ip option rr exists counter\nip option rr missing counter",
        PING,
    ),
    (
        "concat",
        "concatenations as keys",
        "ip saddr . udp dport { 10.1.0.2 . 53, 10.1.0.3 . 54 } counter\nip saddr . ip daddr . meta l4proto { 10.1.0.3 . 10.2.0.2 . udp } counter\nip saddr . udp dport != { 10.1.0.2 . 53 } counter\nip saddr . th dport { 10.1.0.0/30 . 50-60 } counter",
        PING,
    ),
    (
        "vmap",
        "verdict maps: accept, drop, continue, no element",
        "udp dport vmap { 53 : continue, 54 : drop }\ncounter\nip saddr vmap { 10.1.0.2 : accept, 10.1.0.8-10.1.0.20 : drop }\ncounter",
        "c0 udp 10.1.0.9:5000 > 10.2.0.2:54 len=1\nc0 udp 10.1.0.9:5000 > 10.2.0.2:55 len=1\nc0 10.1.0.9:5000 > 10.2.0.2:54 S seq=1",
    ),
    (
        "map-mark",
        "a map gives a mark",
        "meta mark set ip saddr map { 10.1.0.2 : 0x2, 10.1.0.3 : 0x3 }\nmeta mark 0x2 counter\nmeta mark 0x3 counter\nmeta mark 0 counter",
        PING,
    ),
    (
        "bitwise",
        "shifts and masks",
        "meta mark set 0x1\nmeta mark set meta mark lshift 4\nmeta mark 0x10 counter\nmeta mark set meta mark rshift 2\nmeta mark 0x4 counter\nmeta mark set meta mark xor 0x7\nmeta mark 0x3 counter\nip saddr & 0.0.0.3 == 0.0.0.2 counter",
        PING,
    ),
    (
        "ct-state",
        "connection states",
        "ct state new counter\nct state established counter\nct state established,related counter\nct state != new counter\nct state vmap { new : continue, established : accept }\ncounter",
        TALK,
    ),
    (
        "ct-keys",
        "keys of a connection",
        "ct direction original counter\nct direction reply counter\nct status seen-reply counter\nct status assured counter\nct original saddr 10.1.0.2 counter\nct reply saddr 10.2.0.2 counter\nct protocol tcp counter\nct l3proto ipv4 counter\nct zone 0 counter\nct expiration 1s-200000s counter\nct original ip daddr 10.2.0.0/24 counter",
        TALK,
    ),
    (
        "ct-mark",
        "connection marks set and restored",
        "ct state new meta mark set 0x5 ct mark set meta mark\nct mark 0x5 counter\nct state established meta mark set ct mark\nmeta mark 0x5 counter\nct mark set ct mark or 0x100\nct mark & 0x100 == 0x100 counter",
        TALK,
    ),
    (
        "ct-bytes",
        "accounting: reading it switches it on",
        "ct original packets > 0 counter\nct reply packets 0 counter\nct bytes > 100 counter\nct avgpkt 40-80 counter\nct packets < 3 counter",
        TALK,
    ),
    (
        "ct-label",
        "connection labels",
        "ct state new ct label set 3\nct label 3 counter\nct label != 3 counter",
        TALK,
    ),
    (
        "ct-helper",
        "no connection has a helper",
        "ct helper \"ftp\" counter\nct helper != \"ftp\" counter\ncounter",
        TALK,
    ),
    (
        "counter-before-match",
        "statements before a failing match have taken effect",
        "counter udp dport 54 counter\nmeta mark set 0x9 udp dport 54\nmeta mark 0x9 counter",
        PING,
    ),
    (
        "limit-packets",
        "a bucket of packets",
        "limit rate 1/hour burst 2 packets counter\nlimit rate over 1/hour burst 2 packets counter\nlimit rate 1/minute counter",
        FIVE,
    ),
    (
        "limit-bytes",
        "a bucket of bytes",
        "limit rate 10 bytes/second burst 60 bytes counter\nlimit rate over 29 bytes/hour counter",
        FIVE,
    ),
    (
        "limit-refill",
        "a bucket refills",
        "limit rate 10/second burst 1 packets counter",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\n@150 c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1",
    ),
    (
        "quota",
        "a quota until and over, also where it is just used up",
        "quota 58 bytes counter\nquota over 58 bytes counter\nquota 1 kbytes counter",
        FIVE,
    ),
    ("log", "a log line changes nothing", "log prefix \"seen \" level info\nlog flags all\ncounter", PING),
    ("ttl-set", "ip ttl set", "ip ttl set 9\nip ttl 9 counter", MIX),
    ("dscp-set", "ip dscp set, ecn kept", "ip dscp set cs3\nip dscp cs3 counter\nip ecn set 1", MIX),
    (
        "port-set",
        "tcp dport set without NAT",
        "tcp dport set 8080\ntcp dport 8080 counter\nudp sport set 99",
        MIX,
    ),
    (
        "saddr-set",
        "ip saddr set without NAT",
        "ip saddr 10.1.0.3 ip saddr set 10.1.0.77\nip saddr 10.1.0.77 counter",
        MIX,
    ),
    (
        "mss-set",
        "tcp option maxseg size set never raises",
        "tcp flags syn tcp option maxseg size set 1200\ntcp option maxseg size 1200 counter\ntcp option maxseg size set 1400",
        "c0 10.1.0.2:4000 > 10.2.0.2:80 S seq=100 mss=1460\nc0 10.1.0.2:4001 > 10.2.0.2:80 S seq=100 mss=800\nc0 10.1.0.2:4002 > 10.2.0.2:80 S seq=100",
    ),
    (
        "mss-rt",
        "clamping to the route",
        "tcp flags syn tcp option maxseg size set rt mtu\ncounter",
        "c0 10.1.0.2:4000 > 10.2.0.2:80 S seq=100 mss=9000\nc0 10.1.0.2:4001 > 10.2.0.2:80 S seq=100 mss=800",
    ),
    (
        "option-reset",
        "an option overwritten with no-operation",
        "reset tcp option sack-perm\ntcp option sack-perm missing counter",
        "c0 10.1.0.2:4000 > 10.2.0.2:80 S seq=100 mss=1460 sack ws=7\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1",
    ),
    (
        "numgen-inc",
        "numgen inc counts in its own expression",
        "numgen inc mod 3 0 counter\nnumgen inc mod 3 1 counter\nnumgen inc mod 2 offset 10 vmap { 10 : accept, 11 : drop }",
        FIVE,
    ),
    (
        "jhash-addr",
        "jhash of an address with a seed",
        "jhash ip saddr mod 7 seed 0x1 0 counter\njhash ip saddr mod 7 seed 0x1 1 counter\njhash ip saddr mod 7 seed 0x1 2 counter\njhash ip saddr mod 7 seed 0x1 3 counter\njhash ip saddr mod 7 seed 0x1 4 counter\njhash ip saddr mod 7 seed 0x1 5 counter\njhash ip saddr mod 7 seed 0x1 6 counter",
        MIX,
    ),
    (
        "jhash-concat",
        "jhash of a concatenation",
        "meta mark set jhash ip saddr . ip daddr mod 251 seed 0xdeadbeef offset 1000\nct mark set meta mark",
        MIX,
    ),
    (
        "jhash-ports",
        "jhash of ports, two bytes in a register",
        "meta mark set jhash th sport . th dport mod 251 seed 0x7\nct mark set meta mark",
        FIVE,
    ),
    (
        "jhash-long",
        "jhash of more than twelve bytes, host order among them",
        "meta mark set jhash ip saddr . ip daddr . th dport . meta l4proto mod 65521 seed 0x7\nct mark set meta mark",
        MIX,
    ),
    (
        "jhash-short",
        "jhash of one port",
        "meta mark set jhash th sport mod 65521 seed 0x9\nct mark set meta mark",
        FIVE,
    ),
    ("reject", "reject, default", "udp dport 53 reject\ntcp dport 80 reject with tcp reset", MIX),
    (
        "reject-kinds",
        "ICMP codes",
        "ip saddr 10.1.0.3 reject with icmp host-unreachable\nmeta l4proto tcp reject with icmp admin-prohibited\nmeta l4proto icmp reject with icmp net-unreachable\nudp dport 53 reject with icmp prot-unreachable",
        MIX,
    ),
    (
        "reject-reset-other",
        "reject with tcp reset breaks off for other protocols",
        "reject with tcp reset\ncounter",
        MIX,
    ),
    (
        "fib-type",
        "fib daddr type",
        "fib daddr type local counter\nfib daddr type unicast counter\nfib saddr type unicast counter\nfib daddr . iif type local counter",
        PING,
    ),
    (
        "fib-oif",
        "fib saddr . iif oif",
        "fib saddr . iif oif missing counter\nfib saddr . iif oif exists counter\nfib daddr oif \"s0\" counter\nfib saddr oifname \"c0\" counter",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.7.0.2:5000 > 10.2.0.2:53 len=1\ns0 udp 10.1.0.9:5000 > 10.1.0.2:53 len=1",
    ),
    (
        "rt",
        "rt nexthop and mtu",
        "rt nexthop 10.2.0.2 counter\nrt ip nexthop 10.2.0.3 counter\ntcp dport 80 rt mtu 1460 counter",
        MIX,
    ),
    (
        "ether",
        "the frame's addresses",
        "ether saddr 02:00:00:00:00:07 counter\nether daddr 02:00:00:00:01:01 counter\nether type ip counter",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1 mac=02:00:00:00:00:07\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1 mac=02:00:00:00:00:08",
    ),
    (
        "ct-count",
        "connections counted by a rule",
        "ct state new ct count over 2 counter drop\nct count 1 counter",
        FIVE,
    ),
    (
        "ct-count-established",
        "a confirmed connection is counted too",
        "ct state established ct count over 0 counter\nct state established ct count 0 counter",
        TALK,
    ),
];

/// Name, purpose, whole ruleset, packets.
const WHOLE: &[(&str, &str, &str, &str)] = &[
    (
        "accept-is-per-chain",
        "accept ends its base chain only; drop is final",
        "table ip t {\n chain a { type filter hook forward priority -10; ip saddr 10.1.0.2 counter accept; counter; }\n chain b { type filter hook forward priority 10; ip saddr 10.1.0.2 counter drop; counter; }\n}",
        PING,
    ),
    (
        "drop-first",
        "a drop before it: the second chain is not asked",
        "table ip t {\n chain a { type filter hook forward priority -10; ip saddr 10.1.0.2 counter drop; }\n chain b { type filter hook forward priority 10; counter accept; }\n}",
        PING,
    ),
    (
        "equal-priority",
        "of equal priorities the newest chain runs first",
        "table ip t {\n chain a { type filter hook forward priority 0; meta mark set 0x1; meta mark 0x2 counter; }\n chain b { type filter hook forward priority 0; meta mark set 0x2; meta mark 0x1 counter; }\n}",
        PING,
    ),
    (
        "policy-drop",
        "a policy of drop, return in a base chain",
        "table ip t {\n chain a { type filter hook forward priority 0; policy drop; ip saddr 10.1.0.2 return; ip saddr 10.1.0.3 accept; counter; }\n}",
        PING,
    ),
    (
        "jump-goto",
        "jump comes back, goto does not",
        "table ip t {\n chain x { ip saddr 10.1.0.2 counter return; counter; }\n chain y { counter; }\n chain a { type filter hook forward priority 0; jump x; counter; goto y; counter; }\n chain b { type filter hook forward priority 1; policy drop; jump z; counter accept; }\n chain z { goto y; counter; }\n}",
        PING,
    ),
    (
        "deep",
        "fifteen nested chains",
        "table ip t {\n chain c15 { counter; }\n chain c14 { jump c15; }\n chain c13 { jump c14; }\n chain c12 { jump c13; }\n chain c11 { jump c12; }\n chain c10 { jump c11; }\n chain c9 { jump c10; }\n chain c8 { jump c9; }\n chain c7 { jump c8; }\n chain c6 { jump c7; }\n chain c5 { jump c6; }\n chain c4 { jump c5; }\n chain c3 { jump c4; }\n chain c2 { jump c3; }\n chain c1 { jump c2; }\n chain a { type filter hook forward priority 0; jump c1; counter; }\n}",
        PING,
    ),
    (
        "hooks",
        "every hook and priorities around conntrack",
        "table ip t {\n chain pre { type filter hook prerouting priority -300; ct state invalid counter; ct state new counter; ct state untracked counter; }\n chain pre2 { type filter hook prerouting priority -199; ct state new counter; counter; }\n chain in { type filter hook input priority 0; counter; iifname \"c0\" counter; oifname \"c0\" counter; }\n chain fo { type filter hook forward priority 0; counter; }\n chain out { type filter hook output priority 0; counter; oifname \"c0\" counter; iif 0 counter; }\n chain post { type filter hook postrouting priority 300; counter; oif \"s0\" counter; }\n}",
        PING,
    ),
    (
        "notrack",
        "notrack before conntrack; too late behind it",
        "table ip t {\n chain pre { type filter hook prerouting priority -300; ip saddr 10.1.0.2 notrack; }\n chain pre2 { type filter hook prerouting priority 0; notrack; ct state untracked counter; ct state new counter; ct mark 0 counter; }\n}",
        PING,
    ),
    (
        "zone",
        "ct zone set before conntrack",
        "table ip t {\n chain pre { type filter hook prerouting priority -300; ip saddr 10.1.0.2 ct zone set 5; }\n chain fo { type filter hook forward priority 0; ct zone 5 counter; ct zone 0 counter; ct original zone 5 counter; }\n}",
        PING,
    ),
    (
        "dnat",
        "dnat with a port; replies come back translated",
        "table ip t {\n chain n { type nat hook prerouting priority dstnat; ip daddr 10.96.0.1 udp dport 53 counter dnat to 10.2.0.9:5353; }\n}",
        "c0 udp 10.1.0.2:5001 > 10.96.0.1:53 len=1\nc0 udp 10.1.0.2:5001 > 10.96.0.1:53 len=1\ns0 udp 10.2.0.9:5353 > 10.1.0.2:5001 len=4\nc0 udp 10.1.0.2:5002 > 10.96.0.1:54 len=1",
    ),
    (
        "dnat-vmap-numgen",
        "kube-proxy's shape: a map to chains, numgen to an endpoint",
        "table ip t {\n map svc { type ipv4_addr . inet_proto . inet_service : verdict; elements = { 10.96.0.1 . udp . 53 : goto s1 }; }\n chain n { type nat hook prerouting priority dstnat; ip daddr . meta l4proto . th dport vmap @svc; counter; }\n chain s1 { numgen inc mod 2 vmap { 0 : goto e0, 1 : goto e1 }; }\n chain e0 { meta l4proto udp dnat to 10.2.0.10:5353; }\n chain e1 { meta l4proto udp dnat to 10.2.0.11:5353; }\n}",
        FIVE,
    ),
    (
        "dnat-map-concat",
        "dnat to addr . port from a map",
        "table ip t {\n map m { type ipv4_addr . inet_service : ipv4_addr . inet_service; elements = { 10.96.0.1 . 53 : 10.2.0.7 . 99 } }\n chain n { type nat hook prerouting priority dstnat; dnat ip to ip daddr . udp dport map @m; counter; }\n}",
        FIVE,
    ),
    (
        "dnat-map-addr",
        "dnat to an address from a map in place",
        "table ip t {\n chain n { type nat hook prerouting priority dstnat; dnat to numgen inc mod 2 map { 0 : 10.2.0.7, 1 : 10.2.0.8 }; }\n}",
        FIVE,
    ),
    (
        "dnat-range",
        "dnat to a range, persistent and not",
        "table ip t {\n chain n { type nat hook prerouting priority dstnat; udp sport 5001-5002 dnat to 10.2.0.10-10.2.0.20; dnat to 10.2.0.10-10.2.0.20 persistent; }\n}",
        FIVE,
    ),
    (
        "dnat-ports",
        "dnat to a range of ports",
        "table ip t {\n chain n { type nat hook prerouting priority dstnat; udp sport 5001-5003 dnat to 10.2.0.10:100-102; udp sport 5004 dnat to :9; }\n}",
        FIVE,
    ),
    (
        "dnat-prefix",
        "dnat ip prefix to keeps the host bits",
        "table ip t {\n chain n { type nat hook prerouting priority dstnat; dnat ip prefix to ip daddr map { 10.96.0.0/24 : 10.2.0.0/24 }; }\n}",
        FIVE,
    ),
    (
        "snat",
        "snat and its reply",
        "table ip t {\n chain n { type nat hook postrouting priority srcnat; oifname \"s0\" snat to 10.2.0.1; }\n}",
        "c0 udp 10.1.0.2:5001 > 10.2.0.2:53 len=1\ns0 udp 10.2.0.2:53 > 10.2.0.1:5001 len=4\nc0 udp 10.1.0.3:5001 > 10.2.0.2:53 len=1",
    ),
    (
        "masquerade",
        "masquerade, with ports, fully random",
        "table ip t {\n chain n { type nat hook postrouting priority srcnat; udp sport 5001 masquerade; udp sport 5002 masquerade to :1024-1030; masquerade fully-random; }\n}",
        FIVE,
    ),
    (
        "redirect",
        "redirect to the node",
        "table ip t {\n chain n { type nat hook prerouting priority dstnat; udp dport 53 redirect to :5353; }\n}",
        FIVE,
    ),
    (
        "nat-priorities",
        "nat chains are ordered among themselves only",
        "table ip t {\n chain n1 { type nat hook prerouting priority 50; counter; dnat to 10.2.0.9; }\n chain n2 { type nat hook prerouting priority -50; udp sport 5001 counter dnat to 10.2.0.8; counter; }\n chain f { type filter hook prerouting priority -99; ip daddr 10.96.0.1 counter; counter; }\n}",
        FIVE,
    ),
    (
        "nat-null-binding",
        "an accept in a nat chain goes on with the next nat chain",
        "table ip t {\n chain n1 { type nat hook prerouting priority -110; accept; }\n chain n2 { type nat hook prerouting priority -100; counter dnat to 10.2.0.8; }\n}",
        FIVE,
    ),
    (
        "nat-input",
        "snat on input",
        "table ip t {\n chain n { type nat hook input priority 100; snat to 10.9.9.9; }\n chain f { type filter hook input priority 200; ip saddr 10.9.9.9 counter; counter; }\n}",
        PING,
    ),
    (
        "output-route",
        "a route chain on output routes marked packets anew",
        "table ip t {\n chain r { type route hook output priority mangle; ip daddr 10.8.0.1 ip daddr set 10.1.0.9; counter; }\n chain f { type filter hook output priority 10; ip daddr 10.1.0.9 counter; oifname \"c0\" counter; }\n chain p { type filter hook postrouting priority 10; oifname \"c0\" counter; }\n}",
        "local udp 10.2.0.1:9 > 10.8.0.1:53 len=1\nlocal udp 10.2.0.1:9 > 10.2.0.2:53 len=1",
    ),
    (
        "output-nat",
        "dnat on output",
        "table ip t {\n chain n { type nat hook output priority -100; ip daddr 10.96.0.1 dnat to 10.1.0.9; }\n chain p { type filter hook postrouting priority 10; oifname \"c0\" counter; }\n}",
        "local udp 10.2.0.1:9 > 10.96.0.1:53 len=1\nlocal udp 10.2.0.1:10 > 10.2.0.2:53 len=1",
    ),
    (
        "skuid",
        "the owner of a local packet",
        "table ip t {\n chain o { type filter hook output priority 0; meta skuid 0 counter; meta skuid 1000 counter; meta skgid 0 counter; }\n}",
        "local udp 10.2.0.1:9 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.1.0.1:99 len=1",
    ),
    (
        "named-objects",
        "a named counter, quota and limit, one by map",
        "table ip t {\n counter c1 { }\n counter c2 { }\n quota q1 { over 60 bytes }\n limit l1 { rate 1/hour burst 2 packets }\n chain a { type filter hook forward priority 0; counter name c1; counter name ip saddr map { 10.1.0.3 : \"c2\", 10.1.0.2 : \"c1\" }; limit name \"l1\" counter; quota name \"q1\" drop; counter; }\n}",
        FIVE,
    ),
    (
        "sets",
        "named sets: interval, hash, concatenation, auto-merge",
        "table ip t {\n set nets { type ipv4_addr; flags interval; elements = { 10.1.0.0/30, 10.9.0.0/16 } }\n set hosts { type ipv4_addr; elements = { 10.1.0.3 } }\n set pairs { type ipv4_addr . inet_service; flags interval; elements = { 10.1.0.0/24 . 50-60, 10.9.0.0/16 . 1-1000 } }\n chain a { type filter hook forward priority 0; ip saddr @nets counter; ip saddr @hosts counter; ip saddr != @hosts counter; ip saddr . udp dport @pairs counter; }\n}",
        PING,
    ),
    (
        "set-counter",
        "a set whose elements count",
        "table ip t {\n set s { type ipv4_addr; counter; elements = { 10.1.0.2, 10.1.0.9 } }\n chain a { type filter hook forward priority 0; ip saddr @s counter; }\n}",
        PING,
    ),
    (
        "dynamic-add",
        "elements added by packets, with a counter each",
        "table ip t {\n set seen { type ipv4_addr; size 100; flags dynamic; }\n chain a { type filter hook forward priority 0; add @seen { ip saddr counter }; ip saddr @seen counter; }\n}",
        PING,
    ),
    (
        "dynamic-full",
        "a full set breaks the rule off",
        "table ip t {\n set seen { type inet_service; size 2; flags dynamic; }\n chain a { type filter hook forward priority 0; add @seen { udp sport } counter accept; counter drop; }\n}",
        FIVE,
    ),
    (
        "dynamic-timeout",
        "elements with a timeout come and go; update renews",
        "table ip t {\n set a { type ipv4_addr; flags dynamic,timeout; timeout 300ms; }\n set u { type ipv4_addr; flags dynamic,timeout; timeout 300ms; }\n chain c { type filter hook forward priority 0; ip saddr @a counter; ip saddr @u counter; add @a { ip saddr }; update @u { ip saddr }; }\n}",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\n@200 c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\n@400 c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\n@900 c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1",
    ),
    (
        "dynamic-limit",
        "a limit for each element",
        "table ip t {\n set lim { type ipv4_addr; size 100; flags dynamic; }\n chain c { type filter hook forward priority 0; update @lim { ip saddr limit rate over 1/hour burst 1 packets } counter drop; counter; }\n}",
        FIVE,
    ),
    (
        "dynamic-delete",
        "an element deleted by a packet",
        "table ip t {\n set s { type ipv4_addr; size 100; flags dynamic; }\n chain c { type filter hook forward priority 0; udp dport 1 add @s { ip saddr }; udp dport 2 delete @s { ip saddr }; ip saddr @s counter; }\n}",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:1 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:3 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:2 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:3 len=1",
    ),
    (
        "dynamic-map",
        "a map filled by packets",
        "table ip t {\n map m { type ipv4_addr : mark; size 100; flags dynamic; }\n chain c { type filter hook forward priority 0; udp sport 5001 add @m { ip saddr : 0x7 }; meta mark set ip saddr map @m; meta mark 0x7 counter; }\n}",
        FIVE,
    ),
    (
        "dynamic-ct-count",
        "connections counted for each address",
        "table ip t {\n set cc { type ipv4_addr; size 100; flags dynamic; }\n chain c { type filter hook forward priority 0; ct state new add @cc { ip saddr ct count over 2 } counter drop; counter; }\n}",
        FIVE,
    ),
    (
        "vmap-named-catchall",
        "a catch-all element",
        "table ip t {\n map v { type inet_service : verdict; elements = { 53 : accept, * : drop } }\n chain c { type filter hook forward priority 0; udp dport vmap @v; counter; }\n}",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:54 len=1\nc0 10.1.0.2:5000 > 10.2.0.2:54 S seq=1",
    ),
    (
        "inet",
        "a table of both families",
        "table inet t {\n chain f { type filter hook forward priority 0; ip saddr 10.1.0.2 counter; ip6 saddr fd00:1::2 counter; meta nfproto ipv6 counter; tcp dport 80 counter; udp dport 53 counter; ip saddr != 10.1.0.9 counter; icmpv6 type echo-request counter; meta protocol ip6 counter; counter; }\n}",
        SIX,
    ),
    (
        "inet-nat",
        "NAT in a table of both families",
        "table inet t {\n chain n { type nat hook prerouting priority dstnat; udp dport 53 dnat ip to 10.2.0.7; udp dport 53 dnat ip6 to [fd00:2::7]:54; }\n chain p { type nat hook postrouting priority srcnat; tcp dport 80 masquerade; }\n}",
        SIX,
    ),
    (
        "inet-reject",
        "reject in a table of both families",
        "table inet t {\n chain f { type filter hook forward priority 0; udp dport 53 reject; tcp dport 80 reject with icmpx admin-prohibited; icmpv6 type echo-request reject with icmpv6 no-route; }\n}",
        SIX,
    ),
    (
        "inet-reject-family",
        "reject with icmp does nothing to IPv6",
        "table inet t {\n chain f { type filter hook forward priority 0; reject with icmp host-unreachable; counter; }\n}",
        SIX,
    ),
    (
        "inet-reject-x",
        "the four icmpx codes",
        "table inet t {\n chain f { type filter hook forward priority 0; tcp dport 80 reject with icmpx no-route; udp sport 5000 reject with icmpx host-unreachable; reject with icmpx port-unreachable; }\n}",
        SIX,
    ),
    (
        "ip6",
        "fields of the IPv6 header",
        "table ip6 t {\n chain f { type filter hook forward priority 0; ip6 saddr fd00:1::/64 counter; ip6 nexthdr tcp counter; ip6 hoplimit 63 counter; ip6 length 9-13 counter; ip6 version 6 counter; ip6 dscp 0 counter; ip6 flowlabel 0 counter; icmpv6 type echo-request counter; icmpv6 id 7 counter; exthdr frag exists counter; exthdr frag missing counter; exthdr hbh missing counter; ip6 hoplimit set 9; ip6 dscp set ef; }\n}",
        SIX,
    ),
    (
        "ip6-nat",
        "NAT of IPv6",
        "table ip6 t {\n chain n { type nat hook prerouting priority dstnat; tcp dport 80 dnat to [fd00:2::9]:8080; redirect; }\n chain p { type nat hook postrouting priority srcnat; masquerade; }\n}",
        SIX,
    ),
    (
        "ip6-fib",
        "fib of IPv6",
        "table ip6 t {\n chain f { type filter hook prerouting priority 0; fib daddr type local counter; fib daddr type unicast counter; fib saddr . iif oif exists counter; fib saddr . iif oif missing counter; fib daddr . iif type local counter; }\n}",
        "c0 udp [fd00:1::2]:1 > [fd00:2::2]:53 len=1\nc0 udp [fd00:1::2]:1 > [fd00:1::1]:53 len=1\nc0 udp [fd00:7::2]:1 > [fd00:2::2]:53 len=1\nc0 udp [fd00:1::2]:1 > [fd00:2::1]:53 len=1",
    ),
    (
        "prerouting-fib",
        "fib before routing: the reverse path and the type of the destination",
        "table ip t {\n chain f { type filter hook prerouting priority -150; fib saddr . iif oif missing counter drop; fib daddr type local counter; fib daddr . iif type local counter; fib daddr . iif type != local counter; fib saddr type local counter; fib daddr type { broadcast, multicast } counter; }\n}",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\ns0 udp 10.1.0.9:5000 > 10.1.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.1:53 len=1\nc0 udp 10.1.0.2:5000 > 10.1.0.1:53 len=1\nc0 udp 10.1.0.2:5000 > 10.1.0.255:53 len=1",
    ),
    (
        "reject-prerouting",
        "reject before routing",
        "table ip t {\n chain f { type filter hook prerouting priority 0; tcp dport 80 reject with tcp reset; udp dport 53 reject; }\n}",
        MIX,
    ),
    (
        "reject-output",
        "reject of a local packet",
        "table ip t {\n chain f { type filter hook output priority 0; udp dport 53 reject; udp dport 54 drop; }\n}",
        "local udp 10.2.0.1:9 > 10.2.0.2:53 len=1\nlocal udp 10.2.0.1:9 > 10.2.0.2:54 len=1",
    ),
    (
        "dormant",
        "a dormant table sees nothing",
        "table ip t {\n flags dormant\n chain f { type filter hook forward priority 0; counter drop; }\n}\ntable ip u {\n chain f { type filter hook forward priority 0; counter; }\n}",
        PING,
    ),
    (
        "several-tables",
        "tables of all families at one priority",
        "table inet a {\n chain f { type filter hook forward priority 0; meta mark set meta mark or 0x1; meta mark 0x3 counter; meta mark 0x7 counter; }\n}\ntable ip b {\n chain f { type filter hook forward priority 0; meta mark set meta mark or 0x2; meta mark 0x3 counter; meta mark 0x7 counter; }\n}\ntable ip c {\n chain f { type filter hook forward priority -1; meta mark set 0x4; counter; }\n}",
        PING,
    ),
    (
        "ct-vmap",
        "ct state vmap as distributions ship it",
        "table inet filter {\n chain input { type filter hook input priority filter; policy drop; ct state vmap { established : accept, related : accept, invalid : drop }; iifname \"lo\" accept; ip protocol icmp accept; udp dport 53 accept; counter; }\n}",
        "c0 udp 10.1.0.2:5000 > 10.1.0.1:53 len=1\nc0 udp 10.1.0.2:5000 > 10.1.0.1:54 len=1\nc0 icmp 10.1.0.2 > 10.1.0.1 8/0 id=7 seq=1\nc0 10.1.0.2:5000 > 10.1.0.1:22 A seq=1 ack=1",
    ),
    (
        "masked-set",
        "a set asked with a masked key",
        "table ip t {\n set nets { type ipv4_addr; elements = { 10.1.0.0 } }\n chain f { type filter hook forward priority 0; ip saddr & 255.255.255.0 @nets counter; meta mark & 0xff { 0x0, 0x1 } counter; }\n}",
        PING,
    ),
    (
        "ifname-set",
        "a set of names with wildcards",
        "table ip t {\n set names { type ifname; flags interval; elements = { \"c*\", \"eth0\" } }\n chain f { type filter hook forward priority 0; iifname @names counter; oifname @names counter; iifname . ip saddr { \"c0\" . 10.1.0.2 } counter; }\n}",
        PING,
    ),
    (
        "udp6-summed-hoplimit",
        "a hop limit set behind connection tracking spoils the sum of datagrams of more than 76 bytes",
        "table ip6 t {\n chain i { type filter hook input priority 0; ct state new counter; ip6 hoplimit set 33; }\n chain o { type filter hook output priority 0; counter; }\n}",
        "c0 udp [fd00:1::2]:5000 > [fd00:2::1]:53 len=500\nc0 udp [fd00:1::2]:5001 > [fd00:2::1]:53 len=69\nc0 udp [fd00:1::2]:5002 > [fd00:2::1]:53 len=68\nc0 [fd00:1::2]:5003 > [fd00:2::1]:53 S seq=1 len=500\nc0 icmpv6 fd00:1::2 > fd00:2::1 128/0 id=7 seq=1 len=500",
    ),
    (
        "udp6-summed-dscp",
        "the same for a traffic class set in PREROUTING, for whom it changes",
        "table ip6 t {\n chain p { type filter hook prerouting priority mangle; ct state new counter; ip6 dscp set ef; }\n chain o { type filter hook output priority 0; counter; }\n}",
        "c0 udp [fd00:1::2]:5000 > [fd00:2::1]:53 len=500\nc0 udp [fd00:1::2]:5001 > [fd00:2::1]:53 len=500 tos=184",
    ),
    (
        "udp6-summed-flowlabel",
        "the same for a flow label",
        "table ip6 t {\n chain i { type filter hook input priority 0; ct state new counter; ip6 flowlabel set 5; }\n chain o { type filter hook output priority 0; counter; }\n}",
        "c0 udp [fd00:1::2]:5000 > [fd00:2::1]:53 len=500\nc0 udp [fd00:1::2]:5001 > [fd00:2::1]:53 len=68",
    ),
    (
        "udp6-summed-before",
        "a change before connection tracking is part of the sum",
        "table ip6 t {\n chain p { type filter hook prerouting priority raw; ip6 hoplimit set 33; }\n chain i { type filter hook input priority 0; ct state new counter; }\n}",
        "c0 udp [fd00:1::2]:5000 > [fd00:2::1]:53 len=500",
    ),
    (
        "udp6-summed-untracked",
        "what is not tracked is not summed up",
        "table ip6 t {\n chain p { type filter hook prerouting priority raw; notrack; }\n chain i { type filter hook input priority 0; ct state untracked counter; ip6 hoplimit set 33; }\n}",
        "c0 udp [fd00:1::2]:5000 > [fd00:2::1]:53 len=500",
    ),
    (
        "ct-zone-template",
        "behind ct zone set and before the tracker a packet counts as NEW, in no direction's addresses",
        "table ip t {\n chain z { type filter hook prerouting priority -300; udp dport 53 ct zone set 1; udp dport 54 ct zone set 0; udp dport 55 notrack; udp dport 55 ct zone set 2; }\n chain r { type filter hook prerouting priority -299; ct state invalid counter; ct state new counter; ct state untracked counter; ct direction original counter; ct status 0x0 counter; ct status & 0x800 == 0x800 counter; ct mark 0x0 counter; ct zone 1 counter; ct zone 0 counter; ct original ip saddr 10.1.0.2 counter; notrack; }\n chain m { type filter hook prerouting priority -150; ct state new counter; ct state untracked counter; ct zone 1 counter; ct zone 2 counter; }\n}",
        "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:54 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:55 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:56 len=1",
    ),
    (
        "tcp-option-any-protocol",
        "a TCP option is looked for in every packet, and found in those of TCP",
        "table ip t {\n chain f { type filter hook forward priority 0; tcp option maxseg exists counter; tcp option maxseg missing counter; tcp option maxseg missing udp dport 53 counter; udp dport 53 tcp option maxseg size 1460 counter; icmp type echo-request tcp option sack-perm missing counter; meta l4proto { icmp, ipv6-icmp } tcp option window exists counter; }\n}",
        MIX,
    ),
    (
        "reject-reset-order",
        "a reset presupposes TCP, and that is asked before all else of the rule",
        "table ip t {\n chain f { type filter hook forward priority 0; numgen inc mod 2 1 reject with tcp reset; counter reject with tcp reset; }\n}",
        MIX,
    ),
    (
        "bounds",
        "two bounds side by side are listed as a range, also where nothing lies in it",
        "table ip t {\n chain f { type filter hook forward priority 0; ip ttl >= 5 ip ttl <= 60 counter; ip ttl < 60 ip ttl > 62 counter; meta length >= 28 meta length <= 33 counter; ip ttl > 4 ip ttl <= 60 counter; }\n}",
        MIX,
    ),
    (
        "protocol-of-option",
        "the protocol before a TCP option is not listed, but asked",
        "table ip t {\n chain f { type filter hook forward priority 0; meta l4proto udp tcp option maxseg missing counter; ip protocol tcp tcp option maxseg missing counter; icmp type destination-unreachable tcp option maxseg missing counter; meta l4proto icmp tcp option maxseg size set 900 counter; }\n}",
        MIX,
    ),
    (
        "th-by-protocol",
        "ports behind a match of the protocol are listed as what lies there",
        "table ip t {\n set pairs { type ipv4_addr . inet_service; elements = { 10.2.0.2 . 53 } }\n map ports { type inet_service : verdict; elements = { 80 : continue } }\n chain f { type filter hook forward priority 0; ip daddr . udp dport @pairs meta mark set jhash th sport . th dport mod 16 seed 0x5 counter; tcp dport vmap @ports th sport 4000 counter; tcp flags & (syn|ack) == syn th dport { 80, 443 } counter; icmp type echo-request th dport 80-90 counter; ip saddr . th dport @pairs counter; udp dport 53 add @pairs { ip saddr . th sport }; }\n}",
        MIX,
    ),
    (
        "dnat6-range",
        "a range of IPv6 addresses to choose from, and one chosen by turns",
        "table ip6 t {\n chain n { type nat hook prerouting priority -100; udp dport 53 dnat to fd00:2::7-fd00:2::8; udp dport 54 dnat to numgen inc mod 2 map { 0 : fd00:2::7, 1 : fd00:2::8 }; }\n}",
        "c0 udp [fd00:1::2]:5000 > [fd96::1]:53 len=1\nc0 udp [fd00:1::2]:5001 > [fd96::1]:53 len=1\nc0 udp [fd00:1::3]:5000 > [fd96::1]:53 len=1\nc0 udp [fd00:1::4]:5000 > [fd96::2]:53 len=1\nc0 udp [fd00:1::2]:5000 > [fd96::1]:54 len=1\nc0 udp [fd00:1::2]:5001 > [fd96::1]:54 len=1\nc0 udp [fd00:1::2]:5002 > [fd96::1]:54 len=1",
    ),
];

pub(super) fn cases() -> Vec<Named> {
    let mut found = Vec::new();
    for (name, purpose, rules, packets) in FORWARD {
        let text = format!(
            "table ip t {{\n chain f {{\n  type filter hook forward priority 0; policy accept;\n{rules}\n }}\n}}\n"
        );
        found.push(nft(name, purpose, &text).packets(packets));
    }
    for (name, purpose, text, packets) in WHOLE {
        found.push(nft(name, purpose, text).packets(packets));
    }
    let drop_third = "*filter\n-A FORWARD -s 10.1.0.3/32 -j DROP\n*nat\n-A PREROUTING -s 10.1.0.2/32 -j DNAT --to-destination 10.2.0.5";
    let beside = "table ip t {\n chain f { type filter hook forward priority 0; counter; ip daddr 10.2.0.5 counter; }\n chain n { type nat hook prerouting priority -100; counter dnat to 10.2.0.6; }\n}";
    found.push(
        case(
            "nft/beside-legacy-after",
            "an nft table loaded after a legacy one of equal priority is asked first",
        )
        .rules(drop_third)
        .run("nft -f -", beside)
        .show("nft list ruleset")
        .packets(PING),
    );
    found.push(
        case(
            "nft/beside-legacy-before",
            "an nft table loaded before a legacy one of equal priority is asked last",
        )
        .run("nft -f -", beside)
        .rules(drop_third)
        .show("nft list ruleset")
        .packets(PING),
    );
    found.push(
        case("nft/reload-keeps-place", "a chain that stays keeps its place, one made anew comes first")
            .run("nft -f -", "table ip t {\n chain a { type filter hook forward priority 0; meta mark 0x2 counter; meta mark set 0x1; }\n chain b { type filter hook forward priority 0; meta mark 0x1 counter; meta mark set 0x2; }\n}")
            .run("nft -f -", "flush chain ip t a\nadd rule ip t a meta mark 0x2 counter\nadd rule ip t a meta mark set 0x1")
            .show("nft list ruleset")
            .packets(PING),
    );
    found.push(
        case("nft/reload-anew", "a table deleted and made again in one batch is new")
            .run("nft -f -", "table ip t {\n chain a { type filter hook forward priority 0; meta mark set 0x1; meta mark 0x3 counter; }\n}\ntable ip u {\n chain b { type filter hook forward priority 0; meta mark set meta mark or 0x2; counter; meta mark 0x3 counter; }\n}")
            .run("nft -f -", "delete table ip t\ntable ip t {\n chain a { type filter hook forward priority 0; meta mark set 0x1; meta mark 0x3 counter; }\n}")
            .show("nft list ruleset")
            .packets(PING),
    );
    found
}

fn nft(name: &str, purpose: &str, text: &str) -> Builder {
    case(&format!("nft/{name}"), purpose).run("nft -f -", text).show("nft list ruleset")
}
