//! nftables text against the real `nft` 1.0.6: what it lists, we list; what it refuses, we refuse.
//!
//! `tests/nft/rules.FAMILY.txt` holds what the tool said when it was asked (`tests/nft/README.md`); where the tool and a
//! network namespace are at hand it is asked again, and also about the dumps of `../shared/peer/dumps/nft`.

use std::path::{Path, PathBuf};

use chainwalk_engine::base::Instant;
use chainwalk_engine::netfilter::nft::Ruleset;
use chainwalk_engine::text::nft::{self, ListOptions};
use chainwalk_tests::generate::Rng;
use chainwalk_tests::kernel::{self, Netns, tool};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("nft")
}

fn list(ruleset: &Ruleset) -> String {
    nft::list_ruleset(ruleset, Instant::ZERO, ListOptions::default())
}

/// A rule and what the tool makes of it.
struct Recorded {
    rule: String,
    /// Lines of the listing, or the refusal.
    said: Result<Vec<String>, String>,
}

fn recorded(family: &str) -> Vec<Recorded> {
    let text =
        std::fs::read_to_string(folder().join(format!("rules.{family}.txt"))).expect("the recorded rules");
    let mut list: Vec<Recorded> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let Some(said) = line.strip_prefix('\t') else {
            list.push(Recorded { rule: line.to_owned(), said: Ok(Vec::new()) });
            continue;
        };
        let last = list.last_mut().expect("a rule stands before what is said of it");
        match (&mut last.said, said.strip_prefix("! ")) {
            (_, Some(refusal)) => last.said = Err(refusal.to_owned()),
            (Ok(lines), None) => lines.push(said.to_owned()),
            (Err(_), None) => {}
        }
    }
    list.retain(|r| r.said.as_ref().map_or(true, |lines| lines.iter().all(|line| !line.starts_with("? "))));
    list
}

/// Rules for which we knowingly part with the tool, and why.
const KNOWN: [(&str, &str); 25] = [
    ("tcp dport { 5-5, 6-6 }", "ranges of one value in braces are values, and do not join to `5-6`"),
    ("socket mark 5", "socket is not emulated: kept as written"),
    ("last", "newer tools have it: their listings are read"),
    ("last used 5s", "newer tools have it"),
    ("last used never", "newer tools have it"),
    ("counter last", "newer tools have it"),
    ("ip saddr { 1.1.1.1 counter }", STATE_IN_PLACE),
    ("ip saddr { 1.1.1.1 counter, 2.2.2.2 }", STATE_IN_PLACE),
    ("ip saddr { 1.1.1.1 counter packets 5 bytes 6, 2.2.2.2 counter }", STATE_IN_PLACE),
    ("ip saddr { 1.1.1.1 limit rate 5/second, 2.2.2.2 }", STATE_IN_PLACE),
    ("tcp dport { 1-5 counter, 7 }", STATE_IN_PLACE),
    ("tcp dport { 1 counter comment \"x\", 2 }", STATE_IN_PLACE),
    ("tcp dport != { 1 counter, 2 }", STATE_IN_PLACE),
    ("ip saddr . tcp dport { 1.1.1.1 . 5 counter, 2.2.2.2 . 6 }", STATE_IN_PLACE),
    ("tcp dport 1 ct original proto-dst { 80, 90-95 }", "the tool prints an invalid type"),
    ("ct original protocol udp ct original proto-dst { 80, 81 }", "the tool prints an invalid type"),
    (
        "ct protocol tcp th dport 5",
        "the tool lists `tcp dport`, which another protocol's error would not match",
    ),
    ("ether type ip6 ip6 saddr ::1", "in a table of family ip the tool's listing does not read back"),
    ("ether type ip ip saddr 1.1.1.1", "the same in family ip6"),
    ("ether type ip ip protocol tcp", "the same in family ip6"),
    ("ether saddr 00:01:02:03:04:05 ether type ip ip saddr 1.1.1.1", "the same in family ip6"),
    ("meta l4proto 2 th sport 5", "the tool takes the ports for fields of IGMP that nobody asked for"),
    ("iif \"nope\"", "a ruleset alone does not say which devices there are"),
    ("ip length >> 2 == 3", "the tool's listing loses the match"),
    ("meta length >> 2 == 3", "the tool sends an operation without a length, which the kernel refuses"),
];

