//! Texts and errors of every extension, compared with recorded answers of the real tools.
//!
//! `cases/*.txt` hold one rule a block: a line `4|6 TABLE CHAIN ARGUMENTS`, then what iptables-legacy 1.8.9 on
//! Linux 6.18 made of it: `save` (after `-A CHAIN`) and `list` (the last column of `-L -n`), or `error` with the
//! exit code. `CHAINWALK_RECORD=1 unshare -rn cargo test -p chainwalk-engine xt::tests` asks the tools again and
//! rewrites the files.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::base::Hook;
use crate::netfilter::rule::{BoundMatch, Not};
use crate::packet::Family;

/// The words of a rule, as a shell would split them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut started) = (Vec::new(), String::new(), false, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => (quoted, started) = (!quoted, true),
            '\\' => {
                word.extend(chars.next());
                started = true;
            }
            ' ' if !quoted => {
                if started {
                    words.push(std::mem::take(&mut word));
                }
                started = false;
            }
            c => {
                word.push(c);
                started = true;
            }
        }
    }
    if started {
        words.push(word);
    }
    words
}

struct Rule {
    head: String,
    matches: Vec<Match>,
    target: Option<TargetExt>,
}

enum Wrong {
    Parse(ArgError),
    Grammar,
}

/// Just enough of the rule grammar to feed extensions: `-p`, `-m` and `-j`, each with its options.
fn read(family: Family, table: &str, chain: &str, words: &[String]) -> Result<Rule, Wrong> {
    let mut rule = Rule { head: String::new(), matches: Vec::new(), target: None };
    let mut proto = None;
    let mut at = 0;
    let mut not = false;
    while at < words.len() {
        match &words[at][..] {
            "!" => {
                not = true;
                at += 1;
            }
            "-p" => {
                let value = names::protocol(&words[at + 1]).unwrap();
                proto = Some(Not { value, inverted: not });
                let name = if value == 58 { "ipv6-icmp" } else { &words[at + 1] };
                let _ = write!(rule.head, "{} -p {name}", if not { " !" } else { "" });
                (not, at) = (false, at + 2);
            }
            flag @ ("-m" | "-j") => {
                let name = match &words[at + 1][..] {
                    "icmpv6" => "icmp6",
                    name => name,
                };
                let is_match = flag == "-m";
                let spec = if is_match {
                    MATCHES
                        .iter()
                        .find(|m| m.spec.name == name && m.spec.families.contains(&family))
                        .map(|m| m.spec)
                } else {
                    TARGETS
                        .iter()
                        .find(|m| m.spec.name == name && m.spec.families.contains(&family))
                        .map(|m| m.spec)
                };
                let spec = spec.unwrap_or_else(|| panic!("{name} is not registered"));
                let (opts, next) = options(&spec, words, at + 2)?;
                at = next;
                let args = Parsed { family, table, chain, proto, opts };
                if is_match {
                    let entry = MATCHES
                        .iter()
                        .find(|m| m.spec.name == name && m.spec.families.contains(&family))
                        .unwrap();
                    rule.matches.push((entry.parse)(&args).map_err(Wrong::Parse)?);
                } else {
                    let entry = TARGETS
                        .iter()
                        .find(|m| m.spec.name == name && m.spec.families.contains(&family))
                        .unwrap();
                    rule.target = Some((entry.parse)(&args).map_err(Wrong::Parse)?);
                }
            }
            _ => return Err(Wrong::Grammar),
        }
    }
    let hook = Hook::ALL.into_iter().find(|h| h.chain() == chain).unwrap();
    for m in &rule.matches {
        m.check_hooks(&[hook]).map_err(Wrong::Parse)?;
    }
    if let Some(t) = &rule.target {
        t.check_hooks(&[hook]).map_err(Wrong::Parse)?;
        let bound = |m: &Match| BoundMatch { m: m.clone(), state: None };
        let matches: Vec<_> = rule.matches.iter().map(bound).collect();
        t.check_matches(&matches).map_err(Wrong::Parse)?;
    }
    Ok(rule)
}

