//! Expressions of lessons, read and computed.

use serde_json::json;

use super::*;

fn facts() -> Facts {
    Facts::from([(
        "call".to_owned(),
        json!({
            "packets": [
                {"verdict": "forwarded", "emitted": [{"dst": "10.244.2.11", "ttl": 63}],
                 "walk": [{"table": "nat", "rule": 1}, {"table": "filter", "rule": 2}, {"table": "nat", "rule": 3}]},
                {"verdict": "forwarded", "emitted": [], "walk": []}
            ],
            "rules_evaluated": 9,
            "show": {"conntrack -L": "tcp a\nudp b\ntcp c\n"}
        }),
    )])
}

#[track_caller]
fn check(source: &str, expected: &str) {
    let got = match value(source, &facts()) {
        Ok(value) => text(&value),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(got, expected, "{source}");
}

#[test]
fn members_and_elements() {
    check("call.packets[0].emitted[0].dst", "10.244.2.11");
    check("call.show['conntrack -L']", "tcp a\nudp b\ntcp c\n");
    check("call.packets[len(call.packets) - 1].verdict", "forwarded");
    check("call.packets[7]", "error: no element 7: the list has 2");
    check("call.packet", "error: no member `packet` (there are: packets, rules_evaluated, show)");
    check("cal.packets", "error: no run is called `cal` (there are: call)");
}

#[test]
fn operators_bind_as_on_paper() {
    check("1 + 2 * 3", "7");
    check("(1 + 2) * 3", "9");
    check("-2 + 3", "1");
    check("1 < 2 and not 2 < 1 or false", "true");
    check("7 / 2", "3.5");
    check("1 / 0", "error: division by zero");
    check("'a' + 1", "a1");
    check("3 == 3.0", "true");
    check("true or nothing.here", "true");
}

#[test]
fn functions_answer() {
    check("count(call.packets[0].walk, 'table', 'nat')", "2");
    check("where(call.packets[0].walk, 'table', 'nat')[1].rule", "3");
    check("sum(pluck(call.packets[0].walk, 'rule'))", "6");
    check("min(pluck(call.packets[0].walk, 'rule'))", "1");
    check("lines(call.show['conntrack -L'], 'tcp')", "2");
    check("line(call.show['conntrack -L'], 'udp')", "udp b");
    check("group(1234567)", "1,234,567");
    check("group(100)", "100");
    check("percent(1 / 3, 1)", "33.3 %");
    check("fixed(2 / 3, 3)", "0.667");
    check("word(12)", "twelve");
    check("abs(2 - 5)", "3");
    check("join(pluck(call.packets[0].walk, 'table'), ' > ')", "nat > filter > nat");
    check("max(call.packets[1].walk)", "error: the list is empty (at character 1)");
}

#[test]
fn every_function_is_listed_and_refuses_by_its_own_words() {
    for (name, wanted, _) in FUNCTIONS {
        check(&format!("{name}()"), &format!("error: `{name}` takes {wanted}; got  (at character 1)"));
    }
}

#[test]
fn mistakes_are_located() {
    check("call.packets[0", "error: expected `]` (at character 15)");
    check("1 = 2", "error: `=` compares nothing here: write `==` (at character 3)");
    check("'abc", "error: this text has no closing quote (at character 1)");
    check("1 2", "error: expected an operator or the end (at character 3)");
    check("", "error: the expression ends too early (at character 1)");
    check("a ; b", "error: unexpected ';' (at character 3)");
    assert!(value(&"(".repeat(1000), &facts()).is_err());
    assert!(value(&"- ".repeat(900), &facts()).is_err());
}