const STATE_IN_PLACE: &str = "state of elements in place is not emulated: refused by name";

/// Rules whose `-j` form tells more than their text: whether the family was stated.
const ONLY_TEXT: [&str; 1] = ["ct original saddr 1.2.3.4"];

/// What is not emulated is kept as text, and `-j` gives the text.
const FOREIGN: [&str; 6] = ["socket ", "osf ", "ipsec ", "synproxy ", "sctp chunk", "tproxy "];

/// The order of combined flags in a set depends on the kernel's hash seed.
const ANY_ORDER: &str = "tcp flags & (syn | ack) vmap";

/// What we list for a rule in chain `x` of the scaffold.
fn ours(family: &str, base: &Ruleset, rule: &str) -> Result<Vec<String>, String> {
    let mut ruleset = base.clone();
    let command = format!("add rule {family} t x {rule}\n");
    let refusal = nft::run(&mut ruleset, &command, Instant::ZERO, ListOptions::default());
    if let Err(refusal) = refusal {
        let first = refusal.error.message.lines().next().unwrap_or_default().to_owned();
        return Err(first.replace("/dev/stdin:", ""));
    }
    let listed = list(&ruleset);
    let inside =
        listed.split("\tchain x {\n").nth(1).and_then(|t| t.split("\n\t}\n").next()).unwrap_or_default();
    Ok(inside.lines().map(|line| line.strip_prefix("\t\t").unwrap_or(line).to_owned()).collect())
}

#[test]
fn rules_are_listed_and_refused_as_the_tool_does() {
    let (mut same, mut refused, mut worded, mut known) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    let mut parted: Vec<&str> = Vec::new();
    for family in ["ip", "ip6", "inet"] {
        let scaffold = std::fs::read_to_string(folder().join("scaffold.nft")).unwrap().replace("FAM", family);
        let base = nft::parse(&scaffold).unwrap();
        assert_eq!(list(&base), scaffold);
        for Recorded { rule, said } in recorded(family) {
            let ours = ours(family, &base, &rule);
            match (&said, &ours) {
                (Ok(theirs), Ok(ours)) if theirs == ours => same += 1,
                (Err(theirs), Err(ours)) => {
                    refused += 1;
                    if theirs == ours {
                        worded += 1;
                    } else if std::env::var_os("CHAINWALK_WORDS").is_some() {
                        println!("{family}: {rule}\n    nft:  {theirs}\n    ours: {ours}");
                    }
                }
                _ if rule.starts_with(ANY_ORDER) => known += 1,
                _ if KNOWN.iter().any(|(known, _)| *known == rule) => {
                    known += 1;
                    parted.extend(KNOWN.iter().map(|(known, _)| *known).filter(|known| *known == rule));
                }
                _ => wrong.push(format!("{family}: {rule}\n    nft:  {said:?}\n    ours: {ours:?}")),
            }
        }
    }
    println!(
        "{same} rules listed alike, {refused} refused alike, {worded} of them in the tool's words; {known} known"
    );
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    let stale = KNOWN.iter().find(|(rule, _)| !parted.contains(rule));
    assert!(stale.is_none(), "as the tool by now: {stale:?}");
}

/// What the tool lists after it loaded a text, in a namespace of its own.
fn asked(text: &str, options: &[&str]) -> Result<String, String> {
    let namespace = Netns::new().map_err(|error| error.to_string())?;
    let _inside = namespace.enter().map_err(|error| error.to_string())?;
    tool("nft", &["-f", "-"], text)?.expect_success("nft -f")?;
    tool("nft", &[options, &["list", "ruleset"]].concat(), "")?.expect_success("nft list")
}

