//! The set-up commands of a case, run against the node. What is not among them is refused by name.

use std::iter::Peekable;

use super::build::{read_address, read_route, set_sysctl};
use super::case::RouteSpec;
use super::{ReplayError, show};
use crate::base::PLANES;
use crate::ipvs::dest::TunnelChecksum;
use crate::ipvs::{Encapsulation, Forward, Ipvs};
use crate::netfilter::{Flavour, TableName};
use crate::netns::{DeviceKind, Netns};
use crate::packet::Family;
use crate::text::xt::{self, ParseOptions, Ruleset, TableCounters};
use crate::text::{
    self,
    ipset::{self, IpsetCx},
};

/// Runs one command line with `stdin`.
pub fn run(netns: &mut Netns, line: &str, stdin: &str) -> Result<(), ReplayError> {
    let words = show::words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let fail = |message: String| ReplayError::new("", message);
    match words.as_slice() {
        [] => Err(fail("an empty command".to_owned())),
        ["sysctl", rest @ ..] => sysctl(netns, rest).map_err(fail),
        ["ip", rest @ ..] => ip(netns, rest).map_err(fail),
        ["ipvsadm", rest @ ..] if PLANES => ipvsadm(netns, rest, stdin).map_err(fail),
        // Objects come into being with the first packet; this says so beforehand, as the kernel wants it.
        ["nfacct", "add", _] => Ok(()),
        ["ipset", rest @ ..] => ipset(netns, rest, stdin).map(drop).map_err(fail),
        ["nft", ..] if PLANES => {
            super::nft::run(netns, line, stdin).map(drop).map_err(|refusal| ReplayError {
                part: String::new(),
                place: Some((refusal.diag.line, refusal.diag.column)),
                message: refusal.diag.message,
            })
        }
        ["conntrack", rest @ ..] => {
            let now = netns.now;
            let ran = text::conntrack::run(&mut netns.ct, now, rest);
            if ran.exit_code == 0 { Ok(()) } else { Err(fail(ran.stderr.trim_end().to_owned())) }
        }
        [name, rest @ ..] => match (tool(name, "-restore"), tool(name, "")) {
            (Some((family, flavour)), _) => restore(netns, family, flavour, rest, stdin),
            (None, Some((family, flavour))) => edit(netns, family, flavour, line),
            (None, None) => Err(fail(format!("{name} is not emulated as a set-up command"))),
        },
    }
}

/// Whether a command, of the set-up or shown, is understood only by a build with [`PLANES`].
pub(super) fn needs_planes(line: &str) -> bool {
    show::words(line).first().is_some_and(|name| matches!(name.as_str(), "nft" | "ipvsadm"))
}

/// Any command of `ipvsadm`. A tunnel that packets could not be sent through is refused by name.
fn ipvsadm(netns: &mut Netns, args: &[&str], stdin: &str) -> Result<(), String> {
    let ran = text::ipvs::run(&mut netns.ipvs, netns.now, args, stdin);
    netns.ipvs_edited();
    // `-R` goes on behind a line that the kernel refuses; a set-up does not.
    if ran.exit_code != 0 || !ran.stderr.is_empty() {
        return Err(ran.stderr.trim_end().to_owned());
    }
    match has_unknown_tunnel(&netns.ipvs) {
        true => Err("IPVS tunnels of type gue, and gre with checksums, are not emulated".to_owned()),
        false => Ok(()),
    }
}

/// Whether a server is reached by a tunnel that is not emulated.
pub(super) fn has_unknown_tunnel(ipvs: &Ipvs) -> bool {
    let is_unknown = |d: &crate::ipvs::Dest| {
        d.forward == Forward::Tunnel
            && match d.encapsulation {
                Encapsulation::Ipip => false,
                Encapsulation::Gue { .. } => true,
                Encapsulation::Gre { checksum } => checksum != TunnelChecksum::None,
            }
    };
    ipvs.services().any(|(_, service)| ipvs.dests(service).any(is_unknown))
}

/// `ipset restore` with `stdin`, or one command of `ipset`; what it prints.
pub(super) fn ipset(netns: &mut Netns, args: &[&str], stdin: &str) -> Result<String, String> {
    let mut sets = std::mem::take(&mut netns.shared.sets);
    let references = |name: &str| netns.set_references(name);
    let mut cx = IpsetCx { sets: &mut sets, now: netns.now, references: &references };
    let done = match args {
        ["restore" | "-R"] => ipset::restore(&mut cx, stdin, false).map(|()| String::new()),
        ["-exist" | "-!", "restore" | "-R"] | ["restore" | "-R", "-exist" | "-!"] => {
            ipset::restore(&mut cx, stdin, true).map(|()| String::new())
        }
        args => ipset::run(&mut cx, args),
    };
    netns.shared.sets = sets;
    done.map_err(|e| e.message.trim_end().to_owned())
}

