//! What `ip addr` and `ip route` print, read.

use super::*;

const LONG: &str = "\
root@node:~# ip addr
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\r
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\r
    inet 127.0.0.1/8 scope host lo\r
       valid_lft forever preferred_lft forever\r
    inet6 ::1/128 scope host \r
2: eth0@if5: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP group default
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff link-netnsid 0
    inet 172.17.0.2/16 brd 172.17.255.255 scope global eth0
    inet6 fe80::42:acff:fe11:2/64 scope link
3: tun0: <POINTOPOINT,UP> mtu 1400
    link/none
    inet 10.8.0.1 peer 10.8.0.2/32 scope global tun0
";

fn addr(text: &str) -> (IpAddr, u8) {
    prefix(text).unwrap()
}

#[test]
fn the_three_forms_of_ip_addr_say_the_same() {
    let (long, notes) = parse_addr(LONG);
    assert_eq!(notes, []);
    assert_eq!(long.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["lo", "eth0", "tun0"]);
    assert_eq!((long[1].mtu, long[1].mac), (Some(1450), Some([2, 0x42, 0xac, 0x11, 0, 2])));
    assert_eq!(long[1].addresses, [addr("172.17.0.2/16"), addr("fe80::42:acff:fe11:2/64")]);
    assert_eq!(long[2].addresses, [addr("10.8.0.1/32")]);
    let (brief, notes) = parse_addr(
        "lo               UNKNOWN        127.0.0.1/8 ::1/128 \neth0@if5 UP 172.17.0.2/16 fe80::42:acff:fe11:2/64\n",
    );
    assert_eq!(notes, []);
    assert_eq!(brief[1].addresses, long[1].addresses);
    let (json, notes) = parse_addr(
        r#"[{"ifindex":1,"ifname":"lo","link_type":"loopback","mtu":65536,"addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8}]},
            {},{"ifname":"eth0","link_index":5,"mtu":1450,"link_type":"ether","address":"02:42:ac:11:00:02",
             "addr_info":[{"local":"172.17.0.2","prefixlen":16},{"local":"fe80::42:acff:fe11:2","prefixlen":64}]}]"#,
    );
    assert_eq!(notes, []);
    assert_eq!((&json[1], json[0].loopback), (&long[1], true));
}

#[test]
fn routes_of_all_kinds_are_read() {
    let (routes, notes) = parse_route(
        "$ ip route\ndefault via 10.0.0.1 dev eth0 proto dhcp src 10.0.0.5 metric 100 \n\
         10.244.0.0/24 dev cni0 proto kernel scope link src 10.244.0.1 \n\
         blackhole 10.244.1.0/26 proto bird\n\
         192.168.0.0/16 proto static\n\tnexthop via 10.0.0.2 dev eth0 weight 1\n\tnexthop via 10.0.0.3 dev eth0 weight 1\n\
         broadcast 10.0.0.255 dev eth0 table local proto kernel\n10.9.0.0/16 dev wg0 table 51820\n",
    );
    let messages: Vec<_> = notes.iter().map(|n| (n.line, n.column, n.message.as_str())).collect();
    assert_eq!(
        messages,
        [
            (7, 2, "a second next hop is not emulated: only the first one is used"),
            (9, 27, "table 51820: routing by rule is not emulated, left out"),
        ]
    );
    assert_eq!(routes.len(), 4);
    assert_eq!((routes[0].to, routes[0].metric, routes[0].v6), (None, Some(100), false));
    assert!(routes[1].kernel);
    assert_eq!(routes[2].kind.as_deref(), Some("blackhole"));
    assert_eq!(routes[3].via, Some("10.0.0.2".parse().unwrap()));
    let (six, _) =
        parse_route("2001:db8::/64 dev eth0 metric 256 pref medium\ndefault dev ppp0 metric 1024\n");
    assert!(six.iter().all(|r| r.v6));
    let (json, _) = parse_route(
        r#"[{"dst":"default","gateway":"10.0.0.1","dev":"eth0","protocol":"dhcp","prefsrc":"10.0.0.5","metric":100,"flags":[]}]"#,
    );
    assert_eq!(IpRoute { line: 2, ..json[0].clone() }, routes[0]);
}

