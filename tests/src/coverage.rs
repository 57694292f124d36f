//! Counts what random cases exercised: matches and targets with their options (rules whose kernel counters
//! moved), TCP states, and kinds of NAT as connection entries show them.

use std::collections::BTreeMap;
use std::fmt;

use crate::case::Run;

/// Cases that exercised a thing, by the thing's name.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    matches: BTreeMap<String, u64>,
    targets: BTreeMap<String, u64>,
    tcp_states: BTreeMap<String, u64>,
    nat: BTreeMap<String, u64>,
}

impl Coverage {
    /// Adds one case by what the kernel printed at its end.
    pub fn add(&mut self, run: &Run) {
        let mut case = Coverage::default();
        for (command, text) in &run.show {
            if command.contains("tables") {
                text.lines().for_each(|line| case.rule(line));
            } else if command.starts_with("conntrack -L") {
                text.lines().for_each(|line| case.entry(line));
            }
        }
        let pairs = [
            (&mut self.matches, case.matches),
            (&mut self.targets, case.targets),
            (&mut self.tcp_states, case.tcp_states),
            (&mut self.nat, case.nat),
        ];
        for (sums, case) in pairs {
            case.into_keys().for_each(|name| *sums.entry(name).or_default() += 1);
        }
    }

    /// A rule that matched at least once: `[3:156] -A FORWARD -m tcp --dport 80 -j DROP`.
    fn rule(&mut self, line: &str) {
        let Some((counters, rule)) = line.split_once("] -A ") else { return };
        if counters.starts_with("[0:") {
            return;
        }
        let mut owner = String::from("header");
        let mut target = false;
        let mut words = rule.split_whitespace().skip(1).peekable();
        while let Some(word) = words.next() {
            match word {
                "-m" | "-j" => {
                    target = word == "-j";
                    owner = words.next().unwrap_or_default().to_string();
                    // User chains have short names.
                    if target && owner.len() < 3 {
                        owner = "a user chain".into();
                    }
                    self.count(target, owner.clone());
                }
                "-g" => self.count(true, "goto".into()),
                "-s" | "-d" | "-i" | "-o" | "-p" => self.count(false, word.to_string()),
                option if option.starts_with("--") => self.count(target, format!("{owner} {option}")),
                _ => {}
            }
        }
    }

    fn count(&mut self, target: bool, name: String) {
        let into = if target { &mut self.targets } else { &mut self.matches };
        *into.entry(name).or_default() += 1;
    }

    fn entry(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"tcp")
            && let Some(state) = words.iter().find(|word| {
                word.len() > 4
                    && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte == b'2')
            })
        {
            *self.tcp_states.entry(state.to_string()).or_default() += 1;
        }
        let values =
            |name: &str| -> Vec<&str> { words.iter().filter_map(|word| word.strip_prefix(name)).collect() };
        let (src, dst, sport, dport) = (values("src="), values("dst="), values("sport="), values("dport="));
        let ([from, to], [reply_from, reply_to]) = ([src.first(), dst.first()], [src.get(1), dst.get(1)]);
        let mut note = |changed: bool, name: &str| {
            if changed {
                *self.nat.entry(name.into()).or_default() += 1;
            }
        };
        note(from != reply_to, "source address");
        note(to != reply_from, "destination address");
        note(sport.first() != dport.get(1), "source port");
        note(dport.first() != sport.get(1), "destination port");
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("match", &self.matches),
            ("target", &self.targets),
            ("tcp state", &self.tcp_states),
            ("nat", &self.nat),
        ];
        for (title, counts) in parts {
            for (name, count) in counts {
                writeln!(formatter, "{count:7} cases  {title} {name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_matched_and_entries_are_counted() {
        let mut coverage = Coverage::default();
        let rules = "[0:0] -A FORWARD -m mark --mark 0x1\n[2:80] -A FORWARD -i c0 -p tcp -m tcp --dport 80 -j REJECT --reject-with tcp-reset\n";
        let entries = "tcp      6 119 SYN_SENT src=1.1.1.1 dst=2.2.2.2 sport=1 dport=2 [UNREPLIED] src=3.3.3.3 dst=1.1.1.1 sport=2 dport=1 mark=0 use=1\n";
        let show = [("iptables-legacy-save -c", rules), ("conntrack -L", entries)]
            .map(|(name, text)| (name.to_string(), text.to_string()));
        coverage.add(&Run { show: show.into(), ..Run::default() });
        let text = coverage.to_string();
        for wanted in [
            "match -i",
            "match tcp --dport",
            "target REJECT --reject-with",
            "tcp state SYN_SENT",
            "nat destination address",
        ] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        assert!(!text.contains("mark") && !text.contains("source"), "{text}");
    }
}
