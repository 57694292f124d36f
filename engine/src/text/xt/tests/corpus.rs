//! Public dumps and broken pastes of `../shared/peer/dumps`, which are not part of the project: skipped, saying
//! so, where they are absent.

use std::path::{Path, PathBuf};

use super::*;
use crate::netfilter::table::TableName;

/// The files of a folder of the shared dumps, by name.
fn dumps(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer/dumps").join(folder);
    let Ok(entries) = std::fs::read_dir(&root) else {
        println!("skipped: no {folder} dumps beside the repository");
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    let name = |p: &Path| p.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|p| (name(p), std::fs::read_to_string(p).unwrap())).collect()
}

/// The rule, chain and table lines of a text.
fn body(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).filter(|l| !l.is_empty() && !l.starts_with('#')).collect()
}

#[test]
fn public_dumps_load_without_an_error_and_print_stably() {
    for (name, text) in dumps("iptables-save") {
        let (ruleset, diags) = parse(&text, &ParseOptions::default());
        let errors: Vec<_> = diags.iter().filter(|d| d.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        let family = if name.contains(".ip6.") { Family::V6 } else { Family::V4 };
        assert_eq!(ruleset.family, family, "{name}");
        let rules = body(&text).iter().filter(|l| l.starts_with('-') || l.starts_with('[')).count();
        assert_eq!(ruleset.rule_count(), rules, "{name}");
        let saved = ruleset.save(&SaveOptions { counters: true, date: None });
        let (again, _) = parse(&saved, &ParseOptions { family: Some(family), ..Default::default() });
        assert_eq!(again.save(&SaveOptions { counters: true, date: None }), saved, "{name}");
    }
}

/// The messages about a broken paste, `severity line: message`.
fn messages(text: &str) -> (Ruleset, Vec<String>) {
    let (ruleset, diags) = parse(text, &ParseOptions::default());
    let lines = diags
        .iter()
        .filter(|d| !d.message.starts_with("not emulated"))
        .map(|d| format!("{:?} {}: {}", d.severity, d.line, d.message))
        .collect();
    (ruleset, lines)
}

#[test]
fn each_broken_paste_gets_the_reasonable_answer() {
    for (name, text) in dumps("malformed") {
        let (ruleset, said) = messages(&text);
        let has =
            |what: &str| assert!(said.iter().any(|m| m.contains(what)), "{name}: no {what:?} in {said:#?}");
        let errors = said.iter().filter(|m| m.starts_with("Error")).count();
        let table = |name| ruleset.table(name).unwrap();
        match &name[..2] {
            "01" => {
                has("Note 1: left out: no part of a ruleset");
                has("wrapped");
                assert_eq!(errors, 0, "{said:#?}");
                let saved = ruleset.save(&SaveOptions::default());
                assert!(saved.contains("--dport 443 -j DNAT --to-destination 192.168.1.1:22\n"), "{saved}");
            }
            "02" => {
                has("indentation left out");
                has("Warning 9: -j CT without an option does nothing; was the line cut?");
                assert_eq!((errors, table(TableName::Raw).chains.len()), (0, 4));
            }
            "03" => {
                has("Note 3: a blank between * and the table's name");
                assert_eq!((errors, ruleset.rule_count()), (0, 18), "{said:#?}");
            }
            "06" => {
                has("left out what a log put before the line");
                assert_eq!((errors, ruleset.rule_count()), (0, 19), "{said:#?}");
            }
            "08" => {
                has("typographic quotes");
                has("a remark at the end of the line left out");
                has("read as table nat");
                has("chain KUBE-MARK-MASQ is not in the text");
                assert_eq!((errors, ruleset.rule_count()), (0, 6), "{said:#?}");
            }
            "09" => {
                has("typographic quotes, dashes");
                has("unknown option \"--dports\" (it belongs to \"-m multiport\")");
                assert_eq!(errors, 5, "{said:#?}");
            }
            "12" => {
                has("Note 1: left out: no part of a ruleset");
                has("chain KUBE-MARK-DROP is not in the text");
                assert_eq!((errors, ruleset.rule_count()), (0, 8), "{said:#?}");
            }
            _ => panic!("no expectation for {name}"),
        }
    }
}

/// What the real tool prints after loading `text`, table by table; none where it cannot be asked.
fn asked(flavour: Flavour, family: Family, tables: &[TableName], text: &str) -> Option<String> {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let tool = match (family, flavour) {
        (Family::V4, Flavour::Legacy) => "iptables-legacy",
        (Family::V4, Flavour::Nft) => "iptables-nft",
        (Family::V6, Flavour::Legacy) => "ip6tables-legacy",
        (Family::V6, Flavour::Nft) => "ip6tables-nft",
    };
    let saves: String = tables.iter().map(|t| format!("{tool}-save -t {} && ", t.name())).collect();
    let script = format!("mount -t tmpfs tmpfs /run && {tool}-restore && {saves} true");
    let mut child = Command::new("unshare")
        .args(["-n", "-m", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A tool that is not there does not read.
    let _ = child.stdin.take()?.write_all(text.as_bytes());
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn public_dumps_print_as_the_real_tool_prints_them() {
    let mut compared = 0;
    for (name, text) in dumps("iptables-save") {
        for flavour in [Flavour::Legacy, Flavour::Nft] {
            let options =
                ParseOptions { flavour: Some(flavour), ignore_counters: true, ..Default::default() };
            let (ruleset, _) = parse(&text, &options);
            let tables: Vec<TableName> = ruleset.tables.iter().map(|t| t.name).collect();
            let Some(real) = asked(flavour, ruleset.family, &tables, &text) else { continue };
            compared += 1;
            let ours = ruleset.save(&SaveOptions::default());
            assert_eq!(body(&ours), body(&real), "{name}, {flavour:?}");
        }
    }
    println!("{compared} dumps compared with iptables-save");
}

#[test]
fn public_listings_are_read_as_the_rules_they_show() {
    for (name, text) in dumps("iptables-L") {
        let (ruleset, said) = messages(&text);
        let errors: Vec<&String> = said.iter().filter(|m| m.starts_with("Error")).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let header = |l: &&str| l.is_empty() || l.starts_with("Chain ") || l.contains("prot opt");
        let rules = text.lines().map(str::trim).filter(|l| !header(l)).count();
        assert_eq!(ruleset.rule_count(), rules, "{name}");
    }
}
