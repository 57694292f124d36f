//! Texts in, texts and messages out.

mod commands;
mod corpus;
mod large;
mod mutation;
mod pasted;
mod recorded;

use super::*;
use crate::netfilter::table::Flavour;
use crate::packet::Family;
use crate::text::diag::Severity;

/// Reads `text` as `flavour` would, and prints it.
fn restored(flavour: Flavour, family: Family, text: &str) -> (String, Vec<String>) {
    let options = ParseOptions { family: Some(family), flavour: Some(flavour), ..Default::default() };
    let (ruleset, diags) = parse(text, &options);
    let errors = diags.iter().filter(|d| d.severity == Severity::Error).map(ToString::to_string).collect();
    (ruleset.save(&SaveOptions::default()), errors)
}

/// One rule of the filter table; its lines as iptables-save prints them, or the message.
fn rule(flavour: Flavour, family: Family, line: &str) -> Result<String, String> {
    let text = format!("*filter\n:usr - [0:0]\n{line}\nCOMMIT\n");
    let options =
        ParseOptions { family: Some(family), flavour: Some(flavour), strict: true, ..Default::default() };
    let (ruleset, diags) = parse(&text, &options);
    if let Some(diag) = diags.iter().find(|d| d.severity == Severity::Error) {
        return Err(diag.message.clone());
    }
    let saved = ruleset.save(&SaveOptions::default());
    let lines: Vec<&str> = saved.lines().filter(|l| l.starts_with("-A")).collect();
    Ok(lines.join(" ;; "))
}

#[test]
fn a_canonical_save_prints_back() {
    let text = "*filter\n:INPUT DROP [5:6]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:a - [0:0]\n:b - [0:0]\n\
        -A INPUT -m comment --comment \"a b\" -j a\n-A a ! -s 10.0.0.0/8 -d 1.2.3.4/32 -i eth+ -p tcp -f -m mark --mark 0x1 -j MARK --set-xmark 0x1/0x1\n\
        -A b -g a\nCOMMIT\n";
    assert_eq!(restored(Flavour::Legacy, Family::V4, text), (text.to_owned(), vec![]));
}

#[test]
fn the_head_of_a_rule_reads_as_the_tool_reads_it() {
    for (line, want) in [
        ("-A INPUT -s 10/8", Ok("-A INPUT -s 10.0.0.0/8")),
        ("-A INPUT -s 1.1.1.1,2.2.2.2", Ok("-A INPUT -s 1.1.1.1/32 ;; -A INPUT -s 2.2.2.2/32")),
        (
            "-A INPUT -s 1.2.3.400",
            Err("host/network `1.2.3.400' not found (each of the four numbers is at most 255)"),
        ),
    ] {
        let got = rule(Flavour::Legacy, Family::V4, line);
        assert_eq!(got.as_deref().map_err(String::as_str), want, "{line}");
    }
}

#[test]
fn a_loop_is_refused_only_where_a_packet_can_reach_it() {
    let text = |jump| format!("*filter\n:a - [0:0]\n:b - [0:0]\n-A a -j b\n-A b -j a\n{jump}COMMIT\n");
    let (_, errors) = restored(Flavour::Legacy, Family::V4, &text(""));
    assert_eq!(errors, Vec::<String>::new());
    let (_, errors) = restored(Flavour::Legacy, Family::V4, &text("-A INPUT -j a\n"));
    assert_eq!(
        errors,
        ["line 5, column 1: error: Too many levels of symbolic links: the jumps a -> b -> a never end"]
    );
}
