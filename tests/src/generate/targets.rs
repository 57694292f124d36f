//! Random targets, by the place of the rule.

use super::matches::{self, PORTS};
use super::rules::{Hook, Place, Ruleset};
use super::{Family, Rng};

/// [`matches::DRAWN_PORTS`] in the words of a rule.
const DRAWN: &str = "3000-3010";

/// The target part of a rule.
#[derive(Debug, Default)]
pub(super) struct Target {
    /// Led by a blank; empty for a rule that only counts.
    pub(super) words: String,
    /// A protocol part that the target insists on.
    pub(super) needs: Option<&'static str>,
}

fn plain(words: impl Into<String>) -> Target {
    Target { words: words.into(), needs: None }
}

/// A target that the kernel accepts in this place behind these matches.
pub(super) fn words(
    ruleset: &mut Ruleset,
    rng: &mut Rng,
    place: Place,
    callable: &[&str],
    matches: &str,
) -> Target {
    if !callable.is_empty() && rng.one_in(4) {
        return plain(format!(" {} {}", rng.pick(&["-j", "-j", "-j", "-g"]), rng.pick(callable)));
    }
    match rng.below(10) {
        0 | 1 => return Target::default(),
        2 => return plain(" -j ACCEPT"),
        3 if rng.one_in(2) => return plain(" -j RETURN"),
        4 if rng.one_in(3) => return plain(format!(" -j LOG --log-prefix \"p{} \"", rng.below(10))),
        5 if rng.one_in(4) => return plain(format!(" -j NFLOG --nflog-group {}", 1 + rng.below(4))),
        _ => {}
    }
    match place {
        Place::Raw(_) => raw(rng),
        Place::Mangle(hook) => mangle(ruleset, rng, hook, matches),
        Place::NatDestination(hook) => destination(ruleset, rng, hook, matches),
        Place::NatSource(hook) => source(ruleset, rng, hook, matches),
        Place::Filter(_) => filter(ruleset, rng, matches),
        Place::Security(_) => plain(*rng.pick(&[" -j ACCEPT", " -j RETURN", " -j DROP", ""])),
    }
}

fn raw(rng: &mut Rng) -> Target {
    match rng.below(10) {
        0 => plain(" -j NOTRACK"),
        1 => plain(" -j CT --notrack"),
        2 => plain(" -j DROP"),
        3 => plain(match rng.below(5) {
            0 => " -j CT --ctevents new,destroy".to_string(),
            1 => format!(" -j CT --ctevents new,reply --zone {}", rng.below(3)),
            2 => " -j CT --zone mark".to_string(),
            _ => format!(" -j CT --zone {}", 1 + rng.below(3)),
        }),
        4 => plain(" -j TRACE"),
        _ => plain(mark(rng)),
    }
}

fn mark(rng: &mut Rng) -> String {
    let value = *rng.pick(&["0x1", "0x2", "0x4000", "0x4001"]);
    match rng.below(6) {
        0 => format!(" -j MARK --set-mark {value}"),
        1 => format!(" -j MARK --or-mark {value}"),
        2 => format!(" -j MARK --and-mark {value}"),
        3 => format!(" -j MARK --xor-mark {value}"),
        4 => format!(" -j MARK --set-mark {value}/0xff"),
        _ => format!(" -j MARK --set-xmark {value}/0xf00f"),
    }
}

fn connmark(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 | 1 => format!(" -j CONNMARK --set-mark {}", rng.pick(&["0x1", "0x4000/0x4000", "0x3"])),
        2 => " -j CONNMARK --save-mark".to_string(),
        3 => " -j CONNMARK --restore-mark".to_string(),
        4 => " -j CONNMARK --save-mark --nfmask 0xff --ctmask 0xffff".to_string(),
        _ => " -j CONNMARK --restore-mark --nfmask 0xf --ctmask 0xff".to_string(),
    }
}

