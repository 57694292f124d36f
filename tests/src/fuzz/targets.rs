//! What reads inputs, and the laws that hold for any input.

use chainwalk_engine::base::{Instant, KernelVersion};
use chainwalk_engine::ipvs::Ipvs;
use chainwalk_engine::netfilter::table::Flavour;
use chainwalk_engine::packet::{Family, Packet};
use chainwalk_engine::replay::{self, line};
use chainwalk_engine::text::diag::Severity;
use chainwalk_engine::text::ip;
use chainwalk_engine::text::ipvs;
use chainwalk_engine::text::nft::{self, ListOptions};
use chainwalk_engine::text::xt::{self, ParseOptions, RestoreOptions, Ruleset, SaveOptions};

use super::corpus::Kind;

/// A reader with its laws.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub what: &'static str,
    pub kind: Kind,
    /// The error is the law that was broken.
    pub read: fn(&str) -> Result<(), String>,
}

pub const TARGETS: &[Target] = &[
    Target {
        name: "paste",
        what: "iptables-save text as people paste it; without an error, what is printed reads back to the same",
        kind: Kind::Xt,
        read: paste,
    },
    Target {
        name: "restore",
        what: "iptables-restore, both flavours and families: refused or taken, and then printed and taken again",
        kind: Kind::Xt,
        read: restore,
    },
    Target { name: "ip", what: "the output of ip addr and ip route", kind: Kind::Ip, read: ip },
    Target {
        name: "line",
        what: "a packet in one line; what is printed reads back to the same",
        kind: Kind::Line,
        read: line,
    },
    Target {
        name: "packet",
        what: "the bytes of an IP packet; what is built from them reads back to the same",
        kind: Kind::Hex,
        read: packet,
    },
    Target {
        name: "ipvsadm",
        what: "lines of ipvsadm; what is then saved reads back to the same",
        kind: Kind::Ipvsadm,
        read: ipvsadm,
    },
    Target { name: "manifest", what: "Kubernetes objects", kind: Kind::Manifest, read: manifest },
    Target {
        name: "nft",
        what: "nftables listings and commands; what is printed reads back to the same",
        kind: Kind::Nft,
        read: nft,
    },
    Target {
        name: "replay",
        what: "replay cases, changed as trees: a report or an error, and twice the same digest",
        kind: Kind::Replay,
        read: replay,
    },
];

fn ip(text: &str) -> Result<(), String> {
    ip::parse_addr(text);
    ip::parse_route(text);
    Ok(())
}

fn line(text: &str) -> Result<(), String> {
    let Ok(spec) = line::parse(text) else { return Ok(()) };
    let printed = line::print(&spec);
    match line::parse(&printed) {
        Ok(again) if again == spec => Ok(()),
        Ok(_) => Err(format!("printed as {printed:?}, it reads as another packet")),
        Err(diag) => Err(format!("printed as {printed:?}, it does not read: {}", diag.message)),
    }
}

fn packet(text: &str) -> Result<(), String> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let Ok(packet) = Packet::parse(&bytes) else { return Ok(()) };
    let built = packet.to_bytes();
    match Packet::parse(&built) {
        Ok(again) if again.to_bytes() == built => Ok(()),
        Ok(_) => Err("built, read and built again, the bytes differ".to_owned()),
        Err(error) => Err(format!("the built packet does not read: {error:?}")),
    }
}

fn ipvsadm(text: &str) -> Result<(), String> {
    let mut node = Ipvs::new(KernelVersion::default(), 1);
    ipvs::run(&mut node, Instant::ZERO, &["-R"], text);
    for form in [&["-Ln"][..], &["-L", "--stats"], &["-Lnc"], &["-L", "--tun-info", "--nosort"]] {
        ipvs::show(&node, Instant::ZERO, form);
    }
    let saved = ipvs::save(&node);
    let mut again = Ipvs::new(KernelVersion::default(), 1);
    let ran = ipvs::run(&mut again, Instant::ZERO, &["-R"], &saved);
    match ipvs::save(&again) == saved {
        true => Ok(()),
        false => Err(format!("saved as {saved:?}, it does not read back: {}", ran.stderr)),
    }
}