fn options<'w>(spec: &ExtSpec, words: &'w [String], mut at: usize) -> Result<(Vec<Opt<'w>>, usize), Wrong> {
    let mut opts = Vec::new();
    while at < words.len() {
        let inverted = words[at] == "!";
        let word = &words[at + usize::from(inverted)];
        if matches!(&word[..], "-m" | "-j" | "-p") {
            break;
        }
        let Some(opt) = spec.options.iter().find(|o| o.name == word || o.aliases.contains(&&word[..])) else {
            return Err(Wrong::Grammar);
        };
        at += 1 + usize::from(inverted);
        let count = match opt.values {
            Values::None => 0,
            Values::One => 1,
            Values::Two => 2,
            Values::Optional => usize::from(words.get(at).is_some_and(|w| !w.starts_with('-') && w != "!")),
        };
        let values: Vec<&str> = words[at..].iter().take(count).map(|w| &w[..]).collect();
        if values.len() < count {
            return Err(Wrong::Grammar);
        }
        at += count;
        opts.push(Opt { name: opt.name, inverted, values });
    }
    Ok((opts, at))
}

/// What the engine makes of one case, in the words of the case files.
fn answer(line: &str) -> String {
    let [family, table, chain, ..] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let rest = line.splitn(4, ' ').nth(3).unwrap_or("");
    let (family, tool) = if family == "4" { (Family::V4, "iptables") } else { (Family::V6, "ip6tables") };
    match read(family, table, chain, &words(rest)) {
        Ok(rule) => {
            let (mut save, mut list) = (format!("  save{}", rule.head), "  list".to_owned());
            for m in &rule.matches {
                let _ = write!(save, " -m {}", m.name());
                m.save(&mut save);
                m.list(&mut list, ListFlags { numeric: true });
            }
            if let Some(t) = &rule.target {
                let _ = write!(save, " -j {}", t.name());
                t.save(&mut save);
                t.list(&mut list, ListFlags { numeric: true });
            }
            let verbatim = matches!(rule.target, Some(TargetExt::NotEmulated(_)))
                || rule.matches.iter().any(|m| matches!(m, Match::NotEmulated(_)));
            if verbatim { format!("{save}\n") } else { format!("{save}\n{list}\n") }
        }
        Err(Wrong::Grammar) => "  error 2 (grammar)\n".to_owned(),
        Err(Wrong::Parse(e)) => match e.by {
            Refusal::Tool => format!("  error 2 {}\n", e.message),
            Refusal::Kernel(Errno::Inval) => {
                format!("  error 1 {tool}: Invalid argument. Run `dmesg' for more information.\n")
            }
            Refusal::Kernel(Errno::Range) => format!("  error 1 {tool}: Numerical result out of range.\n"),
            Refusal::Kernel(Errno::NoEnt) => {
                format!("  error 1 {tool}: No chain/target/match by that name.\n")
            }
            Refusal::NotEmulated => unreachable!("the registry keeps these verbatim"),
        },
    }
}

/// Each option of each extension, as some case uses it and the tool takes it.
#[test]
fn every_option_has_a_case() {
    let mut used = std::collections::BTreeSet::new();
    for file in files() {
        for (case, recorded) in cases(&std::fs::read_to_string(&file).unwrap()) {
            if !recorded.starts_with("  save") {
                continue;
            }
            let words = words(&case);
            let family = if words[0] == "4" { Family::V4 } else { Family::V6 };
            let mut spec = None;
            for (at, word) in words.iter().enumerate() {
                let name = match words.get(at + 1).map_or("", |w| w) {
                    "icmpv6" => "icmp6",
                    name => name,
                };
                spec = match &word[..] {
                    "-m" => find(MATCHES.iter().map(|m| m.spec), name, family).or(spec),
                    "-j" => find(TARGETS.iter().map(|t| t.spec), name, family).or(spec),
                    _ => spec,
                };
                let Some(spec) = spec else { continue };
                if let Some(opt) =
                    spec.options.iter().find(|o| o.name == word || o.aliases.contains(&&word[..]))
                {
                    used.insert((spec.name, opt.name));
                }
            }
        }
    }
    let specs = MATCHES.iter().map(|m| m.spec).chain(TARGETS.iter().map(|t| t.spec));
    let missing: Vec<_> = specs
        .flat_map(|spec| spec.options.iter().map(move |o| (spec.name, o.name)))
        // A timeout policy must exist, and only nfct can make one.
        .filter(|pair| !used.contains(pair) && *pair != ("CT", "--timeout"))
        .collect();
    assert!(missing.is_empty(), "no case uses {missing:?}");
}

