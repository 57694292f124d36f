//! Replays checked through their reports.

use super::*;

mod ipvs;

/// Runs a case of one IPv4 node between `c0` (10.1.0.0/24) and `s0` (10.2.0.0/24).
fn case(rules: &str, packets: &str) -> Report {
    let text = format!(
        r#"{{"format": "chainwalk.replay/1", "seed": 1, "node": {{
            "interfaces": [{{"name": "c0", "mac": "02:00:00:00:01:01", "addresses": ["10.1.0.1/24"]}},
                           {{"name": "s0", "mac": "02:00:00:00:02:01", "addresses": ["10.2.0.1/24"]}}],
            "routes": [{{"to": "0.0.0.0/0", "via": "10.2.0.2", "dev": "s0"}}],
            "sysctls": {{"net.ipv4.ip_forward": "1"}},
            "setup": [{{"run": "iptables-legacy-restore", "stdin": {}}}]}},
            "packets": [{packets}], "show": ["iptables-legacy-save -c", "conntrack -L"]}}"#,
        serde_json::to_string(rules).unwrap()
    );
    run(&parse(&text).unwrap(), &Options::default()).unwrap()
}

#[test]
fn a_service_is_translated_both_ways() {
    let report = case(
        "*nat\n-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.2.0.2:8080\nCOMMIT\n",
        r#"{"in": "c0", "src": "10.1.0.2", "dst": "10.96.0.1", "proto": "tcp", "sport": 40000, "dport": 80, "flags": "S", "seq": 1000},
           {"at_ms": 5, "in": "s0", "src": "10.2.0.2", "dst": "10.1.0.2", "proto": "tcp", "sport": 8080, "dport": 40000, "flags": "SA", "seq": 9000, "ack": 1001}"#,
    );
    let [syn, syn_ack] = &report.packets[..] else { panic!() };
    assert_eq!((syn.verdict, syn.ctstate), ("forwarded", Some("NEW")));
    assert_eq!((syn.emitted[0].dst.as_str(), syn.emitted[0].dport), ("10.2.0.2", Some(8080)));
    assert_eq!((syn.emitted[0].dev.as_str(), syn.emitted[0].ttl), ("s0", 63));
    assert_eq!((syn_ack.verdict, syn_ack.ctstate), ("forwarded", Some("ESTABLISHED")));
    assert_eq!((syn_ack.emitted[0].src.as_str(), syn_ack.emitted[0].sport), ("10.96.0.1", Some(80)));
    assert_eq!(syn_ack.rules_evaluated, 0);
}

/// A rule that nobody can decide here.
const UNKNOWN: &str = "-m bpf --bytecode \"1,6 0 0 0\"";

fn udp() -> &'static str {
    r#"{"in": "c0", "src": "10.1.0.2", "dst": "10.2.0.2", "proto": "udp", "sport": 1, "dport": 53}"#
}

#[test]
fn a_fate_that_depends_on_what_is_not_emulated_is_uncertain() {
    let report = case(&format!("*filter\n-A FORWARD -p udp {UNKNOWN} -j DROP\nCOMMIT\n"), udp());
    let packet = &report.packets[0];
    assert_eq!(
        (packet.verdict, packet.not_emulated.as_slice()),
        ("uncertain", &["-m bpf (filter FORWARD rule 1)".to_owned()][..])
    );
    let ways: Vec<_> = packet.alternatives.iter().map(|a| (a.when.as_str(), a.verdict)).collect();
    assert_eq!(
        ways,
        [("none of them applies", "forwarded"), ("-m bpf (filter FORWARD rule 1) applies", "dropped")]
    );
}

#[test]
fn a_fate_that_does_not_depend_on_it_is_certain() {
    for rules in [
        format!("-A FORWARD {UNKNOWN} -j ACCEPT"),
        format!("-A FORWARD -p tcp {UNKNOWN} -j DROP"),
        format!("-A FORWARD -j ACCEPT\n-A FORWARD {UNKNOWN} -j DROP"),
        format!("-A FORWARD {UNKNOWN} -m length --length 1:5 -j DROP"),
    ] {
        let report = case(&format!("*filter\n{rules}\nCOMMIT\n"), udp());
        assert_eq!(
            (report.packets[0].verdict, report.packets[0].alternatives.len()),
            ("forwarded", 0),
            "{rules}"
        );
    }
}

#[test]
fn more_worlds_than_are_followed_are_uncertain() {
    let rules = format!("-A FORWARD {UNKNOWN} -j ACCEPT\n").repeat(40);
    let report = case(&format!("*filter\n{rules}COMMIT\n"), udp());
    assert_eq!(report.packets[0].verdict, "uncertain");
}

/// Runs the set-up commands alone and gives what `command` then shows.
fn after(setup: &[(&str, &str)], command: &str) -> Result<String, String> {
    let mut netns = crate::netns::Netns::new(crate::base::KernelVersion::default(), 1);
    for (run, stdin) in setup {
        super::setup(&mut netns, run, stdin).map_err(|error| error.to_string())?;
    }
    show(&netns, command)
}

