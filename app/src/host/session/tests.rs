//! Texts of every tool through the session, as the page sends them.

use super::*;

const LISTING: &str = include_str!("../../../samples/firewall.nft");
const PACKET: &str = "tcp 198.51.100.24:44210 > 203.0.113.20:80 in eth0";

fn ask(session: &mut Session, request: Request, text: &str) -> Response {
    let mut answers = Vec::new();
    session.handle(request, Some(text.to_owned()), &mut |answer| answers.push(answer));
    answers.pop().expect("every request is answered")
}

fn load(session: &mut Session, text: &str) -> Response {
    ask(session, Request::Load { family: FamilyChoice::Auto }, text)
}

#[test]
fn an_nft_ruleset_is_outlined_traced_and_shown_row_by_row() {
    let mut session = Session::default();
    let Response::Loaded(view) = load(&mut session, LISTING) else { panic!("it loads") };
    let tables: Vec<_> = view.tables.iter().map(|table| (table.name.as_str(), table.chain_count)).collect();
    assert_eq!(
        (view.kinds.join(" "), tables),
        ("nftables".to_owned(), vec![("inet filter", 3), ("ip nat", 2)])
    );
    assert_eq!((view.sets, view.problems.len(), view.devices.join(" ")), (2, 0, "lan0 eth0".to_owned()));
    let told =
        ask(&mut session, Request::Trace { packet: PACKET.to_owned(), facts: NodeFacts::default() }, "");
    let Response::Traced { trace, notes, .. } = told else { panic!("{told:?}") };
    assert_eq!((notes.len(), trace.verdict.outcome.word()), (0, "delivered"));
    let at =
        trace.visits.iter().position(|visit| visit.chain == "input").expect("the chain is walked") as u32;
    let Response::Rows(window) =
        ask(&mut session, Request::VisitRows { sent: 0, visit: at, from: 4, len: 1 }, "")
    else {
        panic!("rows")
    };
    assert_eq!((window.total, window.rows[0].text.as_str()), (6, "tcp dport vmap @services"));
    assert_eq!(window.rows[0].checks[0].found, "80 : accept");
    let chain =
        Request::ChainRows { table: "inet filter".to_owned(), chain: "ssh".to_owned(), from: 0, len: 9 };
    let Response::Rows(window) = ask(&mut session, chain, "") else { panic!("rows") };
    assert_eq!((window.total, window.rows[0].comment.as_str()), (2, "the office"));
}

#[test]
fn a_refusal_stands_in_the_paste_beside_what_the_other_reader_said() {
    let mut session = Session::default();
    let text = format!(
        "*filter\n-A INPUT --dprot 80 -j DROP\nCOMMIT\n{}",
        LISTING.replace("policy drop", "policy dorp")
    );
    let Response::Refused(problems) = load(&mut session, &text) else { panic!("nft refuses it") };
    let places: Vec<_> = problems.iter().map(|(_, problem)| (problem.line, problem.column)).collect();
    assert_eq!(places[0], (17, 50), "{problems:?}");
    assert!(places.iter().any(|(line, _)| *line == 2), "{problems:?}");
    assert!(problems[0].1.excerpt.contains("policy dorp"), "{problems:?}");
}

#[test]
fn servers_alone_are_enough() {
    let mut session = Session::default();
    let text = "-A -t 203.0.113.20:80 -s wlc\n-a -t 203.0.113.20:80 -r 10.0.0.2:80 -m -w 1\n";
    let Response::Loaded(view) = load(&mut session, text) else { panic!("it loads") };
    assert_eq!((view.kinds.join(" "), view.virtual_servers, view.real_servers), ("IPVS".to_owned(), 1, 1));
    let told =
        ask(&mut session, Request::Trace { packet: PACKET.to_owned(), facts: NodeFacts::default() }, "");
    let Response::Traced { trace, notes, .. } = told else { panic!("{told:?}") };
    assert_eq!(notes, []);
    assert!(trace.verdict.sentence.contains("10.0.0.2:80"), "{}", trace.verdict.sentence);
    // What is of the other family is said to be.
    let other = "tcp [2001:db8::1]:1 > [2001:db8::2]:80 in eth0".to_owned();
    let told = ask(&mut session, Request::Trace { packet: other, facts: NodeFacts::default() }, "");
    assert!(matches!(&told, Response::Traced { notes, .. } if notes.len() == 1), "{told:?}");
}

#[test]
fn a_text_that_does_nothing_holds_no_table() {
    let mut session = Session::default();
    for text in ["flush ruleset\n", "nft list ruleset\n", "# only a comment\n"] {
        assert!(matches!(load(&mut session, text), Response::Refused(_)), "{text}");
    }
}
