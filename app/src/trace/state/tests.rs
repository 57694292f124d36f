//! Answers never drop what was typed; a new packet starts at its first step.

use chainwalk_engine::view::Severity;

use super::super::fixture::trace;
use super::*;

fn after(state: TraceState, actions: Vec<Action>) -> TraceState {
    Rc::unwrap_or_clone(actions.into_iter().fold(Rc::new(state), Reducible::reduce))
}

fn problem(message: &str) -> ProblemView {
    ProblemView {
        severity: Severity::Error,
        line: 1,
        column: 1,
        len: 1,
        message: message.to_owned(),
        hint: String::new(),
        excerpt: String::new(),
        excerpt_column: 0,
    }
}

fn typed(state: &TraceState) -> &str {
    match &state.rules {
        RulesText::Typed(text) => text,
        RulesText::Held(_) => "held",
    }
}

fn traced(follow: Option<Follow>) -> Action {
    Action::Traced { follow, trace: Box::new(trace()), node: Box::default(), notes: Vec::new() }
}

#[test]
fn line_and_fields_follow_each_other() {
    let state =
        after(TraceState::default(), vec![Action::TypeLine("tcp 10.1.0.2:1 > 10.2.0.2:80 in eth0".into())]);
    assert_eq!(state.packet.dport, "80");
    let fields = PacketFields { dport: "70000".to_owned(), ..state.packet.clone() };
    let state = after(state, vec![Action::TypeFields(fields)]);
    assert_eq!(state.packet_line, "tcp 10.1.0.2:1 > 10.2.0.2:70000 in eth0");
}

#[test]
fn what_was_typed_survives_every_answer() {
    let state = after(
        TraceState::default(),
        vec![
            Action::TypeRules("*filter\n-A X".into()),
            Action::TypeLine("tcp 1.2.3.4.5".into()),
            Action::Refused(vec![
                (Input::Packet, problem("no address")),
                (Input::Rules, problem("no chain")),
            ]),
            Action::Lost(Some("out of memory".to_owned())),
        ],
    );
    assert_eq!((typed(&state), state.packet_line.as_str()), ("*filter\n-A X", "tcp 1.2.3.4.5"));
    assert_eq!(state.problems.len(), 2);
    assert_eq!(state.failure.as_deref(), Some("out of memory"));
}

#[test]
fn a_problem_goes_when_its_input_changes_and_not_before() {
    let refused =
        vec![(Input::Packet, problem("a")), (Input::Rules, problem("b")), (Input::IpAddr, problem("c"))];
    let state = after(TraceState::default(), vec![Action::Refused(refused), Action::TypeLine("x".into())]);
    assert_eq!(state.problems_of(Input::Packet), []);
    assert_eq!(state.problems_of(Input::Rules), [problem("b")]);
    let state = after(state, vec![Action::GiveFacts(NodeFacts::default())]);
    assert_eq!(state.problems_of(Input::IpAddr), []);
    assert_eq!(state.problems_of(Input::Rules), [problem("b")]);
}

#[test]
fn an_answer_about_an_older_text_is_not_shown_as_the_newer_ones() {
    let state = after(
        TraceState::default(),
        vec![
            Action::TypeRules("a".into()),
            Action::TypeRules("ab".into()),
            Action::Loaded { revision: 1, ruleset: Box::default() },
        ],
    );
    assert!(!state.is_loaded());
    assert!(state.ruleset.is_none());
}

#[test]
fn packets_of_a_connection_line_up_and_a_new_trace_starts_over() {
    let state = after(
        TraceState::default(),
        vec![traced(None), Action::Move(Move::Next), traced(Some(Follow::Reply))],
    );
    assert_eq!((state.sent.len(), state.shown, state.step), (2, 1, 0));
    assert_eq!(state.to_share().follow, [Follow::Reply]);
    let state = after(state, vec![Action::Show(0), Action::Move(Move::End)]);
    assert_eq!((state.shown, state.step), (0, trace().steps.len() - 1));
    let state = after(state, vec![traced(None)]);
    assert_eq!((state.sent.len(), state.shown), (1, 0));
}

#[test]
fn a_link_is_offered_only_for_what_is_shown() {
    let linked = |state| after(state, vec![Action::Linked(LinkState::Ready("#/s/v1.x".into()))]);
    let state = linked(after(TraceState::default(), vec![traced(None)]));
    assert_ne!(state.link, LinkState::None);
    assert_eq!(after(state.clone(), vec![Action::Move(Move::Next)]).link, LinkState::None);
    assert_eq!(after(state, vec![Action::TypeLine("x".into())]).link, LinkState::None);
}

#[test]
fn a_sample_can_be_undone() {
    let sample = || Action::Open(SAMPLES[0].state());
    let state = after(TraceState::default(), vec![sample(), Action::TypeLine("x".into()), sample()]);
    assert!(state.before.is_none(), "a sample is not the reader's own");
    let state =
        after(state, vec![Action::TypeRules("*filter".into()), Action::TypeLine("tcp a".into()), sample()]);
    let state = after(state, vec![Action::Open(SAMPLES[1].state()), Action::PutBack]);
    assert_eq!((typed(&state), state.packet_line.as_str()), ("*filter", "tcp a"));
    assert!(state.before.is_none());
}
