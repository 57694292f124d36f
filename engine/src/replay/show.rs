//! The commands whose output a case may ask for. What is not among them is refused by name.

use super::setup::{in_save_order, ruleset, tool};
use crate::base::PLANES;
use crate::netfilter::TableName;
use crate::netns::Netns;
use crate::text;
use crate::text::ipset;
use crate::text::xt::SaveOptions;

/// Runs one command line and gives what it prints on standard output.
pub fn run(netns: &Netns, line: &str) -> Result<String, String> {
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Err("an empty command".to_owned()),
        ["conntrack", rest @ ..] => conntrack(netns, rest),
        ["ipvsadm", rest @ ..] if PLANES => {
            let ran = text::ipvs::show(&netns.ipvs, netns.now, rest);
            if ran.exit_code == 0 { Ok(ran.stdout) } else { Err(ran.stderr.trim_end().to_owned()) }
        }
        ["nft", ..] if PLANES => super::nft::list(netns, line),
        ["sysctl", rest @ ..] => sysctl(netns, rest),
        ["ip", rest @ ..] => ip(netns, rest),
        ["ipset", "save" | "-S"] => Ok(ipset::save(&netns.shared.sets, None, netns.now)),
        ["ipset", "save" | "-S", name] => Ok(ipset::save(&netns.shared.sets, Some(name), netns.now)),
        ["ipset", "list" | "-L", rest @ ..] => {
            let terse = rest.contains(&"-t");
            let name = rest.iter().find(|a| !a.starts_with('-')).copied();
            let references = |name: &str| netns.set_references(name);
            Ok(ipset::list(&netns.shared.sets, name, terse, netns.now, &references))
        }
        [name, rest @ ..] => match tool(name, "-save") {
            Some((family, flavour)) => {
                let mut options = SaveOptions::default();
                let mut only = None;
                let mut rest = rest.iter();
                while let Some(&arg) = rest.next() {
                    match arg {
                        "-c" | "--counters" => options.counters = true,
                        "-t" | "--table" => {
                            let name = rest.next().copied().unwrap_or_default();
                            let table = TableName::parse(name)
                                .ok_or_else(|| format!("{name:?} is not a table of iptables"))?;
                            only = Some(table);
                        }
                        _ => return Err(format!("option {arg} is not emulated")),
                    }
                }
                let mut ruleset = in_save_order(ruleset(netns, family, flavour));
                if let Some(only) = only {
                    let at = ruleset.tables.iter().position(|t| t.name == only);
                    ruleset.counters = at.map(|at| ruleset.counters.swap_remove(at)).into_iter().collect();
                    ruleset.tables = at.map(|at| ruleset.tables.swap_remove(at)).into_iter().collect();
                }
                let there: Vec<bool> = ruleset.tables.iter().map(crate::netfilter::Table::exists).collect();
                let mut at = there.iter();
                ruleset.tables.retain(|_| at.next().copied().unwrap_or(true));
                let mut at = there.iter();
                ruleset.counters.retain(|_| at.next().copied().unwrap_or(true));
                Ok(ruleset.save(&options))
            }
            None => Err(format!("{line:?} is not a command that can be shown")),
        },
    }
}

/// The words of a command line, quotes removed.
pub(super) fn words(line: &str) -> Vec<String> {
    spans(line).into_iter().map(|span| span.replace(['"', '\''], "")).collect()
}

/// The words of a command line as they stand; quotes keep blanks inside a word.
pub(super) fn spans(line: &str) -> Vec<&str> {
    let (mut spans, mut start, mut quote) = (Vec::new(), None, None);
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                spans.extend(start.take().map(|from: usize| &line[from..at]));
                continue;
            }
            (None, _) => {}
        }
        start.get_or_insert(at);
    }
    spans.extend(start.filter(|from| *from < line.len()).map(|from| &line[from..]));
    spans
}

/// The conntrack tool, as far as it only looks.
fn conntrack(netns: &Netns, args: &[&str]) -> Result<String, String> {
    let ran = text::conntrack::show(&netns.ct, netns.now, args);
    if ran.exit_code == 0 { Ok(ran.stdout) } else { Err(ran.stderr.trim_end().to_owned()) }
}

/// `ip [-4|-6] route`, `ip [-br] addr [show [dev] DEV]`.
fn ip(netns: &Netns, args: &[&str]) -> Result<String, String> {
    let (flags, words): (Vec<&str>, Vec<&str>) = args.iter().partition(|a| a.starts_with('-'));
    let v6 = flags.contains(&"-6");
    let known = flags.iter().all(|f| matches!(*f, "-4" | "-6" | "-br" | "-brief"));
    let brief = flags.iter().any(|f| f.starts_with("-br"));
    let inet = &netns.inet;
    match words.as_slice() {
        ["r" | "ro" | "route"] | ["r" | "ro" | "route", "show" | "list"] if known => {
            Ok(text::ip::print_routes(inet, v6))
        }
        ["a" | "addr" | "address"] | ["a" | "addr" | "address", "show" | "list"] if known => {
            Ok(if brief { text::ip::print_addr_brief(inet) } else { text::ip::print_addr(inet, None) })
        }
        ["a" | "addr" | "address", "show", "dev", name] | ["a" | "addr" | "address", "show", name]
            if known && !brief =>
        {
            match inet.find_device(name) {
                Some(_) => Ok(text::ip::print_addr(inet, Some(name))),
                None => Err(format!("Device \"{name}\" does not exist.")),
            }
        }
        _ => Err(format!("ip {} is not a command that can be shown", args.join(" "))),
    }
}

fn sysctl(netns: &Netns, args: &[&str]) -> Result<String, String> {
    let bare = args.contains(&"-n");
    let mut out = String::new();
    for name in args.iter().filter(|a| !a.starts_with('-')) {
        let value = netns.sysctl(name).ok_or_else(|| format!("sysctl {name} is not emulated"))?;
        out.push_str(&if bare { format!("{value}\n") } else { format!("{name} = {value}\n") });
    }
    Ok(out)
}