#[test]
fn editing_commands_change_what_is_loaded() {
    let setup = [
        ("iptables-legacy-restore", "*filter\n:FORWARD DROP [0:0]\n-A FORWARD -j ACCEPT\nCOMMIT\n"),
        (r#"iptables-legacy -w -I FORWARD 1 -p tcp -m comment --comment "a b" -j DROP"#, ""),
        ("iptables-legacy -t nat -A POSTROUTING -o s0 -j MASQUERADE", ""),
    ];
    assert_eq!(
        after(&setup, "iptables-legacy-save -t filter").unwrap(),
        "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n\
         -A FORWARD -p tcp -m comment --comment \"a b\" -j DROP\n-A FORWARD -j ACCEPT\nCOMMIT\n"
    );
    let saved = after(&setup, "iptables-legacy-save").unwrap();
    assert!(saved.starts_with("*nat\n") && saved.contains("-A POSTROUTING -o s0 -j MASQUERADE\n"));
}

#[test]
fn waiting_for_the_lock_changes_no_rule() {
    for options in
        ["-w", "-w 5", "-w5", "--wait", "--wait=5", "--wait 5 -v", "-w -W 1000", "--wait-interval=1"]
    {
        let edit = format!("iptables-legacy {options} -A INPUT -p tcp -j DROP");
        let load = format!("iptables-legacy-restore {options} -n");
        let setup = [(&*edit, ""), (&*load, "*filter\n-A INPUT -j ACCEPT\nCOMMIT\n")];
        let saved = after(&setup, "iptables-legacy-save").unwrap();
        assert!(
            saved.ends_with("\n-A INPUT -p tcp -j DROP\n-A INPUT -j ACCEPT\nCOMMIT\n"),
            "{options}: {saved}"
        );
    }
}

#[test]
fn what_is_not_emulated_is_refused_by_name() {
    for (run, message) in [
        ("tc qdisc add", "tc is not emulated as a set-up command"),
        ("ip rule add fwmark 1 table 5", "ip rule add fwmark 1 table 5 is not emulated"),
        (
            "sysctl -w net.ipv4.tcp_sack=1",
            "sysctl net.ipv4.tcp_sack is not emulated, or names no device of the node",
        ),
        ("iptables-legacy-restore --bogus", "option --bogus is not emulated"),
    ] {
        assert_eq!(after(&[(run, "")], "conntrack -C").unwrap_err(), message);
    }
    let wrong = after(&[("iptables-legacy-restore", "*filter\n-A INPUT --bogus\nCOMMIT\n")], "conntrack -C");
    assert!(wrong.as_ref().unwrap_err().starts_with("line 2, column "), "{wrong:?}");
    assert_eq!(after(&[], "ps").unwrap_err(), "\"ps\" is not a command that can be shown");
}

#[test]
fn mistakes_in_a_case_are_named_at_their_place() {
    let error = |text: &str| parse(text).unwrap_err().to_string();
    let wrong =
        error("{\"format\": \"chainwalk.replay/1\",\n \"node\": {\"interfaces\": []}, \"pakets\": []}");
    assert!(wrong.starts_with("line 2, column 37: unknown field `pakets`"), "{wrong}");
    assert!(error("{").starts_with("line 1, column 1: EOF"));
    let format = error(r#"{"format": "x", "node": {}}"#);
    assert_eq!(format, r#"format: expected "chainwalk.replay/1", found "x""#);
    let run_error = |packet: &str| {
        let text = format!(
            r#"{{"format": "chainwalk.replay/1", "node": {{"interfaces": [{{"name": "c0", "addresses": ["10.0.0.1/24"]}}]}}, "packets": [{packet}]}}"#
        );
        run(&parse(&text).unwrap(), &Options::default()).unwrap_err().to_string()
    };
    for (packet, message) in [
        (r#"{"in": "c1", "src": "10.0.0.2", "dst": "10.0.0.1", "proto": "udp"}"#, "there is no device c1"),
        (
            r#"{"src": "10.0.0.2", "dst": "10.0.0.1", "proto": "udp"}"#,
            "`in` is missing: a device, or \"local\"",
        ),
        (r#"{"in": "c0", "src": "10.0.0.2", "proto": "udp"}"#, "`dst` is missing"),
        (
            r#"{"in": "c0", "src": "10.0.0.2", "dst": "fd00::1", "proto": "udp"}"#,
            "10.0.0.2 and fd00::1 are of different families",
        ),
        (
            r#"{"in": "c0", "src": "10.0.0.2", "dst": "10.0.0.1", "proto": "tpc"}"#,
            "proto \"tpc\" is not one of tcp, udp, icmp, icmpv6, sctp, nor a number up to 255",
        ),
        (r#"{"in": "c0", "raw_hex": "4"}"#, "an odd number of hexadecimal digits"),
    ] {
        assert_eq!(run_error(packet), format!("packets[0]: {message}"));
    }
}

#[test]
fn a_clock_at_the_end_of_time_stands_still() {
    let text = r#"{"format": "chainwalk.replay/1", "seed": 1, "node": {"epoch_secs": 18446744073709551615,
        "interfaces": [{"name": "c0", "mac": "02:00:00:00:01:01", "addresses": ["10.1.0.1/24"]}],
        "setup": [{"run": "iptables-legacy -A INPUT -m time --timestart 01:00 -j ACCEPT", "stdin": ""}]},
        "packets": [{"at_ms": 5000, "in": "c0", "src": "10.1.0.2", "dst": "10.1.0.1", "proto": "icmp",
            "icmp_type": 13, "payload_hex": "000000000000000000000000"}], "show": []}"#;
    let report = run(&parse(text).unwrap(), &Options::default()).unwrap();
    assert_eq!((report.packets[0].verdict, report.packets[0].emitted.len()), ("delivered", 1));
}
