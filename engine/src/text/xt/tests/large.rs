//! A large kube-proxy dump: read whole, with progress, and cancelled half way. How fast is for `cargo xtask bench`.

use std::fmt::Write as _;

use super::*;
use crate::base::Rng;

/// The nat table of `services` ClusterIP Services with `endpoints` endpoints each, as iptables-save prints it:
/// two rules a Service and two an endpoint.
fn kube_proxy_dump(services: u32, endpoints: u32) -> String {
    let hash = |kind: &str, n: u32| {
        let mut rng = Rng::named(u64::from(n), kind);
        (0..16)
            .map(|_| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[rng.below(32) as usize]))
            .collect::<String>()
    };
    let mut chains = vec!["KUBE-MARK-MASQ".to_owned(), "KUBE-SERVICES".to_owned()];
    let mut rules = vec![(String::from("KUBE-MARK-MASQ"), " -j MARK --set-xmark 0x4000/0x4000".to_owned())];
    for s in 0..services {
        let (svc, name) =
            (format!("KUBE-SVC-{}", hash("svc", s)), format!("team-{}/service-{s}:http", s % 40));
        let ip = format!("10.{}.{}.{}", 96 + (s >> 16), (s >> 8) & 255, s & 255);
        let comment = format!(" -p tcp -m comment --comment \"{name} cluster IP\" -m tcp --dport 80");
        rules.push(("KUBE-SERVICES".to_owned(), format!(" -d {ip}/32{comment} -j {svc}")));
        rules.push((svc.clone(), format!(" ! -s 10.244.0.0/16 -d {ip}/32{comment} -j KUBE-MARK-MASQ")));
        for e in 0..endpoints {
            let n = s * endpoints + e;
            let (sep, pod) = (
                format!("KUBE-SEP-{}", hash("sep", n)),
                format!("10.{}.{}.{}", 128 + (n >> 16), (n >> 8) & 255, n & 255),
            );
            let left = endpoints - e;
            let share = (f64::from(1_u32 << 31) / f64::from(left)).round() / f64::from(1_u32 << 31);
            let draw = if left > 1 {
                format!(" -m statistic --mode random --probability {share:.11}")
            } else {
                String::new()
            };
            rules.push((
                svc.clone(),
                format!(" -m comment --comment \"{name} -> {pod}:8080\"{draw} -j {sep}"),
            ));
            let dnat =
                format!(" -p tcp -m comment --comment \"{name}\" -m tcp -j DNAT --to-destination {pod}:8080");
            rules.push((sep.clone(), dnat));
            chains.push(sep);
        }
        chains.push(svc);
    }
    chains.sort();
    rules.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = String::from(
        "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n",
    );
    for chain in &chains {
        let _ = writeln!(out, ":{chain} - [0:0]");
    }
    for (chain, rule) in &rules {
        let _ = writeln!(out, "-A {chain}{rule}");
    }
    out.push_str("COMMIT\n");
    out
}

#[test]
fn a_dump_of_kube_proxy_prints_back() {
    let text = kube_proxy_dump(200, 20);
    let (ruleset, diags) = parse(&text, &ParseOptions::default());
    assert_eq!(diags.iter().filter(|d| d.severity == Severity::Error).count(), 0, "{diags:?}");
    assert_eq!(ruleset.rule_count(), 1 + 200 * 42);
    assert!(ruleset.save(&SaveOptions::default()) == text, "the print differs");
}

#[test]
fn reading_tells_its_progress_and_stops_when_told() {
    let text = kube_proxy_dump(300, 20);
    let mut calls = Vec::new();
    let (whole, _) = parse_with(&text, &ParseOptions::default(), &mut |done, total| {
        calls.push((done, total));
        true
    });
    assert!(calls.len() > 3 && calls.is_sorted() && calls.iter().all(|&(d, t)| d < t && t == text.len()));
    let (part, _) = parse_with(&text, &ParseOptions::default(), &mut |done, total| done < total / 2);
    assert!(part.rule_count() < whole.rule_count());
}

#[test]
fn many_chains_that_are_not_in_the_text_are_resolved_in_one_pass() {
    let mut text = String::new();
    for n in 0..20_000 {
        let _ = writeln!(text, "-A INPUT -j c{n}");
    }
    let (ruleset, _) = parse(&text, &ParseOptions::default());
    assert_eq!(ruleset.rule_count(), 20_000);
    assert!(ruleset.save(&SaveOptions::default()).ends_with("-A INPUT -j c19999\nCOMMIT\n"));
}

#[test]
fn a_ruleset_on_one_line_is_read() {
    let mut text = String::from("*filter :INPUT ACCEPT [0:0]");
    for n in 0..5_000 {
        let _ = write!(text, " -A INPUT -s 10.0.{}.{}/32 -j DROP", n >> 8, n & 255);
    }
    text.push_str(" COMMIT\n");
    let (ruleset, diags) = parse(&text, &ParseOptions::default());
    assert_eq!(ruleset.rule_count(), 5_000);
    assert_eq!(diags.len(), 1, "{diags:?}");
}

/// The work grows with the text, not with its square: a place is not counted from the beginning of the line.
#[test]
fn long_lines_with_many_places_are_read() {
    let mut text = String::from("*filter :INPUT ACCEPT [0:0]");
    for n in 0..60_000 {
        let _ = write!(text, " -A INPUT -s 10.{}.{}.{}/32 -j DROP", n >> 16, (n >> 8) & 255, n & 255);
    }
    text.push_str(" COMMIT\n");
    let (ruleset, diags) = parse(&text, &ParseOptions::default());
    assert_eq!((ruleset.rule_count(), diags.len()), (60_000, 1), "{diags:?}");

    let matches = "-m \u{2013}unknown ".repeat(60_000);
    let (_, diags) = parse(&format!("*filter\n-A INPUT {matches} -j DROP\n"), &ParseOptions::default());
    assert!(!diags.is_empty());

    let excerpts = "-A INPUT -s 10.0.0.1/32 -j DROP\nCOMMIT\n".repeat(20_000);
    let (ruleset, _) = parse(&excerpts, &ParseOptions::default());
    assert_eq!(ruleset.rule_count(), 20_000);
}

#[test]
fn a_listing_tells_its_progress_and_stops_when_told() {
    let mut text =
        String::from("Chain INPUT (policy ACCEPT)\ntarget     prot opt source               destination\n");
    text.push_str(&"DROP       all  --  10.0.0.1             0.0.0.0/0\n".repeat(5_000));
    let mut calls = Vec::new();
    let (whole, _) = parse_with(&text, &ParseOptions::default(), &mut |done, total| {
        calls.push((done, total));
        true
    });
    assert!(calls.len() > 3 && calls.is_sorted() && calls.iter().all(|&(d, t)| d < t && t == text.len()));
    let (part, _) = parse_with(&text, &ParseOptions::default(), &mut |done, total| done < total / 2);
    assert!(part.rule_count() > 0 && part.rule_count() < whole.rule_count());
}
