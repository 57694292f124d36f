//! NAT: which address and port, once a connection, and the way back (kernel.md 2.8).

use super::{Named, case};

/// Three clients with one source port to one server.
const THREE: &str = "c0 10.1.0.2:33333 > 10.2.0.2:80 S seq=1000
c0 10.1.0.3:33333 > 10.2.0.2:80 S seq=2000
c0 10.1.0.4:33333 > 10.2.0.2:80 S seq=3000";

pub(super) fn cases() -> Vec<Named> {
    let list: &[(&str, &str, &str, &str)] = &[
        ("masquerade-ports", "masquerade keeps the port while it is free",
         "-A POSTROUTING -o s0 -j MASQUERADE", THREE),
        ("masquerade-reply", "replies to drawn ports find their client", "-A POSTROUTING -o s0 -j MASQUERADE",
         "c0 10.1.0.2:33333 > 10.2.0.2:80 S seq=1000\nc0 10.1.0.3:33333 > 10.2.0.2:80 S seq=2000
s0 10.2.0.2:80 > 10.2.0.1 SA dport=$1.sport seq=7 ack=2001\ns0 10.2.0.2:80 > 10.2.0.1 SA dport=$0.sport seq=7 ack=1001"),
        ("masquerade-same-mapping", "one client and port keep their mapping to another destination",
         "-A POSTROUTING -o s0 -j MASQUERADE",
         "c0 10.1.0.2:33333 > 10.2.0.2:80 S seq=1000\nc0 10.1.0.3:33333 > 10.2.0.2:80 S seq=2000\nc0 10.1.0.3:33333 > 10.2.0.2:81 S seq=2000\nc0 10.1.0.3:33333 > 10.2.0.9:82 S seq=2000"),
        ("masquerade-below-512", "a taken port below 512 gives one below 512", "-A POSTROUTING -o s0 -j MASQUERADE",
         "c0 10.1.0.2:300 > 10.2.0.2:80 S seq=1000\nc0 10.1.0.3:300 > 10.2.0.2:80 S seq=2000\nc0 10.1.0.4:300 > 10.2.0.2:80 S seq=2000"),
        ("masquerade-below-1024", "a taken port of 512 to 1023 gives one of 600 to 1023", "-A POSTROUTING -o s0 -j MASQUERADE",
         "c0 10.1.0.2:700 > 10.2.0.2:80 S seq=1000\nc0 10.1.0.3:700 > 10.2.0.2:80 S seq=2000\nc0 10.1.0.4:700 > 10.2.0.2:80 S seq=2000"),
        ("masquerade-random-fully", "--random-fully always draws", "-A POSTROUTING -o s0 -j MASQUERADE --random-fully",
         "c0 10.1.0.2:34000 > 10.2.0.2:80 S seq=1000\nc0 udp 10.1.0.2:34000 > 10.2.0.2:53 len=1"),
        ("masquerade-one-port", "--to-ports with a single port", "-A POSTROUTING -o s0 -p tcp -j MASQUERADE --to-ports 2000", "c0 10.1.0.2:34000 > 10.2.0.2:80 S seq=1000"),
        ("masquerade-exhausted-tcp", "one port for two TCP clients: the second is lost at confirm",
         "-A POSTROUTING -o s0 -p tcp -j MASQUERADE --to-ports 2000",
         "c0 10.1.0.2:34000 > 10.2.0.2:80 S seq=1000\nc0 10.1.0.3:34000 > 10.2.0.2:80 S seq=1000"),
        ("masquerade-exhausted-udp", "one port for two UDP clients: the second is lost at confirm",
         "-A POSTROUTING -o s0 -p udp -j MASQUERADE --to-ports 2000",
         "c0 udp 10.1.0.2:34000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.3:34000 > 10.2.0.2:53 len=1"),
        ("masquerade-range-kept", "a source port inside --to-ports is kept",
         "-A POSTROUTING -o s0 -p udp -j MASQUERADE --to-ports 30000-40000", "c0 udp 10.1.0.2:34000 > 10.2.0.2:53 len=1"),
        ("snat", "SNAT and the way back", "-A POSTROUTING -o s0 -j SNAT --to-source 10.2.0.77",
         "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\ns0 udp 10.2.0.2:53 > 10.2.0.77:5000 len=2\ns0 udp 10.2.0.3:53 > 10.2.0.77:5000 len=2"),
        ("snat-port", "SNAT to one port", "-A POSTROUTING -o s0 -p udp -j SNAT --to-source 10.2.0.77:999",
         "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\ns0 udp 10.2.0.2:53 > 10.2.0.77:999 len=2"),
        ("snat-to-own-port-taken", "SNAT where the tuple is taken by an un-NATed flow",
         "-A POSTROUTING -o s0 -s 10.1.0.2/32 -j SNAT --to-source 10.1.0.3",
         "c0 udp 10.1.0.3:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1"),
        ("null-binding-clash", "an un-NATed flow whose reply tuple is taken has its port changed",
         "-A POSTROUTING -o s0 -s 10.1.0.2/32 -j SNAT --to-source 10.1.0.3",
         "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.3:5000 > 10.2.0.2:53 len=1"),
        ("dnat-port", "DNAT of address and port, reply translated back",
         "-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.2.0.2:8080",
         "c0 10.1.0.2:5000 > 10.96.0.1:80 S seq=1000\ns0 10.2.0.2:8080 > 10.1.0.2:5000 SA seq=7 ack=1001\nc0 10.1.0.2:5000 > 10.96.0.1:80 A seq=1001 ack=8"),
        ("dnat-range", "DNAT to a port range takes the first, then the next free one",
         "-A PREROUTING -d 10.96.0.1/32 -p udp -j DNAT --to-destination 10.2.0.2:8080-8083",
         "c0 udp 10.1.0.2:5000 > 10.96.0.1:80 len=1\nc0 udp 10.1.0.2:5000 > 10.96.0.1:81 len=1\nc0 udp 10.1.0.2:5001 > 10.96.0.1:80 len=1"),
        ("dnat-port-shift", "DNAT of a port range by offset",
         "-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 5000:5010 -j DNAT --to-destination 10.2.0.2:6000-6010/5000",
         "c0 10.1.0.2:5000 > 10.96.0.1:5000 S seq=1000\nc0 10.1.0.2:5000 > 10.96.0.1:5007 S seq=1000"),
        ("dnat-keeps-port", "DNAT without a port", "-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.2.0.2",
         "c0 udp 10.1.0.2:5000 > 10.96.0.1:80 len=1\nc0 icmp 10.1.0.2 > 10.96.0.1 8/0 id=5 seq=1\nc0 99 10.1.0.2 > 10.96.0.1 len=8"),
        ("first-packet-only", "nat rules are asked once a connection",
         "-A PREROUTING -p udp -m udp --dport 5300 -j DNAT --to-destination 10.2.0.2:53\n-A POSTROUTING -j MASQUERADE",
         "c0 udp 10.1.0.2:5000 > 10.1.0.1:5300 len=1\nc0 udp 10.1.0.2:5000 > 10.1.0.1:5300 len=1\ns0 udp 10.2.0.2:53 > 10.2.0.1:5000 len=1\nc0 udp 10.1.0.2:5000 > 10.1.0.1:5300 len=1"),
        ("nth-endpoints", "three endpoints in turn",
         "-A PREROUTING -d 10.96.0.1/32 -p udp -m statistic --mode nth --every 3 --packet 0 -j DNAT --to-destination 10.2.0.2\n-A PREROUTING -d 10.96.0.1/32 -p udp -m statistic --mode nth --every 2 --packet 0 -j DNAT --to-destination 10.2.0.3\n-A PREROUTING -d 10.96.0.1/32 -p udp -j DNAT --to-destination 10.2.0.4",
         "c0 udp 10.1.0.2:1 > 10.96.0.1:9\nc0 udp 10.1.0.2:2 > 10.96.0.1:9\nc0 udp 10.1.0.2:3 > 10.96.0.1:9\nc0 udp 10.1.0.2:4 > 10.96.0.1:9\nc0 udp 10.1.0.2:5 > 10.96.0.1:9\nc0 udp 10.1.0.2:1 > 10.96.0.1:9"),
        ("both", "DNAT and masquerade on one connection",
         "-A PREROUTING -d 10.96.0.1/32 -p tcp -j DNAT --to-destination 10.2.0.2:8080\n-A POSTROUTING -d 10.2.0.2/32 -j MASQUERADE",
         "c0 10.1.0.2:5000 > 10.96.0.1:80 S seq=1000\ns0 10.2.0.2:8080 > 10.2.0.1:5000 SA seq=7 ack=1001\nc0 10.1.0.2:5000 > 10.96.0.1:80 A seq=1001 ack=8"),
        ("hairpin", "a server reaches itself through its own service",
         "-A PREROUTING -d 10.96.0.1/32 -p tcp -j DNAT --to-destination 10.2.0.2:8080\n-A POSTROUTING -s 10.2.0.2/32 -d 10.2.0.2/32 -j MASQUERADE",
         "s0 10.2.0.2:5000 > 10.96.0.1:80 S seq=1000\ns0 10.2.0.2:8080 > 10.2.0.1:5000 SA seq=7 ack=1001"),
        ("netmap", "NETMAP maps host bits both ways",
         "-A PREROUTING -d 192.168.121.0/24 -j NETMAP --to 10.2.0.0/24\n-A POSTROUTING -s 10.2.0.0/24 -j NETMAP --to 192.168.121.0/24",
         "c0 udp 10.1.0.2:5000 > 192.168.121.5:53 len=1\ns0 udp 10.2.0.5:53 > 10.1.0.2:5000 len=1\ns0 udp 10.2.0.9:7 > 10.1.0.2:8 len=1\nc0 udp 10.1.0.2:8 > 192.168.121.9:7 len=1"),
        ("redirect", "REDIRECT takes the in-device's first address",
         "-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 8080\n-A PREROUTING -p udp -j REDIRECT",
         "c0 10.1.0.2:5000 > 203.0.113.5:80 S seq=1000\nc0 udp 10.1.0.2:5000 > 203.0.113.5:53 len=1"),
        ("redirect-output", "REDIRECT in OUTPUT goes to 127.0.0.1", "-A OUTPUT -p tcp -j REDIRECT --to-ports 9040",
         "local 10.2.0.1:5000 > 203.0.113.5:80 S seq=1000"),
        ("nat-input", "SNAT in INPUT", "-A INPUT -p udp -j SNAT --to-source 10.1.0.99", "c0 udp 10.1.0.2:5000 > 10.1.0.1:53 len=1"),
        ("accept-stops-nat", "ACCEPT in a nat chain leaves the flow alone",
         "-A PREROUTING -s 10.1.0.3/32 -j ACCEPT\n-A PREROUTING -p udp -j DNAT --to-destination 10.2.0.9",
         "c0 udp 10.1.0.3:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1"),
        ("drop-in-nat-by-mark", "a marked packet is masqueraded, another is not",
         "-A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n-A POSTROUTING -j MARK --set-xmark 0x4000/0x0\n-A POSTROUTING -j MASQUERADE\n-A PREROUTING -s 10.1.0.2/32 -j MARK --set-xmark 0x4000/0x4000",
         "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\nc0 udp 10.1.0.3:5000 > 10.2.0.2:53 len=1"),
        ("reply-direction-new-flow", "traffic from the server to the mapped port before and after the flow exists",
         "-A POSTROUTING -o s0 -j SNAT --to-source 10.2.0.1",
         "s0 udp 10.2.0.2:53 > 10.2.0.1:5000 len=1\nc0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1\ns0 udp 10.2.0.2:53 > 10.2.0.1:5000 len=1"),
        ("persistent", "SNAT --persistent", "-A POSTROUTING -o s0 -j SNAT --to-source 10.2.0.77 --persistent", "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1"),
        ("dnat-random", "DNAT --random over a range of one", "-A PREROUTING -p udp -j DNAT --to-destination 10.2.0.2:99 --random", "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=1"),
        ("output-dnat", "DNAT of a local sender", "-A OUTPUT -d 10.96.0.1/32 -p tcp -j DNAT --to-destination 10.2.0.2:8080\n-A POSTROUTING -d 10.2.0.2/32 -j MASQUERADE",
         "local 10.1.0.1:5000 > 10.96.0.1:80 S seq=1000\ns0 10.2.0.2:8080 > 10.2.0.1:5000 SA seq=9 ack=1001"),
        ("invalid-not-translated", "an INVALID packet is not translated",
         "-A POSTROUTING -o s0 -j SNAT --to-source 10.2.0.77\n-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.2.0.2",
         "c0 10.1.0.2:5000 > 10.96.0.1:80 F seq=1000\nc0 10.1.0.2:5000 > 10.2.0.2:80 SF seq=1000"),
        ("fragments-of-udp", "a first fragment alone waits for the rest",
         "-A PREROUTING -p udp -m udp --dport 53 -j DNAT --to-destination 10.2.0.9", "c0 udp 10.1.0.2:5000 > 10.2.0.2:53 len=100"),
    ];
    let mut found: Vec<Named> = list
        .iter()
        .map(|(name, purpose, rules, script)| {
            case(&format!("nat/{name}"), purpose).rules(&format!("*nat\n{rules}")).packets(script)
        })
        .collect();
    found.push(
        case(
            "nat/masquerade-no-address",
            "masquerade drops a packet that leaves by a device without an address",
        )
        .interface("p0", None, &[])
        .route("198.51.100.0/24", None, Some("p0"))
        .rules("*nat\n-A POSTROUTING -o p0 -j MASQUERADE")
        .packets("c0 udp 10.1.0.2:5000 > 198.51.100.7:53 len=1"),
    );
    found.push(
        case("nat/masquerade-second-address", "masquerade prefers the address of the next hop's subnet")
            .interface("w0", None, &["10.3.0.1/24", "10.4.0.1/24"])
            .route("198.51.100.0/24", Some("10.4.0.9"), Some("w0"))
            .route("192.0.2.0/24", Some("10.3.0.9"), Some("w0"))
            .rules("*nat\n-A POSTROUTING -o w0 -j MASQUERADE")
            .packets("c0 udp 10.1.0.2:5000 > 198.51.100.7:53 len=1\nc0 udp 10.1.0.2:5000 > 192.0.2.7:53 len=1\nc0 udp 10.1.0.2:5000 > 10.4.0.5:53 len=1"),
    );
    found.push(
        case("nat/redirect-no-address", "REDIRECT on a device without an address drops")
            .interface("p0", None, &[])
            .rules("*nat\n-A PREROUTING -i p0 -p udp -j REDIRECT --to-ports 53")
            .packets("p0 udp 10.9.0.2:5000 > 10.9.0.1:99 len=1"),
    );
    let six: &[(&str, &str, &str, &str)] = &[
        (
            "v6-dnat",
            "DNAT over IPv6",
            "-A PREROUTING -d fd96::1/128 -p tcp -m tcp --dport 80 -j DNAT --to-destination [fd00:2::2]:8080",
            "c0 [fd00:1::2]:5000 > [fd96::1]:80 S seq=1000\ns0 [fd00:2::2]:8080 > [fd00:1::2]:5000 SA seq=7 ack=1001",
        ),
        (
            "v6-masquerade",
            "masquerade over IPv6",
            "-A POSTROUTING -o s0 -j MASQUERADE",
            "c0 udp [fd00:1::2]:5000 > [fd00:2::2]:53 len=1\ns0 udp [fd00:2::2]:53 > [fd00:2::1]:5000 len=1",
        ),
        (
            "v6-netmap",
            "NETMAP over IPv6",
            "-A PREROUTING -d fd77::/64 -j NETMAP --to fd00:2::/64",
            "c0 udp [fd00:1::2]:5000 > [fd77::5]:53 len=1\ns0 udp [fd00:2::5]:53 > [fd00:1::2]:5000 len=1",
        ),
        (
            "v6-redirect",
            "REDIRECT over IPv6",
            "-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 8080",
            "c0 [fd00:1::2]:5000 > [fd99::1]:80 S seq=1000",
        ),
    ];
    found.extend(six.iter().map(|(name, purpose, rules, script)| {
        case(&format!("nat/{name}"), purpose).rules6(&format!("*nat\n{rules}")).packets(script)
    }));
    found
}
