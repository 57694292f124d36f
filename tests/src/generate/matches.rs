//! Random matches. Values come from the pools that the traffic uses, so that both outcomes are common.

use super::rules::{Hook, Place, Ruleset};
use super::traffic::OTHER_MAC;
use super::{Family, Rng};

/// Ports that traffic uses, most of them.
pub(super) const PORTS: [u16; 10] = [80, 443, 53, 8080, 300, 700, 1023, 40000, 40001, 30080];

/// Ports that only `--random` destination NAT leads to.
pub const DRAWN_PORTS: std::ops::RangeInclusive<u16> = 3000..=3010;

/// Addresses that traffic uses.
pub(super) fn addresses(family: Family) -> &'static [&'static str] {
    match family {
        Family::V4 => &[
            "10.1.0.2",
            "10.1.0.3",
            "10.1.0.1",
            "10.2.0.2",
            "10.2.0.3",
            "10.2.0.1",
            "10.3.0.2",
            "10.96.0.1",
            "10.96.0.2",
            "203.0.113.9",
        ],
        Family::V6 => &[
            "fd00:1::2",
            "fd00:1::3",
            "fd00:1::1",
            "fd00:2::2",
            "fd00:2::3",
            "fd00:2::1",
            "fd00:3::2",
            "fd96::1",
            "fd96::2",
            "2001:db8::9",
        ],
    }
}

pub(super) fn networks(family: Family) -> &'static [&'static str] {
    match family {
        Family::V4 => {
            &["10.1.0.0/24", "10.2.0.0/24", "10.0.0.0/8", "10.96.0.0/16", "10.1.0.2/31", "0.0.0.0/0"]
        }
        Family::V6 => &["fd00:1::/64", "fd00:2::/64", "fd00::/8", "fd96::/112", "fd00:1::2/127", "::/0"],
    }
}

/// The match part of a rule, each word led by a blank.
pub(super) fn words(ruleset: &mut Ruleset, rng: &mut Rng, place: Place) -> String {
    let mut words = String::new();
    header(ruleset, rng, place, &mut words);
    let protocol = *rng.pick(&["", "", "", "tcp", "tcp", "tcp", "tcp", "udp", "udp", "udp", "icmp", "sctp"]);
    let protocol = if protocol == "icmp" && ruleset.family == Family::V6 { "icmpv6" } else { protocol };
    if ruleset.family == Family::V4 && rng.one_in(60) {
        words += " -f";
    }
    if !protocol.is_empty() {
        let not = if rng.one_in(12) { " !" } else { "" };
        words += &format!("{not} -p {protocol}");
        if not.is_empty() && rng.one_in(2) {
            words += &by_protocol(rng, protocol);
        }
    }
    for _ in 0..*rng.pick(&[0, 0, 0, 1, 1, 2]) {
        words += &extension(ruleset, rng, place);
    }
    words
}

fn not(rng: &mut Rng) -> &'static str {
    if rng.one_in(4) { " !" } else { "" }
}

/// `-s -d -i -o`.
fn header(ruleset: &Ruleset, rng: &mut Rng, place: Place, words: &mut String) {
    for option in ["-s", "-d"] {
        if rng.one_in(4) {
            let pool = if rng.one_in(2) { networks(ruleset.family) } else { addresses(ruleset.family) };
            let value = *rng.pick(pool);
            // Not everything is nothing; nft refuses to say so.
            let not = if value.ends_with("/0") { "" } else { not(rng) };
            *words += &format!("{not} {option} {value}");
        }
    }
    let (input, output) = match place.hook() {
        Hook::Prerouting | Hook::Input => (true, false),
        Hook::Output | Hook::Postrouting => (false, true),
        Hook::Forward | Hook::User => (true, true),
    };
    for (option, allowed) in [("-i", input), ("-o", output)] {
        if allowed && rng.one_in(5) {
            *words += &format!("{} {option} {}", not(rng), rng.pick(&["c0", "s0", "w0", "c+", "lo"]));
        }
    }
}

fn range(rng: &mut Rng) -> String {
    let (first, second) = (*rng.pick(&PORTS), *rng.pick(&PORTS));
    match rng.below(5) {
        0 => format!("{}:{}", first.min(second), first.max(second)),
        1 => format!(":{first}"),
        2 => format!("{first}:"),
        _ => first.to_string(),
    }
}

