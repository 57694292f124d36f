//! Many connections through one ruleset: counts against what the probabilities say.

use super::*;
use crate::model::{Edit, SpreadInput};

fn input(rules: &str, connections: u32) -> SpreadInput {
    SpreadInput {
        rules: rules.to_owned(),
        client: "10.244.1.5".to_owned(),
        service: "10.96.10.20:80".to_owned(),
        connections,
        batch: 12,
        seed: 7,
    }
}

fn three(connections: u32) -> SpreadInput {
    input(include_str!("../../content/01-path/02-chain-probabilities/three.rules"), connections)
}

#[test]
fn shares_expected_follow_from_the_thresholds() {
    let spread = run(&three(1)).unwrap();
    let thresholds: Vec<Option<u32>> = spread.endpoints.iter().map(|endpoint| endpoint.threshold).collect();
    assert_eq!(thresholds, [Some(715_827_883), Some(1 << 30), None]);
    let scale = spread.scale as f64;
    let third = 715_827_883.0 / scale;
    let shares: Vec<f64> = spread.endpoints.iter().map(|endpoint| endpoint.share_expected).collect();
    assert_eq!(shares, [third, (1.0 - third) / 2.0, (1.0 - third) / 2.0]);
    assert_eq!(spread.endpoints[0].probability, "0.33333333349");
    assert_eq!(spread.endpoints[2].probability, "");
}

#[test]
fn counts_add_up_and_fit() {
    let spread = run(&three(6_000)).unwrap();
    let observed: u64 = spread.endpoints.iter().map(|endpoint| endpoint.observed).sum();
    assert_eq!((observed, spread.unmatched), (6_000, 0));
    assert!(spread.expected.fits && spread.uniform.fits, "{spread:?}");
    assert_eq!((spread.batches.count, spread.batches.first.iter().sum::<u32>()), (500, 12));
    // Four each out of twelve: 12! / (4!)^3 / 3^12, about 6.5 %.
    assert!((spread.batches.even_share - 0.0652).abs() < 0.03, "{:?}", spread.batches);
    assert_eq!(spread.first.len(), 60);
}

#[test]
fn a_run_repeats() {
    assert_eq!(run(&three(500)).unwrap(), run(&three(500)).unwrap());
    let other = SpreadInput { seed: 8, ..three(500) };
    assert_ne!(run(&three(500)).unwrap().first, run(&other).unwrap().first);
}

/// The number of endpoint rules read is a position; the engine's own count has to grow in step with it.
#[test]
fn rules_read_agree_with_the_rules_evaluated() {
    let spread = run(&three(2_000)).unwrap();
    assert_eq!(spread.rules.max - spread.rules.min, 2);
    assert!((spread.rules.mean - spread.endpoint_rules.mean - (spread.rules.min as f64 - 1.0)).abs() < 1e-9);
}

#[test]
fn edits_change_the_text_and_nothing_else() {
    let before = three(100);
    let (same, targets) = rules_of(&before).unwrap();
    assert_eq!(same.probabilities, ["0.33333333349", "0.50000000000", ""]);
    assert_eq!(targets, ["10.244.1.10:8080", "10.244.2.11:8080", "10.244.2.12:8080"]);
    assert_eq!(edit(&before, &same).unwrap(), before);
    let dropped = Edit { dropped: vec![1], ..same.clone() };
    let edited = edit(&before, &dropped).unwrap();
    assert_eq!(edited.rules.lines().count() + 1, before.rules.lines().count());
    assert_eq!(run(&edited).unwrap().endpoints.len(), 2);
    let short = Edit { probabilities: vec!["1".to_owned()], dropped: Vec::new() };
    assert!(edit(&before, &short).is_err());
}

#[test]
fn what_falls_through_is_counted() {
    let (mut all, _) = rules_of(&three(1)).unwrap();
    all.probabilities[2] = "0.5".to_owned();
    let spread = run(&edit(&three(4_000), &all).unwrap()).unwrap();
    assert!(spread.unmatched > 500, "{}", spread.unmatched);
    assert!(spread.expected.fits && !spread.uniform.fits);
}

#[test]
fn bad_inputs_are_refused_in_words() {
    #[track_caller]
    fn refused(input: &SpreadInput, words: &str) {
        let message = run(input).unwrap_err();
        assert!(message.contains(words), "{message}");
    }
    refused(&three(0), "1 to 200000");
    refused(&three(300_000), "1 to 200000");
    refused(&SpreadInput { service: "10.96.0.1:80".to_owned(), ..three(1) }, "no rule of KUBE-SERVICES");
    refused(&SpreadInput { client: "pod".to_owned(), ..three(1) }, "`pod` is not an IPv4 address");
    let broken = three(1).rules.replace("--probability 0.5", "--probability 5");
    refused(&SpreadInput { rules: broken, ..three(1) }, "line ");
}
