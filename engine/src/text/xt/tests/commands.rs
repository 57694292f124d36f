//! What `iptables` 1.8.9 answered on Linux 6.18, both flavours: sessions of commands with exit code, standard
//! output and standard error. `commands.json` holds them.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Session {
    tool: String,
    session: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    words: Vec<String>,
    exit: u8,
    stdout: String,
    stderr: String,
}

/// Without `-n` the tool looks up services, message types and log levels; the engine prints numbers.
const NAMES: &[(&str, &str)] = &[
    ("dpt:ssh", "dpt:22"),
    ("dpt:domain", "dpt:53"),
    ("http,https", "80,443"),
    ("ipv6-icmp echo-request", "ipv6-icmptype 128"),
    ("LOG level warn", "LOG flags 0 level 4"),
];

/// nf_tables has no chain INPUT yet when the tool looks for it.
const DIFFERS_NFT: &str = "-A foo -g INPUT";

#[test]
fn every_recorded_command_answers_as_the_tool_answered() {
    let sessions: Vec<Session> = serde_json::from_str(include_str!("commands.json")).unwrap();
    let (mut wrong, mut steps) = (Vec::new(), 0);
    for Session { tool, session, steps: recorded } in sessions {
        let family = if tool.starts_with("ip6") { Family::V6 } else { Family::V4 };
        let flavour = if tool.ends_with("-nft") { Flavour::Nft } else { Flavour::Legacy };
        let mut ruleset = Ruleset::new(family, flavour);
        for Step { words, exit, stdout, stderr } in recorded {
            steps += 1;
            let got = match command(&words, &mut ruleset) {
                Ok(out) => (0, out, String::new()),
                Err(CliError { message, exit_code }) => (exit_code, String::new(), message),
            };
            let stdout = NAMES.iter().fold(stdout, |text, (name, number)| text.replace(name, number));
            let differs = flavour == Flavour::Nft && words.join(" ") == DIFFERS_NFT;
            if got != (exit, stdout.clone(), stderr.clone()) && !differs {
                let said = format!("{} {}{}", got.0, got.1, got.2);
                wrong.push(format!(
                    "{tool} {session} $ {}\n{said}  want:\n{exit} {stdout}{stderr}",
                    words.join(" ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {steps} differ:\n{}", wrong.len(), wrong.join("\n"));
}