fn mangle(ruleset: &mut Ruleset, rng: &mut Rng, hook: Hook, matches: &str) -> Target {
    let four = ruleset.family == Family::V4;
    // A kernel that has summed an IPv6 packet already does not notice a changed header: the packet is then taken
    // for damaged by its socket. Not emulated, so not asked.
    let summed = !four && !matches!(hook, Hook::Forward | Hook::Output | Hook::Postrouting);
    match rng.below(19) {
        7..=9 if summed => plain(mark(rng)),
        0..=3 => plain(mark(rng)),
        4..=6 => plain(connmark(rng)),
        7 if four => plain(format!(" -j TTL {}", rng.pick(&["--ttl-set 9", "--ttl-inc 1", "--ttl-dec 1"]))),
        7 => plain(format!(" -j HL {}", rng.pick(&["--hl-set 9", "--hl-inc 1", "--hl-dec 1"]))),
        8 => plain(format!(
            " -j DSCP {}",
            rng.pick(&["--set-dscp 0x2e", "--set-dscp 0", "--set-dscp-class CS1"])
        )),
        9 => plain(format!(
            " -j TOS {}",
            rng.pick(&["--set-tos 0x10/0xff", "--or-tos 0x04", "--and-tos 0xf0", "--xor-tos 0x08"])
        )),
        // One `-m tcp` a rule: nft prints two as one.
        10 if !other_protocol(matches, "tcp") && !matches.contains("-m tcp ") && hook != Hook::User => {
            let clamp = matches!(hook, Hook::Forward | Hook::Output | Hook::Postrouting) && rng.one_in(2);
            let words = if clamp {
                " -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu"
            } else {
                " -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --set-mss 1200"
            };
            Target { words: words.into(), needs: Some("-p tcp") }
        }
        11 => plain(" -j CLASSIFY --set-class 1:2").on(matches!(hook, Hook::Postrouting)),
        12 if rng.one_in(3) => plain(" -j DROP"),
        13 if hook == Hook::Postrouting && !other_protocol(matches, "udp") => {
            Target { words: " -j CHECKSUM --checksum-fill".into(), needs: Some("-p udp") }
        }
        14 if !other_protocol(matches, "tcp") => Target {
            words: format!(
                " -j TCPOPTSTRIP --strip-options {}",
                rng.pick(&["mss", "wscale,sack-permitted", "8"])
            ),
            needs: Some("-p tcp"),
        },
        15 if four && !other_protocol(matches, "tcp") => {
            Target { words: " -j ECN --ecn-tcp-remove".into(), needs: Some("-p tcp") }
        }
        16 | 17 => {
            let (name, dimensions) = matches::new_set(ruleset, rng);
            let option = *rng.pick(&["--add-set", "--add-set", "--del-set"]);
            // A list of sets takes no addresses.
            let list = ruleset.sets.contains(&format!("create {name} list:set"));
            let exist = if option == "--add-set" { *rng.pick(&["", " --exist"]) } else { "" };
            plain(format!(" -j SET {option} {name} {}{exist}", matches::sides(rng, dimensions))).on(!list)
        }
        _ => plain(mark(rng)),
    }
}

impl Target {
    /// The target where it is allowed, else a rule that only counts.
    fn on(self, allowed: bool) -> Target {
        if allowed { self } else { Target::default() }
    }
}

/// Whether the matches already name another protocol than this.
fn other_protocol(matches: &str, protocol: &str) -> bool {
    matches.contains(" -p ") && !matches.contains(&format!(" -p {protocol}")) || matches.contains("! -p")
}

/// Whether ports may be given: the matches fix a protocol that has some.
fn ports(matches: &str) -> bool {
    (matches.contains(" -p tcp") || matches.contains(" -p udp")) && !matches.contains("! -p")
}

fn host(ruleset: &Ruleset, address: &str, port: &str) -> String {
    match (ruleset.family, port.is_empty()) {
        (Family::V6, false) => format!("[{address}]:{port}"),
        (Family::V4, false) => format!("{address}:{port}"),
        (_, true) => address.to_string(),
    }
}

