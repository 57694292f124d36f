//! Packets through nftables and IPVS, as a reader sees them.

use super::*;
use crate::netns::Netns;
use crate::replay::{Paste, Session};
use crate::view::trace::{Outcome, StepKind};

const PROXY: &str = "\
table ip proxy {
	map service-ips {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 80 : goto web, 10.96.0.2 . udp . 53 : drop }
	}

	set friends {
		type ipv4_addr
		flags interval
		elements = { 10.1.0.0/24 }
	}

	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		ip saddr != @friends return
		ip daddr . meta l4proto . th dport vmap @service-ips comment \"services\"
	}

	chain web {
		meta l4proto tcp dnat ip to numgen random mod 1 map { 0 : 10.2.0.2 . 8080 }
	}

	chain forward {
		type filter hook forward priority filter; policy drop;
		tcp dport 22 counter packets 0 bytes 0 reject with tcp reset
		ip daddr 10.2.0.2 counter packets 0 bytes 0 accept
	}
}
";

fn start(text: &str, packet: &str) -> Session {
    let paste = Paste::split(text);
    let mut netns = Netns::new(KernelVersion::default(), 1);
    paste.load_before(&mut netns).unwrap();
    let mut session = Session::on(netns, Vec::new());
    assert_eq!(paste.load_nft(&mut session), Ok(Vec::new()));
    let facts = Facts {
        addresses: vec![
            "c0=10.1.0.1/24".to_owned(),
            "s0=10.2.0.1/24".to_owned(),
            "v0=10.96.0.10/32".to_owned(),
        ],
        sysctls: vec!["net.ipv4.ip_forward=1".to_owned()],
        ..Facts::default()
    };
    assert_eq!(session.start(line::parse(packet).unwrap(), &facts, Level::Full), Ok(Vec::new()));
    session
}

fn rows(session: &Session, visit: u32) -> Vec<crate::view::chain::RuleRow> {
    let trace = &session.sent()[0].ran.trace;
    let rules = Rules { tables: &[], nft: session.netns().nft() };
    visit_rows(trace, &VisitIndex::of(trace), rules, visit, 0, 10).rows
}

#[test]
fn a_look_up_shows_its_key_and_the_element_hit() {
    let session = start(PROXY, PACKET);
    let view = view(&session);
    assert_eq!(view.verdict.sentence, "Leaves through s0 as 10.1.0.2:40000 → 10.2.0.2:8080.");
    let chains: Vec<_> =
        view.visits.iter().map(|visit| (visit.table.as_str(), visit.chain.as_str(), visit.walked)).collect();
    assert_eq!(chains, [("ip proxy", "prerouting", 2), ("ip proxy", "web", 1), ("ip proxy", "forward", 2)]);
    assert_eq!(view.rules_walked, 5);
    let asked = rows(&session, 0);
    assert_eq!((asked[0].text.as_str(), asked[0].target.as_str()), ("ip saddr != @friends", "return"));
    assert_eq!((asked[0].fate, asked[0].checks[0].found.as_str()), (RuleFate::Passed, "10.1.0.0-10.1.0.255"));
    assert_eq!(asked[1].text, "ip daddr . meta l4proto . th dport vmap @service-ips");
    assert_eq!((asked[1].target.as_str(), asked[1].comment.as_str()), ("", "services"));
    let check = &asked[1].checks[0];
    assert_eq!(check.have, "10.96.0.1 . tcp . 80");
    assert_eq!(
        (check.want.as_str(), check.found.as_str()),
        ("@service-ips", "10.96.0.1 . tcp . 80 : goto web")
    );
    let mapped = &rows(&session, 1)[0];
    assert_eq!(mapped.text, "meta l4proto tcp");
    assert_eq!(mapped.checks.last().unwrap().found, "0 : 10.2.0.2 . 8080");
    assert!(!mapped.counts);
    let forward = rows(&session, 2);
    assert_eq!(
        (forward[1].counts, forward[1].packets, forward[1].target.as_str()),
        (true, 1, "counter accept")
    );
    assert!(forward[0].line > 0, "{forward:?}");
}

#[test]
fn a_mapping_is_told_as_one() {
    let view = view(&start(PROXY, PACKET));
    let rule = view.steps.iter().find(|step| step.sentence.contains("Rule 1 of web")).unwrap();
    assert_eq!(rule.sentence, "Rule 1 of web matches: dnat: the connection gets another destination.");
    let rewrite = view.steps.iter().find(|step| !step.changes.is_empty()).unwrap();
    assert_eq!(rewrite.kind, StepKind::Rewrite);
    assert_eq!(stations(&view)[3], "FORWARD: ip proxy");
}

#[test]
fn a_rejecting_rule_is_named_in_the_verdict() {
    let view = view(&start(PROXY, "tcp 10.1.0.2:40000 > 10.2.0.2:22 in c0"));
    assert_eq!(view.verdict.outcome, Outcome::Rejected);
    assert!(
        view.verdict.sentence.starts_with("Rejected by rule 1 of ip proxy forward."),
        "{}",
        view.verdict.sentence
    );
}

#[test]
fn what_nft_does_not_emulate_is_named_in_place() {
    let text =
        PROXY.replace("tcp dport 22 counter packets 0 bytes 0 reject with tcp reset", "meta cgroup 5 drop");
    let session = start(&text, PACKET);
    let view = view(&session);
    assert_eq!(view.verdict.outcome, Outcome::Uncertain);
    assert_eq!(view.verdict.uncertain.as_ref().unwrap().name, "meta cgroup");
    let step = view.steps.iter().find(|step| step.sentence.contains("not emulated")).unwrap();
    assert!(step.sentence.contains("is open; not emulated: meta cgroup"), "{}", step.sentence);
    let row = &rows(&session, 2)[0];
    assert_eq!((row.fate, row.not_emulated.len()), (RuleFate::Uncertain, 1));
}

#[test]
fn ipvs_tells_whom_its_scheduler_chose_and_why() {
    let servers = "-A -t 10.96.0.10:80 -s rr\n-a -t 10.96.0.10:80 -r 10.2.0.2:8080 -m -w 1\n\
                   -a -t 10.96.0.10:80 -r 10.2.0.3:8080 -m -w 1\n";
    let view = view(&start(servers, "tcp 10.1.0.2:40000 > 10.96.0.10:80 in c0"));
    let step = view.steps.iter().find(|step| !step.candidates.is_empty()).unwrap();
    assert!(
        step.sentence.starts_with("IPVS: of 2 servers the scheduler rr chooses 10.2.0."),
        "{}",
        step.sentence
    );
    assert_eq!(step.candidates.iter().filter(|candidate| candidate.chosen).count(), 1);
    let chosen = step.candidates.iter().find(|candidate| candidate.chosen).unwrap();
    assert_eq!(view.verdict.sentence, format!("Leaves through s0 as 10.1.0.2:40000 → {}.", chosen.server));
}
