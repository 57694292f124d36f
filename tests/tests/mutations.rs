//! Mutations of a ruleset that people make by accident, each beside what the real tools make of it: the emulator
//! takes what they take, with the same result, and refuses what they refuse, in their words or saying why.

use chainwalk_engine::base::KernelVersion;
use chainwalk_engine::netns::Netns;
use chainwalk_engine::replay;
use chainwalk_tests::kernel::{self, Lab};
use chainwalk_tests::replay::Node;

const PLAIN: &str = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n:WEB - [0:0]\n\
-A INPUT -s 10.0.0.0/8 -i eth0 -p tcp -m tcp --dport 22 -m conntrack --ctstate NEW -j ACCEPT\n\
-A FORWARD -d 10.96.0.1/32 -p tcp -m comment --comment \"web front\" -m tcp --dport 80 -j WEB\n\
-A WEB -m mark ! --mark 0x1/0xff -j DROP\nCOMMIT\n";

/// What the real tool is expected to do, so that the list reads; the real tool is asked again where it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Loads,
    /// Both flavours refuse. The words that the emulator's message holds.
    Refuses(&'static str),
    /// Only iptables-nft refuses.
    NftRefuses(&'static str),
    LegacyRefuses(&'static str),
}
use Outcome::{LegacyRefuses, Loads, NftRefuses, Refuses};

struct Mutation {
    name: &'static str,
    text: String,
    outcome: Outcome,
}

fn mutations() -> Vec<Mutation> {
    let m = |name, text: String, outcome| Mutation { name, text, outcome };
    let edit = |from: &str, to: &str| {
        assert!(PLAIN.contains(from), "{from}");
        PLAIN.replacen(from, to, 1)
    };
    let comment = |len: usize| edit("web front", &"c".repeat(len));
    let chains = |count: usize| {
        let names: String = (0..count).map(|n| format!(":CHAIN-{n} - [0:0]\n")).collect();
        let jumps: String =
            (0..count).map(|n| format!("-A FORWARD -s 10.1.{}.{} -j CHAIN-{n}\n", n >> 8, n & 255)).collect();
        format!("*filter\n:FORWARD ACCEPT [0:0]\n{names}{jumps}COMMIT\n")
    };
    let deep = |depth: usize| {
        let names: String = (1..=depth).map(|n| format!(":D{n} - [0:0]\n")).collect();
        let jumps: String = (1..depth).map(|n| format!("-A D{n} -j D{}\n", n + 1)).collect();
        format!("*filter\n:FORWARD ACCEPT [0:0]\n{names}-A FORWARD -j D1\n{jumps}COMMIT\n")
    };
    vec![
        m("as it was", PLAIN.into(), Loads),
        m("no COMMIT", edit("COMMIT\n", ""), Refuses("COMMIT expected")),
        m("no COMMIT before the next table", edit("COMMIT\n", "*nat\nCOMMIT\n"), Refuses("line 9")),
        m("lower-case commit", edit("COMMIT", "commit"), Refuses("line 9")),
        m(
            "options in another order",
            edit(
                "-s 10.0.0.0/8 -i eth0 -p tcp -m tcp --dport 22 -m conntrack --ctstate NEW -j ACCEPT",
                "-j ACCEPT -m conntrack --ctstate NEW -i eth0 -p tcp --dport 22 -s 10.0.0.0/8",
            ),
            Loads,
        ),
        m("upper-case protocol", edit("-p tcp -m tcp --dport 22", "-p TCP -m tcp --dport 22"), Loads),
        m("lower-case target", edit("-j ACCEPT", "-j accept"), Refuses("accept")),
        m("lower-case state", edit("--ctstate NEW", "--ctstate new"), Loads),
        m("upper-case option", edit("--dport 22", "--DPORT 22"), Refuses("--DPORT")),
        m("upper-case table", edit("*filter", "*FILTER"), Refuses("FILTER")),
        m("upper-case match", edit("-m mark", "-m MARK"), Refuses("MARK")),
        m(
            "tabs between words",
            edit("-A INPUT -s 10.0.0.0/8 -i eth0", "-A INPUT\t-s\t10.0.0.0/8\t\t-i eth0"),
            Loads,
        ),
        m("blanks at the ends", edit("-j WEB\n", "-j WEB   \n\n\n"), Loads),
        m("a comment of 255 characters", comment(255), Loads),
        m("a comment of 256 characters, which is cut", comment(256), Loads),
        m("5,000 user chains", chains(5000), Loads),
        m("a jump 15 chains deep", deep(15), Loads),
        m("a jump 16 chains deep", deep(16), NftRefuses("Too many links")),
        m(
            "a loop",
            edit("COMMIT", ":BACK - [0:0]\n-A WEB -j BACK\n-A BACK -j WEB\nCOMMIT"),
            Refuses("failed"),
        ),
        m("a chain that jumps to itself", edit("COMMIT", "-A WEB -j WEB\nCOMMIT"), Refuses("failed")),
        m("a chain nobody made", edit("-j WEB", "-j WBE"), Refuses("WBE")),
        m("a chain made twice", edit(":WEB - [0:0]\n", ":WEB - [0:0]\n:WEB - [0:0]\n"), LegacyRefuses("WEB")),
        m("a port beyond 65535", edit("--dport 80", "--dport 70000"), Refuses("70000")),
        m("an address that is none", edit("10.96.0.1/32", "10.96.0.300/32"), Refuses("10.96.0.300")),
        m("a quote that does not close", edit("\"web front\"", "\"web front"), Loads),
        m("remarks and blank lines", format!("# by hand\n\n{PLAIN}\n# end\n"), Loads),
    ]
}

const TOOLS: [&str; 2] = ["iptables-legacy", "iptables-nft"];

/// What the emulator says, or prints as saved.
fn ours(tool: &str, text: &str) -> Result<String, String> {
    let mut netns = Netns::new(KernelVersion::default(), 1);
    replay::setup(&mut netns, &format!("{tool}-restore"), text).map_err(|error| error.to_string())?;
    replay::show(&netns, &format!("{tool}-save"))
}

fn without_remarks(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

#[test]
fn each_is_loaded_or_refused_with_a_reason() {
    for mutation in mutations() {
        for tool in TOOLS {
            let expected = match mutation.outcome {
                NftRefuses(_) if tool == "iptables-legacy" => Loads,
                LegacyRefuses(_) if tool == "iptables-nft" => Loads,
                NftRefuses(words) | LegacyRefuses(words) => Refuses(words),
                outcome => outcome,
            };
            match (expected, ours(tool, &mutation.text)) {
                (Loads, Ok(_)) => {}
                (Refuses(words), Err(said)) => {
                    assert!(said.contains(words), "{}, {tool}: {said}", mutation.name);
                }
                (expected, got) => panic!("{}, {tool}: expected {expected:?}, got {got:?}", mutation.name),
            }
        }
    }
}

#[test]
fn the_real_tools_do_the_same() {
    if let Some(reason) = kernel::unavailable() {
        println!("skipped: {reason}");
        return;
    }
    let mut differ = Vec::new();
    for mutation in mutations() {
        for tool in TOOLS {
            let lab = Lab::build(&Node::default()).expect("a node without devices");
            let loaded = lab.line(&format!("{tool}-restore"), &mutation.text).expect("the tool is there");
            let ours = ours(tool, &mutation.text);
            match (loaded.status, &ours) {
                (0, Ok(saved)) => {
                    let theirs = lab.line(&format!("{tool}-save"), "").expect("the tool is there").stdout;
                    let (theirs, ours) = (without_remarks(&theirs), without_remarks(saved));
                    // The tool takes the end of the line into the comment, and prints it there; we do not.
                    let line_end = mutation.name.contains("quote");
                    if theirs != ours && !line_end {
                        let line = theirs.lines().zip(ours.lines()).find(|(left, right)| left != right);
                        differ.push(format!("{}, {tool}: saved {line:?}", mutation.name));
                    }
                }
                (0, Err(said)) => differ.push(format!("{}, {tool}: loads, we say {said}", mutation.name)),
                (status, Ok(_)) => differ.push(format!(
                    "{}, {tool}: exit {status}: {}, we load it",
                    mutation.name,
                    loaded.stderr.trim()
                )),
                (status, Err(said)) => {
                    println!(
                        "{}, {tool}: exit {status}: {}\n    we: {said}",
                        mutation.name,
                        loaded.stderr.trim()
                    );
                }
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
