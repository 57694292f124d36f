//! What people do to a ruleset before they paste it, and what the reader says to it.

use std::fmt::Write as _;

use super::*;

/// The messages about `text`, and how many rules were read.
fn read(text: &str) -> (usize, Vec<String>) {
    let (ruleset, diags) = parse(text, &ParseOptions::default());
    (ruleset.rule_count(), diags.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn says(text: &str, rules: usize, messages: &[&str]) {
    let (got_rules, got) = read(text);
    assert_eq!(
        (got_rules, got.iter().map(String::as_str).collect::<Vec<_>>()),
        (rules, messages.to_vec()),
        "{text}"
    );
}

const WHOLE: &str = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\nCOMMIT\n";

#[test]
fn a_missing_commit_is_named() {
    let text = WHOLE.replace("COMMIT\n", "");
    says(&text, 1, &["line 3, column 1: note: the text ends without COMMIT; read as if it were there"]);
}

#[test]
fn windows_line_ends_tabs_and_indentation_are_read() {
    says(&WHOLE.replace(' ', "\t"), 1, &[]);
    let (rules, said) = read(&WHOLE.replace('\n', "\r\n  "));
    assert_eq!(rules, 1);
    assert!(said.iter().all(|m| m.contains("note:")), "{said:?}");
}

#[test]
fn lost_line_breaks_are_put_back() {
    let said = "line 1, column 1: note: line breaks were lost; put back before chains, rules and COMMIT";
    says(&WHOLE.replace('\n', " "), 1, &[said]);
}

#[test]
fn options_in_another_order_print_in_the_canonical_one() {
    let text = "*filter\n-A INPUT -j ACCEPT -p tcp --dport 22 -d 1.1.1.1 -s 2.2.2.2\nCOMMIT\n";
    let (saved, errors) = restored(Flavour::Legacy, Family::V4, text);
    assert_eq!(errors, Vec::<String>::new());
    assert!(
        saved.contains("-A INPUT -s 2.2.2.2/32 -d 1.1.1.1/32 -p tcp -m tcp --dport 22 -j ACCEPT\n"),
        "{saved}"
    );
}

#[test]
fn upper_case_is_refused_where_the_tool_refuses_it() {
    let (rules, said) = read(&WHOLE.to_uppercase());
    assert_eq!(rules, 0);
    assert!(said.iter().any(|m| m.contains("error")), "{said:?}");
}

#[test]
fn typing_errors_get_the_tools_words_and_a_hint() {
    for (rule, message) in [
        (
            "-s 10.0.0.300",
            "column 13: error: host/network `10.0.0.300' not found (each of the four numbers is at most 255)",
        ),
        ("-s fd00::1", "column 13: error: host/network `fd00::1' not found (an IPv6 address in IPv4 rules)"),
        (
            "-s example.com",
            "column 13: error: host/network `example.com' not found (host names are not looked up here: write the address)",
        ),
        ("-p tcp --dport 70000", "column 25: error: invalid port/service `70000' specified"),
        ("-p tcp --dprot 22", "column 17: error: unknown option \"--dprot\" (did you mean \"--dport\"?)"),
        (
            "-p tcp --dports 22,23",
            "column 17: error: unknown option \"--dports\" (it belongs to \"-m multiport\")",
        ),
        ("-p tcp -dport 22", "column 24: error: Bad argument `22' (did you mean \"--dport\"?)"),
        ("-p tcp ACCEPT", "column 17: error: Bad argument `ACCEPT' (did you mean \"-j ACCEPT\"?)"),
        ("-m tpc --dport 22", "column 13: error: Couldn't load match `tpc':No such file or directory"),
        ("-j acept", "column 13: error: Couldn't load target `acept': no such chain in table filter"),
    ] {
        let text = format!("*filter\n:INPUT ACCEPT [0:0]\n-A FORWARD -j DROP\n-A INPUT {rule}\nCOMMIT\n");
        let options = ParseOptions { family: Some(Family::V4), ..Default::default() };
        let (ruleset, diags) = parse(&text, &options);
        let said: Vec<String> = diags.iter().map(ToString::to_string).collect();
        assert_eq!(said, [format!("line 4, {message}")], "{rule}");
        assert!(ruleset.rule_count() >= 1, "{rule}: the other rule is kept");
    }
}

#[test]
fn what_is_no_ruleset_at_all_is_named() {
    says("", 0, &["line 1, column 1: error: the text is empty; expected the output of iptables-save"]);
    says(" \n\n", 0, &["line 1, column 1: error: the text is empty; expected the output of iptables-save"]);
    let binary = "\u{7f}ELF\u{2}\u{1}\u{1}\0\0";
    assert!(read(binary).1[0].contains("this looks like a binary file: line 1 holds the byte 0x02"));
    assert!(read("table ip filter {\n}\n").1[0].contains("this is nftables text"));
    assert!(read("{\"a\": 1}\n").1[0].contains("this is JSON or YAML"));
}

#[test]
fn too_much_text_is_refused_by_its_size() {
    let text = "#".repeat(crate::base::limits::RULESET_BYTES_MAX + 1);
    says(&text, 0, &["line 1, column 1: error: the text is 64 MB long; at most 64 MB are read"]);
}

#[test]
fn one_bad_line_of_20_000_does_not_lose_the_others() {
    let mut text = String::from("*filter\n:INPUT ACCEPT [0:0]\n");
    for n in 0..20_000 {
        let bad = if n == 12_345 { "/33" } else { "" };
        let _ = writeln!(text, "-A INPUT -s 10.0.{}.{}{bad} -j DROP", n >> 8, n & 255);
    }
    text.push_str("COMMIT\n");
    says(&text, 19_999, &["line 12348, column 13: error: invalid mask `33' specified"]);
}

#[test]
fn many_errors_are_capped() {
    let text = format!("*filter\n:INPUT ACCEPT [0:0]\n{}COMMIT\n", "-A INPUT -s x -j DROP\n".repeat(5000));
    let (_, said) = read(&text);
    assert_eq!(said.len(), crate::base::limits::DIAGS_MAX + 1);
    assert!(said.last().unwrap().ends_with("4800 more messages are left out"), "{:?}", said.last());
}

#[test]
fn comments_of_255_characters_many_chains_and_deep_jumps_are_fine() {
    let comment = "c".repeat(255);
    let mut text =
        String::from("*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n");
    for n in 0..5000 {
        let _ = writeln!(text, ":c{n:04} - [0:0]");
    }
    let _ = writeln!(text, "-A INPUT -m comment --comment {comment} -j c0000");
    for n in 0..40 {
        let _ = writeln!(text, "-A c{n:04} -j c{:04}", n + 1);
    }
    text.push_str("COMMIT\n");
    let (saved, errors) = restored(Flavour::Legacy, Family::V4, &text);
    assert_eq!((saved, errors), (text.clone(), vec![]));
    // nf_tables stops at sixteen.
    let (_, errors) = restored(Flavour::Nft, Family::V4, &text);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains("Too many links: jumps nest deeper than 16 chains"), "{errors:?}");
}

#[test]
fn commands_from_a_terminal_or_a_script_are_read() {
    let text = "root@host:~# iptables -P FORWARD DROP\n$ sudo iptables -t nat -A POSTROUTING -o eth0 \\\n    -j MASQUERADE\n\
        iptables -A INPUT -m comment --comment 'two words' -j ACCEPT # why\niptables -A INPUT \\! -i lo -j DROP || exit 1\n";
    let (ruleset, diags) = parse(text, &ParseOptions::default());
    let errors: Vec<_> = diags.iter().filter(|d| d.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let saved = ruleset.save(&SaveOptions::default());
    for rule in [
        ":FORWARD DROP [0:0]",
        "-A POSTROUTING -o eth0 -j MASQUERADE",
        "-A INPUT -m comment --comment \"two words\" -j ACCEPT",
        "-A INPUT ! -i lo -j DROP",
    ] {
        assert!(saved.contains(&format!("{rule}\n")), "no {rule} in\n{saved}");
    }
}

#[test]
fn a_listing_is_read_as_the_rules_it_shows() {
    let rules = "-A INPUT -i lo -j ACCEPT\n-A INPUT ! -s 10.0.0.0/8 -p tcp -m tcp --dport 22 -m state --state NEW -j web\n\
        -A INPUT -p udp -m udp --sport 1:9 -m limit --limit 5/min -j LOG --log-prefix \"a b: \"\n-A INPUT -g web\n\
        -A web -p tcp -m multiport --dports 80,443 -m comment --comment \"two words\"\n\
        -A web -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -m mark --mark 0x1/0x3 -j REJECT --reject-with tcp-reset\n\
        -A web -f -j DROP\n";
    let chains = ":INPUT DROP [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:web - [0:0]\n";
    let text = format!("*filter\n{chains}{rules}COMMIT\n");
    let (mut ruleset, _) = parse(&text, &ParseOptions::default());
    let full = command(&["-L", "-n", "-v", "--line-numbers"], &mut ruleset).unwrap();
    let (read, diags) = parse(&full, &ParseOptions::default());
    assert!(diags.iter().all(|d| d.severity == Severity::Note), "{diags:?}");
    assert_eq!(read.save(&SaveOptions::default()), text, "{full}");
    // Without -v the devices are hidden.
    let short = command(&["-L", "-n"], &mut ruleset).unwrap();
    let (read, diags) = parse(&short, &ParseOptions::default());
    assert!(diags.iter().any(|d| d.line == 2 && d.message.contains("no columns in and out")), "{diags:?}");
    assert!(read.save(&SaveOptions::default()).contains("-A INPUT -j ACCEPT\n"));
}

#[test]
fn a_goto_to_a_chain_that_is_not_in_the_text_stays_a_goto() {
    let (mut ruleset, diags) = parse("-A INPUT -g foo\n-A INPUT -j foo\n", &ParseOptions::default());
    assert!(diags.iter().any(|d| d.message.contains("chain foo is not in the text")), "{diags:?}");
    let saved = ruleset.save(&SaveOptions::default());
    assert!(saved.contains("-A INPUT -g foo\n-A INPUT -j foo\n"), "{saved}");
    let listed = command(&["-L", "INPUT"], &mut ruleset).unwrap();
    assert_eq!(listed.matches("[goto]").count(), 1, "{listed}");
}

#[test]
fn a_goto_to_a_target_gets_the_tools_words() {
    for name in ["REJECT", "ACCEPT", "TEE"] {
        let message = format!("line 3, column 13: error: goto '{name}' is not a chain");
        says(&format!("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -g {name}\nCOMMIT\n"), 0, &[&message]);
    }
}

#[test]
fn every_comment_of_a_listing_is_its_own() {
    let rule = "-A INPUT -m comment --comment \"a prefix x\" -m comment --comment \"b c\" -j LOG --log-prefix \"d: \"\n";
    let (mut ruleset, _) = parse(&format!("*filter\n{rule}COMMIT\n"), &ParseOptions::default());
    let listed = command(&["-L", "-n", "-v"], &mut ruleset).unwrap();
    let (read, _) = parse(&listed, &ParseOptions::default());
    assert!(read.save(&SaveOptions::default()).contains(rule), "{listed}");
}

#[test]
fn a_table_that_begins_anew_forgets_the_jumps_before() {
    let text = format!("-A INPUT -j foo\n{WHOLE}");
    let (rules, said) = read(&text);
    assert_eq!(rules, 1);
    assert!(said.iter().all(|m| !m.contains("is not in the text")), "{said:?}");
}

#[test]
fn a_chain_line_behind_the_jump_defines_the_chain() {
    for flavour in [Flavour::Legacy, Flavour::Nft] {
        let options = ParseOptions { flavour: Some(flavour), ..Default::default() };
        let (ruleset, diags) = parse("-A INPUT -j foo\n:foo - [0:0]\n", &options);
        assert!(diags.iter().all(|d| d.severity == Severity::Note), "{diags:?}");
        let saved = ruleset.save(&SaveOptions::default());
        assert!(saved.contains(":foo - [0:0]\n-A INPUT -j foo\n"), "{saved}");
    }
}
