//! Packets through real rulesets, as a reader sees them.

mod nft;

use super::*;
use crate::base::KernelVersion;
use crate::replay::{Facts, Session, line};
use crate::text::xt::{ParseOptions, parse};
use crate::trace::Level;
use crate::view::chain::RuleFate;
use crate::view::packet::Field;
use crate::view::trace::{Outcome, Place, StepKind, StopState};

const SERVICE: &str = "\
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:SVC - [0:0]
-A PREROUTING -d 10.96.0.9/32 -j SVC
-A PREROUTING -d 10.96.0.1/32 -j SVC
-A SVC -p udp -j RETURN
-A SVC -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.2.0.2:8080
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p tcp -m tcp --dport 22 -j REJECT --reject-with tcp-reset
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -d 10.2.0.2/32 -j ACCEPT
COMMIT
";

const PACKET: &str = "tcp 10.1.0.2:40000 > 10.96.0.1:80 in c0";

fn session(rules: &str, packet: &str) -> Session {
    let (ruleset, diags) = parse(rules, &ParseOptions::default());
    assert_eq!(diags, [], "the ruleset reads well");
    let mut session = Session::new(vec![ruleset], KernelVersion::default(), 1);
    let facts = Facts {
        addresses: vec!["c0=10.1.0.1/24".to_owned(), "s0=10.2.0.1/24".to_owned()],
        ..Facts::default()
    };
    let notes = session.start(line::parse(packet).unwrap(), &facts, Level::Full).unwrap();
    assert_eq!(notes, []);
    session
}

fn view(session: &Session) -> TraceView {
    sent_view(session).unwrap()
}

/// `PREROUTING: conntrack, nat`, and so on.
fn stations(view: &TraceView) -> Vec<String> {
    let stops = |station: &crate::view::trace::StationView| {
        let titles: Vec<_> = station.stops.iter().map(|stop| stop.title.as_str()).collect();
        if titles.is_empty() { String::new() } else { format!(": {}", titles.join(", ")) }
    };
    view.stations.iter().map(|station| format!("{}{}", station.place.title(), stops(station))).collect()
}

#[test]
fn a_translated_packet_passes_its_stations_in_order() {
    let view = view(&session(SERVICE, PACKET));
    assert_eq!(
        stations(&view),
        [
            "in",
            "PREROUTING: conntrack, nat",
            "routing",
            "FORWARD: filter",
            "POSTROUTING: nat, confirm",
            "out"
        ]
    );
    assert_eq!(view.verdict.outcome, Outcome::Forwarded);
    assert_eq!(view.verdict.sentence, "Leaves through s0 as 10.1.0.2:40000 → 10.2.0.2:8080.");
    assert_eq!(view.packets[0].line, PACKET);
}

#[test]
fn walked_rules_add_up_to_what_the_engine_counted() {
    let view = view(&session(SERVICE, PACKET));
    let walked: u32 = view.visits.iter().map(|visit| visit.walked).sum();
    assert_eq!(u64::from(walked), view.rules_walked);
    let chains: Vec<_> =
        view.visits.iter().map(|visit| (visit.chain.as_str(), visit.depth, visit.walked)).collect();
    assert_eq!(chains, [("PREROUTING", 0, 2), ("SVC", 1, 2), ("FORWARD", 0, 3), ("POSTROUTING", 0, 0)]);
    assert_eq!(view.visits[1].from.as_ref().map(|rule| rule.number), Some(2));
}

#[test]
fn a_rewrite_shows_before_and_after_and_the_entry() {
    let view = view(&session(SERVICE, PACKET));
    let rewrite =
        view.steps.iter().find(|step| step.changes.iter().any(|change| change.field.is_nat())).unwrap();
    assert_eq!(rewrite.kind, StepKind::Rewrite);
    let fields: Vec<_> = rewrite
        .changes
        .iter()
        .map(|change| (change.field, change.was.as_str(), change.now.as_str()))
        .collect();
    assert!(fields.contains(&(Field::Destination, "10.96.0.1", "10.2.0.2")), "{fields:?}");
    assert!(fields.contains(&(Field::DestinationPort, "80", "8080")), "{fields:?}");
    let after = &view.packets[rewrite.packet as usize];
    assert_eq!(after.destination(), "10.2.0.2:8080");
    let entry = view.entry.as_ref().unwrap();
    assert_eq!(entry.reply, "10.2.0.2:8080 → 10.1.0.2:40000");
    assert!(entry.confirmed);
}