/// Family and flavour of `iptables-legacy-restore` and its kin; none for another name. Without a flavour it is
/// nft, as on Debian.
pub(super) fn tool(name: &str, ending: &str) -> Option<(Family, Flavour)> {
    let stem = name.strip_suffix(ending)?;
    let (family, rest) = match stem.strip_prefix("ip6tables") {
        Some(rest) => (Family::V6, rest),
        None => (Family::V4, stem.strip_prefix("iptables")?),
    };
    match rest {
        "-legacy" => Some((family, Flavour::Legacy)),
        "-nft" | "" => Some((family, Flavour::Nft)),
        _ => None,
    }
}

/// The loaded tables of one tool, as its text layer sees them.
pub(super) fn ruleset(netns: &Netns, family: Family, flavour: Flavour) -> Ruleset {
    let mut ruleset = Ruleset::new(family, flavour);
    for loaded in netns.tables().iter().filter(|t| t.table.family == family && t.table.flavour == flavour) {
        ruleset.counters.push(TableCounters::of(&loaded.table, &loaded.state));
        ruleset.tables.push((*loaded.table).clone());
    }
    ruleset
}

fn restore(
    netns: &mut Netns,
    family: Family,
    flavour: Flavour,
    args: &[&str],
    stdin: &str,
) -> Result<(), ReplayError> {
    let (mut counters, mut noflush) = (false, false);
    let mut args = args.iter().copied().peekable();
    while let Some(arg) = args.next() {
        match arg {
            "-c" | "--counters" => counters = true,
            "-n" | "--noflush" => noflush = true,
            _ if is_idle(arg, &mut args) => {}
            _ => return Err(ReplayError::new("", format!("option {arg} is not emulated"))),
        }
    }
    let base = ruleset(netns, family, flavour);
    let options = ParseOptions {
        family: Some(family),
        flavour: Some(flavour),
        ignore_counters: !counters,
        strict: true,
        base: Some(&base),
        noflush,
    };
    let (mut read, diags) = xt::parse(stdin, &options);
    if let Some(diag) = diags.iter().find(|d| d.severity == crate::text::diag::Severity::Error) {
        return Err(ReplayError {
            part: String::new(),
            place: Some((diag.line, diag.column)),
            message: diag.message.clone(),
        });
    }
    // A flushing nft restore makes the tables it names anew.
    load(netns, &mut read, flavour == Flavour::Nft && !noflush);
    Ok(())
}

/// Whether an option changes no rule: `-v`, and `-w` and `-W`, whose number may be a word of its own.
fn is_idle<'a>(option: &str, rest: &mut Peekable<impl Iterator<Item = &'a str>>) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    match option {
        "-v" | "--verbose" => true,
        "-w" | "--wait" | "-W" | "--wait-interval" => {
            _ = rest.next_if(|word| is_number(word));
            true
        }
        _ => ["-w", "-W", "--wait=", "--wait-interval="]
            .iter()
            .any(|name| option.strip_prefix(name).is_some_and(is_number)),
    }
}

/// `iptables [-t TABLE] COMMAND...`: an editing command is one line of a restore that keeps the rest.
fn edit(netns: &mut Netns, family: Family, flavour: Flavour, line: &str) -> Result<(), ReplayError> {
    let mut table = "filter".to_owned();
    let mut command = String::new();
    let mut words = show::spans(line).into_iter().skip(1).peekable();
    while let Some(word) = words.next() {
        match word {
            "-t" | "--table" => table = words.next().unwrap_or_default().to_owned(),
            _ if is_idle(word, &mut words) => {}
            _ => {
                command.push_str(word);
                command.push(' ');
            }
        }
    }
    let text = format!("*{table}\n{}\nCOMMIT\n", command.trim_end());
    restore(netns, family, flavour, &["--noflush"], &text)
        .map_err(|error| ReplayError { place: None, ..error })
}

/// Loads the tables of a ruleset that differ from what is loaded.
pub(super) fn load(netns: &mut Netns, read: &mut Ruleset, anew: bool) {
    let seed = netns.shared.seed;
    let states = read.seal(seed);
    let tables = std::mem::take(&mut read.tables);
    for (table, state) in tables.into_iter().zip(states) {
        let same = netns.find(table.flavour, table.family, table.name).is_some_and(|at| {
            let loaded = &netns.tables()[usize::from(at)];
            *loaded.table == table && loaded.state.rules == state.rules
        });
        match (same, anew) {
            (true, _) => {}
            (false, true) => netns.load_anew(table, state),
            (false, false) => netns.load(table, state),
        }
    }
}