/// Without what no two runs share: handles of tables, time left.
fn settled(listing: &str) -> String {
    let mut out = Vec::new();
    for line in listing.replace("}}, {\"", "}},\n{\"").lines() {
        let mut line = line.to_owned();
        if line.starts_with("table ") || line.starts_with("{\"table\"") {
            line = line.split(" # handle").next().unwrap_or_default().to_owned();
            line = line.split(", \"handle\"").next().unwrap_or_default().to_owned();
        }
        out.push(line);
    }
    out.join("\n")
}

/// Lines that differ, in each form of the listing.
fn differences(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (option, list) in [
        (None, ListOptions::default()),
        (Some("-a"), ListOptions { handles: true, ..ListOptions::default() }),
        (Some("-s"), ListOptions { stateless: true, ..ListOptions::default() }),
        (Some("-t"), ListOptions { terse: true, ..ListOptions::default() }),
        (Some("-j"), ListOptions { json: true, ..ListOptions::default() }),
    ] {
        let theirs = match asked(text, option.as_slice()) {
            Ok(listing) => settled(&listing),
            Err(refusal) => return vec![format!("{name}: the tool refuses it: {refusal}")],
        };
        let ruleset = match nft::parse(text) {
            Ok(ruleset) => ruleset,
            Err(refusal) => return vec![format!("{name}: {}", refusal.error.message)],
        };
        let ours = settled(&nft::list_ruleset(&ruleset, Instant::ZERO, list));
        let pairs = theirs.lines().zip(ours.lines()).filter(|(a, b)| a != b).take(5);
        found.extend(pairs.map(|(a, b)| format!("{name} {option:?}:\n    nft:  {a}\n    ours: {b}")));
        if theirs.lines().count() != ours.lines().count() {
            found.push(format!("{name} {option:?}: another number of lines"));
        }
    }
    found
}

#[test]
fn listings_and_public_dumps_print_as_the_tool_prints_them() {
    if let Some(why) = kernel::unavailable() {
        println!("skipped: {why}");
        return;
    }
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src/text/nft/tests/listing.nft");
    let mut wrong = differences("listing", &std::fs::read_to_string(engine).unwrap());
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer/dumps/nft");
    let Ok(entries) = std::fs::read_dir(dumps) else {
        println!("skipped the dumps: ../shared/peer is not here");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        return;
    };
    let mut count = 0;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        wrong.extend(differences(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap()));
        count += 1;
    }
    println!("{count} dumps");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules of the recorded ones in random company: nothing a rule says depends on its neighbours.
#[test]
fn random_rulesets_print_as_the_tool_prints_them() {
    if let Some(why) = kernel::unavailable() {
        println!("skipped: {why}");
        return;
    }
    const RULESETS: u64 = 60;
    const RULES: usize = 40;
    let mut wrong = Vec::new();
    for seed in 0..RULESETS {
        let mut rng = Rng::new(seed);
        let family = ["ip", "ip6", "inet"][seed as usize % 3];
        let mut text = std::fs::read_to_string(folder().join("scaffold.nft")).unwrap().replace("FAM", family);
        let rules: Vec<Recorded> = recorded(family)
            .into_iter()
            .filter(|r| {
                let known = KNOWN.iter().any(|(known, _)| *known == r.rule)
                    || r.rule.contains("syn |")
                    || r.rule.contains("syn|");
                r.said.is_ok()
                    && !known
                    && !ONLY_TEXT.contains(&r.rule.as_str())
                    && !FOREIGN.iter().any(|name| r.rule.contains(name))
            })
            .collect();
        for _ in 0..RULES {
            let rule = &rules[rng.below(rules.len() as u64) as usize].rule;
            text += &format!("add rule {family} t x {rule}\n");
        }
        wrong.extend(differences(&format!("seed {seed}"), &text));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