#[test]
fn nat_rules_are_asked_once_a_connection() {
    let mut session = session(SERVICE, PACKET);
    session.reply(Level::Full).unwrap();
    let reply = view(&session);
    let nat = reply.stations[1].stops.iter().find(|stop| stop.title == "nat").unwrap();
    assert!(matches!(&nat.state, StopState::Skipped(why) if why.contains("asked once")), "{nat:?}");
    let last = reply.packets.last().unwrap();
    assert_eq!((last.source(), last.is_reply), ("10.96.0.1:80".to_owned(), true));
    assert_eq!(last.ct_state, "ESTABLISHED");
    session.again(Level::Full).unwrap();
    assert!(view(&session).visits.iter().all(|visit| visit.table != "nat"));
}

#[test]
fn a_drop_by_policy_names_the_policy() {
    let view = view(&session(SERVICE, "udp 10.1.0.2:40000 > 10.2.0.3:53 in c0"));
    assert_eq!(view.verdict.outcome, Outcome::Dropped);
    assert_eq!(view.verdict.sentence, "Dropped by the policy of filter FORWARD. The sender hears nothing.");
    assert_eq!(view.reply_line, "");
}

#[test]
fn a_reset_that_the_node_makes_has_its_own_lane() {
    let view = view(&session(SERVICE, "tcp 10.1.0.2:40000 > 10.2.0.2:22 in c0"));
    assert_eq!(view.verdict.outcome, Outcome::Rejected);
    assert_eq!(
        view.verdict.sentence,
        "Rejected by rule 1 of filter FORWARD. The node answers with a TCP RST, ACK through c0."
    );
    let lane: Vec<_> =
        view.stations.iter().filter(|station| station.lane == 1).map(|station| station.place).collect();
    assert_eq!(lane, [Place::Local, Place::Output, Place::Postrouting, Place::Egress]);
    let last = view.steps.last().unwrap();
    assert_eq!(last.kind, StepKind::Verdict);
    assert_eq!(view.stations[last.station as usize].place, Place::Forward);
}

#[test]
fn every_step_and_index_holds_together() {
    for packet in [PACKET, "tcp 10.1.0.2:40000 > 10.2.0.2:22 in c0", "icmp 10.1.0.2 > 10.1.0.1 in c0"] {
        let view = view(&session(SERVICE, packet));
        assert!(!view.steps.is_empty());
        for step in &view.steps {
            assert!(!step.sentence.is_empty(), "{step:?}");
            assert!((step.packet as usize) < view.packets.len());
            let station = &view.stations[step.station as usize];
            assert!(step.stop.is_none_or(|stop| (stop as usize) < station.stops.len()), "{step:?}");
            if let Some(visit) = step.visit {
                assert_eq!(view.visits[visit as usize].station, step.station, "{step:?}");
            }
        }
    }
}

