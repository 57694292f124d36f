//! What iptables-restore 1.8.9 answered on Linux 6.18, both flavours: exit code, standard error, and what
//! iptables-save -c printed afterwards. `recorded.json` holds inputs and answers.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Recorded {
    tool: String,
    args: Vec<String>,
    stdin: String,
    exit: u8,
    stderr: String,
    saved: String,
}

/// Lines whose answer differs from the tool's, and why that is right.
const DIFFERS: &[(&str, &str)] = &[
    ("eth/0", "the tool warns and goes on; we have nowhere to warn in a success"),
    ("\"eth 0\"", "likewise"),
    ("-p ipv6-route", "likewise"),
    ("mptcp", "protocol 262 does not fit the header's field; the tools print it or turn it into tcp"),
    ("INPUT -h", "prints the manual and ends"),
    ("INPUT -V", "prints the version and ends"),
    (
        "--comment \"abc\nCOMMIT",
        "an open quote takes in the end of the line, and the save spreads over two lines",
    ),
];

/// The same for the nft flavour alone.
const DIFFERS_NFT: &[(&str, &str)] = &[
    ("-E usr ", "the tool cannot rename a chain made in the same transaction"),
    ("-E foo bar", "likewise"),
    ("-j TRACE", "nft needs no table raw; the engine traces from raw only"),
    ("! -p tcp --dport", "nft tests ports of any protocol then; the engine's tcp match needs TCP"),
    ("--dport 80 -m tcp --dport 81", "nft merges two matches of one kind"),
    ("--dport 22 -m tcp --sport", "likewise"),
    ("-A usr -j INPUT", "the built-in chain does not exist yet in the tool's transaction"),
    ("-R INPUT 1 -j DROP\n-I INPUT 2", "the tool crashes"),
    ("-A INPUT -j ACCEPT\n-F\n", "the tool forgets rules made in the same transaction"),
];

fn differs_on_purpose(case: &Recorded) -> bool {
    let nft = case.tool.contains("-nft");
    let listed = |list: &[(&str, &str)]| list.iter().any(|(line, _)| case.stdin.contains(line));
    listed(DIFFERS) || (nft && listed(DIFFERS_NFT))
}

#[test]
fn every_recorded_restore_ends_as_the_tool_ended() {
    let cases: Vec<Recorded> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        if differs_on_purpose(case) {
            continue;
        }
        let family = if case.tool.starts_with("ip6") { Family::V6 } else { Family::V4 };
        let flavour = if case.tool.contains("-nft") { Flavour::Nft } else { Flavour::Legacy };
        let has = |flag: &str| case.args.iter().any(|a| a == flag);
        let options = RestoreOptions { family, flavour, counters: has("-c"), noflush: has("-n") };
        let (ruleset, exit, stderr) = match restore(&case.stdin, &Ruleset::new(family, flavour), options) {
            Ok(ruleset) => (ruleset, 0, String::new()),
            Err(failure) => (failure.ruleset, failure.error.exit_code, failure.error.message),
        };
        let saved = ruleset.save(&SaveOptions { counters: true, date: None });
        let mut say = |what: &str, got: &str, want: &str| {
            if got != want {
                wrong.push(format!(
                    "{} {:?}\n{}  {what}: {got}\n  want: {want}\n",
                    case.tool, case.args, case.stdin
                ));
            }
        };
        say("exit", &exit.to_string(), &case.exit.to_string());
        say("stderr", &stderr, &case.stderr);
        if case.exit == 0 {
            say("saved", &saved, &case.saved);
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