fn manifest(text: &str) -> Result<(), String> {
    // Whatever it is, it ends.
    let _ = chainwalk_engine::cluster::manifest::parse(text);
    Ok(())
}

fn nft(text: &str) -> Result<(), String> {
    let Ok(ruleset) = nft::parse(text) else { return Ok(()) };
    let print = |ruleset, json| {
        let options = ListOptions { json, ..ListOptions::default() };
        nft::list_ruleset(ruleset, Instant::ZERO, options)
    };
    let printed = print(&ruleset, false);
    print(&ruleset, true);
    match nft::parse(&printed) {
        Ok(again) => same(&printed, &print(&again, false)),
        Err(refusal) => Err(format!("what it printed is refused: {}\n{printed}", refusal.error.message)),
    }
}

fn replay(text: &str) -> Result<(), String> {
    let Ok(mut case) = replay::parse(text) else { return Ok(()) };
    // The work of a case is bounded by what it asks for; a fuzzer asks for too much.
    case.packets.truncate(50);
    let run = || replay::run(&case, &replay::Options::default()).map(|report| report.digest);
    match (run(), run()) {
        (Ok(one), Ok(two)) if one != two => Err(format!("two runs, two digests: {one} and {two}")),
        _ => Ok(()),
    }
}

fn paste(text: &str) -> Result<(), String> {
    let (ruleset, diags) = xt::parse(text, &ParseOptions::default());
    // What the real tool would refuse, we keep as well as we can; the law is for what it takes.
    if diags.iter().any(|diag| diag.severity == Severity::Error) || !reads_back(&ruleset) {
        return Ok(());
    }
    let printed = ruleset.save(&SaveOptions::default());
    // The family is guessed from the text; a text that lost its only address is read as what it was.
    let options = ParseOptions {
        family: Some(ruleset.family),
        flavour: Some(ruleset.flavour),
        ..ParseOptions::default()
    };
    let (again, _) = xt::parse(&printed, &options);
    same(&printed, &again.save(&SaveOptions::default()))
}

fn restore(text: &str) -> Result<(), String> {
    for (family, flavour) in [(Family::V4, Flavour::Legacy), (Family::V6, Flavour::Nft)] {
        let options = RestoreOptions { family, flavour, counters: false, noflush: false };
        let empty = Ruleset::new(family, flavour);
        let Ok(ruleset) = xt::restore(text, &empty, options) else { continue };
        if !reads_back(&ruleset) {
            continue;
        }
        let printed = ruleset.save(&SaveOptions::default());
        let again = xt::restore(&printed, &empty, options)
            .map_err(|failure| format!("what it printed is refused: {}\n{printed}", failure.error.message))?;
        same(&printed, &again.save(&SaveOptions::default()))?;
    }
    Ok(())
}

/// iptables-save prints names of chains, devices and recent lists bare, and so do we: one with a space, a quote or a
/// leading dash does not read back there either.
fn reads_back(ruleset: &Ruleset) -> bool {
    let plain = |name: &str| {
        !name.starts_with('-') && name.chars().all(|c| c.is_ascii_graphic() && !"\"'\\".contains(c))
    };
    ruleset.tables.iter().flat_map(|table| &table.chains).all(|chain| {
        plain(&chain.name)
            && chain.rules.iter().all(|rule| {
                let devices = [&rule.head.in_dev, &rule.head.out_dev];
                devices.into_iter().flatten().all(|device| plain(&device.value.name))
                    && rule.matches.iter().all(|bound| list_name(&format!("{:?}", bound.m)).is_none_or(plain))
            })
    })
}

/// The name of a recent list, from the match's debug text: the registry keeps its types to itself.
fn list_name(debug: &str) -> Option<&str> {
    debug.split_once("Recent")?.1.split_once("name: \"")?.1.split('"').next()
}

/// `print(parse(x)) = x` for what we printed ourselves.
fn same(printed: &str, again: &str) -> Result<(), String> {
    if printed == again {
        return Ok(());
    }
    let (one, two) = printed
        .lines()
        .zip(again.lines())
        .find(|(one, two)| one != two)
        .unwrap_or(("a different number of lines", ""));
    Err(format!("printed, read and printed again, it differs:\n  {one}\n  {two}"))
}