fn destination(ruleset: &Ruleset, rng: &mut Rng, hook: Hook, matches: &str) -> Target {
    let servers = if ruleset.family == Family::V4 {
        ["10.2.0.2", "10.2.0.3", "10.1.0.3", "10.2.0.1", "10.2.0.2-10.2.0.5"]
    } else {
        ["fd00:2::2", "fd00:2::3", "fd00:1::3", "fd00:2::1", "fd00:2::2-fd00:2::5"]
    };
    let server = *rng.pick(&servers);
    match rng.below(10) {
        0..=4 => {
            let (port, flag) = if ports(matches) {
                match rng.below(8) {
                    0 | 1 => (String::new(), ""),
                    2 => ("8080-8082".to_string(), ""),
                    3 => (DRAWN.to_string(), " --random"),
                    4 => ("6000-6443/80".to_string(), ""),
                    _ => (rng.pick(&PORTS).to_string(), *rng.pick(&["", "", "", " --random"])),
                }
            } else {
                (String::new(), "")
            };
            let flag = if flag.is_empty() && rng.one_in(6) { " --persistent" } else { flag };
            plain(format!(" -j DNAT --to-destination {}{flag}", host(ruleset, server, &port)))
        }
        5 if ports(matches) => plain(format!(
            " -j REDIRECT --to-ports {}",
            rng.pick(&["80", "8080", "53", "2000-2010", &format!("{DRAWN} --random")])
        )),
        5 | 6 if hook != Hook::User => plain(" -j REDIRECT"),
        7 => netmap(ruleset, rng),
        _ => plain(mark(rng)),
    }
}

fn netmap(ruleset: &Ruleset, rng: &mut Rng) -> Target {
    let to = if ruleset.family == Family::V4 {
        ["10.2.0.0/24", "10.1.0.0/30", "10.2.0.2/32"]
    } else {
        ["fd00:2::/64", "fd00:1::/126", "fd00:2::2/128"]
    };
    plain(format!(" -j NETMAP --to {}", rng.pick(&to)))
}

fn source(ruleset: &Ruleset, rng: &mut Rng, hook: Hook, matches: &str) -> Target {
    let own = if ruleset.family == Family::V4 {
        ["10.2.0.1", "10.2.0.77", "10.1.0.3", "10.3.0.1", "10.2.0.70-10.2.0.79", "10.2.0.76-10.2.0.77"]
    } else {
        [
            "fd00:2::1",
            "fd00:2::77",
            "fd00:1::3",
            "fd00:3::1",
            "fd00:2::70-fd00:2::79",
            "fd00:2::76-fd00:2::77",
        ]
    };
    let address = *rng.pick(&own);
    match rng.below(10) {
        0..=2 => {
            let port = if ports(matches) && rng.one_in(2) {
                *rng.pick(&["2000", "2000-2010", "600-650", "41000-41050"])
            } else {
                ""
            };
            let flag = *rng.pick(&["", "", "", " --persistent", " --random", " --random-fully"]);
            plain(format!(" -j SNAT --to-source {}{flag}", host(ruleset, address, port)))
        }
        3..=5 if matches!(hook, Hook::Postrouting) => {
            let port = if ports(matches) && rng.one_in(3) {
                *rng.pick(&[" --to-ports 2000", " --to-ports 2000-2010", " --to-ports 41000-41100"])
            } else {
                ""
            };
            plain(format!(" -j MASQUERADE{port}{}", rng.pick(&["", "", " --random", " --random-fully"])))
        }
        6 => netmap(ruleset, rng),
        _ => plain(mark(rng)),
    }
}

fn filter(ruleset: &Ruleset, rng: &mut Rng, matches: &str) -> Target {
    match rng.below(10) {
        0 => plain(" -j DROP"),
        1 if !other_protocol(matches, "tcp") => {
            Target { words: " -j REJECT --reject-with tcp-reset".into(), needs: Some("-p tcp") }
        }
        1 | 2 => {
            let kinds: &[&str] = if ruleset.family == Family::V4 {
                &[
                    "icmp-port-unreachable",
                    "icmp-host-unreachable",
                    "icmp-net-unreachable",
                    "icmp-proto-unreachable",
                    "icmp-admin-prohibited",
                    "icmp-host-prohibited",
                    "icmp-net-prohibited",
                ]
            } else {
                &[
                    "icmp6-port-unreachable",
                    "icmp6-no-route",
                    "icmp6-adm-prohibited",
                    "icmp6-addr-unreachable",
                    "icmp6-policy-fail",
                    "icmp6-reject-route",
                ]
            };
            plain(format!(" -j REJECT --reject-with {}", rng.pick(kinds)))
        }
        3 => plain(" -j AUDIT --type drop"),
        4 => plain(mark(rng)),
        5 => plain(connmark(rng)),
        _ => plain(" -j ACCEPT"),
    }
}
