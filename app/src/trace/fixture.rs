//! A trace to test drawing and transport with, written by hand.

use chainwalk_engine::view::*;

/// Two hooks: a chain that jumps and rewrites, then a chain that ends by policy.
pub(crate) fn trace() -> TraceView {
    let rule =
        |chain: &str, number| Some(RuleRef { table: "nat".to_owned(), chain: chain.to_owned(), number });
    let step = |kind, station, visit, rule| StepView {
        kind,
        sentence: format!("{kind:?}"),
        station,
        stop: None,
        visit,
        rule,
        packet: 0,
        changes: Vec::new(),
        entry: None,
        candidates: Vec::new(),
    };
    let visit = |station, table: &str, chain: &str, depth, rules, walked| VisitView {
        station,
        table: table.to_owned(),
        chain: chain.to_owned(),
        depth,
        from: None,
        rules,
        walked,
        matched: Vec::new(),
        outcome: String::new(),
    };
    let station = |place| StationView { place, label: String::new(), lane: 0, stops: Vec::new() };
    TraceView {
        packets: vec![PacketView::default()],
        stations: vec![
            station(Place::Ingress),
            station(Place::Prerouting),
            station(Place::Routing),
            station(Place::Forward),
        ],
        visits: vec![
            visit(1, "nat", "PREROUTING", 0, 3, 2),
            visit(1, "nat", "KUBE-SERVICES", 1, 9, 4),
            visit(3, "filter", "FORWARD", 0, 5, 5),
        ],
        steps: vec![
            step(StepKind::Arrive, 0, None, None),
            step(StepKind::Hook, 1, None, None),
            step(StepKind::Chain, 1, Some(0), None),
            step(StepKind::Rule, 1, Some(0), rule("PREROUTING", 2)),
            step(StepKind::Chain, 1, Some(1), None),
            step(StepKind::Rule, 1, Some(1), rule("KUBE-SERVICES", 4)),
            step(StepKind::Rewrite, 1, Some(1), rule("KUBE-SERVICES", 4)),
            step(StepKind::Route, 2, None, None),
            step(StepKind::Hook, 3, None, None),
            step(StepKind::Chain, 3, Some(2), None),
            step(StepKind::ChainEnd, 3, Some(2), None),
            step(StepKind::Verdict, 3, None, None),
        ],
        verdict: VerdictView { outcome: Outcome::Forwarded, sentence: String::new(), uncertain: None },
        emitted: Vec::new(),
        rules_walked: 11,
        entry: None,
        table: Vec::new(),
        reply_line: String::new(),
    }
}