/// The order in which `iptables-nft-save` prints tables: that of their names' hash.
const NFT_ORDER: [TableName; 5] =
    [TableName::Mangle, TableName::Security, TableName::Raw, TableName::Filter, TableName::Nat];

/// The tables in the order that iptables-save prints them: the newest first for legacy.
pub(super) fn in_save_order(mut ruleset: Ruleset) -> Ruleset {
    let mut pairs: Vec<_> = ruleset.tables.drain(..).zip(ruleset.counters.drain(..)).collect();
    match ruleset.flavour {
        Flavour::Legacy => pairs.reverse(),
        Flavour::Nft => pairs.sort_by_key(|(table, _)| NFT_ORDER.iter().position(|n| *n == table.name)),
    }
    (ruleset.tables, ruleset.counters) = pairs.into_iter().unzip();
    ruleset
}

/// `sysctl [-w] [-q] NAME=VALUE...`
fn sysctl(netns: &mut Netns, args: &[&str]) -> Result<(), String> {
    for arg in args.iter().filter(|a| !matches!(**a, "-w" | "-q" | "-e")) {
        let (name, value) =
            arg.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, found {arg:?}"))?;
        set_sysctl(netns, name, value)?;
    }
    Ok(())
}

/// `ip addr add`, `ip route add`, `ip link add ... type dummy|bridge`, `ip link set ... up|mtu`.
fn ip(netns: &mut Netns, args: &[&str]) -> Result<(), String> {
    let args = match args {
        ["-4" | "-6", rest @ ..] => rest,
        all => all,
    };
    match args {
        ["addr" | "address" | "a", "add", address, "dev", name, ..] => {
            let dev = netns.inet.find_device(name).ok_or_else(|| format!("Cannot find device \"{name}\""))?;
            netns.inet.add_address(dev, read_address(address)?);
            Ok(())
        }
        ["link", "add", rest @ ..] => {
            let rest = rest.strip_prefix(&["name"]).unwrap_or(rest);
            let [name, "type", kind, ..] = rest else {
                return Err(format!("ip {} is not emulated", args.join(" ")));
            };
            let kind = match *kind {
                "dummy" => DeviceKind::Dummy,
                "bridge" => DeviceKind::Bridge,
                other => return Err(format!("ip link add type {other} is not emulated")),
            };
            netns.inet.add_device(name, kind);
            Ok(())
        }
        ["link", "set", rest @ ..] => {
            let rest = rest.strip_prefix(&["dev"]).unwrap_or(rest);
            match rest {
                [_, "up"] => Ok(()),
                [name, "mtu", mtu, ..] => {
                    let dev = netns
                        .inet
                        .find_device(name)
                        .ok_or_else(|| format!("Cannot find device \"{name}\""))?;
                    netns.inet.device_mut(dev).mtu =
                        mtu.parse().map_err(|_| format!("{mtu:?} is not an MTU"))?;
                    Ok(())
                }
                _ => Err(format!("ip {} is not emulated", args.join(" "))),
            }
        }
        ["route" | "r", "add" | "append" | "replace", rest @ ..] => {
            let mut spec = RouteSpec::default();
            let mut words = rest.iter();
            while let Some(&word) = words.next() {
                let mut value = || words.next().copied().ok_or_else(|| format!("{word}: a value is missing"));
                match word {
                    "via" => spec.via = Some(value()?.parse().map_err(|_| "via: not an address".to_owned())?),
                    "src" => spec.src = Some(value()?.parse().map_err(|_| "src: not an address".to_owned())?),
                    "dev" => spec.dev = Some(value()?.to_owned()),
                    "metric" => spec.metric = value()?.parse().ok(),
                    "mtu" => spec.mtu = value()?.parse().ok(),
                    "proto" | "scope" | "protocol" => _ = value()?,
                    "onlink" => {}
                    "blackhole" | "unreachable" | "prohibit" | "throw" | "local" | "unicast" => {
                        spec.kind = Some(word.to_owned());
                    }
                    to if spec.to.is_empty() => spec.to = to.to_owned(),
                    other => return Err(format!("ip route: {other:?} is not emulated")),
                }
            }
            let route = read_route(&netns.inet, &spec)?;
            netns.inet.main.add(route);
            Ok(())
        }
        _ => Err(format!("ip {} is not emulated", args.join(" "))),
    }
}
