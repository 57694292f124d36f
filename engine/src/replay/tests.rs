//! Replays checked through their reports.

use super::*;

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