fn by_protocol(rng: &mut Rng, protocol: &str) -> String {
    let not_port = not(rng);
    match protocol {
        "tcp" => match rng.below(7) {
            0 => format!(" -m tcp{} --syn", not(rng)),
            1 => {
                let masks = [
                    "SYN,ACK SYN",
                    "SYN,RST SYN",
                    "FIN FIN",
                    "FIN,SYN,RST,PSH,ACK,URG NONE",
                    "SYN,ACK SYN,ACK",
                    "PSH PSH",
                ];
                format!(" -m tcp{} --tcp-flags {}", not(rng), rng.pick(&masks))
            }
            2 => format!(" -m tcp{} --tcp-option {}", not(rng), rng.pick(&[2, 3, 4, 8])),
            3 => multiport(rng),
            4 => format!(" -m tcpmss{} --mss {}", not(rng), rng.pick(&["1460", "500:1400", "536"])),
            _ => {
                let side = *rng.pick(&["--dport", "--dport", "--sport"]);
                format!(" -m tcp{not_port} {side} {}", range(rng))
            }
        },
        "udp" => {
            if rng.one_in(4) {
                return multiport(rng);
            }
            let side = *rng.pick(&["--dport", "--dport", "--sport"]);
            format!(" -m udp{not_port} {side} {}", range(rng))
        }
        "sctp" => {
            let side = *rng.pick(&["--dport", "--dport", "--sport"]);
            format!(" -m sctp{not_port} {side} {}", range(rng))
        }
        "icmp" => {
            format!(" -m icmp{} --icmp-type {}", not(rng), rng.pick(&["8", "0", "3", "3/3", "11", "any"]))
                .replace("! --icmp-type any", "--icmp-type any")
        }
        _ => format!(" -m icmp6{} --icmpv6-type {}", not(rng), rng.pick(&["128", "129", "1", "1/4", "3"])),
    }
}

fn multiport(rng: &mut Rng) -> String {
    let mut list = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let (first, second) = (*rng.pick(&PORTS), *rng.pick(&PORTS));
        list.push(if rng.one_in(4) {
            format!("{}:{}", first.min(second), first.max(second))
        } else {
            first.to_string()
        });
    }
    format!(" -m multiport{} {} {}", not(rng), rng.pick(&["--dports", "--sports", "--ports"]), list.join(","))
}

