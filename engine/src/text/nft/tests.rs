//! Text in, text out. What the real tool says of some 2,600 rules is in `tests/nft`; here are the laws and the commands.

use super::*;
use crate::base::Rng;

/// Everything a listing can hold, as 1.0.6 prints it.
const LISTING: &str = include_str!("tests/listing.nft");

fn list(ruleset: &Ruleset) -> String {
    list_ruleset(ruleset, Instant::ZERO, ListOptions::default())
}

#[track_caller]
fn ok(ruleset: &mut Ruleset, text: &str) -> String {
    match run(ruleset, text, Instant::ZERO, ListOptions::default()) {
        Ok(printed) => printed,
        Err(refusal) => panic!("{}", refusal.error.message),
    }
}

#[track_caller]
fn refused(ruleset: &mut Ruleset, text: &str) -> String {
    let before = list(ruleset);
    let refusal =
        run(ruleset, text, Instant::ZERO, ListOptions::default()).expect_err("it should be refused");
    assert_eq!(list(ruleset), before, "a refused text changes nothing");
    refusal.diag.to_string()
}

fn chains(rules: &str) -> Ruleset {
    parse(&format!("table ip t {{\n\tchain a {{\n\t}}\n\tchain b {{\n\t}}\n{rules}}}\n")).unwrap()
}

#[test]
fn a_listing_reads_and_prints_back() {
    let ruleset = parse(LISTING).unwrap();
    assert_eq!(list(&ruleset), LISTING);
}

#[test]
fn all_of_a_text_or_nothing() {
    let mut ruleset = Ruleset::default();
    assert_eq!(
        refused(&mut ruleset, "add table t\nadd chain t c\nadd rule t c tcp dport 99999\n"),
        "line 3, column 24: error: Service out of range"
    );
    ok(&mut ruleset, "add table t; add chain t c; add rule t c accept");
    assert_eq!(list(&ruleset), "table ip t {\n\tchain c {\n\t\taccept\n\t}\n}\n");
}

#[test]
fn rules_go_where_they_are_told() {
    let mut ruleset = chains("");
    ok(&mut ruleset, "add rule t a tcp dport 1\nadd rule t a tcp dport 3\ninsert rule t a tcp dport 0\n");
    ok(&mut ruleset, "add rule t a index 1 tcp dport 2\ninsert rule t a position 4 tcp dport 4\n");
    ok(&mut ruleset, "replace rule t a handle 5 tcp dport 5\ndelete rule t a handle 3\n");
    let options = ListOptions { handles: true, ..ListOptions::default() };
    let printed = run(&mut ruleset, "list chain t a", Instant::ZERO, options).unwrap();
    let expected = "table ip t {\n\tchain a { # handle 1\n\t\ttcp dport 5 # handle 8\n\t\ttcp dport 2 # handle 6\n\t\ttcp \
                    dport 4 # handle 7\n\t\ttcp dport 3 # handle 4\n\t}\n}\n";
    assert_eq!(printed, expected);
}

#[test]
fn jumps_are_checked_as_the_kernel_does() {
    let mut ruleset = chains("\tchain h {\n\t\ttype filter hook input priority 0; policy accept;\n\t}\n");
    assert_eq!(
        refused(&mut ruleset, "add rule t a jump h"),
        "line 1, column 19: error: Could not process rule: Operation not supported"
    );
    // A loop nobody reaches is taken; hooking it up is not.
    ok(&mut ruleset, "add rule t a jump b\nadd rule t b jump a\n");
    assert_eq!(
        refused(&mut ruleset, "add rule t h jump a"),
        "line 1, column 1: error: Could not process rule: Too many links"
    );
    ok(&mut ruleset, "flush chain t b");
    ok(&mut ruleset, "add rule t h jump a");
    assert_eq!(
        refused(&mut ruleset, "delete chain t b"),
        "line 1, column 16: error: Could not process rule: Device or resource busy"
    );
    for (rule, fine) in [("masquerade", false), ("reject", true), ("redirect", false)] {
        assert_eq!(
            run(&mut ruleset.clone(), &format!("add rule t b {rule}"), Instant::ZERO, ListOptions::default())
                .is_ok(),
            fine,
            "{rule}"
        );
    }
}

#[test]
fn fifteen_chains_in_series_pass_and_the_sixteenth_does_not() {
    let series = |count: u32| {
        let mut text = "add table t\nadd chain t base { type filter hook input priority 0; }\n".to_owned();
        for n in 1..=count {
            text += &format!("add chain t c{n}\n");
        }
        text += "add rule t base jump c1\n";
        for n in 1..count {
            text += &format!("add rule t c{n} goto c{}\n", n + 1);
        }
        parse(&text).map(|_| ()).map_err(|refusal| refusal.diag.message)
    };
    assert_eq!(series(15), Ok(()));
    assert_eq!(series(16), Err("Could not process rule: Too many links".to_owned()));
}

