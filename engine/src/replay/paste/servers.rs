//! Virtual servers, as `ipvsadm -Sn` saves them and as `ipvsadm -Ln` lists them.

use super::diag;
use crate::netns::Netns;
use crate::replay::setup::has_unknown_tunnel;
use crate::text::diag::{Diag, Place, Severity};
use crate::text::ipvs;

/// Whether a word is an option of `ipvsadm` that names a service.
pub(super) fn is_service(word: &str) -> bool {
    let long = ["--tcp-service", "--udp-service", "--sctp-service", "--fwmark-service"];
    matches!(word, "-t" | "-u" | "-f") || long.iter().any(|name| word.starts_with(name))
}

/// Loads every line of `text`; empty ones are of other tools.
pub(super) fn load(netns: &mut Netns, text: &str) -> Result<(), Diag> {
    let mut listed = None;
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let whole = || Place {
            line: number,
            column: (line.len() - line.trim_start().len()) as u32 + 1,
            len: line.trim().chars().count() as u32,
        };
        let refuse = |place: Place, message: &str| Err(diag(Severity::Error, place, message));
        let args = match words.as_slice() {
            [] | ["IP", "Virtual", ..] | ["Prot", ..] | ["->", "RemoteAddress:Port", ..] => continue,
            [first, ..] if first.starts_with('#') => continue,
            [kind @ ("TCP" | "UDP" | "SCTP" | "FWM"), rest @ ..] => match listed_service(kind, rest) {
                Some((key, service)) => {
                    listed = Some(key.clone());
                    [vec!["-A".to_owned()], key, service].concat()
                }
                None => return refuse(whole(), "cannot read this line of the listing"),
            },
            ["->", rest @ ..] => match (&listed, listed_server(rest)) {
                (Some(key), Some(server)) => [vec!["-a".to_owned()], key.clone(), server].concat(),
                (None, _) => return refuse(whole(), "a server without a service above it"),
                (_, None) => {
                    return refuse(
                        whole(),
                        "this listing tells no forwarding method and weight; ipvsadm -Ln does, or ipvsadm -Sn",
                    );
                }
            },
            words => words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = ipvs::run(&mut netns.ipvs, netns.now, &args, "");
        if ran.exit_code != 0 || !ran.stderr.is_empty() {
            let message = ran.stderr.trim();
            return refuse(
                place_of(message, line).map_or_else(whole, |place| Place { line: number, ..place }),
                message,
            );
        }
        if has_unknown_tunnel(&netns.ipvs) {
            return refuse(whole(), "IPVS tunnels of type gue, and gre with checksums, are not emulated");
        }
    }
    netns.ipvs_edited();
    Ok(())
}

/// `10.96.0.10:80 rr (flag,flag) persistent 360 mask 255.255.255.0 ops` as the options that say so: what names the
/// service, and the rest.
fn listed_service(kind: &str, words: &[&str]) -> Option<(Vec<String>, Vec<String>)> {
    let (name, mut words) = words.split_first()?;
    let option = match kind {
        "TCP" => "-t",
        "UDP" => "-u",
        "SCTP" => "--sctp-service",
        _ => "-f",
    };
    let mut key = vec![option.to_owned(), (*name).to_owned()];
    if let Some(rest) = words.strip_prefix(&["IPv6"]) {
        key.push("-6".to_owned());
        words = rest;
    }
    let (scheduler, mut words) = words.split_first()?;
    let mut options = vec!["-s".to_owned(), (*scheduler).to_owned()];
    while let Some((word, rest)) = words.split_first() {
        let (names, taken): (&[&str], usize) = match *word {
            "persistent" => (&["-p"], 1),
            "mask" => (&["-M"], 1),
            "ops" => (&["-o"], 0),
            flags if flags.starts_with('(') => {
                options.extend(["-b".to_owned(), flags.trim_matches(['(', ')']).to_owned()]);
                (&[], 0)
            }
            _ => return None,
        };
        options.extend(names.iter().map(|name| (*name).to_owned()));
        options.extend(rest.get(..taken)?.iter().map(|value| (*value).to_owned()));
        words = &rest[taken..];
    }
    Some((key, options))
}

/// `10.244.1.10:8080 Masq 1 0 0`
fn listed_server(words: &[&str]) -> Option<Vec<String>> {
    let [name, forward, weight, ..] = words else { return None };
    let forward = match *forward {
        "Masq" => "-m",
        "Tunnel" => "-i",
        "Route" | "Local" => "-g",
        _ => return None,
    };
    weight.parse::<u32>().ok()?;
    Some(["-r", name, forward, "-w", weight].map(str::to_owned).to_vec())
}

/// What in a line a message of the tool is about.
fn place_of(message: &str, line: &str) -> Option<Place> {
    let value_of = |options: &[&str]| {
        let mut words = line.split_ascii_whitespace();
        words.find(|word| options.contains(word))?;
        words.next()
    };
    let word = if message.contains("virtual server") || message == "Service already exists" {
        value_of(&["-t", "-u", "-f", "--tcp-service", "--udp-service", "--sctp-service", "--fwmark-service"])
            .or_else(|| line.split_ascii_whitespace().nth(1))
    } else if message.contains("real server") || message == "Destination already exists" {
        value_of(&["-r", "--real-server"]).or_else(|| line.split_ascii_whitespace().nth(1))
    } else if message.starts_with("Scheduler") {
        value_of(&["-s", "--scheduler"]).or_else(|| line.split_ascii_whitespace().nth(2))
    } else if message.contains("weight") {
        value_of(&["-w", "--weight"])
    } else {
        // A word that the message repeats.
        line.split_ascii_whitespace()
            .find(|word| message.split([' ', '`', '\'', ':']).any(|said| said == *word))
    }?;
    let from = word.as_ptr() as usize - line.as_ptr() as usize;
    let column = line[..from].chars().count() as u32 + 1;
    Some(Place { line: 0, column, len: word.chars().count() as u32 })
}