#[test]
fn rows_show_what_each_rule_looked_at() {
    let session = session(SERVICE, PACKET);
    let trace = &session.sent()[0].ran.trace;
    let tables: Vec<_> =
        session.netns().tables().iter().map(|loaded| (&*loaded.table, &loaded.state)).collect();
    let rules = Rules { tables: &tables, nft: session.netns().nft() };
    let index = VisitIndex::of(trace);
    let window = visit_rows(trace, &index, rules, 0, 0, 10);
    assert_eq!(window.total, 2);
    let fates: Vec<_> = window.rows.iter().map(|row| row.fate).collect();
    assert_eq!(fates, [RuleFate::Passed, RuleFate::Matched]);
    let check = &window.rows[0].checks[0];
    assert_eq!((check.text.as_str(), check.field.as_str()), ("-d 10.96.0.9/32", "destination"));
    assert_eq!((check.have.as_str(), check.pass), ("10.96.0.1", Some(false)));
    assert_eq!(window.rows[1].target, "-j SVC");
    // A window in the middle holds the same rows.
    let second = visit_rows(trace, &index, rules, 0, 1, 1);
    assert_eq!(second.rows, window.rows[1..]);
    // A protocol is shown by name.
    let service = visit_rows(trace, &index, rules, 1, 0, 10);
    assert_eq!(
        (service.rows[0].checks[0].have.as_str(), service.rows[0].checks[0].want.as_str()),
        ("tcp", "udp")
    );
    assert_eq!(visit_rows(trace, &index, rules, 99, 0, 10), Default::default());
}

#[test]
fn what_is_not_emulated_leaves_both_ways_open() {
    let rules = "\
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p tcp -m tcp --dport 80 -m bpf --bytecode \"1,6 0 0 0\" -j DROP
COMMIT
";
    let (ruleset, _) = parse(rules, &ParseOptions::default());
    let mut session = Session::new(vec![ruleset], KernelVersion::default(), 1);
    let facts = Facts {
        addresses: vec!["c0=10.1.0.1/24".to_owned(), "s0=10.2.0.1/24".to_owned()],
        sysctls: vec!["net.ipv4.ip_forward=1".to_owned()],
        ..Facts::default()
    };
    session.start(line::parse("tcp 10.1.0.2:1 > 10.2.0.2:80 in c0").unwrap(), &facts, Level::Full).unwrap();
    let view = view(&session);
    assert_eq!(view.verdict.outcome, Outcome::Uncertain);
    let uncertain = view.verdict.uncertain.as_ref().unwrap();
    assert_eq!((uncertain.name.as_str(), uncertain.rule.number), ("-m bpf", 1));
    let ways: Vec<_> = uncertain.possibilities.iter().map(|way| way.outcome).collect();
    assert_eq!(ways, [Outcome::Dropped, Outcome::Forwarded]);
    let step = view.steps.iter().find(|step| step.kind == StepKind::Rule).unwrap();
    assert!(step.sentence.contains("not emulated: -m bpf"), "{}", step.sentence);
    let tables: Vec<_> =
        session.netns().tables().iter().map(|loaded| (&*loaded.table, &loaded.state)).collect();
    let rules = Rules { tables: &tables, nft: session.netns().nft() };
    let trace = &session.sent()[0].ran.trace;
    let row = &visit_rows(trace, &VisitIndex::of(trace), rules, 0, 0, 1).rows[0];
    assert_eq!(
        (row.fate, row.not_emulated.as_slice()),
        (RuleFate::Uncertain, ["-m bpf".to_owned()].as_slice())
    );
    assert_eq!(row.checks.last().unwrap().not_emulated.as_deref(), Some("-m bpf"));
}

#[test]
fn a_goto_to_an_unknown_chain_does_not_come_back_to_the_next_rule() {
    let (ruleset, _) =
        parse("*filter\n-A FORWARD -g foo\n-A FORWARD -j DROP\nCOMMIT\n", &ParseOptions::default());
    let mut session = Session::new(vec![ruleset], KernelVersion::default(), 1);
    let facts = Facts {
        addresses: vec!["c0=10.1.0.1/24".to_owned(), "s0=10.2.0.1/24".to_owned()],
        sysctls: vec!["net.ipv4.ip_forward=1".to_owned()],
        ..Facts::default()
    };
    session.start(line::parse("tcp 10.1.0.2:1 > 10.2.0.2:80 in c0").unwrap(), &facts, Level::Full).unwrap();
    let view = view(&session);
    let uncertain = view.verdict.uncertain.as_ref().unwrap();
    assert_eq!(uncertain.name, "-g foo");
    assert!(uncertain.possibilities.iter().any(|way| way.outcome == Outcome::Forwarded), "{uncertain:?}");
}