#[test]
fn elements_merge_overlap_and_expire() {
    let mut ruleset = Ruleset::default();
    ok(
        &mut ruleset,
        "add table t\nadd set t m { type ipv4_addr; flags interval; auto-merge; }\nadd set t i { type ipv4_addr; flags \
         interval; }\nadd set t e { type ipv4_addr; timeout 10s; }\n",
    );
    ok(&mut ruleset, "add element t m { 1.1.1.0/24, 1.1.2.0/24 }\nadd element t i { 10.0.0.0/8 }");
    assert!(list(&ruleset).contains("elements = { 1.1.1.0-1.1.2.255 }"));
    assert_eq!(
        refused(&mut ruleset, "add element t i { 10.1.0.0/16 }"),
        "line 1, column 19: error: interval overlaps with an existing one"
    );
    ok(&mut ruleset, "add element t i { 10.0.0.0/8 }\nadd element t e { 1.1.1.1 }");
    let at =
        |seconds: u64| list_ruleset(&ruleset, Instant::from_millis(seconds * 1000), ListOptions::default());
    assert!(at(4).contains("1.1.1.1 expires 6s"));
    assert!(!at(10).contains("1.1.1.1"));
}

#[test]
fn variables_are_put_in_place_and_files_are_not_read() {
    let mut ruleset = chains("");
    ok(
        &mut ruleset,
        "define web = { 80, 443 }\ndefine all = { $web, 22 }\nadd rule t a tcp dport $all accept\n",
    );
    assert!(list(&ruleset).contains("tcp dport { 22, 80, 443 } accept"));
    assert!(refused(&mut ruleset, "include \"other.nft\"\n").contains("include is not emulated"));
    assert!(refused(&mut ruleset, "add rule t a tcp dport $none").contains("unknown identifier 'none'"));
}

/// As nft 1.0.6 reads it from a file.
#[test]
fn a_quotation_ends_at_a_nul() {
    let mut ruleset = Ruleset::default();
    let text = "table inet t {\n chain c {\n iifname \"et\0h0\" counter comment \"a\0b\"\n }\n}\n";
    ok(&mut ruleset, text);
    let kept = list(&ruleset);
    assert!(kept.contains("iifname \"et\" counter packets 0 bytes 0 comment \"a\""), "{kept}");
}

#[test]
fn a_million_words_and_deep_nesting_are_refused() {
    let mut doubling = "define v0 = { 1, 2 }\n".to_owned();
    for n in 1..40 {
        doubling += &format!("define v{n} = {{ $v{0}, $v{0} }}\n", n - 1);
    }
    let nested = format!("add rule t a meta mark set {}1{}\n", "(".repeat(100_000), ")".repeat(100_000));
    let braces = format!("add rule t a {}", "jump { ".repeat(100_000));
    for text in [doubling, nested, braces] {
        refused(&mut chains(""), &text);
    }
}

/// Whatever a text is, reading it ends; and what is read and printed reads back the same.
#[test]
fn mutated_texts_are_refused_or_keep_the_law() {
    let lines: Vec<&str> = LISTING.lines().collect();
    for seed in 0..600_u64 {
        let mut rng = Rng::named(seed, "nft-mutation");
        let mut below = |n: usize| rng.below(n as u32) as usize;
        let mut text: Vec<char> = if below(2) == 0 {
            LISTING.chars().collect()
        } else {
            let rule = lines[below(lines.len())].trim();
            format!("table inet t {{\nchain x2 {{\n}}\nchain c {{\n{rule}\n{rule}\n}}\n}}\n")
                .chars()
                .collect()
        };
        for _ in 0..=below(4) {
            let at = below(text.len());
            match below(4) {
                0 => drop(text.remove(at)),
                1 => {
                    text.insert(at, ['{', '}', '"', ' ', '-', ':', '\n', '$', '@', 'é', '9', '.'][below(12)])
                }
                2 => {
                    let end = (at + below(20)).min(text.len());
                    let piece: Vec<char> = text[at..end].to_vec();
                    let to = below(text.len());
                    text.splice(to..to, piece);
                }
                _ => {
                    let end = (at + below(12)).min(text.len());
                    drop(text.drain(at..end));
                }
            }
            if text.is_empty() {
                text.push(' ');
            }
        }
        let text: String = text.into_iter().collect();
        let Ok(ruleset) = parse(&text) else { continue };
        let printed = list(&ruleset);
        match parse(&printed) {
            Ok(again) => assert_eq!(list(&again), printed, "seed {seed}"),
            Err(refusal) => panic!("seed {seed}: {}\n{printed}", refusal.error.message),
        }
        list_ruleset(&ruleset, Instant::ZERO, ListOptions { json: true, ..ListOptions::default() });
    }
}
