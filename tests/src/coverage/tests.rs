//! What a case is counted under.

use super::*;
use crate::replay::{Case, Node};

fn case(setup: &str) -> CaseFile {
    let node = Node {
        setup: vec![crate::replay::Setup { run: "ipset restore".into(), stdin: setup.into() }],
        ..Node::default()
    };
    let case = Case {
        format: "chainwalk.replay/1".into(),
        seed: 1,
        node,
        packets: Vec::new(),
        draws: Vec::new(),
        show: Vec::new(),
    };
    CaseFile { purpose: String::new(), case, links: Vec::new(), recorded: None }
}

#[test]
fn rules_that_matched_and_entries_are_counted() {
    let mut coverage = Coverage::default();
    let rules = "[0:0] -A FORWARD -m mark --mark 0x1\n\
                 [2:80] -A FORWARD -i c0 -p tcp -m tcp --dport 80 -j REJECT --reject-with tcp-reset\n\
                 [2:80] -A FORWARD -m set --match-set x src -j ACCEPT\n\
                 [1:40] -A POSTROUTING -p tcp -j SNAT --to-source 1.1.1.1-1.1.1.9:50-60 --persistent\n";
    let entries = "tcp      6 119 SYN_SENT src=1.1.1.1 dst=2.2.2.2 sport=1 dport=2 [UNREPLIED] \
                   src=3.3.3.3 dst=1.1.1.1 sport=2 dport=1 mark=0 use=1\n";
    let show = [("iptables-legacy-save -c", rules), ("conntrack -L", entries)]
        .map(|(name, text)| (name.to_string(), text.to_string()));
    coverage.add(&case("create x hash:ip family inet\n"), &Run { show: show.into(), ..Run::default() });
    for (area, name) in [
        (Area::Match, "-i"),
        (Area::Match, "tcp --dport"),
        (Area::Target, "REJECT --reject-with tcp-reset"),
        (Area::Set, "--match-set hash:ip"),
        (Area::Nat, "SNAT address range"),
        (Area::Nat, "SNAT port range"),
        (Area::Nat, "SNAT persistent"),
        (Area::Nat, "entry: destination address"),
    ] {
        assert_eq!(coverage.count(&(area, name.into())), 1, "{name} in {coverage:?}");
    }
    assert_eq!(coverage.count(&(Area::Match, "mark".into())), 0);
    assert_eq!(coverage.count(&(Area::Nat, "entry: source address".into())), 0);
}

#[test]
fn a_handshake_is_three_transitions() {
    let mut coverage = Coverage::default();
    let named = crate::families::all();
    let named =
        named.iter().find(|named| named.path == "tcp-states/established-original-fin").expect("stored");
    coverage.add(&named.file, &Run::default());
    for step in [
        "NONE        original SYN    -> SYN_SENT",
        "SYN_SENT    reply    SYN+ACK -> SYN_RECV",
        "SYN_RECV    original ACK    -> ESTABLISHED",
        "ESTABLISHED original FIN    -> FIN_WAIT",
    ] {
        assert_eq!(coverage.count(&(Area::Tcp, step.into())), 1, "{step} in {coverage:?}");
    }
}

#[test]
fn required_things_are_sorted_and_named_once() {
    let all = required::all();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
}
