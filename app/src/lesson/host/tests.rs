//! A small lesson, asked as a page asks.

use chainwalk_engine::view::{Outcome, RuleFate};
use chainwalk_lessons::model::{Edit, SpreadInput};

use super::*;

fn run(id: &str, input: Input) -> Run {
    let digest = facts::run(&input).expect("the scenario runs").digest;
    Run { id: id.to_owned(), title: String::new(), names: Vec::new(), input, digest }
}

fn lesson() -> Vec<Run> {
    let case = r#"{
      "format": "chainwalk.replay/1",
      "node": {
        "interfaces": [{"name": "a0", "addresses": ["10.1.0.1/24"]}, {"name": "b0", "addresses": ["10.2.0.1/24"]}],
        "sysctls": {"net.ipv4.ip_forward": "1"},
        "setup": [{"run": "iptables-restore", "stdin": "*filter\n-A FORWARD -d 10.9.9.9/32 -j DROP\n-A FORWARD -p udp -j ACCEPT\nCOMMIT\n"}]},
      "packets": [{"in": "a0", "src": "10.1.0.2", "dst": "10.2.0.2", "proto": "udp", "sport": 4000, "dport": 53, "len": 4}]
    }"#;
    let rules = "*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC-X - [0:0]\n:KUBE-SEP-A - [0:0]\n:KUBE-SEP-B - [0:0]\n\
        -A PREROUTING -j KUBE-SERVICES\n\
        -A KUBE-SERVICES -d 10.96.0.9/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-X\n\
        -A KUBE-SVC-X -m statistic --mode random --probability 0.9 -j KUBE-SEP-A\n\
        -A KUBE-SVC-X -j KUBE-SEP-B\n\
        -A KUBE-SEP-A -p tcp -m tcp -j DNAT --to-destination 10.1.0.7:80\n\
        -A KUBE-SEP-B -p tcp -m tcp -j DNAT --to-destination 10.1.0.8:80\nCOMMIT\n";
    let spread = SpreadInput {
        rules: rules.to_owned(),
        client: "10.1.0.5".to_owned(),
        service: "10.96.0.9:80".to_owned(),
        connections: 1_000,
        batch: 0,
        seed: 1,
    };
    vec![run("one", Input::Replay(case.to_owned())), run("many", Input::Spread(spread))]
}

fn ask(host: &mut LessonHost, what: What) -> Told {
    host.answer(&Ask { runs: lesson(), what }, &mut |_| {})
}

#[test]
fn a_run_shows_each_packet_and_its_rules() {
    let mut host = LessonHost::default();
    let Told::Ran { played: Played::Packets(passages), as_built } =
        ask(&mut host, What::Run("one".to_owned()))
    else {
        panic!("a case gives packets");
    };
    assert!(as_built);
    let passage = &passages[0];
    assert_eq!(passage.trace.verdict.outcome, Outcome::Forwarded);
    let visit =
        passage.trace.visits.iter().position(|visit| visit.chain == "FORWARD").expect("FORWARD is walked");
    let rows = host.rows(passage.sent, visit as u32, 0, 10).rows;
    assert_eq!(rows.iter().map(|row| row.fate).collect::<Vec<_>>(), [RuleFate::Passed, RuleFate::Matched]);
    assert_eq!(host.rows(SENT_BASE + 7, 0, 0, 10).rows, []);
    assert_eq!(host.rows(0, 0, 0, 10).rows, []);
}

#[test]
fn conditions_are_judged_on_a_run_of_the_readers_own() {
    let holds =
        vec!["one.packets[0].verdict == 'dropped'".to_owned(), "many.endpoints[0].share > 0.8".to_owned()];
    assert_eq!(ask(&mut LessonHost::default(), What::Judge(holds)), Told::Judged(vec![false, true]));
    let broken = ask(&mut LessonHost::default(), What::Judge(vec!["none.x".to_owned()]));
    assert_eq!(broken, Told::Refused("the lesson has no scenario `none`".to_owned()));
}

#[test]
fn an_attempt_is_judged_on_the_edited_chain() {
    let attempt = |probability: &str| What::Try {
        run: "many".to_owned(),
        edit: Edit { probabilities: vec![probability.to_owned(), String::new()], dropped: Vec::new() },
        check: "after.uniform.fits".to_owned(),
        never: vec!["last(after.endpoints).observed == 0".to_owned()],
    };
    for (probability, passed, caught) in [("0.5", true, false), ("0.7", false, false), ("1", false, true)] {
        match ask(&mut LessonHost::default(), attempt(probability)) {
            Told::Tried { passes, never, .. } => {
                assert_eq!((passes, never), (passed, vec![caught]), "{probability}")
            }
            other => panic!("{other:?}"),
        }
    }
    match ask(&mut LessonHost::default(), attempt("2")) {
        Told::Refused(sentence) => assert!(sentence.contains("--probability"), "{sentence}"),
        other => panic!("{other:?}"),
    }
}
