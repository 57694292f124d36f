//! ICMP: echo entries, errors inside NAT, errors that belong to nothing.

use super::{Named, case};

const DNAT: &str = "
*mangle
-A PREROUTING -m conntrack --ctstate INVALID
-A PREROUTING -m conntrack --ctstate NEW
-A PREROUTING -m conntrack --ctstate ESTABLISHED
-A PREROUTING -m conntrack --ctstate RELATED
*nat
-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.2.0.2
-A POSTROUTING -o s0 -p udp -j SNAT --to-source 10.2.0.1";

const FIRST: &str = "c0 udp 10.1.0.2:4000 > 10.96.0.1:53 len=4\n";

pub(super) fn cases() -> Vec<Named> {
    let error = |kind: &str| {
        format!("{FIRST}s0 icmp 10.2.0.2 > 10.2.0.1 {kind} about=udp,10.2.0.1:4000,10.2.0.2:53,len=4,ttl=63")
    };
    let mut list: Vec<(String, String, String)> = [
        ("net-unreachable", "3/0"),
        ("host-unreachable", "3/1"),
        ("port-unreachable", "3/3"),
        ("frag-needed", "3/4"),
        ("source-quench", "4/0"),
        ("redirect", "5/1"),
        ("time-exceeded", "11/0"),
        ("reassembly-exceeded", "11/1"),
        ("parameter-problem", "12/0"),
    ]
    .iter()
    .map(|(name, kind)| {
        (
            format!("error-{name}"),
            format!("an ICMP error {kind} for a connection with both NATs, translated inside and out"),
            error(kind),
        )
    })
    .collect();
    let more: &[(&str, &str, &str)] = &[
        (
            "error-from-router",
            "an error sent by a router on the way keeps the router's address",
            "c0 udp 10.1.0.2:4000 > 10.96.0.1:53 len=4\ns0 icmp 10.2.0.77 > 10.2.0.1 11/0 about=udp,10.2.0.1:4000,10.2.0.2:53,len=4",
        ),
        (
            "error-forward",
            "an error sent by the client about a reply",
            "c0 udp 10.1.0.2:4000 > 10.96.0.1:53 len=4\ns0 udp 10.2.0.2:53 > 10.2.0.1:4000 len=9\nc0 icmp 10.1.0.2 > 10.96.0.1 3/3 about=udp,10.96.0.1:53,10.1.0.2:4000,len=9",
        ),
        (
            "error-unknown",
            "an error about a packet nobody sent is INVALID",
            "s0 icmp 10.2.0.2 > 10.1.0.2 3/3 about=udp,10.1.0.2:4000,10.2.0.2:53,len=4",
        ),
        (
            "error-wrong-outer",
            "the outer source may be anyone, the inner packet decides",
            "c0 udp 10.1.0.2:4000 > 10.96.0.1:53 len=4\ns0 icmp 10.2.0.66 > 10.1.0.2 3/1 about=udp,10.2.0.1:4000,10.2.0.2:53,len=4",
        ),
        (
            "error-about-icmp",
            "an error about an echo request",
            "c0 icmp 10.1.0.2 > 10.96.0.1 8/0 id=9 seq=1\ns0 icmp 10.2.0.77 > 10.1.0.2 11/0 about=icmp,10.1.0.2,10.2.0.2,8/0,id=9,seq=1",
        ),
        (
            "echo",
            "echo and its reply through DNAT",
            "c0 icmp 10.1.0.2 > 10.96.0.1 8/0 id=9 seq=1 len=56\ns0 icmp 10.2.0.2 > 10.1.0.2 0/0 id=9 seq=1 len=56\nc0 icmp 10.1.0.2 > 10.96.0.1 8/0 id=9 seq=2 len=56",
        ),
        (
            "echo-reply-alone",
            "an echo reply without a request is INVALID",
            "s0 icmp 10.2.0.2 > 10.1.0.2 0/0 id=9 seq=1",
        ),
        (
            "timestamp",
            "timestamp request and reply make an entry",
            "c0 icmp 10.1.0.2 > 10.2.0.2 13/0 id=9 seq=1 len=12\ns0 icmp 10.2.0.2 > 10.1.0.2 14/0 id=9 seq=1 len=12",
        ),
        (
            "mask",
            "address mask request",
            "c0 icmp 10.1.0.2 > 10.2.0.2 17/0 id=9 seq=1 len=4\ns0 icmp 10.2.0.2 > 10.1.0.2 18/0 id=9 seq=1 len=4",
        ),
        (
            "unknown-type",
            "an ICMP type that starts nothing",
            "c0 icmp 10.1.0.2 > 10.2.0.2 40/0 id=9 seq=1\nc0 icmp 10.1.0.2 > 10.2.0.2 9/0 id=9 seq=1",
        ),
        (
            "same-id-two-targets",
            "one id to two targets is two entries",
            "c0 icmp 10.1.0.2 > 10.2.0.3 8/0 id=9 seq=1\nc0 icmp 10.1.0.2 > 10.2.0.4 8/0 id=9 seq=1",
        ),
        (
            "ping-the-node",
            "the node answers a ping",
            "c0 icmp 10.1.0.2 > 10.1.0.1 8/0 id=9 seq=1 len=20\nc0 icmp 10.1.0.2 > 10.2.0.1 8/0 id=9 seq=1 len=20",
        ),
    ];
    list.extend(
        more.iter()
            .map(|(name, purpose, script)| (name.to_string(), purpose.to_string(), script.to_string())),
    );
    let mut found: Vec<Named> = list
        .into_iter()
        .map(|(name, purpose, script)| case(&format!("icmp/{name}"), &purpose).rules(DNAT).packets(&script))
        .collect();
    found.push(
        case("icmp/tcp-error-dnat", "an error about a DNATed SYN reaches the client with the address it dialled")
            .rules(DNAT)
            .packets("c0 10.1.0.2:4000 > 10.96.0.1:80 S seq=1 win=100\ns0 icmp 10.2.0.2 > 10.1.0.2 3/3 about=tcp,10.1.0.2:4000,10.2.0.2:80,S,seq=1,win=100"),
    );
    found.push(
        case("icmp/masquerade-same-id", "two clients with one id behind one address")
            .rules("*nat\n-A POSTROUTING -o s0 -j MASQUERADE")
            .packets(
                "c0 icmp 10.1.0.2 > 10.2.0.2 8/0 id=9 seq=1\nc0 icmp 10.1.0.3 > 10.2.0.2 8/0 id=9 seq=1
                 s0 icmp 10.2.0.2 > 10.2.0.1 0/0 icmp_id=$1.icmp_id seq=1\ns0 icmp 10.2.0.2 > 10.2.0.1 0/0 icmp_id=$0.icmp_id seq=1",
            ),
    );
    let six = "
*mangle
-A PREROUTING -m conntrack --ctstate INVALID
-A PREROUTING -m conntrack --ctstate NEW
-A PREROUTING -m conntrack --ctstate ESTABLISHED
-A PREROUTING -m conntrack --ctstate RELATED
*nat
-A PREROUTING -d fd96::1/128 -j DNAT --to-destination fd00:2::2";
    let six_cases: &[(&str, &str, &str)] = &[
        (
            "v6-echo",
            "ICMPv6 echo through DNAT",
            "c0 icmpv6 fd00:1::2 > fd96::1 128/0 id=9 seq=1\ns0 icmpv6 fd00:2::2 > fd00:1::2 129/0 id=9 seq=1",
        ),
        (
            "v6-error",
            "an ICMPv6 error inside NAT",
            "c0 udp [fd00:1::2]:4000 > [fd96::1]:53 len=4\ns0 icmpv6 fd00:2::2 > fd00:1::2 1/4 about=udp,[fd00:1::2]:4000,[fd00:2::2]:53,len=4",
        ),
        (
            "v6-too-big",
            "packet too big inside NAT",
            "c0 udp [fd00:1::2]:4000 > [fd96::1]:53 len=4\ns0 icmpv6 fd00:2::77 > fd00:1::2 2/0 about=udp,[fd00:1::2]:4000,[fd00:2::2]:53,len=4",
        ),
        (
            "v6-error-unknown",
            "an ICMPv6 error about nothing",
            "s0 icmpv6 fd00:2::2 > fd00:1::2 1/4 about=udp,[fd00:1::2]:4000,[fd00:2::2]:53,len=4",
        ),
    ];
    found.extend(
        six_cases.iter().map(|(name, purpose, script)| {
            case(&format!("icmp/{name}"), purpose).rules6(six).packets(script)
        }),
    );
    found
}
