//! The `chainwalk` command: exit codes, what goes to which stream, where mistakes are said to be.
#![cfg(feature = "cli")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

const CASE: &str = r#"{"format": "chainwalk.replay/1", "node": {"interfaces": [{"name": "c0", "addresses": ["10.1.0.1/24"]}]},
    "packets": [{"in": "c0", "src": "10.1.0.2", "dst": "10.1.0.1", "proto": "icmp"}]}"#;

fn chainwalk(args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_chainwalk"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo built the program");
    let mut input = child.stdin.take().expect("piped above");
    input.write_all(stdin.as_bytes()).expect("the program reads its input");
    drop(input);
    child.wait_with_output().expect("the program ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_case_from_standard_input_prints_one_object() {
    let out = chainwalk(&["replay", "-"], CASE);
    assert_eq!((out.status.code(), text(&out.stderr).as_str()), (Some(0), ""));
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["packets"][0]["verdict"], "delivered");
    assert_eq!(report["packets"][0]["emitted"][0]["icmp_type"], 0);
}

#[test]
fn what_cannot_be_read_ends_with_two_and_a_place() {
    for (case, wanted) in [
        (CASE.replace("\"dst\"", "\"dts\""), "-: line 2, column 53: unknown field `dts`"),
        (CASE.replace("10.1.0.2", "10.1.0.299"), "-: line 2, column 48: invalid IP address syntax"),
        (CASE.replace("replay/1", "replay/9"), "-: format: expected \"chainwalk.replay/1\""),
        (CASE.replace("\"in\": \"c0\"", "\"in\": \"c9\""), "-: packets[0]: there is no device c9"),
        (String::new(), "-: line 1, column 0: EOF"),
    ] {
        let out = chainwalk(&["replay", "-"], &case);
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0));
        assert!(text(&out.stderr).starts_with(wanted), "{}", text(&out.stderr));
    }
    let missing = chainwalk(&["replay", "no-such-case.json"], "");
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).starts_with("no-such-case.json: "));
}

#[test]
fn a_trace_names_its_assumptions_and_the_matched_rule() {
    let rules = "*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\nCOMMIT\n";
    let packet = "tcp 10.0.0.9:40000 > 10.0.0.1:22 in eth0";
    let out = chainwalk(&["trace", "--rules", "-", "--packet", packet], rules);
    let told = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(told.contains("[--addr eth0=10.0.0.1/24]"), "{told}");
    assert!(told.contains("=    1  -p tcp -m tcp --dport 22 -j ACCEPT"), "{told}");
    assert!(told.contains("\ndelivered: "), "{told}");
    let wrong = chainwalk(&["trace", "--rules", "-", "--packet", "tcp 10.0.0.9 > 10.0.0.1"], rules);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("^^^^^^^^"), "{}", text(&wrong.stderr));
}