fn find(mut specs: impl Iterator<Item = ExtSpec>, name: &str, family: Family) -> Option<ExtSpec> {
    specs.find(|s| s.name == name && s.families.contains(&family))
}

fn files() -> Vec<PathBuf> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/src/netfilter/xt/cases");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
}

/// A case and the recorded lines below it, comments dropped.
fn cases(text: &str) -> Vec<(String, String)> {
    let mut cases: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if line.starts_with(' ') {
            let recorded = &mut cases.last_mut().expect("a case precedes its answer").1;
            recorded.push_str(line);
            recorded.push('\n');
        } else {
            cases.push((line.to_owned(), String::new()));
        }
    }
    cases
}

#[test]
fn texts_and_errors_are_those_of_the_tools() {
    if std::env::var_os("CHAINWALK_RECORD").is_some() {
        files().iter().for_each(record);
    }
    let (mut seen, mut wrong) = (0, String::new());
    for file in files() {
        for (case, recorded) in cases(&std::fs::read_to_string(&file).unwrap()) {
            seen += 1;
            let answer = answer(&case);
            // What getopt refuses is the text layer's business.
            let verbatim = !answer.contains("  list") && recorded.starts_with(&answer);
            if answer != recorded
                && !verbatim
                && !(answer == "  error 2 (grammar)\n" && recorded.starts_with("  error 2"))
            {
                let _ = write!(wrong, "{case}\nengine:\n{answer}tool:\n{recorded}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "of {seen} cases these differ:\n{wrong}");
    assert!(seen > 300, "{seen} cases found");
}

fn run(program: &str, args: &[&str]) -> (i32, String, String) {
    let out = Command::new(program).args(args).output().expect("the tool is installed");
    (
        out.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&out.stdout).into_owned(),
        String::from_utf8_lossy(&out.stderr).into_owned(),
    )
}

/// Asks the tools for every case of the file, in this network namespace.
fn record(file: &PathBuf) {
    let mut out = String::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        if line.starts_with(' ') {
            continue;
        }
        let _ = writeln!(out, "{line}");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let [family, table, chain, ..] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let tool = if family == "4" { "iptables-legacy" } else { "ip6tables-legacy" };
        let words = words(line.splitn(4, ' ').nth(3).unwrap_or(""));
        let mut args = vec!["-t", table, "-A", chain];
        args.extend(words.iter().map(|w| &w[..]));
        run(tool, &["-t", table, "-F"]);
        let (code, _, err) = run(tool, &args);
        if code != 0 {
            let first = err.lines().find(|l| !l.contains("warn")).unwrap_or("");
            let message = first.split_once(" (legacy): ").map_or(first, |(_, message)| message);
            let _ = writeln!(out, "  error {code} {message}");
            continue;
        }
        let (_, saved, _) = run(&format!("{tool}-save"), &["-t", table]);
        let rule = saved.lines().find_map(|l| l.strip_prefix("-A ")).unwrap();
        let _ = writeln!(out, "  save{}", rule.strip_prefix(chain).unwrap());
        let (_, listed, _) = run(tool, &["-t", table, "-L", chain, "-n"]);
        let row = listed.lines().nth(2).unwrap();
        let any = if family == "4" { "0.0.0.0/0" } else { "::/0" };
        let destination = row.rfind(&format!("{any:20}")).unwrap();
        let _ = writeln!(out, "  list{}", &row[destination + 20..]);
        run(tool, &["-t", table, "-F"]);
    }
    std::fs::write(file, out).unwrap();
}

/// Every match is copied a lot and sits in long arrays.
#[test]
fn a_match_is_small() {
    assert!(size_of::<Match>() <= 64, "{}", size_of::<Match>());
}