/// One `-m` extension that stands on its own.
///
/// No connlimit: whether its list is looked through for dead connections depends on the kernel's clock tick
/// (`nf_conncount_add`), so it is asked by hand, with pauses.
fn extension(ruleset: &mut Ruleset, rng: &mut Rng, place: Place) -> String {
    let four = ruleset.family == Family::V4;
    let index = ruleset.index;
    match rng.below(42) {
        0..=2 => {
            let states = [
                "NEW",
                "ESTABLISHED",
                "RELATED,ESTABLISHED",
                "INVALID",
                "INVALID,NEW",
                "UNTRACKED",
                "DNAT",
                "SNAT",
                "NEW,SNAT",
            ];
            format!(" -m conntrack{} --ctstate {}", not(rng), rng.pick(&states))
        }
        3 => format!(
            " -m conntrack{} --ctstatus {}",
            not(rng),
            rng.pick(&["SEEN_REPLY", "ASSURED", "CONFIRMED", "NONE", "EXPECTED", "SEEN_REPLY,ASSURED"])
        ),
        4 => format!(" -m conntrack --ctdir {}", rng.pick(&["ORIGINAL", "REPLY"])),
        5 => {
            let option = *rng.pick(&["--ctorigsrc", "--ctorigdst", "--ctreplsrc", "--ctrepldst"]);
            format!(" -m conntrack{} {option} {}", not(rng), rng.pick(addresses(ruleset.family)))
        }
        6 => {
            let option =
                *rng.pick(&["--ctorigsrcport", "--ctorigdstport", "--ctreplsrcport", "--ctrepldstport"]);
            format!(" -m conntrack{} {option} {}", not(rng), rng.pick(&PORTS))
        }
        7 => format!(" -m conntrack --ctproto {}", rng.pick(&["6", "17", "1", "132"])),
        8 | 9 => format!(
            " -m mark{} --mark {}",
            not(rng),
            rng.pick(&["0x1", "0x0/0x1", "0x4000/0x4000", "0x2/0xff"])
        ),
        10 => format!(
            " -m connmark{} --mark {}",
            not(rng),
            rng.pick(&["0x0", "0x1", "0x1/0x3", "0x4000/0xffff"])
        ),
        11 => format!(" -m length{} --length {}", not(rng), rng.pick(&["0:60", "61:", "40", "100:2000"])),
        12 if four => format!(
            " -m ttl {} {}",
            rng.pick(&["--ttl-eq", "--ttl-lt", "--ttl-gt"]),
            rng.pick(&[1, 2, 63, 64])
        ),
        12 => {
            format!(" -m hl {} {}", rng.pick(&["--hl-eq", "--hl-lt", "--hl-gt"]), rng.pick(&[1, 2, 63, 64]))
        }
        13 => format!(" -m dscp{} --dscp {}", not(rng), rng.pick(&["0x00", "0x2e", "0x02"])),
        14 => format!(" -m tos{} --tos {}", not(rng), rng.pick(&["0x08/0xff", "0x10/0x3f", "0x00/0xff"])),
        15 if matches!(place.hook(), Hook::Prerouting | Hook::Input | Hook::Forward) => {
            let limit = match place.hook() {
                Hook::Prerouting | Hook::Input => *rng.pick(&["", "", " --limit-iface-in"]),
                _ => *rng.pick(&["", " --limit-iface-in", " --limit-iface-out"]),
            };
            let kinds: &[&str] = if four {
                &["LOCAL", "LOCAL", "UNICAST", "BROADCAST", "MULTICAST", "LOCAL,BROADCAST"]
            } else {
                &["LOCAL", "LOCAL", "UNICAST", "MULTICAST"]
            };
            let side = *rng.pick(&["--dst-type", "--dst-type", "--src-type"]);
            format!(" -m addrtype{} {side} {}{limit}", not(rng), rng.pick(kinds))
        }
        16 => statistic(rng),
        17 => {
            let (from, to) = if four { ("10.1.0.2", "10.2.0.2") } else { ("fd00:1::2", "fd00:2::2") };
            format!(" -m iprange{} {} {from}-{to}", not(rng), rng.pick(&["--src-range", "--dst-range"]))
        }
        18 => {
            let option = *rng.pick(&[
                "--set",
                "--set",
                "--rcheck",
                "--update",
                "--remove",
                "--rcheck --hitcount 2",
                "--update --seconds 60",
                "--rcheck --seconds 60 --reap",
            ]);
            format!(" -m recent {option} --name l{index} {}", rng.pick(&["--rsource", "--rdest"]))
        }
        19 => {
            let limit = *rng.pick(&["--hashlimit-upto", "--hashlimit-above"]);
            let mode = *rng.pick(&["srcip", "dstip", "srcip,dstport", "dstip,dstport"]);
            // Each rule has a bucket of its own: rules that share a name share the first one's settings.
            let unique = rng.below(1_000_000);
            format!(
                " -m hashlimit {limit} 1/hour --hashlimit-burst {} --hashlimit-mode {mode} --hashlimit-name h{index}-{unique}",
                1 + rng.below(3)
            )
        }
        20 => format!(" -m limit --limit 1/hour --limit-burst {}", 1 + rng.below(4)),
        21 => set(ruleset, rng),
        22 => {
            let bound = *rng.pick(&["2", "0:1", "3:"]);
            let bound = if bound == "3:" { "3" } else { bound };
            format!(
                " -m connbytes{} --connbytes {bound} --connbytes-mode packets --connbytes-dir {}",
                not(rng),
                rng.pick(&["original", "reply", "both"])
            )
        }
        23 if place.hook() == Hook::Prerouting && !matches!(place, Place::NatDestination(_)) => {
            format!(" -m rpfilter{}", rng.pick(&["", " --invert", " --loose"]))
        }
        24 if matches!(place.hook(), Hook::Output | Hook::Postrouting) => {
            format!(
                " -m owner{} {}",
                not(rng),
                rng.pick(&["--uid-owner 0", "--uid-owner 1000", "--gid-owner 0", "--socket-exists"])
            )
        }
        25 | 26 => format!(
            " -m state{} --state {}",
            not(rng),
            rng.pick(&["NEW", "ESTABLISHED", "RELATED,ESTABLISHED", "INVALID", "UNTRACKED"])
        ),
        27 if inbound(place) => format!(" -m mac{} --mac-source {OTHER_MAC}", not(rng)),
        29 if inbound(place) => format!(
            " -m pkttype{} --pkt-type {}",
            not(rng),
            rng.pick(&["unicast", "unicast", "broadcast", "multicast"])
        ),
        30 => format!(" -m ecn{} --ecn-ip-ect {}", not(rng), rng.below(4)),
        31 => format!(
            " -m time {} --utc",
            rng.pick(&[
                "--datestart 1980-01-01T00:00:00 --datestop 1980-02-01T00:00:00",
                "--datestart 1970-01-01T00:00:00 --datestop 2037-01-01T00:00:00",
                "--timestart 00:00:00 --timestop 23:59:59",
                "--weekdays Mon,Tue,Wed,Thu,Fri,Sat,Sun",
            ])
        ),
        32 => format!(" -m quota{} --quota {}", not(rng), rng.pick(&[0, 100, 200, 2000])),
        33 => format!(
            " -m string{} --algo {} --hex-string \"|{}|\"{}",
            not(rng),
            rng.pick(&["bm", "kmp"]),
            rng.pick(&["00000000", "0000", "ffff01"]),
            rng.pick(&["", " --from 40", " --to 60", " --from 20 --to 100"])
        ),
        34 => format!(
            " -m u32{} --u32 \"{}\"",
            not(rng),
            if four {
                *rng.pick(&[
                    "0x6&0xff=0x6",
                    "0x6&0xff=0x11",
                    "0x0&0xffff=0x28:0x40",
                    "0x0>>0x16&0x3c@0x0>>0x10=0x9c40",
                ])
            } else {
                *rng.pick(&["0x4>>0x8&0xff=0x6", "0x4&0xff=0x40:0xff"])
            }
        ),
        35 => " -m helper --helper ftp".to_string(),
        36 => format!(
            " -m conntrack{} --ctexpire {}",
            not(rng),
            rng.pick(&["0:20", "15:70", "80:200", "250:500", "1000:500000"])
        ),
        37 if place.hook() == Hook::Forward => format!(
            " -m physdev {}",
            rng.pick(&[
                "! --physdev-is-bridged",
                "--physdev-is-bridged",
                "! --physdev-in c0",
                "--physdev-in c0"
            ])
        ),
        38 if place.hook() == Hook::Forward => {
            format!(" -m policy --dir in --pol {}", rng.pick(&["none", "ipsec"]))
        }
        39 | 40 => set(ruleset, rng),
        28 => {
            let name = format!("a{}-{}", ruleset.index, ruleset.accounting.len());
            ruleset.accounting.push(name.clone());
            format!(" -m nfacct --nfacct-name {name}")
        }
        _ => format!(" -m comment --comment \"rule {}\"", rng.below(100)),
    }
}