#[test]
fn what_is_no_ip_output_is_named() {
    let (devices, notes) = parse_addr("hello world\n");
    assert!(devices.is_empty());
    assert_eq!((notes[0].line, notes[0].message.as_str()), (1, "not a line of `ip addr`: left out"));
    let (_, notes) = parse_route("10.0.0.300/24 dev eth0\n");
    assert_eq!(notes[0].column, 1);
    let (_, notes) = parse_addr("[{\"ifname\": 5}]");
    assert_eq!((notes[0].severity, notes[0].line), (Severity::Error, 1));
}

/// Recorded from iproute2 6.1 on Linux 6.18; the names of the pairs' other ends are taken out.
#[test]
fn a_namespace_prints_as_ip_does() {
    use crate::netns::{Address, DeviceKind, Inet, Route, RouteKind};
    let mut inet = Inet::new(crate::base::KernelVersion::default());
    let c0 = inet.add_device("c0", DeviceKind::Wire);
    let s0 = inet.add_device("s0", DeviceKind::Wire);
    for (dev, text) in [
        (c0, "10.1.0.1/24"),
        (c0, "10.1.0.5/24"),
        (c0, "fd00:1::1/64"),
        (s0, "10.2.0.1/24"),
        (c0, "fe80::ff:fe00:101/64"),
    ] {
        let (addr, len) = addr(text);
        inet.add_address(dev, Address::new(addr, len));
    }
    inet.device_mut(c0).mac = Some([2, 0, 0, 0, 1, 1]);
    let mut add = |to: &str, dev, change: &dyn Fn(Route) -> Route| {
        let (to, len) = addr(to);
        let metric = if to.is_ipv6() { 1024 } else { 0 };
        inet.main.add(change(Route { metric, ..Route::new(to, len, dev).unwrap() }));
    };
    let via = |hop: &str| Some(hop.parse().unwrap());
    add("0.0.0.0/0", s0, &|r| Route { via: via("10.2.0.2"), ..r });
    add("10.9.0.0/16", c0, &|r| r);
    add("9.1.0.0/16", c0, &|r| Route { kind: RouteKind::Blackhole, dev: None, ..r });
    add("9.2.0.0/16", c0, &|r| Route { kind: RouteKind::Unreachable, dev: None, metric: 7, ..r });
    add("10.8.0.0/16", c0, &|r| Route { via: via("10.1.0.9"), mtu: Some(1400), src: via("10.1.0.5"), ..r });
    add("1.2.3.4", c0, &|r| Route { metric: 5, ..r });
    add("::/0", c0, &|r| Route { via: via("fd00:1::2"), ..r });
    add("fd96::/64", s0, &|r| r);
    add("fd97::/64", s0, &|r| Route { kind: RouteKind::Blackhole, dev: None, ..r });
    assert_eq!(
        print_routes(&inet, false),
        "default via 10.2.0.2 dev s0 \n1.2.3.4 dev c0 scope link metric 5 \nblackhole 9.1.0.0/16 \n\
         unreachable 9.2.0.0/16 metric 7 \n10.1.0.0/24 dev c0 proto kernel scope link src 10.1.0.1 \n\
         10.2.0.0/24 dev s0 proto kernel scope link src 10.2.0.1 \n\
         10.8.0.0/16 via 10.1.0.9 dev c0 src 10.1.0.5 mtu 1400 \n10.9.0.0/16 dev c0 scope link \n"
    );
    assert_eq!(
        print_routes(&inet, true),
        "fd00:1::/64 dev c0 proto kernel metric 256 pref medium\nfd96::/64 dev s0 metric 1024 pref medium\n\
         blackhole fd97::/64 dev lo metric 1024 pref medium\n\
         fe80::/64 dev c0 proto kernel metric 256 pref medium\n\
         default via fd00:1::2 dev c0 metric 1024 pref medium\n"
    );
    assert_eq!(
        print_addr_brief(&inet),
        "lo               UNKNOWN        127.0.0.1/8 ::1/128 \n\
         c0               UP             10.1.0.1/24 10.1.0.5/24 fd00:1::1/64 fe80::ff:fe00:101/64 \n\
         s0               UP             10.2.0.1/24 \n"
    );
    let (read, notes) = parse_addr(&print_addr(&inet, None));
    assert_eq!((notes.len(), read.len(), read[1].addresses.len()), (0, 3, 4));
    let (read, notes) = parse_route(&print_routes(&inet, false));
    assert_eq!((notes.len(), read.len()), (0, 8));
}
