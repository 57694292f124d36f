//! Routing, TTL, martians and the settings that change them.

use super::{Named, case};

/// Counts what reaches each hook, without connection tracking.
const COUNT: &str = "
*mangle
-A PREROUTING -j ACCEPT
-A INPUT -j ACCEPT
-A FORWARD -j ACCEPT
-A OUTPUT -j ACCEPT
-A POSTROUTING -j ACCEPT";

pub(super) fn cases() -> Vec<Named> {
    let list: &[(&str, &str, &str)] = &[
        (
            "ttl-one",
            "TTL 1 dies before FORWARD with time exceeded",
            "c0 udp 10.1.0.2:5 > 10.2.0.2:6 ttl=1\nc0 udp 10.1.0.2:5 > 10.2.0.2:6 ttl=2\nc0 udp 10.1.0.2:5 > 10.1.0.1:6 ttl=1",
        ),
        ("ttl-zero", "TTL 0 is not forwarded", "c0 udp 10.1.0.2:5 > 10.2.0.2:6 ttl=0"),
        (
            "martian-own-source",
            "a packet that carries the node's own address",
            "c0 udp 10.1.0.1:5 > 10.2.0.2:6\nc0 udp 10.2.0.1:5 > 10.1.0.1:6",
        ),
        (
            "martian-loopback",
            "loopback addresses do not come from a wire",
            "c0 udp 127.0.0.1:5 > 10.1.0.1:6\nc0 udp 10.1.0.2:5 > 127.0.0.1:6",
        ),
        (
            "martian-sources",
            "sources no host may have",
            "c0 udp 0.0.0.0:5 > 10.2.0.2:6\nc0 udp 255.255.255.255:5 > 10.2.0.2:6\nc0 udp 224.0.0.5:5 > 10.2.0.2:6\nc0 udp 240.0.0.1:5 > 10.2.0.2:6",
        ),
        (
            "default-route",
            "what no other route takes leaves by the default route",
            "c0 udp 10.1.0.2:5 > 203.0.113.9:6\ns0 udp 203.0.113.9:6 > 10.1.0.2:5",
        ),
        (
            "closed-ports",
            "what the node's own stack answers where nobody listens",
            "c0 10.1.0.2:5 > 10.1.0.1:6 S seq=7\nc0 10.1.0.2:5 > 10.1.0.1:6 A seq=7 ack=9\nc0 10.1.0.2:5 > 10.1.0.1:6 R seq=7\nc0 udp 10.1.0.2:5 > 10.1.0.1:6 len=3\nc0 99 10.1.0.2 > 10.1.0.1 len=3\nc0 10.1.0.2:5 > 10.1.0.1:6 FPU seq=7 len=4",
        ),
        (
            "subnet-broadcast",
            "a broadcast of the device is delivered",
            "c0 udp 10.1.0.2:5 > 10.1.0.255:6\nc0 udp 10.1.0.2:5 > 255.255.255.255:6",
        ),
        (
            "other-broadcast",
            "a broadcast of another device is not forwarded",
            "c0 udp 10.1.0.2:5 > 10.2.0.255:6",
        ),
        (
            "multicast",
            "multicast that nobody joined",
            "c0 udp 10.1.0.2:5 > 224.0.0.1:6\nc0 udp 10.1.0.2:5 > 239.1.2.3:6",
        ),
        (
            "local-output",
            "a local sender",
            "local udp 10.2.0.1:5 > 10.2.0.2:6\nlocal udp 10.1.0.1:5 > 10.2.0.2:6\nlocal udp 10.1.0.1:5 > 203.0.113.5:6 ttl=1",
        ),
        (
            "local-loopback",
            "a packet to the node itself crosses lo",
            "local udp 10.1.0.1:5 > 10.1.0.1:6\nlocal udp 127.0.0.1:5 > 127.0.0.1:6",
        ),
        (
            "same-device",
            "forwarded out of the device it came in by, with a redirect",
            "c0 udp 10.1.0.2:5 > 10.1.0.3:6",
        ),
    ];
    let mut found: Vec<Named> = list
        .iter()
        .map(|(name, purpose, script)| case(&format!("route/{name}"), purpose).rules(COUNT).packets(script))
        .collect();
    found.push(
        case("route/no-forwarding", "without ip_forward nothing is forwarded")
            .sysctl("net.ipv4.ip_forward", "0")
            .rules(COUNT)
            .packets("c0 udp 10.1.0.2:5 > 10.2.0.2:6\nc0 udp 10.1.0.2:5 > 10.2.0.1:6"),
    );
    for (value, what) in [("1", "strict"), ("2", "loose")] {
        found.push(
            case(&format!("route/rp-filter-{what}"), &format!("rp_filter={value} checks the way back to the source"))
                .sysctl("net.ipv4.conf.all.rp_filter", value)
                .rules(COUNT)
                .packets("c0 udp 10.1.0.2:5 > 10.2.0.2:6\nc0 udp 10.2.0.9:5 > 10.2.0.2:6\nc0 udp 203.0.113.9:5 > 10.1.0.1:6\ns0 udp 203.0.113.9:5 > 10.1.0.2:6"),
        );
    }
    found.push(
        case("route/rp-filter-strictest-wins", "the stricter of all and the device counts")
            .sysctl("net.ipv4.conf.c0.rp_filter", "1")
            .rules(COUNT)
            .packets("c0 udp 10.2.0.9:5 > 10.2.0.2:6\ns0 udp 10.1.0.9:5 > 10.1.0.2:6"),
    );
    found.push(
        case("route/route-localnet", "route_localnet lets a DNAT to 127.0.0.1 work")
            .sysctl("net.ipv4.conf.c0.route_localnet", "1")
            .rules("*nat\n-A PREROUTING -p udp -m udp --dport 53 -j DNAT --to-destination 127.0.0.1:53")
            .listen(&["udp/53"])
            .packets("c0 udp 10.1.0.2:5 > 10.1.0.1:53 len=4"),
    );
    found.push(
        case("route/no-route-localnet", "without route_localnet a DNAT to 127.0.0.1 is a martian")
            .rules("*nat\n-A PREROUTING -p udp -m udp --dport 53 -j DNAT --to-destination 127.0.0.1:53")
            .listen(&["udp/53"])
            .packets("c0 udp 10.1.0.2:5 > 10.1.0.1:53 len=4"),
    );
    found.push(
        case("route/unreachable", "no route: the sender is told, if forwarding is on")
            .without_routes()
            .rules(COUNT)
            .packets("c0 udp 10.1.0.2:5 > 192.0.2.5:6 len=3\nc0 icmp 10.1.0.2 > 192.0.2.5 3/3 about=udp,192.0.2.5:6,10.1.0.2:5,len=4\nlocal udp 10.1.0.1:5 > 192.0.2.5:6"),
    );
    found.push(
        case("route/longest-prefix", "the longest prefix wins")
            .route("10.9.0.0/16", Some("10.2.0.2"), Some("s0"))
            .route("10.9.9.0/24", Some("10.1.0.9"), Some("c0"))
            .rules(COUNT)
            .packets("c0 udp 10.1.0.2:5 > 10.9.1.1:6\ns0 udp 10.2.0.2:5 > 10.9.9.1:6"),
    );
    found.push(
        case("route/dummy-address", "an address on a dummy device is local everywhere")
            .interface("d0", Some("dummy"), &["10.96.0.10/32"])
            .listen(&["udp/53"])
            .rules("*filter\n-A INPUT -m addrtype --dst-type LOCAL\n-A FORWARD -j DROP")
            .packets("c0 udp 10.1.0.2:5 > 10.96.0.10:53 len=4\nc0 udp 10.1.0.2:5 > 10.96.0.11:53 len=4"),
    );
    found.push(
        case("route/v6-hop-limit", "IPv6: hop limit 1, and a packet to the node")
            .rules6(COUNT)
            .packets("c0 udp [fd00:1::2]:5 > [fd00:2::2]:6 ttl=1\nc0 udp [fd00:1::2]:5 > [fd00:2::2]:6 ttl=2\nc0 udp [fd00:1::2]:5 > [fd00:1::1]:6 ttl=1\nc0 [fd00:1::2]:5 > [fd00:1::1]:6 S seq=7"),
    );
    found.push(
        case("route/v6-no-route", "IPv6 without a route")
            .rules6(COUNT)
            .packets("c0 udp [fd00:1::2]:5 > [2001:db8::1]:6"),
    );
    found.push(
        case("route/output-dnat", "after DNAT in OUTPUT the packet is routed again, its source stays")
            .rules("*nat\n-A OUTPUT -d 10.96.0.1/32 -j DNAT --to-destination 10.1.0.9")
            .packets("local udp 10.2.0.1:5 > 10.96.0.1:6"),
    );
    found.push(
        case("route/listening", "sockets that listen")
            .listen(&["tcp/80", "udp/53"])
            .rules("*filter\n-A INPUT -m conntrack --ctstate NEW\n-A INPUT -m conntrack --ctstate ESTABLISHED\n-A OUTPUT -m conntrack --ctstate ESTABLISHED")
            .packets("c0 10.1.0.2:5 > 10.1.0.1:80 S seq=7 win=64240\nc0 udp 10.1.0.2:5 > 10.1.0.1:53 len=4\nc0 10.1.0.2:5 > 10.2.0.1:81 S seq=7 win=64240"),
    );
    found
}