/// Where a packet has a frame it came in.
fn inbound(place: Place) -> bool {
    matches!(place.hook(), Hook::Prerouting | Hook::Input | Hook::Forward)
}

fn statistic(rng: &mut Rng) -> String {
    if rng.one_in(3) {
        return format!(" -m statistic --mode random --probability {}", rng.pick(&["1", "0"]));
    }
    let every = 2 + rng.below(3);
    format!(" -m statistic --mode nth{} --every {every} --packet {}", not(rng), rng.below(every))
}

/// A set match; the set is created when it is first named.
fn set(ruleset: &mut Ruleset, rng: &mut Rng) -> String {
    let (name, dimensions) = new_set(ruleset, rng);
    format!(" -m set{} --match-set {name} {}", not(rng), sides(rng, dimensions))
}

/// `src` or `dst` for each dimension.
pub(super) fn sides(rng: &mut Rng, dimensions: usize) -> String {
    let sides: Vec<&str> = (0..dimensions).map(|_| *rng.pick(&["src", "dst"])).collect();
    sides.join(",")
}

/// Creates a set with a member; gives its name and how many dimensions it has.
pub(super) fn new_set(ruleset: &mut Ruleset, rng: &mut Rng) -> (String, usize) {
    let number = ruleset.sets.matches("create ").count();
    let name = format!("x{}-{number}", ruleset.index);
    let family = if ruleset.family == Family::V4 { "inet" } else { "inet6" };
    let pool = addresses(ruleset.family);
    let (kind, member, dimensions) = match rng.below(9) {
        0 | 1 => (format!("hash:ip family {family}"), rng.pick(pool).to_string(), 1),
        2 => (format!("hash:net family {family}"), rng.pick(&networks(ruleset.family)[..5]).to_string(), 1),
        3 => (
            format!("hash:ip,port family {family}"),
            format!("{},tcp:{}", rng.pick(pool), rng.pick(&PORTS)),
            2,
        ),
        4 => (
            format!("hash:ip,port,ip family {family}"),
            format!("{},udp:{},{}", rng.pick(pool), rng.pick(&PORTS), rng.pick(pool)),
            3,
        ),
        5 => (
            format!("hash:ip,port,net family {family}"),
            format!(
                "{},tcp:{},{}",
                rng.pick(pool),
                rng.pick(&PORTS),
                rng.pick(&networks(ruleset.family)[..5])
            ),
            3,
        ),
        6 => {
            ruleset.sets +=
                &format!("create {name}m hash:ip family {family}\nadd {name}m {}\n", rng.pick(pool));
            ("list:set".to_string(), format!("{name}m"), 1)
        }
        7 => (format!("hash:ip family {family} counters"), rng.pick(pool).to_string(), 1),
        _ => ("bitmap:port range 0-65535".to_string(), rng.pick(&PORTS).to_string(), 1),
    };
    ruleset.sets += &format!("create {name} {kind}\nadd {name} {member}\n");
    (name, dimensions)
}
